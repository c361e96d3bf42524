package gitcmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// ListRemote returns the refs of a remote with the objects that they point to: those that were named, in full, or all of
// them. What an annotated tag stands for is there too, under the name with "^{}". Refs that do not exist are not in it.
func (r *Repository) ListRemote(ctx context.Context, remote Remote, refs ...string) (map[string]string, error) {
	for _, ref := range refs {
		if err := checkRef(ref); err != nil {
			return nil, err
		}
	}
	c, err := r.git.contact(remote)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return r.list(ctx, c, refs)
}

func (r *Repository) list(ctx context.Context, c *contact, refs []string) (map[string]string, error) {
	wanted := map[string]bool{}
	values := []string{c.address.String()}
	for _, ref := range refs {
		for _, name := range []string{ref, ref + "^{}"} {
			wanted[name] = true
			values = append(values, name)
		}
	}
	list := &refList{most: r.git.limits.Refs, wanted: wanted, refs: map[string]string{}}
	reader, writer := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := list.read(reader)
		_ = reader.CloseWithError(err)
		read <- err
	}()
	err := r.talk(ctx, c, NewCommand("ls-remote", "--quiet").Values(values...), writer)
	_ = writer.Close()
	if readErr := <-read; readErr != nil {
		return nil, readErr
	}
	if err != nil {
		return nil, err
	}
	return list.refs, nil
}

// refList reads the lines of ls-remote.
type refList struct {
	most   int
	wanted map[string]bool // all when it is empty
	refs   map[string]string
}

func (l *refList) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	for count := 0; lines.Scan(); {
		object, ref, found := strings.Cut(lines.Text(), "\t")
		if !found || !isObject(object) {
			return &Problem{Kind: Damaged, Message: "The Git server lists what is no object; only repositories of SHA-1 are supported."}
		}
		if count++; count > l.most {
			return &Problem{Kind: TooLarge, Message: fmt.Sprintf("The repository has more than %d branches and tags.", l.most)}
		}
		if len(l.wanted) == 0 || l.wanted[ref] {
			l.refs[ref] = object
		}
	}
	if err := lines.Err(); err != nil {
		return &Problem{Kind: Damaged, Message: "The Git server lists what cannot be read.", cause: err}
	}
	return nil
}

// Fetch gets refs of a remote, named in full, or commits, by their whole name, and points local refs to them: the keys
// are the remote's, the values the local ones. The local refs change together, and only when everything has arrived and
// is sound. What the remote does not have is a *Problem of the kind NoRef.
func (r *Repository) Fetch(ctx context.Context, remote Remote, refs map[string]string) error {
	if len(refs) == 0 {
		return nil
	}
	if err := checkFetch(refs); err != nil {
		return err
	}
	c, err := r.git.contact(remote)
	if err != nil {
		return err
	}
	defer c.close()
	objects, err := r.find(ctx, c, slices.Sorted(maps.Keys(refs)))
	if err != nil {
		return err
	}
	if err := r.download(ctx, c, slices.Compact(slices.Sorted(maps.Values(objects)))); err != nil {
		return err
	}
	updates := map[string]string{}
	for name, local := range refs {
		updates[local] = objects[name]
	}
	return r.setRefs(ctx, updates)
}

func checkFetch(refs map[string]string) error {
	for name, local := range refs {
		if !isObject(name) {
			if err := checkRef(name); err != nil {
				return err
			}
		}
		if err := checkRef(local); err != nil {
			return err
		}
	}
	return nil
}

// find asks the remote which objects the refs point to; objects stand for themselves.
func (r *Repository) find(ctx context.Context, c *contact, names []string) (map[string]string, error) {
	objects, refs := map[string]string{}, []string{}
	for _, name := range names {
		if isObject(name) {
			objects[name] = name
		} else {
			refs = append(refs, name)
		}
	}
	if len(refs) == 0 {
		return objects, nil
	}
	listed, err := r.list(ctx, c, refs)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		object, exists := listed[ref]
		if !exists {
			return nil, &Problem{Kind: NoRef, Message: "The repository does not have the " + describe(ref) + "."}
		}
		objects[ref] = object
	}
	return objects, nil
}

func describe(ref string) string {
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		return "branch " + name
	}
	if name, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
		return "tag " + name
	}
	return "ref " + ref
}

// download brings objects and all they need into the repository, by way of a quarantine.
func (r *Repository) download(ctx context.Context, c *contact, objects []string) error {
	q, err := r.quarantine()
	if err != nil {
		return err
	}
	defer q.Drop()
	command := NewCommand("fetch", "--quiet", "--no-progress", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--no-prune", "--no-show-forced-updates")
	if err := q.talk(ctx, c, command.Values(append([]string{c.address.String()}, objects...)...), nil); err != nil {
		return err
	}
	if err := q.checkSize(); err != nil {
		return err // between two looks
	}
	return q.Keep()
}
