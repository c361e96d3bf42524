package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Update is a change of one ref of a remote, named in full. It happens only when the ref points to Old, empty for a ref
// that must not exist yet. An empty New removes the ref.
type Update struct{ Ref, Old, New string }

// Push makes all of the updates or none of them; a server that cannot do that gets them one after another, in this order.
// A ref that is not at its Old, unless it is at New already, is a *Problem of the kind Moved.
func (r *Repository) Push(ctx context.Context, remote Remote, updates ...Update) error {
	for _, update := range updates {
		if err := update.check(); err != nil {
			return err
		}
	}
	if len(updates) == 0 {
		return nil
	}
	c, err := r.git.contact(remote)
	if err != nil {
		return err
	}
	defer c.close()
	err = r.push(ctx, c, updates...)
	if !isKind(err, notAtomic) {
		return err
	}
	for _, update := range updates {
		if err := r.push(ctx, c, update); err != nil {
			return err
		}
	}
	return nil
}

// notAtomic is the kind of problem that a server without atomic pushes gives.
const notAtomic Kind = "not_atomic"

func (u Update) check() error {
	if err := checkRef(u.Ref); err != nil {
		return err
	}
	if u.Old == "" && u.New == "" {
		return refusedError("An update needs a commit.")
	}
	return checkObjects(slices.DeleteFunc([]string{u.Old, u.New}, func(object string) bool { return object == "" })...)
}

func (r *Repository) push(ctx context.Context, c *contact, updates ...Update) error {
	command := NewCommand("push", "--porcelain", "--no-progress", "--no-follow-tags", "--no-verify", "--no-signed", "--recurse-submodules=no")
	if len(updates) > 1 {
		command = command.and("--atomic")
	}
	values := []string{c.address.String()}
	for _, update := range updates {
		command = command.option("--force-with-lease=", update.Ref+":"+update.Old)
		values = append(values, update.New+":"+update.Ref)
	}
	var out strings.Builder
	err := r.talk(ctx, c, command.Values(values...), &out)
	problem, ok := errors.AsType[*Problem](err)
	if !ok {
		return err
	}
	exit, ok := errors.AsType[*ExitError](problem.cause)
	if !ok {
		return problem
	}
	if strings.Contains(exit.Stderr, "does not support --atomic") {
		return &Problem{Kind: notAtomic, Message: problem.Message}
	}
	if refusal := c.refusal(out.String(), exit); refusal != nil {
		return refusal
	}
	return problem
}

// refusal reads the report of a push: "!<tab>from:to<tab>[remote rejected] (reason)" for each ref that did not change. It
// is nil when there is none: then the push did not get that far.
func (c *contact) refusal(report string, exit *ExitError) *Problem {
	moved, refused := "", []string{}
	for line := range strings.Lines(report) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) != 3 || fields[0] != "!" {
			continue
		}
		_, ref, _ := strings.Cut(fields[1], ":")
		_, reason, _ := strings.Cut(fields[2], " (")
		switch reason = strings.TrimSuffix(reason, ")"); {
		case hasMoved(reason, exit.Stderr):
			moved = ref
		case !isConsequence(reason):
			refused = append(refused, ref+": "+reason)
		case moved == "":
			refused = append(refused, "")
		}
	}
	switch {
	case moved != "":
		return &Problem{Kind: Moved, Message: fmt.Sprintf("Somebody else has changed the %s meanwhile. Pull first.", describe(moved)), cause: exit}
	case len(refused) == 0:
		return nil
	}
	_, server := splitWords(exit.Stderr)
	words := c.words(append([]string{server}, slices.DeleteFunc(refused, func(reason string) bool { return reason == "" })...)...)
	if words == "" {
		words = "it gives no reason."
	}
	return &Problem{Kind: Rejected, Message: fmt.Sprintf("The Git server %s refuses the push: %s", c.address.Host, words), cause: exit}
}

// hasMoved reads the reasons of git itself, and what servers say when two pushes meet.
func hasMoved(reason, stderr string) bool {
	switch reason {
	case "stale info", "fetch first", "non-fast-forward", "needs force", "already exists", "remote ref updated since checkout",
		"incorrect old value provided", "reference already exists":
		return true
	}
	if strings.Contains(reason, "cannot lock ref") {
		return true
	}
	if reason != "failed to update ref" && !isConsequence(reason) {
		return false
	}
	for _, phrase := range []string{"cannot lock ref", "but expected", "reference already exists", "File exists"} {
		if strings.Contains(stderr, phrase) {
			return true
		}
	}
	return false
}

// isConsequence tells that a ref did not change because another one did not.
func isConsequence(reason string) bool { return strings.Contains(reason, "atomic") }
