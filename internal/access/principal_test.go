package access_test

import (
	"errors"
	"reflect"
	"testing"

	"atelier/internal/access"
)

// Whoever acts is the caller of the context afterwards, also nobody where somebody called.
func TestAs(t *testing.T) {
	t.Parallel()
	ann := access.With(t.Context(), access.Principal{Kind: access.User, UserID: "ann", SuperAdmin: true})
	for _, p := range []access.Principal{
		{}, {Kind: access.User, UserID: "bob"}, {SourceWorkspace: "w"}, {Refused: errors.New("no")},
	} {
		if got := access.From(access.As(ann, p)); !reflect.DeepEqual(got, p) {
			t.Errorf("%+v instead of %+v", got, p)
		}
		if got := access.From(access.As(t.Context(), p)); !reflect.DeepEqual(got, p) {
			t.Errorf("where nobody called: %+v instead of %+v", got, p)
		}
	}
	if access.As(t.Context(), access.Principal{}) != t.Context() {
		t.Error("nobody is mentioned")
	}
}
