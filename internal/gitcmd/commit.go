package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// passing is the branch that fast-import makes the commit on. It is taken back before it is written.
const passing = "refs/heads/atelier-passing" //nolint:gosec // no password

// maxPerson is how long a name or an address of a commit may be.
const maxPerson = 200

// Person is who wrote a commit. What cannot stand in a commit is taken out.
type Person struct{ Name, Email string }

// Commit is a commit to make.
type Commit struct {
	Parents           []string
	From              string            // the commit whose files it starts with; none when empty
	Write             map[string][]byte // files by their paths from the root
	Delete            []string          // files and folders; those that do not exist are passed over
	Author, Committer Person
	When              time.Time
	Message           string
	Sign              *Signer // nil for a commit without a signature
}

// Commit makes a commit and returns its name. The same input makes the same commit. No ref is changed: until one leads to
// it, Maintain removes it after two weeks.
func (r *Repository) Commit(ctx context.Context, c Commit) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	q, err := r.quarantine()
	if err != nil {
		return "", err
	}
	defer q.Drop()
	id, err := q.commit(ctx, c)
	if err != nil {
		return "", err
	}
	return id, q.Keep()
}

func (c Commit) check() error {
	if err := checkObjects(c.Parents...); err != nil {
		return err
	}
	if c.From != "" && !isObject(c.From) {
		return checkObjects(c.From)
	}
	for _, path := range slices.Concat(c.Delete, slices.Collect(maps.Keys(c.Write))) {
		if err := checkFilePath(path); err != nil {
			return err
		}
	}
	return nil
}

func (q *Quarantine) commit(ctx context.Context, c Commit) (string, error) {
	script := &importScript{commit: c}
	call := q.call(NewCommand("fast-import", "--quiet", "--done", "--date-format=raw"), nil, nil)
	if err := q.git.converse(ctx, call, script.talk); err != nil {
		q.removeReports()
		return "", fmt.Errorf("make commit: %w", err)
	}
	if c.Sign == nil {
		return script.id, nil
	}
	text, err := c.signed(script.tree)
	if err != nil {
		return "", fmt.Errorf("sign commit: %w", err)
	}
	var out strings.Builder
	if err := q.run(ctx, NewCommand("hash-object", "-t", "commit", "-w", "--stdin"), bytes.NewReader(text), &out); err != nil {
		return "", fmt.Errorf("sign commit: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

// removeReports removes what fast-import writes about its end.
func (q *Quarantine) removeReports() {
	reports, _ := filepath.Glob(filepath.Join(q.folder, "fast_import_crash_*"))
	for _, report := range reports {
		_ = os.Remove(report)
	}
}

// importScript talks to fast-import.
type importScript struct {
	commit   Commit
	id, tree string
}

func (s *importScript) talk(in io.Writer, out *bufio.Reader) error {
	to := &dialogue{to: bufio.NewWriter(in), from: out}
	start, err := s.start(to)
	if err != nil {
		return err
	}
	c := s.commit
	to.say("commit %s\nmark :1\n", passing)
	to.say("author %s\ncommitter %s\n", c.Author.line(c.When), c.Committer.line(c.When))
	to.data([]byte(c.message()))
	for i, parent := range c.Parents {
		if i == 0 {
			to.say("from %s\n", parent)
		} else {
			to.say("merge %s\n", parent)
		}
	}
	switch {
	case start != "":
		to.say("M 040000 %s \"\"\n", start)
	case c.From == "":
		to.say("deleteall\n")
	}
	s.writeChanges(to)
	id, err := to.ask("get-mark :1\n")
	if err != nil {
		return err
	}
	tree, err := to.ask("ls :1 \"\"\n")
	if err != nil {
		return err
	}
	s.id, s.tree = strings.TrimSpace(id), treeOf(tree)
	to.say("reset %s\n\ndone\n", passing)
	return to.flush()
}

// start is the tree to start with, when it is not that of the first parent: fast-import takes that by itself.
func (s *importScript) start(to *dialogue) (string, error) {
	c := s.commit
	if c.From == "" || len(c.Parents) > 0 && c.Parents[0] == c.From {
		return "", nil
	}
	tree, err := to.ask("ls %s \"\"\n", c.From)
	return treeOf(tree), err
}

func (s *importScript) writeChanges(to *dialogue) {
	for _, path := range slices.Sorted(slices.Values(s.commit.Delete)) {
		to.say("D %s\n", quote(path))
	}
	for _, path := range slices.Sorted(maps.Keys(s.commit.Write)) {
		to.say("M 100644 inline %s\n", quote(path))
		to.data(s.commit.Write[path])
	}
}

// dialogue is a talk with a command that answers some lines. What goes wrong with a line is said by flush or ask.
type dialogue struct {
	to   *bufio.Writer
	from *bufio.Reader
}

func (d *dialogue) say(format string, values ...any) { _, _ = fmt.Fprintf(d.to, format, values...) }

func (d *dialogue) data(text []byte) {
	d.say("data %d\n", len(text))
	_, _ = d.to.Write(text)
	d.say("\n")
}

func (d *dialogue) flush() error {
	if d.to.Flush() != nil {
		return errSilence
	}
	return nil
}

// ask says a line and waits for the answer.
func (d *dialogue) ask(format string, values ...any) (string, error) {
	d.say(format, values...)
	if err := d.flush(); err != nil {
		return "", err
	}
	line, err := d.from.ReadString('\n')
	if err != nil {
		return "", errSilence
	}
	return line, nil
}

// treeOf reads "040000 tree 0123abcd...<tab>". A commit without files has none: "missing".
func treeOf(line string) string {
	if fields := strings.Fields(line); len(fields) >= 3 && isObject(fields[2]) {
		return fields[2]
	}
	return emptyTree
}

// emptyTree is the folder without files, which git knows without having it.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// quote writes a path the way fast-import reads any path.
func quote(path string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, sign := range []byte(path) {
		switch {
		case sign == '"' || sign == '\\':
			out.WriteByte('\\')
			out.WriteByte(sign)
		case sign < ' ' || sign == 0x7f:
			fmt.Fprintf(&out, "\\%03o", sign)
		default:
			out.WriteByte(sign)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// line is the person as it stands in a commit.
func (p Person) line(when time.Time) string {
	name, email := tidy(p.Name, " "), tidy(p.Email, "")
	if name == "" {
		name = "unknown"
	}
	return fmt.Sprintf("%s <%s> %d +0000", name, email, max(0, when.Unix()))
}

// tidy takes out what ends a name early, and what git would take out itself.
func tidy(text, space string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '<' || r == '>':
			return -1
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	runes := []rune(strings.Join(strings.Fields(text), space))
	return strings.Trim(string(runes[:min(len(runes), maxPerson)]), " .,:;\\\"'")
}

// message ends with one newline and holds nothing that a terminal would obey.
func (c Commit) message() string {
	text := strings.ReplaceAll(strings.ToValidUTF8(ansi.ReplaceAllString(c.Message, ""), "?"), "\r\n", "\n")
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text), "\n ") + "\n"
}

// signed is the object of the commit, with a signature over all the rest of it.
func (c Commit) signed(tree string) ([]byte, error) {
	if tree == "" {
		return nil, errors.New("git named no tree")
	}
	var head, object bytes.Buffer
	fmt.Fprintf(&head, "tree %s\n", tree)
	for _, parent := range c.Parents {
		fmt.Fprintf(&head, "parent %s\n", parent)
	}
	fmt.Fprintf(&head, "author %s\ncommitter %s\n", c.Author.line(c.When), c.Committer.line(c.When))
	body := "\n" + c.message()
	signature, err := c.Sign.sign(append(bytes.Clone(head.Bytes()), body...))
	if err != nil {
		return nil, err
	}
	object.Write(head.Bytes())
	fmt.Fprintf(&object, "gpgsig %s\n", strings.ReplaceAll(strings.TrimSpace(signature), "\n", "\n "))
	object.WriteString(body)
	return object.Bytes(), nil
}
