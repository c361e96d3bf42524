package federation

import (
	"encoding/json"
	"maps"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"

	"atelier/internal/gateway/internal/identity"
)

const (
	// maxClaims bounds what is kept of what a provider says.
	maxClaims  = 4 << 10
	maxName    = 100
	maxAddress = 320
)

// signIn is the sign-in of a person a provider vouches for.
func (p person) signIn(life time.Duration, browser bool) identity.LinkedSignIn {
	in := identity.LinkedSignIn{Link: p.link(), Life: life, Browser: browser}
	if p.provider.Signup && !p.outside() {
		in.New = p.account()
	}
	return in
}

func (p person) link() identity.Link {
	return identity.Link{Provider: p.provider.Slug, Issuer: p.provider.Issuer, Subject: p.subject, Claims: p.kept()}
}

// account is what an account is made of when the person has none. An address is the account's only when the provider has
// verified it and the operator trusts the provider in that: otherwise a provider could give out the addresses of others,
// and whoever reads the mail of such an address could take the account over.
func (p person) account() *identity.LinkedAccount {
	names := p.provider.Attributes
	made := &identity.LinkedAccount{FirstName: p.name(names.FirstName), LastName: p.name(names.LastName), Language: p.language()}
	address := p.address()
	if p.verified() {
		made.Claimed = address
	}
	if made.Claimed != "" && p.trusted(address) {
		made.Email = address
	}
	for _, other := range []string{p.name("name"), p.name("preferred_username"), p.provider.Name, p.provider.Slug} {
		if made.FirstName == "" && made.LastName == "" {
			made.FirstName = other
		}
	}
	return made
}

func (p person) text(claim string) string {
	text, _ := p.claims[claim].(string)
	return text
}

// name is a claim as it can be shown to others.
func (p person) name(claim string) string {
	cleaned := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, p.text(claim))
	runes := []rune(strings.TrimSpace(cleaned))
	return string(runes[:min(len(runes), maxName)])
}

// language is the part of a locale that accounts know.
func (p person) language() string {
	tag, _, _ := strings.Cut(p.text("locale"), "-")
	tag, _, _ = strings.Cut(tag, "_")
	if len(tag) != len("en") || strings.ContainsFunc(tag, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return ""
	}
	return tag
}

// address is the e-mail address the provider names; empty when it is not one.
func (p person) address() string {
	text := p.text(p.provider.Attributes.Email)
	parsed, err := mail.ParseAddress(text)
	if err != nil || len(text) > maxAddress || parsed.Address != text || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return strings.ToLower(text)
}

// verified tells whether the provider says that it has verified the address; some say so in a text. What it says is about
// the claim email, and about no other that the operator may have named.
func (p person) verified() bool {
	if p.provider.Attributes.Email != "email" {
		return false
	}
	switch said := p.claims["email_verified"].(type) {
	case bool:
		return said
	case string:
		return said == "true"
	default:
		return false
	}
}

func (p person) trusted(address string) bool { return p.provider.TrustEmail || p.listed(address) }

func (p person) listed(address string) bool {
	return slices.Contains(p.provider.Domains, address[strings.LastIndexByte(address, '@')+1:])
}

// outside tells that the provider vouches for an address of none of its domains, where the operator lists some: whoever has
// it is somebody else's.
func (p person) outside() bool {
	address := p.address()
	return len(p.provider.Domains) > 0 && address != "" && p.verified() && !p.listed(address)
}

// kept is what is stored of the claims, for rules and for their owner: plain values and lists of texts, without those of the
// protocol, and no more than fits. The subject is kept as id, whatever else is said.
func (p person) kept() map[string]any {
	kept := map[string]any{"id": p.subject}
	size := len(p.subject)
	names := slices.SortedFunc(maps.Keys(p.claims), func(a, b string) int {
		if rank := importance(p.provider, b) - importance(p.provider, a); rank != 0 {
			return rank
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		value := p.claims[name]
		if name == "id" || slices.Contains(protocolClaims(), name) || !plain(value) {
			continue
		}
		text, err := json.Marshal(map[string]any{name: value})
		if err != nil || size+len(text) > maxClaims-maxSubject {
			continue
		}
		size += len(text)
		kept[name] = value
	}
	return kept
}

// importance decides what is kept when not everything fits.
func importance(p *provider, claim string) int {
	switch claim {
	case p.Attributes.Email, p.Attributes.FirstName, p.Attributes.LastName, "email_verified", "name", "preferred_username":
		return 2 //nolint:mnd // before the next
	case "groups", "roles":
		return 1
	default:
		return 0
	}
}

func protocolClaims() []string {
	return []string{
		"iss", "sub", "aud", "exp", "iat", "nbf", "jti", "nonce", "azp", "at_hash", "c_hash", "s_hash", "auth_time", "sid", "acr", "amr",
		"_claim_names", "_claim_sources",
	}
}

func plain(value any) bool {
	switch value := value.(type) {
	case string, bool, float64:
		return true
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { _, ok := item.(string); return !ok })
	default:
		return false
	}
}
