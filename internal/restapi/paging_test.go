package restapi_test

import (
	"context"
	"net/http"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
)

func cursors(t testing.TB) *restapi.Cursors {
	t.Helper()
	c, err := restapi.NewCursors("an internal key")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func as(ctx context.Context, user string) context.Context {
	return access.With(ctx, access.Principal{Kind: access.User, UserID: user})
}

func TestCursorIsBound(t *testing.T) {
	t.Parallel()
	c := cursors(t)
	ctx := as(t.Context(), "alice")
	sealed, err := c.Seal(ctx, "list?sort=name", 40)
	if err != nil {
		t.Fatal(err)
	}
	var place int
	if err := c.Open(ctx, "list?sort=name", sealed, &place); err != nil || place != 40 {
		t.Fatalf("%d %v", place, err)
	}
	others, err := restapi.NewCursors("another key")
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for name, err := range map[string]error{
		"another caller":        c.Open(as(t.Context(), "bob"), "list?sort=name", sealed, &place),
		"nobody":                c.Open(t.Context(), "list?sort=name", sealed, &place),
		"another list":          c.Open(ctx, "list?sort=slug", sealed, &place),
		"another installation":  others.Open(ctx, "list?sort=name", sealed, &place),
		"a place of other type": c.Open(ctx, "list?sort=name", sealed, &text),
		"caller and list mixed": c.Open(as(t.Context(), "alicelist"), "?sort=name", sealed, &place),
	} {
		if errs.CodeOf(err) != errs.InvalidParameter {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing but a sealed cursor opens, in exactly its own spelling.
func FuzzCursorOpen(f *testing.F) {
	c := cursors(f)
	ctx := as(context.Background(), "alice")
	sealed, _ := c.Seal(ctx, "list", 40)
	for _, seed := range []string{sealed, sealed + "=", sealed[:len(sealed)-1], "\n" + sealed, "", "AAAA", "....", sealed + sealed} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		var place any
		if err := c.Open(ctx, "list", cursor, &place); (err == nil) != (cursor == sealed) {
			t.Errorf("%q: %v", cursor, err)
		}
	})
}

func TestCheckIfMatch(t *testing.T) {
	t.Parallel()
	for header, ok := range map[string]bool{
		"": true, "*": true, " * ": true, `"7"`: true, `"6", "7"`: true, `"6","7"`: true,
		`"6"`: false, "7": false, `W/"7"`: false, `"77"`: false, `""`: false, ",": false, `"7`: false, `"*"`: false,
	} {
		err := restapi.CheckIfMatch(header, restapi.ETag(7))
		if (err == nil) != ok {
			t.Errorf("%q: %v", header, err)
		}
		if err != nil && errs.From(err).Status() != http.StatusPreconditionFailed {
			t.Errorf("%q: status %d", header, errs.From(err).Status())
		}
	}
}
