package archives

import (
	"bytes"
	"context"

	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/workspaces/internal/definitions"
)

// keepSecrets gives a document of an archive the secret values that the workspace has and that no archive carries: so
// importing what was exported changes nothing, and nothing is lost by it.
func (a *Archives) keepSecrets(ctx context.Context, e *definitions.Edit, doc document) (document, error) {
	if doc.Kind != dsul.Index && (doc.Kind != dsul.Import || a.Apps == nil) {
		return doc, nil
	}
	local, err := e.Get(ctx, doc.Path())
	if err != nil || local == nil {
		return doc, err
	}
	find := leaving
	if doc.Kind == dsul.Import {
		schema, err := schemas{}.of(ctx, a, local.Parsed)
		if err != nil {
			return doc, err
		}
		find = func(instance *dsul.Document) []leak { return instanceSecrets(schema, instance) }
	}
	safe, kept, err := without(local.Parsed, find)
	if err != nil || len(kept) == 0 {
		return doc, err
	}
	if bytes.Equal(safe.Text, doc.Text) {
		return document{local.Parsed, local.Ext}, nil
	}
	return filled(doc, local.Parsed, kept)
}

// filled is a document with the values of another one, where it has the place for them but no value.
func filled(doc document, from *dsul.Document, kept []leak) (document, error) {
	text := doc.Text
	for _, secret := range kept {
		place, value := secret.path[:len(secret.path)-1], from.Get(secret.path...)
		if value == nil || doc.Get(secret.path...) != nil || doc.Get(place...) == nil {
			continue
		}
		with, err := splice.Set(text, secret.path, value)
		if err != nil {
			continue // the archive has something else there
		}
		text = with
	}
	if bytes.Equal(text, doc.Text) {
		return doc, nil
	}
	parsed, problems := dsul.Parse(doc.Kind, doc.Slug, text)
	return document{parsed, doc.ext}, problems.Err()
}
