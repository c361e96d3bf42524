package script_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// call is a request as a story writes it.
type call struct {
	method, url, body string
	header            http.Header
	hold              string
}

// parse reads the arguments of the command http.
func parse(ts *testscript.TestScript, args []string) call {
	c := call{header: http.Header{}}
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-H":
			name, value, _ := strings.Cut(args[1], ": ")
			c.header.Set(name, value)
		case "-hold":
			c.hold = args[1]
		default:
			ts.Fatalf("http has no option %s", args[0])
		}
		args = args[2:]
	}
	usage(ts, len(args) == 2 || len(args) == 3, "http [-H HEADER]... [-hold NAME] METHOD URL [BODY]")
	c.method, c.url = args[0], args[1]
	if len(args) == 3 {
		c.body = args[2]
		c.header.Set("Content-Type", "application/json")
		if file, ok := strings.CutPrefix(c.body, "@"); ok {
			c.body = ts.ReadFile(file)
		}
	}
	return c
}

func (c call) request(ctx context.Context) (*http.Request, error) {
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	r, err := http.NewRequestWithContext(ctx, c.method, c.url, body)
	if err == nil {
		r.Header = c.header
	}
	return r, err
}

// answered is an answer, read whole.
type answered struct {
	code   int
	status string
	header http.Header
	body   []byte
}

func readAnswer(from *http.Response) (answered, error) {
	body, err := io.ReadAll(from.Body)
	return answered{code: from.StatusCode, status: from.Status, header: from.Header, body: body}, err
}

// send makes the request on a connection of its own, as curl does.
func (c call) send(ctx context.Context) (answered, error) {
	r, err := c.request(ctx)
	if err != nil {
		return answered{}, err
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(r)
	if err != nil {
		return answered{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	return readAnswer(answer)
}

func request(ts *testscript.TestScript, neg bool, args []string) {
	c := parse(ts, args)
	ctx, cancel := patiently()
	defer cancel()
	if c.hold != "" {
		ts.Check(worldOf(ts).holdRequest(ctx, c))
		return
	}
	answer, err := c.send(ctx)
	if neg != (err != nil) {
		ts.Fatalf("%s %s: error %v", c.method, c.url, err)
	}
	if err == nil {
		show(ts, answer)
	}
}

// show writes what a reader of the story wants to see of an answer.
func show(ts *testscript.TestScript, answer answered) {
	worldOf(ts).last = answer.body
	out := ts.Stdout()
	_, _ = fmt.Fprintln(out, answer.status)
	for _, name := range []string{"Content-Type", "Location", "Retry-After", "Www-Authenticate"} {
		for _, value := range answer.header.Values(name) {
			_, _ = fmt.Fprintf(out, "%s: %s\n", name, value)
		}
	}
	_, _ = fmt.Fprintf(out, "\n%s", answer.body)
}

// heldRequest is one whose body is still to come.
type heldRequest struct {
	conn net.Conn
	in   *bufio.Reader
	body string
}

// holdRequest sends a request without its body and returns when the server has asked for it: it is in the middle of it then.
func (w *world) holdRequest(ctx context.Context, c call) error {
	r, err := c.request(ctx)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.URL.Host)
	if err != nil {
		return err
	}
	held := &heldRequest{conn: conn, in: bufio.NewReader(conn), body: c.body}
	w.held[c.hold] = held
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n", c.method, r.URL.RequestURI(), r.URL.Host, len(c.body))
	if err := r.Header.Write(&head); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, head.String()+"\r\n"); err != nil {
		return err
	}
	line, err := held.in.ReadString('\n')
	if err == nil && !strings.Contains(line, "100 Continue") {
		err = fmt.Errorf("the server did not ask for the body: %s", line)
	}
	return err
}

func finish(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "finish NAME")
	held := worldOf(ts).held[args[0]]
	_, err := io.WriteString(held.conn, held.body)
	ts.Check(err)
	_, err = held.in.ReadString('\n') // the empty line after 100 Continue
	ts.Check(err)
	response, err := http.ReadResponse(held.in, nil)
	ts.Check(err)
	defer func() { _ = response.Body.Close() }()
	answer, err := readAnswer(response)
	ts.Check(err)
	show(ts, answer)
}

// expected is what a story waits for.
type expected struct {
	call
	status string
	body   *regexp.Regexp
	within time.Duration
}

// parseExpected reads the arguments of the command waitstatus.
func parseExpected(ts *testscript.TestScript, args []string) expected {
	e := expected{call: call{method: http.MethodGet, header: http.Header{}}, within: patience}
	var err error
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-H":
			name, value, _ := strings.Cut(args[1], ": ")
			e.header.Set(name, value)
		case "-body":
			e.body, err = regexp.Compile(args[1])
		case "-within":
			e.within, err = time.ParseDuration(args[1])
		default:
			ts.Fatalf("waitstatus has no option %s", args[0])
		}
		ts.Check(err)
		args = args[2:]
	}
	usage(ts, len(args) == 2, "waitstatus [-H HEADER]... [-body REGEXP] [-within DURATION] CODE|refused URL")
	e.status, e.url = args[0], args[1]
	return e
}

func (e expected) met(answer answered, err error) bool {
	if err != nil {
		return e.status == "refused"
	}
	return strconv.Itoa(answer.code) == e.status && (e.body == nil || e.body.Match(answer.body))
}

func waitStatus(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg, "waitstatus ...")
	e := parseExpected(ts, args)
	ctx, cancel := context.WithTimeout(context.Background(), e.within)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		answer, err := e.send(ctx)
		if e.met(answer, err) && ctx.Err() == nil {
			show(ts, answer)
			return
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("%s was not answered with %s in time, but with %d %s", e.url, e.status, answer.code, answer.body)
		case <-tick.C:
		}
	}
}

func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "json NAME PATH")
	value, err := at(worldOf(ts).last, args[1])
	ts.Check(err)
	ts.Setenv(args[0], value)
}

// at gives the value at a dotted path, in which list items are numbered.
func at(text []byte, path string) (string, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return "", err
	}
	for part := range strings.SplitSeq(path, ".") {
		switch container := value.(type) {
		case map[string]any:
			value = container[part]
		case []any:
			index, err := strconv.Atoi(part)
			if err != nil || index >= len(container) {
				return "", fmt.Errorf("there is no %s in %s", path, text)
			}
			value = container[index]
		}
	}
	if value == nil {
		return "", fmt.Errorf("there is no %s in %s", path, text)
	}
	return fmt.Sprint(value), nil
}

func login(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 4, "login NAME URL EMAIL PASSWORD")
	body, err := json.Marshal(map[string]string{"email": args[2], "password": args[3]})
	ts.Check(err)
	ctx, cancel := patiently()
	defer cancel()
	c := call{method: http.MethodPost, url: args[1] + "/v2/login", body: string(body), header: http.Header{"Content-Type": {"application/json"}}}
	answer, err := c.send(ctx)
	ts.Check(err)
	if answer.code != http.StatusOK {
		ts.Fatalf("%s\n%s", answer.status, answer.body)
	}
	token, err := at(answer.body, "token")
	ts.Check(err)
	ts.Setenv(args[0], token)
}
