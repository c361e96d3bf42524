// Package manners_test is a hostile client at the public door. Tests and cases are named by the catalogue of bad input
// (B-...) and of faults (F-...) where it has an id for them.
package manners_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for something that should happen at once.
const patience = 10 * time.Second

// door is a running server and the token of its super admin.
type door struct {
	*apptest.Server
	token string
}

// start starts a server with fast keys. When the test ends the server must not have blamed itself for anything: no input
// may cause a panic or an internal fault.
func start(t *testing.T, settings ...string) *door {
	t.Helper()
	return opened(t, apptest.New(t, append(settings, fastKeys()...)...))
}

// startAt is start on a clock that the test moves.
func startAt(t *testing.T, settings ...string) (*door, *clock.Manual) {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	settings = append(settings, fastKeys()...)
	return opened(t, apptest.Start(t, clk, append(settings, "DATA_DIR="+t.TempDir())...)), clk
}

// startSplit is start with each service in a process of its own, as far as it can tell.
func startSplit(t *testing.T, settings ...string) *door {
	t.Helper()
	front := apptest.Listen(t)
	public := "http://" + front.Addr().String() + "/v2"
	settings = append(settings, fastKeys()...)
	settings = append(settings, "DATABASE_URL="+sqldbtest.PostgresURL(t), "DATABASE_MAX_CONNS=8", "WORKSPACES_STORAGE_FILESYSTEM_DIRPATH="+t.TempDir())
	gateway := []string{"TARGET=gateway"}
	var behind []*apptest.Server
	for _, service := range []string{"workspaces", "events", "runtime"} {
		server := apptest.New(t, append([]string{"TARGET=" + service, "API_URL=" + public}, settings...)...)
		gateway = append(gateway, strings.ToUpper(service)+"_API_URL="+server.URL)
		behind = append(behind, server)
	}
	d := opened(t, apptest.StartOn(t, clock.System{}, front, append(append(gateway, settings...), "DATA_DIR="+t.TempDir())...))
	for _, server := range behind {
		mustNotBlameItself(t, server)
	}
	return d
}

// admin calls as the super admin, on behalf of one test.
func (d *door) admin(t *testing.T) *apptest.Client {
	t.Helper()
	c := apptest.NewClient(t, d.URL)
	c.Token = d.token
	return c
}

// anyone calls without a credential, on behalf of one test.
func (d *door) anyone(t *testing.T) *apptest.Client {
	t.Helper()
	return apptest.NewClient(t, d.URL)
}

// TestDoor runs what needs only a server with its default settings on one that all of it shares.
func TestDoor(t *testing.T) {
	t.Parallel()
	atTheDoor(t, start(t))
}

// TestSplitDoor runs the same against a gateway whose services are other processes: nobody can tell.
func TestSplitDoor(t *testing.T) {
	t.Parallel()
	atTheDoor(t, startSplit(t))
}

func atTheDoor(t *testing.T, d *door) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *door){
		"MalformedHTTP":           malformedHTTP,
		"NothingIsSmuggled":       nothingIsSmuggled,
		"RefusalWaitsForItsTurn":  refusalWaitsForItsTurn,
		"ConnectionsAreKept":      connectionsAreKept,
		"UnreadableJSON":          unreadableJSON,
		"InvalidBodies":           invalidBodies,
		"ManyMistakesShortAnswer": manyMistakesShortAnswer,
		"PayloadIsUnchanged":      payloadIsUnchanged,
		"DeepestPayload":          deepestPayload,
		"ContentTypes":            contentTypes,
		"CompressedBodies":        compressedBodies,
		"HugeBodyIsNotRead":       hugeBodyIsNotRead,
		"LengthLies":              lengthLies,
		"AmbiguousPaths":          ambiguousPaths,
		"BadQueries":              badQueries,
		"OddIdentifiers":          oddIdentifiers,
		"ErrorShapes":             errorShapes,
		"ProblemDetails":          problemDetails,
		"OddAccepts":              oddAccepts,
		"WrongMethods":            wrongMethods,
		"HeadRequests":            headRequests,
		"CorrelationIDs":          correlationIDs,
		"Challenges":              challenges,
		"RetiredVersion":          retiredVersion,
		"BetaVersion":             betaVersion,
		"UnversionedPaths":        unversionedPaths,
		"IdentityHeaders":         identityHeaders,
		"SpoofedHosts":            spoofedHosts,
		"SecurityHeaders":         securityHeaders,
		"Compression":             compression,
		"RangesAndConditions":     rangesAndConditions,
		"Preconditions":           preconditions,
		"Lists":                   lists,
		"ForgedCursors":           forgedCursors,
		"Contract":                contractIsKept,
		"ContractIsChecked":       contractIsChecked,
		"OddKeys":                 oddKeys,
		"SimultaneousKeys":        simultaneousKeys,
		"ReadinessIsForOperators": readinessIsForOperators,
		"ReadinessReport":         readinessReport,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

func fastKeys() []string { return []string{"JWKS_ALG=ES256", "JWKS_KTY=EC"} }

func opened(t *testing.T, server *apptest.Server) *door {
	t.Helper()
	mustNotBlameItself(t, server)
	return &door{Server: server, token: server.Admin().Token}
}

func mustNotBlameItself(t *testing.T, server *apptest.Server) {
	t.Helper()
	t.Cleanup(func() {
		for line := range strings.Lines(server.Logs.String()) {
			if strings.Contains(line, `"level":"ERROR"`) {
				t.Errorf("the server blames itself: %s", line)
			}
		}
	})
}

// answer is what came back for a raw request.
type answer struct {
	*http.Response
	Text string
}

// dial opens a raw connection.
func dial(t *testing.T, d *door) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// raw sends bytes as they are and reads one answer.
func raw(t *testing.T, d *door, text string) answer {
	t.Helper()
	conn := dial(t, d)
	written := make(chan struct{})
	go func() { // a refusal may come before everything is sent
		defer close(written)
		_, _ = io.WriteString(conn, text)
	}()
	got := receive(t, bufio.NewReader(conn))
	_ = conn.Close()
	<-written
	return got
}

func receive(t *testing.T, from *bufio.Reader) answer {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatalf("the answer is cut: %v", err)
	}
	return answer{Response: response, Text: string(text)}
}

// leaks is what no answer may contain: traces of how we are made.
var leaks = regexp.MustCompile(`goroutine \d|\.go:\d|/root/|/home/|/tmp/|(?i:\bselect\b.*\bfrom\b)|sqlite|SQLSTATE|sql:|json: |strconv\.|` +
	`net/http|huma|runtime error|struct field|panic|0x[0-9a-f]{8}`)

// mustRefuse checks an error by the rules: a status of the table, a code of the specification with it, JSON, a correlation
// id, the version used, and nothing that leaks.
func mustRefuse(t *testing.T, got answer, statuses ...int) {
	t.Helper()
	if !slices.Contains(statuses, got.StatusCode) {
		t.Errorf("status %d, want one of %v\n%s", got.StatusCode, statuses, got.Text)
	}
	var body struct {
		Error   errs.Code `json:"error"`
		Message string    `json:"message"`
	}
	if err := json.Unmarshal([]byte(got.Text), &body); err != nil {
		t.Fatalf("the error is not JSON: %v\n%.500s", err, got.Text)
	}
	if kind := got.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("content type %q", kind)
	}
	if !fits(body.Error, got.StatusCode) || body.Message == "" {
		t.Errorf("code %q, message %q do not fit status %d", body.Error, body.Message, got.StatusCode)
	}
	mustBeNamed(t, got)
}

// mustBeNamed checks what every response has, whatever it says.
func mustBeNamed(t *testing.T, got answer) {
	t.Helper()
	if id := got.Header.Get("X-Correlation-Id"); !regexp.MustCompile(`^[A-Za-z0-9-]{8,64}$`).MatchString(id) {
		t.Errorf("correlation id %q", id)
	}
	if got.Header.Get("X-Svc-Api-Version-Used") == "" {
		t.Error("the answer does not name the version used")
	}
	if found := leaks.FindString(got.Text); found != "" {
		t.Errorf("the answer leaks %q:\n%.500s", found, got.Text)
	}
}

// fits tells whether a code may have the status: its own, or a more precise one of the rules for invalid_request and
// resource_conflict.
func fits(code errs.Code, status int) bool {
	if own, known := errs.Statuses()[code]; !known || own == status {
		return known
	}
	precise := map[errs.Code][]int{
		errs.InvalidRequest: {
			http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusGone, http.StatusRequestURITooLong,
			http.StatusUnsupportedMediaType, http.StatusExpectationFailed, http.StatusRequestHeaderFieldsTooLarge,
		},
		errs.Conflict: {http.StatusPreconditionFailed},
	}
	return slices.Contains(precise[code], status)
}

// of turns a parsed answer into one that the checks take.
func of(r *apptest.Response) answer {
	return answer{Response: &http.Response{StatusCode: r.Status, Header: r.Header}, Text: string(r.Body)}
}

// workspace creates a workspace and gives its id.
func workspace(t *testing.T, c *apptest.Client, name string) string {
	t.Helper()
	return c.Post("/v2/workspaces", map[string]any{"name": name}).Want(http.StatusCreated).Text("id")
}

// count is how many workspaces of exactly this slug there are.
func count(t *testing.T, c *apptest.Client, slug string) int {
	t.Helper()
	list, _ := c.Get("/v2/workspaces?slug=" + slug).Want(http.StatusOK).At("").([]any)
	return len(list)
}

// eventually polls a condition until it holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("did not happen: %s", what)
		case <-ticker.C:
		}
	}
}
