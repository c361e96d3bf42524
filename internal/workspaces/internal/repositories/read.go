package repositories

import (
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/errs"
)

// section is the key of an index that holds its repositories.
const section = "repositories"

// defaultBranch is the branch of a repository that says none.
const defaultBranch = "main"

// Of reads the repositories of a workspace, in the order of its index. What is wrong in them is read as it stands, so that
// whoever uses one can say what is wrong; only a section that is no map at all is validation_failed.
func Of(index *dsul.Document) ([]Repository, error) {
	written, err := read(index)
	if err != nil {
		return nil, err
	}
	all := make([]Repository, 0, len(written.ids))
	for _, id := range written.ids {
		all = append(all, written.repository(id))
	}
	return all, nil
}

// configured is the section with its aliases resolved.
type configured struct {
	document *dsul.Document
	ids      []string
}

func read(index *dsul.Document) (c configured, err error) {
	if index == nil {
		return c, nil
	}
	n := index.Get(section)
	switch {
	case n == nil || n.Kind == yaml.ScalarNode && dsul.Tag(n) == "!!null":
		return c, nil
	case n.Kind != yaml.MappingNode:
		return c, errs.Invalid(errs.Field{Field: section, Message: "this must be a map from ids to repositories"})
	}
	document, problems := dsul.FromJSON(dsul.Index, "", dsul.JSON(n))
	if err := problems.Err(); err != nil {
		return c, err
	}
	c.document = document
	for i := 0; i+1 < len(document.Root.Content); i += 2 {
		c.ids = append(c.ids, document.Root.Content[i].Value)
	}
	return c, nil
}

func (c configured) repository(id string) Repository {
	r := Repository{
		ID: id, Name: c.text(id, "name"), Kind: Kind(c.text(id, "type")), Mode: Mode(c.text(id, "mode")),
		URL: c.text(id, "config", "url"), Branch: c.text(id, "config", "branch"), Folder: c.text(id, "config", "dirpath"),
		User: c.text(id, "config", "auth", "user"), Password: c.text(id, "config", "auth", "password"), SSHKey: c.text(id, "config", "auth", "sshkey"),
		HostKey: c.text(id, "config", "hostKey"), Exclude: c.excluded(id),
		authenticated: c.document.Get(id, "config", "auth") != nil,
	}
	if r.Name == "" {
		r.Name = id
	}
	if r.Kind == "" {
		r.Kind = Git
	}
	if r.Mode == "" {
		r.Mode = ReadWrite
	}
	if r.Branch == "" && r.Kind == Git {
		r.Branch = defaultBranch
	}
	return r
}

// text is a text, or the first of the texts by language; empty when there is none.
func (c configured) text(path ...string) string {
	n := c.document.Get(path...)
	if n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 1 {
		n = n.Content[1]
	}
	if n == nil || n.Kind != yaml.ScalarNode || dsul.Tag(n) == "!!null" {
		return ""
	}
	return n.Value
}

func (c configured) excluded(id string) (paths []string) {
	list := c.document.Get(id, "pull", "exclude")
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil
	}
	for i := range list.Content {
		if path := c.text(id, "pull", "exclude", strconv.Itoa(i), "path"); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

var simpleID = regexp.MustCompile(`^[A-Za-z0-9_-]+$`) //nolint:gochecknoglobals // compiled once, never changed

// place is where something of a repository stands in the index, as errors name it.
func place(id string, path ...string) string {
	const longest = 100
	at := section + "." + id
	if !simpleID.MatchString(id) || len(id) > longest {
		at = section + "[" + strconv.Quote(strings.ToValidUTF8(id[:min(len(id), longest)], "")) + "]"
	}
	return strings.Join(append([]string{at}, path...), ".")
}
