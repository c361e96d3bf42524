package definitions

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/workspaces/internal/store"
)

// owned is what the service itself says of a document, by the key under which clients see it.
func (s Stored) owned() map[string]json.RawMessage {
	said := map[string]any{
		"createdAt": s.CreatedAt, "createdBy": s.CreatedBy, "updatedAt": s.UpdatedAt, "updatedBy": s.UpdatedBy, "checksum": s.Hash,
	}
	if s.Parsed.Kind == dsul.Page {
		said["id"], said["workspaceId"], said["workspaceSlug"] = s.ObjectID, s.Workspace.ID, s.Workspace.Slug
	}
	if s.Parsed.Kind == dsul.Automation || s.Parsed.Kind == dsul.Page {
		said["events"] = s.Parsed.Summary().Events
	}
	owned := make(map[string]json.RawMessage, len(said))
	for key, value := range said {
		text, err := json.Marshal(value)
		if err == nil {
			owned[key] = text
		}
	}
	return owned
}

// JSON is the document as clients see it: what was written, and what the service says of it.
func (s Stored) JSON() (json.RawMessage, error) {
	text, err := s.Parsed.JSON()
	if err != nil {
		return nil, err
	}
	owned := s.owned()
	if _, ok := owned["slug"]; !ok && !s.Parsed.Kind.Single() {
		owned["slug"], _ = json.Marshal(s.Parsed.Slug)
	}
	return overlay(text, owned)
}

// overlay gives an object other values for some keys, and keeps the order of the rest.
func overlay(object []byte, with map[string]json.RawMessage) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, err
	}
	var out bytes.Buffer
	out.WriteByte('{')
	add := func(key string, value []byte) {
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		name, _ := json.Marshal(key)
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		if _, replaced := with[key.(string)]; !replaced {
			add(key.(string), value) //nolint:forcetypeassert // keys of objects are texts
		}
	}
	for _, key := range sortedKeys(with) {
		add(key, with[key])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// Meta is a document as lists show it.
type Meta struct {
	dsul.Summary

	ID        string    `json:"id,omitempty" doc:"The id of a page."`
	Checksum  string    `json:"checksum" doc:"The SHA-256 of the text."`
	CreatedAt time.Time `json:"createdAt" doc:"When it was made."`
	CreatedBy string    `json:"createdBy,omitempty" doc:"By whom."`
	UpdatedAt time.Time `json:"updatedAt" doc:"When it was last changed."`
	UpdatedBy string    `json:"updatedBy,omitempty" doc:"By whom."`
}

// AppendMeta appends the JSON of a Meta. The summary is stored as such, so that a long list need not be read to be shown.
func AppendMeta(out []byte, d store.Document) []byte {
	out = append(out, strings.TrimSuffix(d.Summary, "}")...)
	add := func(key, value string) {
		if value == "" {
			return
		}
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, key...)
		out = append(out, `":"`...)
		out = append(out, value...) // ids, hashes and times: nothing that JSON would escape
		out = append(out, '"')
	}
	add("id", d.ObjectID)
	add("checksum", d.Hash)
	add("createdAt", d.CreatedAt.Format(time.RFC3339Nano))
	add("createdBy", d.CreatedBy)
	add("updatedAt", d.UpdatedAt.Format(time.RFC3339Nano))
	add("updatedBy", d.UpdatedBy)
	return append(out, '}')
}

// MetaOf is what lists show of a stored document.
func MetaOf(d store.Document) (Meta, error) {
	m := Meta{ID: d.ObjectID, Checksum: d.Hash, CreatedAt: d.CreatedAt, CreatedBy: d.CreatedBy, UpdatedAt: d.UpdatedAt, UpdatedBy: d.UpdatedBy}
	err := json.Unmarshal([]byte(d.Summary), &m.Summary)
	_, m.Slug, _ = dsul.SplitPath(d.Path)
	return m, err
}

// PageFields is what the conditions of rules on pages look at, of a page of the workspace that the ability is about.
func PageFields(a *access.Ability, d store.Document) access.Fields {
	fields := access.Fields{"id": d.ObjectID, "workspaceId": a.WorkspaceID(), "createdBy": d.CreatedBy, "public": a.IsPublic(d.ObjectID)}
	var summary dsul.Summary
	if json.Unmarshal([]byte(d.Summary), &summary) == nil {
		fields["labels"] = summary.Labels
		var name any
		if json.Unmarshal(summary.Name, &name) == nil {
			fields["name"] = name
		}
	}
	_, fields["slug"], _ = dsul.SplitPath(d.Path)
	return fields
}
