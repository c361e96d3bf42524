package gitserver

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"atelier/internal/errs"
)

// noCommit stands for a ref that is not there.
const noCommit = "0000000000000000000000000000000000000000"

// capabilities are what a push may use here.
const capabilities = "report-status delete-refs side-band-64k atomic ofs-delta object-format=sha1 agent=atelier"

// command is one change of a ref that a client asks for.
type command struct {
	before, after, ref string
	// refused is why it is not done; empty when it was.
	refused string
}

// push is what a client asks for.
type push struct {
	commands []*command
	// report, banded and atomic are what it can do, and wants.
	report, banded, atomic bool
}

const (
	// mostCommands is how many refs one push may name, mostLines how many lines may come before its pack.
	mostCommands = 1000
	mostLines    = 5000
)

var commandForm = regexp.MustCompile(`^([0-9a-f]{40}) ([0-9a-f]{40}) (refs/[^\x00-\x20\x7f]{1,300})$`) //nolint:gochecknoglobals // compiled once, never changed

// readPush reads what comes before the pack. A client that sends nothing only tries whether it may.
func readPush(in io.Reader) (*push, error) {
	p := &push{}
	for range mostLines {
		line, err := readPkt(in)
		switch {
		case errors.Is(err, errPkt), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, malformed()
		case err != nil:
			return nil, err
		case line == nil:
			return p, nil
		}
		if err := p.add(line); err != nil {
			return nil, err
		}
	}
	return nil, malformed()
}

func malformed() error {
	return errs.New(errs.InvalidRequest, "What was sent is not the git protocol, or it ended too early.")
}

func (p *push) add(line []byte) error {
	text, options, _ := bytes.Cut(line, []byte{0})
	said := strings.TrimSuffix(string(text), "\n")
	if strings.HasPrefix(said, "shallow ") {
		return nil // what the client lacks is there: the commits must lead to the branch
	}
	found := commandForm.FindStringSubmatch(said)
	if found == nil || len(p.commands) == mostCommands {
		return malformed()
	}
	for option := range strings.FieldsSeq(string(options)) {
		switch option {
		case "report-status":
			p.report = true
		case "side-band-64k":
			p.banded = true
		case "atomic":
			p.atomic = true
		}
	}
	p.commands = append(p.commands, &command{before: found[1], after: found[2], ref: found[3]})
	return nil
}

// screen refuses what nobody may do, and gives the command that is left; nil when there is none.
func (p *push) screen() *command {
	var left *command
	for _, c := range p.commands {
		switch {
		case c.ref != branch:
			c.refused = "only the branch main can be pushed"
		case c.after == noCommit:
			c.refused = "the branch main cannot be deleted"
		case left != nil:
			c.refused = "the branch is named twice"
		default:
			left = c
		}
	}
	if left != nil && p.atomic && slices.ContainsFunc(p.commands, func(c *command) bool { return c.refused != "" }) {
		left.refused = "atomic push failed"
		return nil
	}
	return left
}

// hasPack tells whether a pack follows: a client that only deletes sends none.
func (p *push) hasPack() bool {
	return slices.ContainsFunc(p.commands, func(c *command) bool { return c.after != noCommit })
}

// answer is what the client is told.
type answer struct {
	push *push
	// unpack is why the pack was not taken; empty when it was.
	unpack string
	// lines are for the terminal of whoever pushes.
	lines []string
}

// say adds a line.
func (a *answer) say(line string) { a.lines = append(a.lines, oneLine(line)) }

// write sends the answer.
func (a *answer) write(out io.Writer) error {
	var report, text strings.Builder
	if a.push.report {
		status := "ok"
		if a.unpack != "" {
			status = oneLine(a.unpack)
		}
		report.WriteString(pkt("unpack " + status + "\n"))
		for _, c := range a.push.commands {
			if c.refused == "" {
				report.WriteString(pkt("ok " + c.ref + "\n"))
			} else {
				report.WriteString(pkt("ng " + c.ref + " " + oneLine(c.refused) + "\n"))
			}
		}
		report.WriteString(flush)
	}
	if !a.push.banded {
		_, err := io.WriteString(out, report.String())
		return err
	}
	for _, line := range a.lines {
		text.WriteString(banded(bandProgress, line+"\n"))
	}
	text.WriteString(banded(bandReport, report.String()))
	text.WriteString(flush)
	_, err := io.WriteString(out, text.String())
	return err
}
