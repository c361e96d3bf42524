package definitions

import (
	"context"
	"slices"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
)

// PutSecurity replaces the security document by what a caller sent as JSON or YAML. It is validated first, so that what is
// wrong is named in the words of the document; the text that is kept then changes only where it has to.
func (e *Edit) PutSecurity(ctx context.Context, document []byte) error {
	if _, err := access.ParseSecurity(document); err != nil {
		return err
	}
	given, problems := dsul.Parse(dsul.Security, "", document)
	if err := problems.Err(); err != nil {
		return err
	}
	dropKey(given.Root, "authentication") // which client the pages have is not for the document to say
	text, ext := dsul.Encode(given.Root), ".yml"
	before, err := e.Get(ctx, string(dsul.Security))
	if err != nil {
		return err
	}
	if before != nil {
		ext = before.Ext
		if text, err = splice.Replace(before.Parsed.Text, given.Root); err != nil {
			return err
		}
	}
	doc, problems := dsul.Parse(dsul.Security, "", text)
	if err := problems.Err(); err != nil {
		return err
	}
	return e.Put(ctx, doc, ext)
}

// dropKey takes a key out of a mapping.
func dropKey(mapping *yaml.Node, key string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			mapping.Content = slices.Delete(mapping.Content, i, i+2)
			return
		}
	}
}
