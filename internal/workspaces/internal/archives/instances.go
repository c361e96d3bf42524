package archives

import (
	"context"
	"encoding/json"
	"strings"

	"atelier/internal/dsul"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// safeInstances gives the texts of app instances that cannot leave as they are, by their path: without the values that
// their apps call secret. They are made beforehand, because the archive has their checksums.
func (a *Archives) safeInstances(ctx context.Context, workspaceID string, tree []store.Entry) (map[string][]byte, error) {
	safe, known := map[string][]byte{}, schemas{}
	if a.Apps == nil {
		return safe, nil
	}
	for _, entry := range tree {
		kind, slug, _ := dsul.SplitPath(entry.Path)
		if kind != dsul.Import {
			continue
		}
		text, err := store.Text(ctx, a.DB, workspaceID, entry.Hash)
		if err != nil {
			return nil, err
		}
		instance, _ := dsul.Parse(kind, slug, text)
		if instance == nil || instance.Root == nil || instance.Get("config") == nil {
			continue
		}
		schema, err := known.of(ctx, a, instance)
		if err != nil {
			return nil, err
		}
		cleared, removed, err := without(instance, func(doc *dsul.Document) []leak { return instanceSecrets(schema, doc) })
		if err != nil {
			return nil, err
		}
		if len(removed) > 0 {
			safe[entry.Path] = cleared.Text
		}
	}
	return safe, nil
}

// schemas are those of the apps that were asked for, by app and version.
type schemas map[[2]string]json.RawMessage

func (s schemas) of(ctx context.Context, a *Archives, instance *dsul.Document) (json.RawMessage, error) {
	summary := instance.Summary()
	use := [2]string{summary.AppSlug, summary.AppVersion}
	schema, seen := s[use]
	if seen {
		return schema, nil
	}
	schema, err := a.Apps.Schema(ctx, a.DB, summary.AppSlug, summary.AppVersion)
	s[use] = schema
	return schema, err
}

// instanceSecrets finds the values of an app instance that its app calls secret, unless they only name a secret, or a value
// of the workspace's configuration.
func instanceSecrets(schema json.RawMessage, instance *dsul.Document) (leaks []leak) {
	for _, path := range definitions.InstanceSecrets(schema, instance) {
		if n := instance.Get(path...); !isReference(n) && !namesConfig(n.Value) {
			leaks = append(leaks, leak{path: path})
		}
	}
	return leaks
}

func namesConfig(text string) bool {
	inside, begins := strings.CutPrefix(strings.TrimSpace(text), "{{config.")
	name, ends := strings.CutSuffix(inside, "}}")
	return begins && ends && !strings.ContainsAny(name, "{}")
}

// Secrets are the places of a document that have a value which must not leave: somebody wrote it where only the name of a
// secret may stand.
func (a *Archives) Secrets(ctx context.Context, doc *dsul.Document) ([]string, error) {
	find := leaving
	switch {
	case doc.Kind == dsul.Import && a.Apps != nil:
		schema, err := schemas{}.of(ctx, a, doc)
		if err != nil {
			return nil, err
		}
		find = func(instance *dsul.Document) []leak { return instanceSecrets(schema, instance) }
	case doc.Kind != dsul.Index:
		return nil, nil
	}
	var places []string
	for _, one := range find(doc) {
		places = append(places, one.String())
	}
	return places, nil
}
