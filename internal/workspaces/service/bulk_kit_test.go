package service_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"atelier/internal/access"
	"atelier/internal/gitcmd/gittest"
	"atelier/internal/workspaces/service"
)

const (
	bulkPush   = "/v2/workspaces/platform/versions"
	bulkImport = "/v2/workspaces/platform/versions/latest/pull"
	platform   = "/v2/workspaces/platform"
)

// eachFleet runs a test on a new studio whose platform has the repository hub, and groups.
func eachFleet(t *testing.T, run func(t *testing.T, s *studio)) {
	t.Helper()
	eachStudio(t, func(t *testing.T, s *studio) {
		s.server.Create("hub")
		s.fleet(nil)
		run(t, s)
	})
}

// fleet configures the platform, with more variables, and starts the service anew.
func (s *studio) fleet(more map[string]string) {
	s.t.Helper()
	remote := s.server.Remote("hub")
	s.platform(map[string]string{
		"WORKSPACES_STORAGE_GIT_PLATFORM_hub_URL": remote.URL, "WORKSPACES_STORAGE_GIT_PLATFORM_hub_AUTH_USER": remote.User,
		"WORKSPACES_STORAGE_GIT_PLATFORM_hub_AUTH_PASSWORD": remote.Password, "WORKSPACES_STORAGE_GIT_PLATFORM_hub_DIRPATH": "env",
		"WORKSPACES_GROUP_base_LABELS": "team:base,team:core", "WORKSPACES_GROUP_extra_LABELS": "team:extra",
	}, more)
}

// platform reads what the operator configured from variables.
func (h *house) platform(parts ...map[string]string) {
	h.t.Helper()
	environ := func(prefix string) map[string]string {
		found := map[string]string{}
		for _, part := range parts {
			for name, value := range part {
				if rest, ok := strings.CutPrefix(name, prefix); ok {
					found[rest] = value
				}
			}
		}
		return found
	}
	settings := service.PlatformSettings{}
	for _, part := range parts {
		if groups := part["STARTUP_IMPORT_GROUPS"]; groups != "" {
			settings.StartupGroups, settings.StartupRepository = strings.Split(groups, ","), part["STARTUP_IMPORT_REPOSITORY"]
		}
	}
	var err error
	if h.deps.Platform, err = service.ReadPlatform(environ, settings); err != nil {
		h.t.Fatal(err)
	}
	h.open()
}

// labelled makes a workspace with a slug, a label and an automation.
func (c *caller) labelled(slug, label string) string {
	c.house.t.Helper()
	made := c.post("/v2/workspaces", map[string]any{"name": "Name of " + slug, "slug": slug, "labels": []string{label}}).want(http.StatusCreated)
	at := "/v2/workspaces/" + made.text("id")
	c.automation(at, "hello", map[string]any{"description": "of " + slug})
	return at
}

// hub puts a commit onto the branch of the platform repository.
func (s *studio) hub(files map[string]string) string {
	s.t.Helper()
	texts := map[string][]byte{}
	for name, text := range files {
		texts["env/"+name] = []byte(text)
	}
	return s.server.Commit("hub", "main", texts)
}

// stored is what a workspace of the platform repository looks like: groups and dependencies are separated by commas.
func stored(slug, version, groups, needs, app string) map[string]string {
	info := "version:\n  type: export\n  name: " + version + "\n"
	if groups != "" {
		info += "groups: [" + groups + "]\n"
	}
	if needs != "" {
		info += "dependsOn: [" + needs + "]\n"
	}
	if app != "" {
		info += "app:\n  slug: " + app + "\n  name: App " + app + "\n"
	}
	return map[string]string{
		slug + "/index.yml": "name: Name of " + slug + "\nslug: " + slug + "\ndescription: what it is\nphoto: https://example.test/a.png\n", slug + "/automations/hello.yml": "slug: hello\nname: hello\ndescription: " + version + "\ndo: []\n",
		slug + "/.import.yml": info,
	}
}

func joined(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// statuses are those of the workspaces of a completed bulk operation, in their order: "a=imported b=error".
func (a *answer) statuses() string {
	a.t.Helper()
	var done struct {
		Workspaces []struct{ Slug, Status string }
	}
	if err := json.Unmarshal(a.body.Bytes(), &done); err != nil {
		a.t.Fatalf("%s: %v\n%s", a.what, err, a.body)
	}
	var list []string
	for _, w := range done.Workspaces {
		list = append(list, w.Slug+"="+w.Status)
	}
	return strings.Join(list, " ")
}

func (a *answer) wantStatuses(want string) *answer {
	a.t.Helper()
	if got := a.statuses(); got != want {
		a.t.Fatalf("%s: %s, want %s\n%s", a.what, got, want, a.body)
	}
	return a
}

// length is that of the list at a path.
func (a *answer) length(path string) int {
	a.t.Helper()
	list, _ := a.at(path).([]any)
	return len(list)
}

func inHub(more ...any) map[string]any {
	body := map[string]any{"repository": map[string]any{"id": "hub"}}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

func (c *caller) slug(slug string) *answer {
	c.house.t.Helper()
	return c.get("/v2/workspaces/slug:" + slug)
}

func (s *studio) hubFile(path string) string {
	s.t.Helper()
	return gittest.Run(s.t, s.server.Path("hub"), "show", "main:env/"+path)
}

// onDisk writes files below a directory.
func onDisk(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// counts fails unless there are as many events of each kind: "started progress completed".
func (h *house) wantBulkEvents(operation string, started, progress, completed int) {
	h.t.Helper()
	got := fmt.Sprint(len(h.events(platform, "workspaces."+operation+".started")), len(h.events(platform, "workspaces."+operation+".progress")), len(h.events(platform, "workspaces."+operation+".completed")))
	if want := fmt.Sprint(started, progress, completed); got != want {
		h.t.Fatalf("events of %s: %s, want %s", operation, got, want)
	}
}

// again is another instance on the same database, as a super admin sees it.
func (s *studio) again() *caller {
	s.t.Helper()
	other := *s.house
	built := service.New(other.deps)
	other.built, other.door = built, built.API.Handler()
	return other.superAdmin()
}

// works runs what an instance does in the background until the given function is called, which waits for its end.
func (h *house) works(run func(ctx context.Context) error) (stop func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				h.t.Errorf("it ended with %v", err)
			}
		})
	}
	h.t.Cleanup(stop)
	return stop
}

// instance starts another instance on the same database, with what it does in the background.
func (s *studio) instance() {
	s.t.Helper()
	built := service.New(s.deps)
	s.works(built.Sync)
	s.works(built.Bulk)
}

// streamed asks for a stream over a real connection.
func (s *studio) streamed(c *caller, body string) (answer *http.Response, end func()) {
	s.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.door.ServeHTTP(w, r.WithContext(access.With(r.Context(), c.who)))
	}))
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, server.URL+bulkPush+"?sse=true", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if answer, err = server.Client().Do(r); err != nil {
		s.t.Fatal(err)
	}
	return answer, func() {
		_ = answer.Body.Close()
		server.Close()
	}
}
