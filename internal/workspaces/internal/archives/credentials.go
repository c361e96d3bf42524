package archives

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/definitions"
)

// leak is a place where a document says something that must not travel, and what may stand there instead; nothing when that
// is empty.
type leak struct {
	path    []string
	instead string
}

func (l leak) String() string { return strings.Join(l.path, ".") }

// without is a document without the leaks that are found in it, and where they were. What cannot be taken out alone, because
// it is written somewhere else and referred to, goes with its section. It never gives a document with a leak.
func without(doc *dsul.Document, find func(*dsul.Document) []leak) (safe *dsul.Document, removed []leak, err error) {
	found := find(doc)
	if len(found) == 0 {
		return doc, nil, nil
	}
	if safe, err = mended(doc, found); err != nil {
		return nil, nil, err
	}
	var sections []leak
	for _, rest := range find(safe) {
		sections = append(sections, leak{path: rest.path[:1]})
	}
	if safe, err = mended(safe, sections); err != nil {
		return nil, nil, err
	}
	if len(find(safe)) > 0 {
		return nil, nil, errs.Invalid(errs.Field{Field: doc.Path(), Message: "it has credentials that cannot be taken out; remove them"})
	}
	return safe, found, nil
}

func mended(doc *dsul.Document, leaks []leak) (*dsul.Document, error) {
	if len(leaks) == 0 {
		return doc, nil
	}
	text := doc.Text
	for _, l := range slices.Backward(leaks) { // so that the places in a list stay what they are
		var err error
		if l.instead == "" {
			text, err = splice.Delete(text, l.path)
		} else {
			text, err = splice.Set(text, l.path, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: l.instead})
		}
		if err != nil {
			return nil, errs.Wrap(err, "take credentials out of a document")
		}
	}
	safe, problems := dsul.Parse(doc.Kind, doc.Slug, text)
	return safe, problems.Err()
}

// repositoryKeys are the sections of an index that say where a workspace is pushed to and pulled from.
func repositoryKeys() []string { return []string{"repositories", "platformRepositories"} }

// repositoryCredentials finds the passwords and keys that somebody wrote into the repositories. References to secrets are
// none.
func repositoryCredentials(index *dsul.Document) (leaks []leak) {
	for _, section := range repositoryKeys() {
		for _, id := range keys(index.Get(section)) {
			auth := []string{section, id, "config", "auth"}
			if n := index.Get(auth...); n != nil && n.Kind != yaml.MappingNode && !isReference(n) {
				leaks = append(leaks, leak{path: auth})
			}
			for _, key := range keys(index.Get(auth...)) {
				if path := append(slices.Clone(auth), key); key != "user" && !isReference(index.Get(path...)) {
					leaks = append(leaks, leak{path: path})
				}
			}
			address := []string{section, id, "config", "url"}
			if n := index.Get(address...); n != nil && n.Kind == yaml.ScalarNode {
				if plain := withoutPassword(n.Value); plain != n.Value {
					leaks = append(leaks, leak{path: address, instead: plain})
				}
			}
		}
	}
	return leaks
}

// keys are those of a mapping, also the ones that it takes from another; of anything else there are none.
func keys(n *yaml.Node) []string {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	resolved, problems := dsul.FromJSON(dsul.Index, "", dsul.JSON(n))
	if len(problems) > 0 || resolved.Root == nil {
		return nil
	}
	var names []string
	for i := 0; i+1 < len(resolved.Root.Content); i += 2 {
		names = append(names, resolved.Root.Content[i].Value)
	}
	return names
}

// isReference tells that a value only names a secret, or is none.
func isReference(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && (dsul.Tag(n) == "!!null" || namesSecret(n.Value))
}

func namesSecret(text string) bool {
	text = strings.TrimSpace(text)
	inside, begins := strings.CutPrefix(text, "{{secret.")
	name, ends := strings.CutSuffix(inside, "}}")
	return text == "" || begins && ends && !strings.ContainsAny(name, "{}")
}

// withoutPassword is an address without the password or the token in it. The name of a user stays where it cannot be a
// token, which is where keys are used.
func withoutPassword(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	authority, path, hasPath := strings.Cut(rest, "/")
	at := strings.LastIndex(authority, "@")
	if !ok || at < 0 {
		return address
	}
	user, password, has := strings.Cut(authority[:at], ":")
	keyed := strings.HasSuffix(strings.ToLower(scheme), "ssh")
	switch {
	case has && namesSecret(password), !has && (keyed || namesSecret(user)):
		return address
	case keyed:
		authority = user + authority[at:]
	default:
		authority = authority[at+1:]
	}
	if hasPath {
		authority += "/"
	}
	return scheme + "://" + authority + path
}

// leaving finds everything that must not leave with an archive: also the values of the configuration whose schema calls
// them secret, unless they only name a secret.
func leaving(index *dsul.Document) []leak {
	leaks := repositoryCredentials(index)
	for _, path := range definitions.ConfigSecrets(index) {
		if !isReference(index.Get(path...)) {
			leaks = append(leaks, leak{path: path})
		}
	}
	return leaks
}
