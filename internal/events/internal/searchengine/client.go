package searchengine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// client talks to the nodes of a cluster, one after the other when one does not answer.
type client struct {
	hosts          []string
	user, password string
	http           *http.Client
	next           atomic.Uint32
}

const (
	// requestTimeout is how long one request may take, unless its caller gives it less.
	requestTimeout = 60 * time.Second
	// largestAnswer is the longest answer that is read, in bytes.
	largestAnswer = 64 << 20
	// longestReason is how much of a reason is repeated: it may quote what somebody wrote.
	longestReason = 300
)

func newClient(c Config) (*client, error) {
	made := &client{user: c.User, password: c.Password, http: &http.Client{
		Transport: c.Transport, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, host := range c.Hosts {
		u, err := url.Parse(strings.TrimRight(host, "/"))
		switch {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return nil, errors.New("a host of the search engine is no address such as https://search.example.com:9200")
		case u.User != nil:
			return nil, errors.New("user and password of the search engine do not belong into its address")
		case u.RawQuery != "" || u.Fragment != "":
			return nil, fmt.Errorf("the address of the search engine %s must end with its path", u.Host)
		}
		made.hosts = append(made.hosts, u.String())
	}
	if len(made.hosts) == 0 {
		return nil, errors.New("the search engine has no address")
	}
	if (c.User == "") != (c.Password == "") {
		return nil, errors.New("the search engine needs both a user and a password, or neither")
	}
	return made, nil
}

// failure is a request that did not succeed.
type failure struct {
	status int
	kind   string
	reason string
	cause  error
}

// Error implements error. It names neither the user nor the password.
func (f *failure) Error() string {
	if f.cause != nil {
		return "the search engine cannot be reached: " + f.cause.Error()
	}
	return fmt.Sprintf("the search engine answered %d %s: %s", f.status, f.kind, f.reason)
}

// Unwrap gives what went wrong on the way.
func (f *failure) Unwrap() error { return f.cause }

// statusOf is the status of a refusal; zero when there was no answer.
func statusOf(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.status
	}
	return 0
}

// errTooLarge tells that an answer is longer than may be read.
var errTooLarge = errors.New("the answer of the search engine is too large")

// do sends JSON and reads JSON. Whatever is sent may be sent twice.
func (c *client) do(ctx context.Context, method, path string, body, answer any) error {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return fmt.Errorf("write a request to the search engine: %w", err)
		}
	}
	return c.send(ctx, request{method: method, path: path, kind: "application/json", body: sent}, answer)
}

type request struct {
	method, path, kind string
	body               []byte
}

// send tries the hosts in turn, beginning with another one each time.
func (c *client) send(ctx context.Context, r request, answer any) (err error) {
	first := int(c.next.Add(1) - 1)
	for i := range c.hosts {
		err = c.try(ctx, c.hosts[(first+i)%len(c.hosts)], r, answer)
		f, failed := errors.AsType[*failure](err)
		if !failed || ctx.Err() != nil || f.cause == nil && f.status != http.StatusBadGateway && f.status != http.StatusServiceUnavailable {
			return err
		}
	}
	return err
}

func (c *client) try(ctx context.Context, host string, r request, answer any) error {
	sent, err := http.NewRequestWithContext(ctx, r.method, host+r.path, bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("write a request to the search engine: %w", err)
	}
	if len(r.body) > 0 {
		sent.Header.Set("Content-Type", r.kind)
	}
	if c.user != "" {
		sent.SetBasicAuth(c.user, c.password)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return &failure{cause: err}
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, largestAnswer+1))
	switch {
	case err != nil:
		return &failure{cause: err}
	case len(text) > largestAnswer:
		return errTooLarge
	case response.StatusCode >= http.StatusMultipleChoices:
		return refused(response.StatusCode, text)
	case answer == nil:
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // positions are larger than floating point is exact
	if err := decoder.Decode(answer); err != nil {
		return &failure{status: response.StatusCode, kind: "unreadable", reason: "the answer is not what a search engine writes"}
	}
	return nil
}

// refused reads what is wrong.
func refused(status int, text []byte) *failure {
	var told struct {
		Error json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(text, &told) // proxies answer anything
	p := problemOf(told.Error)
	return &failure{status: status, kind: p.kind, reason: p.reason}
}

type problem struct{ kind, reason string }

// problemOf reads an error of an answer, which is an object or a text.
func problemOf(raw json.RawMessage) problem {
	var object struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	}
	var text string
	if json.Unmarshal(raw, &object) != nil && json.Unmarshal(raw, &text) == nil {
		object.Reason = text
	}
	if len(object.Reason) > longestReason {
		object.Reason = strings.ToValidUTF8(object.Reason[:longestReason], "") + "..."
	}
	return problem{kind: object.Type, reason: object.Reason}
}
