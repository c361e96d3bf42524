package splice_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
)

// A client that reads a document as JSON and writes it back as it is changes nothing in the text, and what was edited is
// still a document: both packages agree on what a text means.
func TestReadAndWrittenBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, text := random(t, written{linked: rapid.Bool().Draw(t, "linked"), kept: true})
		document, problems := dsul.Parse(dsul.Page, "p", text)
		if len(problems) > 0 {
			return // such as a list at the root
		}
		raw, err := document.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, problems := dsul.FromJSON(dsul.Page, "p", raw)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if out := must(t, text)(splice.Replace(text, back.Root)); !bytes.Equal(out, text) {
			t.Fatalf("written back:\n%s\n--- became\n%s", text, out)
		}
		out := must(t, text)(splice.Set(text, []string{"new key"}, back.Root))
		edited, problems := dsul.Parse(dsul.Page, "p", out)
		if len(problems) > 0 || string(dsul.JSON(edited.Get("new key"))) != string(raw) {
			t.Fatalf("%v in\n%s", problems, out)
		}
	})
}
