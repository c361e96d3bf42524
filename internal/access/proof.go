package access

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// HeaderProof carries the gateway's proof to a service in another process.
const HeaderProof = "X-Svc-Proof"

// HeaderRefused tells a service in another process, beside the proof, why a credential does not count that came with the
// request: the code of the error.
const HeaderRefused = "X-Svc-Refused"

// proofLife is how long a proof holds: long enough for clocks that are a little apart, too short to be of use to a thief.
const proofLife = 30 * time.Second

// Prover makes and checks proofs of the gateway: the caller's identity and the facts of one request, bound to its method
// and address and signed with a key derived from the internal key. The internal key itself never travels.
type Prover struct {
	key   []byte
	clock clock.Clock
}

// NewProver derives the signing key from the internal key.
func NewProver(internalKey string, clk clock.Clock) (*Prover, error) {
	key, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "gateway proof", sha256.Size)
	if err != nil {
		return nil, err
	}
	return &Prover{key: key, clock: clk}, nil
}

type proof struct {
	Expires       int64       `json:"exp"`
	Method        string      `json:"method"`
	URI           string      `json:"uri"`
	Principal     Principal   `json:"principal"`
	CorrelationID string      `json:"correlationId"`
	Shape         httpx.Shape `json:"shape"`
	Version       httpx.Date  `json:"version"`
	Client        string      `json:"client"`
}

// Prove adds the proof to an outgoing request that carries on the request of ctx.
func (p *Prover) Prove(ctx context.Context, out *http.Request) error {
	info := httpx.InfoFrom(ctx)
	payload, err := json.Marshal(proof{
		Expires: p.clock.Now().Add(proofLife).Unix(), Method: out.Method, URI: out.URL.RequestURI(), Principal: From(ctx),
		CorrelationID: info.CorrelationID, Shape: info.Shape, Version: info.Version, Client: info.Client.String(),
	})
	if err != nil {
		return err
	}
	body := base64.RawURLEncoding.EncodeToString(payload)
	out.Header.Set(HeaderProof, body+"."+base64.RawURLEncoding.EncodeToString(p.sign(body)))
	return nil
}

func (p *Prover) sign(body string) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(body))
	return mac.Sum(nil)
}

// Trust takes the identity and the facts of a request from its proof. A request without a proof is from nobody, and one
// that claims an identity in other headers, or whose proof is bad, is refused.
func (p *Prover) Trust(r *http.Request, info *httpx.Info) (context.Context, error) {
	proofs := r.Header[HeaderProof]
	delete(r.Header, HeaderProof)
	if len(proofs) == 0 {
		before := len(r.Header)
		if httpx.StripInternal(r.Header); len(r.Header) < before {
			return nil, errs.New(errs.InvalidToken, "Identity headers are accepted from the gateway only.")
		}
		return r.Context(), nil
	}
	claims, ok := p.verify(strings.Join(proofs, ","))
	if !ok || claims.Expires < p.clock.Now().Unix() || claims.Method != r.Method || claims.URI != r.URL.RequestURI() {
		return nil, errs.New(errs.InvalidToken, "The proof of the gateway is not valid for this request.")
	}
	info.CorrelationID, info.Shape, info.Version = claims.CorrelationID, claims.Shape, claims.Version
	info.Client, _ = netip.ParseAddr(claims.Client)
	return With(r.Context(), claims.Principal), nil
}

func (p *Prover) verify(text string) (claims proof, ok bool) {
	body, signature, found := strings.Cut(text, ".")
	want := base64.RawURLEncoding.EncodeToString(p.sign(body)) // compared as text: bytes have several spellings
	if !found || !hmac.Equal([]byte(signature), []byte(want)) {
		return claims, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return claims, false
	}
	return claims, true
}
