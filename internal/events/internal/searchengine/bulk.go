package searchengine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"atelier/internal/bus"
)

// item is a change of the index.
type item struct {
	// action is create, index or delete; place is the stream or the index that it is done to.
	action, place string
	event         bus.Event
	form          int
	// version is what an index action expects to replace.
	version *version
	// alias tells that the place must be an alias: the engine would make an index of that name instead.
	alias bool
	// busy tells that the engine could not take it the last time.
	busy bool
}

type version struct{ number, term json.Number }

// outcome is what became of an item.
type outcome struct {
	Status int             `json:"status"`
	Error  json.RawMessage `json:"error"`
}

const (
	// largestBulk is how many bytes are sent at once, unless one event alone is more.
	largestBulk = 5 << 20
	// rounds is how often what the engine cannot take at the moment is offered again before all of it is begun anew.
	rounds     = 8
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// write makes changes until all of them are made. An event that the engine refuses is offered in a simpler form. The error tells
// that not all could be made; doing it again does no harm.
func (e *Engine) write(ctx context.Context, items []item) (err error) {
	pause := firstPause
	for range rounds {
		if items, err = e.offer(ctx, items); err != nil || len(items) == 0 {
			return err
		}
		if !slices.ContainsFunc(items, func(it item) bool { return it.busy }) {
			continue // they are offered in another form
		}
		if err := e.wait(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, lastPause)
	}
	return fmt.Errorf("the search engine does not take %d changes at the moment", len(items))
}

func (e *Engine) wait(ctx context.Context, d time.Duration) error {
	timer := e.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// offer sends items, and gives those that have to be offered again.
func (e *Engine) offer(ctx context.Context, items []item) (again []item, err error) {
	for len(items) > 0 {
		body, count, err := bulk(items)
		if err != nil {
			return nil, err
		}
		left, err := e.post(ctx, body, items[:count])
		if err != nil {
			return nil, err
		}
		again, items = append(again, left...), items[count:]
	}
	return again, nil
}

// bulk writes as many items as are sent at once.
func bulk(items []item) (body []byte, count int, err error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	for count < len(items) && (count == 0 || b.Len() < largestBulk) {
		it := items[count]
		head := map[string]any{"_index": it.place, "_id": it.event.Position.ID()}
		if it.version != nil {
			head["if_seq_no"], head["if_primary_term"] = it.version.number, it.version.term
		}
		if it.alias {
			head["require_alias"] = true
		}
		if err := encoder.Encode(map[string]any{it.action: head}); err != nil {
			return nil, 0, err
		}
		if it.action != actionDelete {
			if err := encoder.Encode(documentOf(it.event, it.form)); err != nil {
				return nil, 0, err
			}
		}
		count++
	}
	return b.Bytes(), count, nil
}

const (
	actionCreate = "create"
	actionIndex  = "index"
	actionDelete = "delete"
)

// post sends one request. One that is too large for the engine is divided.
func (e *Engine) post(ctx context.Context, body []byte, items []item) (again []item, err error) {
	path := "/_bulk?filter_path=items.*.status,items.*.error.type,items.*.error.reason"
	if e.config.AtOnce {
		path += "&refresh=true"
	}
	var answer struct {
		Items []map[string]outcome `json:"items"`
	}
	err = e.client.send(ctx, request{method: http.MethodPost, path: path, kind: "application/x-ndjson", body: body}, &answer)
	switch {
	case statusOf(err) == http.StatusRequestEntityTooLarge && len(items) > 1:
		first, err := e.offer(ctx, items[:len(items)/2])
		if err != nil {
			return nil, err
		}
		second, err := e.offer(ctx, items[len(items)/2:])
		return append(first, second...), err
	case statusOf(err) == http.StatusRequestEntityTooLarge:
		return e.simpler(ctx, items[0], "too large"), nil
	case err != nil:
		return nil, err
	case len(answer.Items) != len(items):
		return nil, errors.New("the search engine did not say what became of every change")
	}
	for i, told := range answer.Items {
		for _, result := range told {
			again = append(again, e.judge(ctx, items[i], result)...)
		}
	}
	return again, nil
}

// judge tells whether an item has to be offered again, and in which form.
func (e *Engine) judge(ctx context.Context, it item, result outcome) []item {
	switch {
	case result.Status < http.StatusMultipleChoices:
		return nil
	case result.Status == http.StatusConflict && it.action == actionCreate: // it is there already
		return nil
	case result.Status == http.StatusNotFound && it.action == actionDelete:
		return nil
	case result.Status == http.StatusBadRequest:
		return e.simpler(ctx, it, problemOf(result.Error).kind)
	default:
		e.forget() // perhaps the stream is gone; and where another was quicker, who asked has to look again
		it.busy = true
		return []item{it}
	}
}

// simpler is the item in the next form. Why it is refused is told without its reason, which quotes the event. An event that is refused in the last one cannot be found by searches; the log has it.
func (e *Engine) simpler(ctx context.Context, it item, why string) []item {
	if it.action == actionDelete || it.form == lastForm {
		e.Log.ErrorContext(ctx, "the search engine refuses an event; it is not found by searches", "event", it.event.Position.ID(), "kind", why)
		return nil
	}
	e.Log.WarnContext(ctx, "the search engine refuses an event as it is; it is kept in a simpler form", "event", it.event.Position.ID(), "kind", why)
	it.form++
	it.busy = false
	return []item{it}
}
