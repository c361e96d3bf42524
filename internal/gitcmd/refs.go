package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// finish is how long a change of refs may take. It goes on when its caller is gone: a command that is killed while it
// changes refs leaves their locks behind.
const finish = time.Minute

//nolint:gochecknoglobals // compiled once, never changed
var shortForm = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// SetRef points a ref, named in full, to an object; the empty object removes it.
func (r *Repository) SetRef(ctx context.Context, ref, object string) error {
	return r.setRefs(ctx, map[string]string{ref: object})
}

// setRefs changes all refs or none.
func (r *Repository) setRefs(ctx context.Context, refs map[string]string) error {
	var in strings.Builder
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if err := checkRef(ref); err != nil {
			return err
		}
		if refs[ref] == "" {
			fmt.Fprintf(&in, "delete %s\n", ref)
			continue
		}
		if err := checkObjects(refs[ref]); err != nil {
			return err
		}
		fmt.Fprintf(&in, "update %s %s\n", ref, refs[ref])
	}
	if err := ctx.Err(); err != nil || in.Len() == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finish)
	defer cancel()
	return r.run(ctx, NewCommand("update-ref", "--no-deref", "--stdin"), strings.NewReader(in.String()), nil)
}

// Ref is the object that a ref, named in full, points to; empty when there is no such ref.
func (r *Repository) Ref(ctx context.Context, ref string) (string, error) {
	refs, err := r.Refs(ctx, ref)
	return refs[ref], err
}

// Refs are the refs below a prefix such as refs/tags, or the one of this name, with the objects that they point to.
func (r *Repository) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	if prefix != "refs" {
		if err := checkRef(prefix); err != nil {
			return nil, err
		}
	}
	out, err := r.output(ctx, NewCommand("for-each-ref", "--format=%(objectname) %(refname)").Values(prefix))
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if object, ref, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			refs[ref] = object
		}
	}
	return refs, nil
}

// Resolve returns the commit that a tag of this repository points to, or that begins with at least seven digits. When
// there is none, or more than one, it is a *Problem of the kind NoRef.
func (r *Repository) Resolve(ctx context.Context, rev string) (string, error) {
	var questions []string
	if CheckTag(rev) == nil {
		questions = append(questions, "refs/tags/"+rev+"^{commit}")
	}
	if shortForm.MatchString(rev) {
		questions = append(questions, rev+"^{commit}")
	}
	answers, err := r.lookUp(ctx, questions...)
	if err != nil {
		return "", err
	}
	for i, answer := range answers {
		if answer.kind != "commit" {
			continue
		}
		// A branch could have the name that was meant as digits of a commit.
		if strings.HasPrefix(questions[i], "refs/tags/") || strings.HasPrefix(answer.object, rev) {
			return answer.object, nil
		}
	}
	return "", &Problem{Kind: NoRef, Message: fmt.Sprintf("There is no tag %q, and no single commit that begins like this with at least seven digits.", plain(rev))}
}

// found is what git knows about a name; without a kind there is nothing of this name.
type found struct {
	object, kind string
	size         string
}

// lookUp asks for several names at once, each a line.
func (r *Repository) lookUp(ctx context.Context, names ...string) ([]found, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	in := strings.NewReader(strings.Join(names, "\n") + "\n")
	if err := r.run(ctx, NewCommand("cat-file", "--batch-check"), in, &out); err != nil {
		return nil, err
	}
	var all []found
	for line := range strings.Lines(out.String()) {
		var answer found
		if fields := strings.Fields(line); len(fields) == 3 && isObject(fields[0]) {
			answer = found{object: fields[0], kind: fields[1], size: fields[2]}
		}
		all = append(all, answer)
	}
	if len(all) != len(names) {
		return nil, errors.New("git cat-file: an answer is missing")
	}
	return all, nil
}
