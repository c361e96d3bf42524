package sync_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/gitcmd/gittest"
)

// pair is two workspaces that share a repository.
type pair struct {
	t       *testing.T
	h       *house
	random  *rand.Rand
	repo    string
	members [2]*member
	// target is what the branch has, commits what pushes were acknowledged with.
	target  tree
	commits []string
	count   int
	// written counts how often the branch was written to.
	written int
	done    []string // what was done, for messages
}

// member is a workspace as the model has it.
type member struct {
	id, name  string
	now, base tree
	// dispute is what the branch had when a pull found a conflict; nil when there is none.
	dispute tree
	// found is what written was when the conflict was found.
	found int
	// tried tells that a settling was interrupted: some of it may be kept.
	tried bool
	// seen is what written was when the workspace last had what the branch had: two trees that mean the same can be written
	// differently, and only the text counts for a push.
	seen int
}

func newPair(t *testing.T, h *house, name string, random *rand.Rand) *pair {
	t.Helper()
	p := &pair{t: t, h: h, random: random, repo: name, target: tree{}}
	h.git.Create(name)
	remote := h.git.Remote(name)
	for i := range p.members {
		m := &member{name: fmt.Sprintf("%s-%d", name, i), now: tree{}, base: tree{}}
		var made struct{ ID string }
		p.must(http.MethodPost, "/v2/workspaces", map[string]any{"name": m.name}, &made, http.StatusCreated)
		m.id = made.ID
		p.must(http.MethodPatch, "/v2/workspaces/"+m.id, map[string]any{"repositories": map[string]any{"main": map[string]any{
			"name": "Main", "config": map[string]any{"url": remote.URL, "branch": "main", "auth": map[string]any{"user": remote.User, "password": remote.Password}},
		}}}, nil, http.StatusOK)
		p.members[i] = m
	}
	p.must(http.MethodPost, p.at(p.members[0], "/push"), toMain(nil), nil, http.StatusOK)
	p.must(http.MethodPost, p.at(p.members[1], "/pull"), toMain(map[string]any{"discardLocalChanges": true}), nil, http.StatusOK)
	return p
}

func toMain(more map[string]any) map[string]any {
	body := map[string]any{"repository": map[string]any{"id": "main"}}
	maps.Copy(body, more)
	return body
}

func (p *pair) at(m *member, path string) string { return "/v2/workspaces/" + m.id + path }

// must repeats a request until it is answered; only for what may be done twice.
func (p *pair) must(method, path string, body, into any, want int) {
	p.t.Helper()
	for {
		var raw json.RawMessage
		status, err := p.h.call(p.t.Context(), method, path, body, &raw)
		if errors.Is(err, errUnknown) && p.t.Context().Err() == nil {
			continue
		}
		if status == http.StatusLocked { // something that was interrupted is still being found out
			wait(p.t.Context(), 200*time.Millisecond)
			continue
		}
		repeated := status == http.StatusConflict && strings.HasSuffix(path, "/push") // the first one was done after all
		if err != nil || status != want && !repeated {
			p.fail("%s %s: %d %v, want %d\n%s", method, path, status, err, want, raw)
		}
		if into != nil {
			if err := json.Unmarshal(raw, into); err != nil {
				p.fail("%s %s: %v\n%s", method, path, err, raw)
			}
		}
		return
	}
}

// fail ends the sequence and shows what led to it.
func (p *pair) fail(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s: %s\n%s", p.repo, fmt.Sprintf(format, args...), strings.Join(p.done, "\n"))
}

func (p *pair) note(format string, args ...any) {
	p.done = append(p.done, fmt.Sprintf(format, args...))
}

// step does one random thing.
func (p *pair) step() {
	p.t.Helper()
	m := p.members[p.random.IntN(len(p.members))]
	if m.dispute != nil {
		p.quarrel(m)
		return
	}
	switch n := p.random.IntN(20); {
	case n < 9:
		p.edit(m)
	case n < 14:
		p.push(m)
	case n < 18:
		p.pull(m, n == 17)
	default:
		p.outsider()
	}
}

// quarrel does something with a workspace that is locked by a conflict.
func (p *pair) quarrel(m *member) {
	p.t.Helper()
	switch p.random.IntN(6) {
	case 0:
		p.pull(m, false)
	case 1:
		p.pull(m, true)
	case 2:
		p.note("dismiss %s", m.name)
		p.must(http.MethodDelete, p.at(m, "/writeLock"), nil, nil, http.StatusOK)
		m.dispute = nil
	case 3:
		p.resolveInGit(m)
	default:
		p.resolve(m)
	}
}

// change makes some other text of a tree: every value is new.
func (p *pair) change(t tree) (tree, string) {
	out := t.clone()
	slug := string(rune('a' + p.random.IntN(4)))
	p.count++
	value := fmt.Sprintf("v%d", p.count)
	doc, there := out[slug]
	switch n := p.random.IntN(10); {
	case !there:
		out[slug] = text{"description": value}
	case n == 0:
		delete(out, slug)
	case n == 1 && len(doc) > 1:
		keys := slices.Sorted(maps.Keys(doc))
		delete(doc, keys[p.random.IntN(len(keys))])
	case n < 5:
		doc["description"] = value
	default:
		doc["arguments."+string(rune('x'+p.random.IntN(3)))] = value
	}
	return out, slug
}

func (p *pair) edit(m *member) {
	p.t.Helper()
	after, slug := p.change(m.now)
	doc, stays := after[slug]
	_, was := m.now[slug]
	method, path, body := http.MethodPatch, "/automations/"+slug, any(doc.body(slug))
	switch {
	case !stays:
		method, body = http.MethodDelete, nil
	case !was:
		method, path = http.MethodPost, "/automations"
		fresh := doc.body(slug)
		delete(fresh, "description")
		if has(doc, "description") {
			fresh["description"] = doc["description"]
		}
		body = fresh
	}
	p.note("edit %s: %s %s %v", m.name, method, slug, after[slug])
	var answer json.RawMessage
	status, err := p.h.call(p.t.Context(), method, p.at(m, path), body, &answer)
	if errors.Is(err, errUnknown) {
		p.note("  killed")
		found := p.read(m)
		if !found.equal(after) && !found.equal(m.now) {
			p.fail("%s is %v, neither %v nor %v", m.name, found, m.now, after)
		}
		m.now = found
		return
	}
	if err != nil || status >= http.StatusMultipleChoices {
		p.fail("edit %s: %d %v %s", m.name, status, err, answer)
	}
	m.now = after
}

// read is what a workspace really has.
func (p *pair) read(m *member) tree {
	p.t.Helper()
	out := tree{}
	for _, slug := range []string{"a", "b", "c", "d"} {
		var doc struct {
			Description string
			Arguments   map[string]struct{ Title string }
		}
		var raw json.RawMessage
		status, err := 0, errUnknown
		for errors.Is(err, errUnknown) && p.t.Context().Err() == nil {
			status, err = p.h.call(p.t.Context(), http.MethodGet, p.at(m, "/automations/"+slug), nil, &raw)
		}
		if status == http.StatusNotFound {
			continue
		}
		if err == nil {
			err = json.Unmarshal(raw, &doc)
		}
		if err != nil || status != http.StatusOK {
			p.fail("read %s: %d %v %s", m.name, status, err, raw)
		}
		out[slug] = text{}
		if doc.Description != "" {
			out[slug]["description"] = doc.Description
		}
		for name, argument := range doc.Arguments {
			out[slug]["arguments."+name] = argument.Title
		}
	}
	return out
}

// state is what a workspace says of itself.
type state struct {
	LastPush  *struct{ Version string }
	WriteLock *struct{ Reason string }
}

// settled waits until nothing of an interrupted operation is in the way, which must not take longer than ten seconds.
func (p *pair) settled(m *member) state {
	p.t.Helper()
	until := time.Now().Add(20 * time.Second)
	for {
		var w state
		p.must(http.MethodGet, p.at(m, ""), nil, &w, http.StatusOK)
		if w.WriteLock == nil || w.WriteLock.Reason == "merge_conflict" {
			return w
		}
		if time.Now().After(until) {
			p.fail("%s is still locked: %s", m.name, w.WriteLock.Reason)
		}
		wait(p.t.Context(), 100*time.Millisecond)
	}
}

type refusal struct {
	Error, Message string
	Details        struct{ Reason string }
	Commit         string
}

// push pushes, and tells whether that came to an end: not when the process was killed under it and nothing was pushed.
func (p *pair) push(m *member) (ended bool) {
	p.t.Helper()
	p.count++
	name := fmt.Sprintf("%s-n%d", m.name, p.count)
	p.note("push %s as %s: %v", m.name, name, m.now)
	var answer refusal
	status, err := p.h.call(p.t.Context(), http.MethodPost, p.at(m, "/push"), toMain(map[string]any{"name": name}), &answer)
	if errors.Is(err, errUnknown) {
		w := p.settled(m)
		p.note("  killed")
		if w.LastPush == nil || w.LastPush.Version != name {
			return false // it did not happen; the end of the sequence sees whether anything of it is there
		}
		answer.Commit = gittest.Lookup(p.t, p.h.git.Path(p.repo), "refs/tags/"+name)
		p.note("  but done: %s", answer.Commit)
		status = http.StatusOK
	}
	inStep := m.seen == p.written || m.now.equal(p.target) || m.base.equal(p.target) // or what others wrote is what was there before
	switch {
	case status == http.StatusOK && inStep:
		p.target, m.base = m.now.clone(), m.now.clone()
		p.written++
		m.seen = p.written
		p.commits = append(p.commits, answer.Commit)
	case status == http.StatusConflict && answer.Error == "resource_conflict" && m.seen != p.written:
		p.note("  behind")
	default:
		p.fail("push %s: %d %+v, in step: %v\nbase %v\ntarget %v", m.name, status, answer, inStep, m.base, p.target)
	}
	return true
}

func (p *pair) pull(m *member, discard bool) {
	p.t.Helper()
	p.note("pull %s, discard %v: base %v, now %v, target %v", m.name, discard, m.base, m.now, p.target)
	var answer refusal
	status, err := 0, errUnknown
	for errors.Is(err, errUnknown) && p.t.Context().Err() == nil { // pulling twice is pulling once
		status, err = p.h.call(p.t.Context(), http.MethodPost, p.at(m, "/pull"), toMain(map[string]any{"discardLocalChanges": discard}), &answer)
		if errors.Is(err, errUnknown) {
			p.note("  killed")
			p.settled(m)
		}
	}
	merged, clashes := merge(m.base, m.now, p.target, nil)
	switch {
	case discard && status == http.StatusOK:
		merged = p.target.clone()
	case status == http.StatusConflict && answer.Details.Reason == "merge_conflict" && len(clashes) > 0:
		m.dispute, m.tried, m.found = p.target.clone(), false, p.written
		p.note("  conflict")
		p.same(m, m.now)
		return
	case status != http.StatusOK || len(clashes) > 0:
		p.fail("pull %s: %d %+v, clashes %v", m.name, status, answer, clashes)
	}
	m.now, m.base, m.dispute, m.seen = merged, p.target.clone(), nil, p.written
	p.same(m, merged)
}

// same holds a workspace against what it should be.
func (p *pair) same(m *member, want tree) {
	p.t.Helper()
	if found := p.read(m); !found.equal(want) {
		p.fail("%s is %v\nwant %v", m.name, found, want)
	}
}

// resolve settles the conflicts of a workspace here, one by one or all at once.
func (p *pair) resolve(m *member) {
	p.t.Helper()
	_, clashes := merge(m.base, m.now, m.dispute, nil)
	var listed struct {
		Conflicts []struct {
			Document, Key string
			Path          []string
		}
	}
	p.must(http.MethodGet, p.at(m, "/conflicts"), nil, &listed, http.StatusOK)
	chosen := map[clash]side{}
	var resolutions []any
	for _, c := range listed.Conflicts {
		at := clash{strings.TrimPrefix(c.Document, "automations/"), place(c.Path)}
		if !slices.Contains(clashes, at) {
			p.fail("%s: %+v is no conflict of %v", m.name, c, clashes)
		}
		if _, twice := chosen[at]; twice {
			continue
		}
		chosen[at] = []side{ours, theirs}[p.random.IntN(2)]
	}
	for _, c := range listed.Conflicts {
		at := clash{strings.TrimPrefix(c.Document, "automations/"), place(c.Path)}
		resolutions = append(resolutions, map[string]any{"document": c.Document, "path": c.Path, "take": chosen[at]})
	}
	if len(chosen) != len(clashes) {
		p.fail("%s: %d conflicts are listed, want %v", m.name, len(listed.Conflicts), clashes)
	}
	body := map[string]any{"resolutions": resolutions}
	if p.random.IntN(3) == 0 && !m.tried {
		all := []side{ours, theirs}[p.random.IntN(2)]
		body = map[string]any{"all": all}
		for at := range chosen {
			chosen[at] = all
		}
	}
	merged, _ := merge(m.base, m.now, m.dispute, func(at clash) side { return chosen[at] })
	p.note("resolve %s: %v", m.name, chosen)
	var answer json.RawMessage
	status, err := p.h.call(p.t.Context(), http.MethodPost, p.at(m, "/conflicts/resolve"), body, &answer)
	if errors.Is(err, errUnknown) {
		p.note("  killed")
		if w := p.settled(m); w.WriteLock != nil {
			m.tried = true
			return // it is as it was; it can be pulled or settled again
		}
	} else if err != nil || status != http.StatusOK {
		p.fail("resolve %s: %d %v %s", m.name, status, err, answer)
	}
	m.now, m.base, m.dispute, m.tried, m.seen = merged, m.dispute, nil, false, m.found
	p.same(m, merged)
}

// place is a path of a conflict as the model names it: an argument that came or went is a conflict as a whole.
func place(path []string) string {
	if len(path) > 2 && path[0] == "arguments" {
		path = path[:2]
	}
	return strings.Join(path, ".")
}

// resolveInGit settles the conflict the way the specification describes: in a Git client, on the intermediate branch.
func (p *pair) resolveInGit(m *member) {
	p.t.Helper()
	which := []side{ours, theirs}[p.random.IntN(2)]
	merged, _ := merge(m.base, m.now, p.target, func(clash) side { return which })
	var w struct{ Slug string }
	p.must(http.MethodGet, p.at(m, ""), nil, &w, http.StatusOK)
	p.note("resolve %s in Git with %s: %v", m.name, which, merged)
	path := p.h.git.Path(p.repo)
	branch := "svc/" + w.Slug + "/main"
	files := p.files(merged)
	parents := []string{gittest.Lookup(p.t, path, "refs/heads/"+branch), gittest.Lookup(p.t, path, "refs/heads/main")}
	p.h.git.Merge(p.repo, branch, parents, files)
	p.pullResolved(m, merged)
}

func (p *pair) pullResolved(m *member, merged tree) {
	p.t.Helper()
	var answer refusal
	status, err := 0, errUnknown
	for errors.Is(err, errUnknown) && p.t.Context().Err() == nil {
		if status, err = p.h.call(p.t.Context(), http.MethodPost, p.at(m, "/pull"), toMain(nil), &answer); errors.Is(err, errUnknown) {
			p.note("  killed")
			p.settled(m)
		}
	}
	if err != nil || status != http.StatusOK {
		p.fail("pull of what was settled in Git into %s: %d %+v", m.name, status, answer)
	}
	m.now, m.base, m.dispute, m.seen = merged, p.target.clone(), nil, p.written
	p.same(m, merged)
}

// files are the automations of a tree as files, with nil for those that are not there.
func (p *pair) files(t tree) map[string][]byte {
	files := map[string][]byte{}
	for _, slug := range []string{"a", "b", "c", "d"} {
		files["automations/"+slug+".yml"] = nil
		if doc, there := t[slug]; there {
			files["automations/"+slug+".yml"] = doc.yaml(slug)
		}
	}
	return files
}

// outsider is somebody with a Git client who changes the branch.
func (p *pair) outsider() {
	p.t.Helper()
	after, slug := p.change(p.target)
	p.note("outsider: %s %v", slug, after[slug])
	name := "automations/" + slug + ".yml"
	var content []byte
	if doc, there := after[slug]; there {
		content = doc.yaml(slug)
	}
	p.commits = append(p.commits, p.h.git.Commit(p.repo, "main", map[string][]byte{name: content}))
	p.target = after
	p.written++
}

// finish brings both workspaces and the branch together, and looks for what was lost.
func (p *pair) finish() {
	p.t.Helper()
	for _, m := range slices.Concat(p.members[:], p.members[:]) {
		if m.dispute == nil {
			p.pull(m, false)
		}
		for m.dispute != nil {
			p.resolve(m)
		}
		if !m.base.equal(p.target) {
			p.pull(m, false)
			for m.dispute != nil {
				p.resolve(m)
			}
		}
		for !p.push(m) { // what is not pushed in the end the other one does not have
		}
	}
	p.pull(p.members[0], false)
	for _, m := range p.members {
		p.same(m, p.target)
	}
	path := p.h.git.Path(p.repo)
	gittest.Run(p.t, path, "fsck", "--strict", "--no-progress")
	for _, commit := range p.commits {
		gittest.Run(p.t, path, "merge-base", "--is-ancestor", commit, "main")
	}
}
