package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/definitions"
)

// Config is the configuration of a workspace.
type Config struct {
	Schema map[string]any `json:"schema,omitempty" doc:"The fields, by name."`
	Block  string         `json:"block,omitempty" doc:"The block that edits it."`
	Value  any            `json:"value,omitempty" doc:"The values."`
}

// Block is a block of a workspace's own.
type Block struct {
	Name        Text           `json:"name,omitempty" doc:"The name people see."`
	Description Text           `json:"description,omitempty" doc:"What it is for."`
	Photo       string         `json:"photo,omitempty" doc:"The address of its picture."`
	URL         string         `json:"url,omitempty" doc:"The address of its code."`
	Blocks      []any          `json:"blocks,omitempty" doc:"The blocks that it is made of."`
	Schema      map[string]any `json:"schema,omitempty" doc:"The fields of its configuration."`
	CSS         string         `json:"css,omitempty" doc:"Its styles."`
}

// EventType describes the payload of events of one type.
type EventType struct {
	Schema map[string]any `json:"schema,omitempty" doc:"The fields of the payload, by name."`
}

type sectionInput struct {
	InWorkspace

	Version string `query:"version" maxLength:"15" doc:"A native version; what it is now when absent."`
}

type setSectionInput struct {
	InWorkspace

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
	RawBody []byte
}

// OfEntry names an entry of a section; inputs embed it.
type OfEntry struct {
	InWorkspace

	Name string `path:"name" maxLength:"200" doc:"Its name."`
}

type setEntryInput struct {
	OfEntry

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
	RawBody []byte
}

type deleteEntryInput struct {
	OfEntry

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
}

// section is a part of the index with entries by name.
type section struct {
	// id and ids name its operations, tag groups them, summary is what one entry is called.
	id, ids, tag, summary string
	// route is the last part of its address, at the keys that lead to it.
	route string
	at    []string
	of    any
}

// RegisterSections adds the operations on the parts of an index: the configuration, blocks and types of events.
func RegisterSections(api *restapi.API, d *definitions.Definitions) {
	registerConfig(api, d)
	for _, s := range []section{
		{id: "Block", ids: "Blocks", tag: "Blocks", summary: "block", route: "blocks", at: []string{"blocks"}, of: Block{}},
		{id: "EventType", ids: "EventTypes", tag: "Event types", summary: "event type", route: "eventTypes", at: []string{"events", "types"}, of: EventType{}},
	} {
		s.register(api, d)
	}
}

func sectionOperation(id, method, path, tag, summary string) restapi.Operation {
	op := restapi.Operation{
		ID: id, Method: method, Path: path, Tag: tag, Summary: summary, Policy: access.Callers, Scope: access.WorkspacesWrite,
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
	}
	if method == http.MethodGet {
		op.Scope = access.WorkspacesRead
		return op
	}
	op.MaxBody, op.Errors = maxDocument, append(op.Errors, errs.Locked)
	return op
}

func registerConfig(api *restapi.API, d *definitions.Definitions) {
	const path = "/v2/workspaces/{workspaceId}/config"
	form := []restapi.Media{{Type: mediaJSON, Of: Config{}}}
	read := sectionOperation("getConfig", http.MethodGet, path, "Workspaces", "Read the configuration")
	read.Gives = form
	restapi.Register(api, read, func(ctx context.Context, in *sectionInput) (*documentOutput, error) {
		return sectionAnswer(ctx, d, in.WorkspaceID, in.Version, "config")
	})
	update := sectionOperation("updateConfig", http.MethodPatch, path, "Workspaces", "Change the configuration")
	update.Description = "Replaces schema, block and value one by one: what the body does not have stays, and what is null goes."
	update.Takes, update.Gives = form, form
	restapi.Register(api, update, func(ctx context.Context, in *setSectionInput) (*documentOutput, error) {
		if err := checkJSON(in.RawBody); err != nil {
			return nil, err
		}
		index, err := d.UpdateConfig(ctx, in.WorkspaceID, in.IfMatch, in.RawBody)
		if err != nil {
			return nil, err
		}
		return sectionOutput(sectionOf(index, "config"), index.Revision), nil
	})
}

// sectionAnswer shows a part of the index; an empty object when it says nothing of it.
func sectionAnswer(ctx context.Context, d *definitions.Definitions, ref, version string, at ...string) (*documentOutput, error) {
	value, revision, err := d.Section(ctx, ref, version, at...)
	if err != nil {
		return nil, err
	}
	return sectionOutput(value, revision), nil
}

// sectionOf is a part of the index; nil when it says nothing of it.
func sectionOf(index definitions.Stored, at ...string) []byte {
	if n := index.Parsed.Get(at...); n != nil {
		return dsul.JSON(n)
	}
	return nil
}

func sectionOutput(value []byte, revision int64) *documentOutput {
	if value == nil {
		value = []byte("{}")
	}
	return &documentOutput{Status: http.StatusOK, ETag: restapi.ETag(revision), ContentType: mediaJSON, Body: append(value, '\n')}
}

func (s section) register(api *restapi.API, d *definitions.Definitions) {
	all := "/v2/workspaces/{workspaceId}/" + s.route
	one := all + "/{name}"
	form := []restapi.Media{{Type: mediaJSON, Of: s.of}}
	list := sectionOperation("list"+s.ids, http.MethodGet, all, s.tag, "List "+s.summary+"s")
	list.Gives = []restapi.Media{{Type: mediaJSON, Of: map[string]json.RawMessage{}}}
	restapi.Register(api, list, func(ctx context.Context, in *sectionInput) (*documentOutput, error) {
		return sectionAnswer(ctx, d, in.WorkspaceID, in.Version, s.at...)
	})
	read := sectionOperation("get"+s.id, http.MethodGet, one, s.tag, "Read one "+s.summary)
	read.Gives = form
	restapi.Register(api, read, func(ctx context.Context, in *OfEntry) (*documentOutput, error) { return s.answer(ctx, d, in) })
	set := sectionOperation("set"+s.id, http.MethodPut, one, s.tag, "Add or replace one "+s.summary)
	set.Takes, set.Gives = form, form
	restapi.Register(api, set, func(ctx context.Context, in *setEntryInput) (*documentOutput, error) {
		if err := checkJSON(in.RawBody); err != nil {
			return nil, err
		}
		index, err := d.SetSection(ctx, in.WorkspaceID, in.IfMatch, in.RawBody, s.path(in.Name)...)
		if err != nil {
			return nil, err
		}
		return sectionOutput(sectionOf(index, s.path(in.Name)...), index.Revision), nil
	})
	restapi.Register(api, sectionOperation("delete"+s.id, http.MethodDelete, one, s.tag, "Delete one "+s.summary),
		func(ctx context.Context, in *deleteEntryInput) (*deletedOutput, error) {
			out := &deletedOutput{}
			out.Body.ID = in.Name
			_, err := d.SetSection(ctx, in.WorkspaceID, in.IfMatch, nil, s.path(in.Name)...)
			return out, err
		})
}

// path is where an entry stands in the index.
func (s section) path(name string) []string { return append(append([]string{}, s.at...), name) }

func (s section) answer(ctx context.Context, d *definitions.Definitions, in *OfEntry) (*documentOutput, error) {
	value, revision, err := d.Section(ctx, in.WorkspaceID, "", s.path(in.Name)...)
	if err != nil {
		return nil, err
	}
	if value == nil {
		return nil, errs.Missing(s.route, in.Name)
	}
	return sectionOutput(value, revision), nil
}
