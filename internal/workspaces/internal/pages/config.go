package pages

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/workspaces/internal/definitions"
)

// config puts the values of a configuration in the place of the variables that name them. What it does not know stays as
// it was written, for whoever knows more.
type config struct {
	// names are those under which templates know the configuration.
	names  []string
	values *value.Object
	// left is how many bytes of text may still be made for the page. A small template with a large value could fill any memory.
	left *int
}

// ofWorkspace is the configuration of a workspace without what is secret.
func ofWorkspace(index *dsul.Document) *config {
	left := largest
	values := open(index.Get("config", "schema"), index.Get("config", "value"))
	c := &config{names: []string{"config"}, values: values, left: &left}
	c.values = c.filled(values)
	return c
}

// of is the configuration of an app instance of the workspace: what the instance says, whose texts may name the configuration
// of the workspace, above what the app says, whose texts may name all of it. The instance never reads what the app has for
// itself.
func (c *config) of(app, instance *dsul.Document) *config {
	schema := app.Get("config", "schema")
	own, given := open(schema, app.Get("config", "value")), c.filled(open(schema, instance.Get("config")))
	all := value.NewObject(own.Len() + given.Len())
	for _, part := range []*value.Object{own, given} {
		for key, v := range part.All() {
			all.Set(key, v)
		}
	}
	inside := &config{names: []string{"config", "appConfig"}, values: all, left: c.left}
	merged := inside.filled(own)
	for key, v := range given.All() {
		merged.Set(key, v)
	}
	inside.values = merged
	return inside
}

// spent tells that more text was asked for than may be made.
func (c *config) spent() bool { return *c.left < 0 }

// spend takes something from what may be made for the page.
func (c *config) spend(bytes int) { *c.left -= bytes }

// filled is fill of an object.
func (c *config) filled(object *value.Object) *value.Object {
	all := value.NewObject(object.Len())
	for key, v := range object.All() {
		all.Set(key, c.fill(v))
	}
	return all
}

// fill gives a value whose texts have no variable any more that the configuration knows.
func (c *config) fill(v any) any {
	if c.spent() {
		return v
	}
	switch v := v.(type) {
	case string:
		return c.text(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = c.fill(item)
		}
		return list
	case *value.Object:
		return c.filled(v)
	default:
		return v
	}
}

var variable = regexp.MustCompile(`\{\{([^{}]+)\}\}`) //nolint:gochecknoglobals // compiled once, never changed

// text fills a text. One that is nothing but a variable becomes its value, whatever that is.
func (c *config) text(template string) any {
	if !strings.Contains(template, "{{") {
		return template
	}
	found := variable.FindAllStringSubmatchIndex(template, -1)
	if len(found) == 1 && found[0][0] == 0 && found[0][1] == len(template) {
		if v := c.lookup(template[found[0][2]:found[0][3]]); known(v) {
			return v
		}
		return template
	}
	var filled strings.Builder
	at := 0
	for _, place := range found {
		v := c.lookup(template[place[2]:place[3]])
		if !known(v) {
			continue
		}
		text, _ := value.Text(v, max(*c.left, 0))
		if c.spend(len(text)); c.spent() {
			return template
		}
		filled.WriteString(template[at:place[0]])
		filled.WriteString(text)
		at = place[1]
	}
	filled.WriteString(template[at:])
	return filled.String()
}

// lookup gives the value of a variable; undefined when the configuration has none.
func (c *config) lookup(path string) any {
	steps, err := expr.ParsePath(path)
	if err != nil || !slices.Contains(c.names, steps[0].Key) {
		return value.Undefined{}
	}
	var v any = c.values
	for _, step := range steps[1:] {
		v = value.Get(v, step.Key)
	}
	return v
}

func known(v any) bool { return v != value.Undefined{} }

// open gives a configuration without what its schema calls secret, and without the texts that refer to secrets: not even
// their names are for everybody.
func open(schema, values *yaml.Node) *value.Object {
	opened, ok := withoutReferences(value.From(definitions.OpenConfig(dsul.JSON(schema), dsul.JSON(values)))).(*value.Object)
	if !ok {
		return value.NewObject(0)
	}
	return opened
}

func withoutReferences(v any) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "{{secret") {
			return value.Undefined{}
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = withoutReferences(item)
		}
		return list
	case *value.Object:
		object := value.NewObject(v.Len())
		for key, item := range v.All() {
			object.Set(key, withoutReferences(item))
		}
		return object
	default:
		return v
	}
}
