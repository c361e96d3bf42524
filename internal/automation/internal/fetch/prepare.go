package fetch

import (
	"encoding/base64"
	"net/http"
	"strconv"

	"golang.org/x/net/http/httpguts"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/egress"
	"atelier/internal/errs"
)

const (
	headerCorrelation = "X-Correlation-Id"
	headerWorkspace   = "X-Svc-Workspace-Id"
	headerAPIKey      = "X-Svc-Api-Key" //nolint:gosec // the name of a header
	headerIdempotency = "Idempotency-Key"
)

// HeaderDepth says how many automations led to a request, HeaderHops how many requests and webhooks did. An endpoint takes both
// over into its run, so that automations that call each other over HTTP come to an end. A client may say them too: it can only
// make its own run end sooner.
const (
	HeaderDepth = "Automation-Depth"
	HeaderHops  = "Webhook-Hops"
)

// maxHops is how many requests and webhooks may lead to each other on the platform.
const maxHops = 16

// prepare makes the request of an instruction in a frame.
func (c *Client) prepare(f *machine.Frame, parameters *value.Object) (*request, error) {
	open := &opener{ctx: f.Context(), secrets: c.deps.Secrets, workspaceID: f.Home().WorkspaceID, hide: f.Hide}
	opened, err := open.parameters(parameters)
	if err != nil {
		return nil, err
	}
	r, err := read(opened)
	if err != nil {
		return nil, err
	}
	r.workspaceID, r.shown = f.Home().WorkspaceID, shownRequest(r, parameters)
	if r.platform = c.isPlatform(r.url); !r.platform {
		if err := c.checkAddress(r); err != nil {
			return nil, err
		}
	} else if f.Run().Hops >= maxHops {
		return nil, machine.Fail(machine.TooManyCalls, "Too many requests to the platform led to each other; let one of the automations end without a fetch.").
			With(machine.Payload("limit", float64(maxHops)))
	}
	c.travel(f, r)
	auth, err := object(opened.Get("auth"), "auth")
	if err != nil {
		return nil, err
	}
	if err := c.authenticate(f, r, auth); err != nil {
		return nil, err
	}
	return r, c.platformCredentials(f, r, opened, auth)
}

// checkAddress says what can be seen to be wrong with an address, in words that its author can use.
func (c *Client) checkAddress(r *request) error {
	err := c.deps.Network.CheckURL(r.url.String())
	if err == nil {
		return nil
	}
	if fields := errs.From(err).Fields; len(fields) > 0 {
		return invalid("Invalid fetch instruction: %s", fields[0].Message).Because(err)
	}
	return machine.Fail(FetchError, egress.Unreachable).Because(err)
}

// travel sets the headers that say where a request comes from.
func (c *Client) travel(f *machine.Frame, r *request) {
	run := f.Run()
	if r.header.Get("User-Agent") == "" {
		r.header.Set("User-Agent", c.deps.UserAgent)
	}
	r.header.Set(headerWorkspace, f.Home().WorkspaceID)
	r.journey = http.Header{}
	r.journey.Set(HeaderDepth, strconv.Itoa(f.Depth()))
	r.journey.Set(HeaderHops, strconv.Itoa(run.Hops+1))
	if run.CorrelationID != "" {
		r.journey.Set(headerCorrelation, run.CorrelationID)
	}
	if run.Journal != nil && run.Journal.Durable() && !reading(r.method) && r.header.Get(headerIdempotency) == "" {
		// A run that is begun anew asks again with the same key: a server that knows it does the work once.
		if key := run.Journal.RunID() + "/" + f.Place(); httpguts.ValidHeaderFieldValue(key) {
			r.header.Set(headerIdempotency, key)
		}
	}
}

// reading tells that a method changes nothing.
func reading(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// authenticate does what auth says.
func (c *Client) authenticate(f *machine.Frame, r *request, auth *value.Object) error {
	if value.Exists(auth.Get("oauth2")) {
		return invalid("Invalid fetch instruction: auth.oauth2 is not supported; fetch a token first and send it in the header authorization.")
	}
	if v := auth.Get("basic"); value.Exists(v) {
		basic, err := object(v, "auth.basic")
		if err != nil {
			return err
		}
		setBasic(f, r, basic)
	}
	if v := auth.Get("awsv4"); value.Exists(v) {
		given, err := object(v, "auth.awsv4")
		if err != nil {
			return err
		}
		signer, err := newSigner(given, r.url.Hostname())
		if err != nil {
			return err
		}
		f.Hide(signer.secret)
		f.Hide(signer.session)
		body := r.body
		r.authorize = func(one *http.Request) error { signer.sign(one, body, c.deps.Clock.Now()); return nil }
	}
	return nil
}

func setBasic(f *machine.Frame, r *request, basic *value.Object) {
	if r.header.Get("Authorization") != "" {
		return
	}
	user, _ := value.Text(basic.Get("user"), maxText)
	password, _ := value.Text(basic.Get("password"), maxText)
	encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	f.Hide(password)
	f.Hide(encoded)
	r.header.Set("Authorization", "Basic "+encoded)
}

// platformCredentials gives a request to the platform one credential: what the instruction says, or the token of the run. The
// token is valid for seconds, so each attempt has its own.
func (c *Client) platformCredentials(f *machine.Frame, r *request, parameters, auth *value.Object) error {
	if !r.platform {
		return nil
	}
	if err := c.apiKey(f, r, parameters.Get("svcApiKey")); err != nil {
		return err
	}
	if r.header.Get("Authorization") != "" || r.header.Get(headerAPIKey) != "" || r.authorize != nil {
		return nil
	}
	token := c.deps.Token
	if on(value.Get(auth.Get("svc"), "forwardWorkspaceAuth")) {
		if token = c.deps.ForwardToken; token == nil {
			return invalid("Invalid fetch instruction: auth.svc.forwardWorkspaceAuth is not available here; leave it out.")
		}
	}
	if token == nil {
		return nil
	}
	r.authorize = func(one *http.Request) error {
		jwt, err := token(f)
		if err == nil && jwt != "" {
			f.Hide(jwt)
			one.Header.Set("Authorization", "Bearer "+jwt)
		}
		return err
	}
	return nil
}

func (c *Client) apiKey(f *machine.Frame, r *request, v any) error {
	name, _ := value.Get(v, "name").(string)
	if name == "" {
		return nil
	}
	jwt := ""
	if c.deps.KeyToken != nil {
		var err error
		if jwt, err = c.deps.KeyToken(f, name); err != nil {
			return err
		}
	}
	if jwt == "" {
		return machine.Fail(machine.InvalidInstruction, "No api key found; give a role of the workspace auth.apiKey and write its name.").
			With(machine.Payload("name", name))
	}
	f.Hide(jwt)
	r.header.Set("Authorization", "Bearer "+jwt)
	return nil
}
