package locks_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

// taker wants the lock again and again, now from this process and then from that one.
type taker struct {
	*contest

	number, tries int
	random        *rand.Rand
	// apiKey is what whoever imports has, and key whose its locks are.
	apiKey, key string
}

func (w *taker) run() {
	for !w.enough.Load() && !w.t.Failed() {
		w.tries++
		switch {
		case w.apiKey != "":
			w.imports()
		case w.number == importers && w.impatient.Load():
			w.clears()
		case w.takes():
			w.holds()
		}
	}
}

// newKey makes an API key that may import. A key is not used any more after nobody knows what became of its last import, and
// whoever cannot have another one wants the lock by hand from then on.
func (w *taker) newKey() {
	w.apiKey = ""
	keys := w.at + "/security/apikeys"
	if id, had := strings.CutPrefix(w.key, "key:"); had {
		w.send(request{method: http.MethodDelete, path: keys + "/" + id}) // to have room for another one; it does not matter whether it works
	}
	for !w.t.Failed() {
		got, _ := w.send(request{method: http.MethodPost, path: keys, body: map[string]any{
			"name": fmt.Sprintf("importer %d-%d", w.number, w.tries), "rules": []any{map[string]any{"action": []string{"read", "update"}, "subject": "workspaces"}},
		}})
		if got.unknown() {
			continue
		}
		var made struct{ ID, APIKey string }
		if err := got.into(&made); err != nil || got.status != http.StatusCreated && !got.tooMany() {
			w.t.Errorf("make a key: %s", got)
		}
		w.apiKey, w.key = made.APIKey, "key:"+made.ID
		return
	}
}

// send sends a request to one of the processes. One that nobody took is sent again.
func (w *taker) send(r request) (got answer, when span) {
	r.apiKey = w.apiKey
	for {
		when.call = w.seen.now()
		got = w.call(w.places[w.random.IntN(len(w.places))], r)
		when.back = w.seen.now()
		if !got.unsent() || w.t.Failed() {
			break
		}
	}
	if got.unknown() {
		w.cut.Add(1)
		when.back = never
	}
	return got, when
}

// takes wants the lock by hand. Whoever does not hear what became of it asks again, by another name, and finds out when it has the
// lock by the first one.
func (w *taker) takes() bool {
	mine := fmt.Sprintf("t%d-%d.", w.number, w.tries)
	for again := 0; !w.t.Failed(); again++ {
		name := fmt.Sprint(mine, again)
		got, when := w.send(request{method: http.MethodPost, path: w.at + "/writeLock", body: map[string]any{"reason": name}})
		if got.unknown() || got.status == http.StatusOK {
			w.seen.note(func() { w.seen.takes[name] = when })
		}
		switch {
		case got.unknown():
		case got.status == http.StatusOK:
			w.won.Add(1)
			return true
		default:
			return strings.HasPrefix(w.refusal(got, when), mine)
		}
	}
	return false
}

// refusal notes whose the lock is said to be.
func (w *taker) refusal(got answer, when span) (has string) {
	var said struct {
		Error   string
		Details struct {
			Reason, LockedBy string
			LockedAt         time.Time
		}
	}
	if err := got.into(&said); err != nil || got.status != http.StatusLocked || said.Error != "resource_locked" || said.Details.Reason == "" || said.Details.LockedBy == "" {
		w.t.Errorf("neither done nor refused: %s", got)
		return ""
	}
	w.refused.Add(1)
	has = holder(said.Details.Reason, said.Details.LockedBy, said.Details.LockedAt.UnixMilli())
	w.seen.note(func() { w.seen.looks = append(w.seen.looks, look{span: when, holder: has}) })
	return has
}

// holds tries whether anybody can write while the lock is held, and clears it.
func (w *taker) holds() {
	before := w.sees()
	got, when := w.send(request{method: http.MethodPatch, path: w.at, body: map[string]any{"description": fmt.Sprintf("by %d, %d", w.number, w.tries)}})
	switch {
	case got.unknown(): // whether it was free then, nobody knows
	case got.status == http.StatusOK:
		w.seen.note(func() { w.seen.looks = append(w.seen.looks, look{span: when}) })
	default:
		w.refusal(got, when)
	}
	if after := w.sees(); before.holder != "" && after.epoch == before.epoch && after != before {
		w.t.Errorf("the content was changed while somebody had the lock: %+v, %+v", before, after)
	}
	w.clears()
}

func (w *taker) clears() {
	for again := 0; !w.t.Failed(); again++ {
		id := fmt.Sprintf("clear-%d-%d-%d", w.number, w.tries, again)
		got, when := w.send(request{method: http.MethodDelete, path: w.at + "/writeLock", id: id})
		w.seen.note(func() { w.seen.clears[id] = when })
		if got.unknown() {
			continue
		}
		if got.status != http.StatusOK {
			w.t.Errorf("clear: %s", got)
		}
		return
	}
}

// imports has the lock for as long as an import takes.
func (w *taker) imports() {
	slug := fmt.Sprintf("i%d-%d", w.number, w.tries)
	got, when := w.send(request{method: http.MethodPost, path: w.at + "/import", archive: archive(w.t, slug)})
	try := &attempt{span: when, accepted: got.status == http.StatusOK, lost: got.status == http.StatusConflict}
	switch {
	case got.unknown():
		defer w.newKey()
	case try.accepted:
		w.accepted.Add(1)
	case try.lost: // to somebody impatient, or because its process did not get on
		w.lost.Add(1)
	default:
		w.refusal(got, when)
		return
	}
	w.seen.note(func() { w.seen.imports[w.key] = append(w.seen.imports[w.key], try) })
	if !got.unknown() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.imported[slug] = try.accepted
	}
}

// archive is one with an automation.
func archive(t *testing.T, slug string) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, text := range map[string]string{"index.yml": "name: Mine\n", "automations/" + slug + ".yml": "name: " + slug + "\ndo: []\n"} {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Error(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Error(err)
	}
	return packed.Bytes()
}
