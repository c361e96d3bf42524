package repositories

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/vault"
)

// Settled is an edited index as it may be stored, and the secrets that it names from now on, by their names.
type Settled struct {
	Index   *dsul.Document
	Secrets map[string]vault.Secret
}

// Settle makes an edited index one that may be stored; before is nil for a new one. Credentials stay where they were
// entered for: they are taken out of a repository that is on another host now, unless they are new too. Passwords and keys
// are taken out of the text and named as secrets instead. What is wrong is validation_failed.
func (p Platform) Settle(before, after *dsul.Document) (Settled, error) {
	formerly, err := Of(before)
	if err != nil {
		formerly = nil // whatever it was, it was no repository
	}
	index, err := withoutMoved(formerly, after)
	if err != nil {
		return Settled{}, err
	}
	if wrong := append(Check(index), p.taken(formerly, index)...); len(wrong) > 0 {
		return Settled{}, errs.Invalid(wrong...)
	}
	return withoutLiterals(index)
}

// taken finds new repositories with the id of one of the platform.
func (p Platform) taken(before []Repository, index *dsul.Document) (wrong []errs.Field) {
	all, err := Of(index)
	if err != nil {
		return nil // said already
	}
	for _, r := range all {
		if _, err := Find(before, r.ID); err != nil && p.Has(r.ID) {
			wrong = append(wrong, errs.Field{Field: place(r.ID), Message: "a repository of the platform has this id; choose another one"})
		}
	}
	return wrong
}

// withoutMoved is the index without the credentials that were entered for another host.
func withoutMoved(before []Repository, index *dsul.Document) (*dsul.Document, error) {
	now, err := Of(index)
	if err != nil {
		return nil, err
	}
	text := index.Text
	for _, r := range now {
		was, err := Find(before, r.ID)
		if err != nil || sameHost(was.URL, r.URL) {
			continue
		}
		for _, key := range credentials() {
			if r.credential(key) == "" || r.credential(key) != was.credential(key) {
				continue
			}
			if text, err = splice.Delete(text, []string{section, r.ID, "config", "auth", key}); err != nil {
				return nil, errs.Wrap(err, "take credentials out of an index")
			}
		}
	}
	return reparsed(index, text)
}

// sameHost tells that two addresses are of one server: its name and its port.
func sameHost(a, b string) bool {
	if a == b {
		return true
	}
	one, err := gitcmd.ParseAddress(a)
	if err != nil {
		return false
	}
	other, err := gitcmd.ParseAddress(b)
	return err == nil && strings.EqualFold(one.Host, other.Host) && one.PortOrDefault() == other.PortOrDefault()
}

// withoutLiterals is the index with the names of secrets where there were passwords and keys, and these.
func withoutLiterals(index *dsul.Document) (Settled, error) {
	settled := Settled{Index: index, Secrets: map[string]vault.Secret{}}
	all, err := Of(index)
	if err != nil {
		return Settled{}, err
	}
	text := index.Text
	for _, r := range all {
		for _, key := range credentials() {
			value := r.credential(key)
			if !isLiteral(value) {
				continue
			}
			if tangled(index) {
				return Settled{}, errs.Invalid(errs.Field{
					Field: place(r.ID, "config", "auth", key), Message: "write the repositories without anchors, aliases and merge keys, or use {{secret.name}}",
				})
			}
			name := SecretName(r.ID, key)
			settled.Secrets[name] = vault.Secret(value)
			named := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "{{secret." + name + "}}"}
			if text, err = splice.Set(text, []string{section, r.ID, "config", "auth", key}, named); err != nil {
				return Settled{}, errs.Wrap(err, "take credentials out of an index")
			}
		}
	}
	settled.Index, err = reparsed(index, text)
	return settled, err
}

func reparsed(index *dsul.Document, text []byte) (*dsul.Document, error) {
	if string(text) == string(index.Text) {
		return index, nil
	}
	parsed, problems := dsul.Parse(dsul.Index, "", text)
	return parsed, problems.Err()
}

// tangled tells that the section shares values with other places: then a credential would stay in the text although it
// was taken out of its place.
func tangled(index *dsul.Document) bool {
	root := index.Root
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == section {
			return shares(root.Content[i+1])
		}
	}
	return true // a merge key has brought it
}

func shares(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Tag == "!!merge" {
		return true
	}
	return slices.ContainsFunc(n.Content, shares)
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`) //nolint:gochecknoglobals // compiled once, never changed

// SecretName is how the secret is called that keeps a credential, password or sshkey, of a repository.
func SecretName(id, key string) string {
	const digits = 8
	if !plainID.MatchString(id) { // two ids never share a secret, whatever is left of them
		sum := sha256.Sum256([]byte(id))
		id = strings.Map(func(r rune) rune {
			if plainID.MatchString(string(r)) {
				return r
			}
			return '_'
		}, id[:min(len(id), 60)]) + "_" + hex.EncodeToString(sum[:])[:digits]
	}
	return "repository_" + id + "_" + key
}
