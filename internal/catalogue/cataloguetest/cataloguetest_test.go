package cataloguetest_test

import (
	"fmt"
	"strings"
	"testing"

	"atelier/internal/bus"
	"atelier/internal/catalogue/cataloguetest"
)

// noting keeps what fails instead of failing.
type noting struct {
	testing.TB
	said string
}

func (n *noting) Errorf(format string, args ...any) { n.said += fmt.Sprintf(format, args...) }

func TestConforms(t *testing.T) {
	t.Parallel()
	const native = `"source":{"host":{"service":"workspaces"}}`
	for name, c := range map[string]struct{ eventType, body, wrong string }{
		"right":         {"workspaces.pages.deleted", `{"payload":{"pageSlug":"a"},` + native + `}`, ""},
		"of a user":     {"mine", `{"payload":1,"source":{}}`, ""},
		"unknown":       {"workspaces.invented", `{"payload":{},` + native + `}`, "workspaces.invented is not in the catalogue"},
		"a field more":  {"workspaces.pages.deleted", `{"payload":{"pageSlug":"a","x":1},` + native + `}`, `unknown field "x"`},
		"a field less":  {"workspaces.pages.deleted", `{"payload":{},` + native + `}`, "workspaces.pages.deleted has no pageSlug"},
		"another shape": {"workspaces.pages.deleted", `{"payload":{"pageSlug":1},` + native + `}`, "cannot unmarshal number"},
	} {
		n := &noting{TB: t}
		cataloguetest.Conforms(n, bus.Event{Type: c.eventType, Body: []byte(c.body)})
		if (n.said == "") != (c.wrong == "") || !strings.Contains(n.said, c.wrong) {
			t.Errorf("%s: %s", name, n.said)
		}
	}
}
