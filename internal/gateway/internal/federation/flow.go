package federation

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/kv"
)

// FlowLife is how long somebody may take to come back from a provider.
const FlowLife = 10 * time.Minute

// Request is a sign-in that begins.
type Request struct {
	Provider string
	// Interaction is the authorization request of our own provider that waits for the sign-in; may be empty.
	Interaction string
	// ReturnTo is the path to go to afterwards; may be empty.
	ReturnTo string
	// Here tells that ReturnTo is a path of our own pages, which are not always where the console is.
	Here bool
	// Browser is the secret that the browser was given before; may be empty.
	Browser string
}

// Departure is where to send the browser, and the secret it must still have when it comes back.
type Departure struct{ URL, Browser string }

// flow is a sign-in that is under way. It is stored under the hash of its state, which only the browser and the provider see.
type flow struct {
	Provider    string `json:"provider"`
	Browser     string `json:"browser"`
	Nonce       string `json:"nonce"`
	Verifier    string `json:"verifier"`
	Interaction string `json:"interaction,omitempty"`
	ReturnTo    string `json:"returnTo,omitempty"`
	Here        bool   `json:"here,omitempty"`
	// Session is the session that asked for a link; empty for a sign-in.
	Session string `json:"session,omitempty"`
}

var (
	interactionForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`) //nolint:gochecknoglobals // compiled once, never changed
	secretForm      = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)    //nolint:gochecknoglobals // compiled once, never changed
)

// Begin begins a sign-in: resource_not_found for a provider there is none of, service_unavailable for one that is down.
func (f *Federation) Begin(ctx context.Context, r Request) (Departure, error) {
	if r.Interaction != "" && !interactionForm.MatchString(r.Interaction) {
		return Departure{}, errs.Parameter("interaction", "use the one the sign-in page was given")
	}
	made := flow{Provider: r.Provider, Interaction: r.Interaction, Here: r.Here}
	if r.ReturnTo != "" {
		made.ReturnTo = safePath(r.ReturnTo)
	}
	browser := r.Browser
	if !secretForm.MatchString(browser) {
		browser = f.deps.IDs.Secret()
	}
	return f.depart(ctx, made, browser)
}

// BeginLink begins to link the caller's account to a provider.
func (f *Federation) BeginLink(ctx context.Context, slug string) (Departure, error) {
	return f.depart(ctx, flow{Provider: slug, Session: access.From(ctx).SessionID}, f.deps.IDs.Secret())
}

func (f *Federation) depart(ctx context.Context, made flow, browser string) (Departure, error) {
	p, err := f.provider(made.Provider)
	if err != nil {
		return Departure{}, err
	}
	known, err := p.metadata(ctx)
	if err != nil {
		return Departure{}, err
	}
	state := f.deps.IDs.Secret()
	made.Browser, made.Nonce, made.Verifier = hash(browser), f.deps.IDs.Secret(), oauth2.GenerateVerifier()
	text, err := json.Marshal(made)
	if err != nil {
		return Departure{}, err
	}
	if err := f.deps.Store.Set(ctx, stateKey(state), text, FlowLife); err != nil {
		return Departure{}, err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(made.Nonce), oauth2.S256ChallengeOption(made.Verifier)}
	if p.ResponseMode != modeQuery {
		options = append(options, oauth2.SetAuthURLParam("response_mode", p.ResponseMode))
	}
	return Departure{URL: p.oauth(known, f.callback()).AuthCodeURL(state, options...), Browser: browser}, nil
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func stateKey(state string) string { return "federation:" + hash(state) }

// used replaces a flow that has come back, so that it comes back once.
const used = "used"

// find gives the flow of a state that comes back to the browser it left.
func (f *Federation) find(ctx context.Context, state, browser string) (made flow, stored []byte, err error) {
	lost := errs.New(errs.InvalidRequest, "This sign-in was not begun in this browser, was finished already, or took too long; begin again.")
	if !secretForm.MatchString(state) {
		return made, nil, lost
	}
	stored, err = f.deps.Store.Get(ctx, stateKey(state))
	if errors.Is(err, kv.ErrNotFound) || err == nil && string(stored) == used {
		return made, nil, lost
	}
	if err != nil {
		return made, nil, err
	}
	if err := json.Unmarshal(stored, &made); err != nil {
		return made, nil, err
	}
	if subtle.ConstantTimeCompare([]byte(made.Browser), []byte(hash(browser))) != 1 {
		return made, nil, lost
	}
	return made, stored, nil
}

// take makes the flow impossible to use again; of several at once exactly one succeeds.
func (f *Federation) take(ctx context.Context, state string, stored []byte) error {
	taken, err := f.deps.Store.Swap(ctx, stateKey(state), stored, []byte(used), FlowLife)
	if err == nil && !taken {
		err = errs.New(errs.InvalidRequest, "This sign-in was finished already; begin again.")
	}
	return err
}
