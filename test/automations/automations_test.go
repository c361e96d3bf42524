// Package automations_test holds the language against its description through HTTP: each case of testdata is a workspace with
// automations, a call, and what must come of it.
package automations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/dsul"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testCase is one entry of a file in testdata.
type testCase struct {
	Name string `yaml:"name"`
	// Index is what is changed in the definition of the workspace, such as its configuration.
	Index map[string]any `yaml:"index"`
	// Automations are those of the workspace by slug. A case with one that is called main writes its fields here.
	Automations map[string]yaml.Node `yaml:"automations"`
	Do          yaml.Node            `yaml:"do"`
	Output      yaml.Node            `yaml:"output"`
	Arguments   yaml.Node            `yaml:"arguments"`
	// Calls are made one after the other.
	Calls []call `yaml:"calls"`
	// A case with one call writes its fields here.
	call `yaml:",inline"`
}

// call is a request to an endpoint and what must come back.
type call struct {
	Method  string            `yaml:"method"`
	Path    string            `yaml:"path"`
	Body    any               `yaml:"body"`
	Headers map[string]string `yaml:"headers"`
	// As is who calls: admin, or nobody when it is empty.
	As     string `yaml:"as"`
	Status int    `yaml:"status"`
	// Gives is the whole answer; Has are parts of it by their paths; Error is the code of a failure and Says a part of its message.
	Gives any            `yaml:"gives"`
	Has   map[string]any `yaml:"has"`
	Error string         `yaml:"error"`
	Says  string         `yaml:"says"`
	Text  string         `yaml:"text"`
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	onEach(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Admin()
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yml"), func(t *testing.T) {
				for _, c := range read(t, file) {
					t.Run(c.Name, func(t *testing.T) { c.run(t, s.On(t), admin.Token) })
				}
			})
		}
	})
}

// onEach runs a scenario on the embedded engines and on PostgreSQL.
func onEach(t *testing.T, scenario func(t *testing.T, s *apptest.Server)) {
	t.Helper()
	settings := []string{"DISABLE_RATE_LIMIT=true", "REQUEST_TIMEOUT=20s"}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		scenario(t, apptest.New(t, settings...))
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		scenario(t, apptest.Start(t, clock.System{}, append(settings, "DATABASE_URL="+sqldbtest.PostgresURL(t), "DATA_DIR="+t.TempDir())...))
	})
}

func read(t *testing.T, file string) []testCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&cases); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return cases
}

func (c testCase) run(t *testing.T, s *apptest.Server, token string) {
	t.Helper()
	admin := s.Anyone()
	admin.Token = token
	workspace := admin.Post("/v2/workspaces", map[string]any{"name": "Case"}).Want(http.StatusCreated).Text("id")
	if c.Index != nil {
		admin.Patch("/v2/workspaces/"+workspace, c.Index).Want(http.StatusOK)
	}
	for _, definition := range c.definitions() {
		admin.Post("/v2/workspaces/"+workspace+"/automations", definition).Want(http.StatusCreated)
	}
	calls := c.Calls
	if calls == nil {
		calls = []call{c.call}
	}
	for i, one := range calls {
		caller := s.Anyone()
		if one.As == "admin" {
			caller = admin
		}
		for key, v := range one.Headers {
			caller = caller.With(key, v)
		}
		one.check(t, i, caller, workspace)
	}
}

// definitions are the automations as JSON, with their keys in the order of the file.
func (c testCase) definitions() (all []string) {
	for slug, node := range c.Automations {
		all = append(all, definition(slug, &node))
	}
	if c.Do.IsZero() && c.Output.IsZero() {
		return all
	}
	node := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, v *yaml.Node) {
		if !v.IsZero() {
			node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, v)
		}
	}
	var when yaml.Node
	_ = when.Encode(map[string]any{"endpoint": true})
	add("when", &when)
	add("do", &c.Do)
	add("output", &c.Output)
	add("arguments", &c.Arguments)
	return append(all, definition("main", node))
}

// definition is an automation as JSON; what every one needs is added.
func definition(slug string, node *yaml.Node) string {
	has := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		has[node.Content[i].Value] = true
	}
	text := strings.TrimSuffix(string(dsul.JSON(node)), "}")
	for key, v := range map[string]string{"slug": slug, "name": slug, "do": "[]"} {
		if has[key] {
			continue
		}
		if key != "do" {
			v = fmt.Sprintf("%q", v)
		}
		if len(text) > 1 {
			text += ","
		}
		text += fmt.Sprintf("%q:%s", key, v)
	}
	return text + "}"
}

func (c call) check(t *testing.T, i int, caller *apptest.Client, workspace string) {
	t.Helper()
	if c.Method == "" {
		c.Method = http.MethodPost
	}
	if c.Path == "" {
		c.Path = "main"
	}
	if c.Status == 0 {
		c.Status = http.StatusOK
		if c.Error != "" {
			c.Status = http.StatusBadRequest
		}
	}
	body := c.Body
	if body == nil && c.Method != http.MethodGet {
		body = map[string]any{}
	}
	answer := caller.Do(c.Method, "/v2/workspaces/"+workspace+"/webhooks/"+c.Path, body)
	if answer.Status != c.Status {
		t.Fatalf("call %d: status %d, want %d: %s", i, answer.Status, c.Status, answer.Body)
	}
	if c.Error != "" && answer.Text("error") != c.Error {
		t.Errorf("call %d: the error is %s, want %s: %s", i, answer.Text("error"), c.Error, answer.Body)
	}
	if c.Says != "" && !strings.Contains(answer.Text("message"), c.Says) {
		t.Errorf("call %d: the message does not say %q: %s", i, c.Says, answer.Body)
	}
	if c.Text != "" && string(answer.Body) != c.Text {
		t.Errorf("call %d: got %q, want %q", i, answer.Body, c.Text)
	}
	if c.Gives != nil {
		if diff := cmp.Diff(plain(t, c.Gives), decoded(t, answer.Body)); diff != "" {
			t.Errorf("call %d: (-want +got)\n%s", i, diff)
		}
	}
	for path, want := range c.Has {
		if diff := cmp.Diff(plain(t, want), plain(t, answer.At(path))); diff != "" {
			t.Errorf("call %d: %s (-want +got)\n%s%s", i, path, diff, answer.Body)
		}
	}
}

// plain is a value as JSON gives it.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, text)
}

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
