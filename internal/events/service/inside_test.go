package service_test

import (
	"net/http"
	"strings"
	"testing"
)

const contexts = "runtime.contexts.updated"

// What is for the platform alone is read by nobody, not by whoever may read everything: neither in lists and searches, nor in their
// counts, nor live.
func TestNobodyReadsContexts(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		all := []*caller{h.ann, h.root}
		var streams []*stream
		var plugs []*plug
		for _, who := range all {
			p := who.connect()
			p.ask(`"type":"subscribe"`)
			plugs, streams = append(plugs, p), append(streams, who.listen("", ""), who.listen("&types="+contexts+",order.paid", "1-0"))
		}
		h.native(contexts)
		h.ann.emit(paid).want(http.StatusOK)
		for i, s := range streams {
			if got := s.types(1); got != "order.paid" {
				t.Errorf("stream %d gets %s", i, got)
			}
		}
		for _, p := range plugs {
			p.hear().want(t, "s1", "order.paid")
		}
		for _, who := range all {
			if got := who.types(); got != "order.paid" {
				t.Errorf("%s reads %s", who.who.Key(), got)
			}
			if some := who.get(events + "?types=" + contexts).want(http.StatusOK); some.header.Get("X-Total-Count") != "0" {
				t.Errorf("%s: %s", some.what, some.body)
			}
			for _, path := range []string{"/v2/workspaces/" + home + "/search", "/v2/search"} {
				if path == "/v2/search" && who != h.root {
					continue
				}
				found := who.do(http.MethodPost, path, `{"query":{"match_all":{}},"aggs":{"kinds":{"terms":{"field":"type"}}}}`).want(http.StatusOK)
				if found.text("size") != "1" || strings.Contains(found.body.String(), contexts) {
					t.Errorf("%s: %s", found.what, found.body)
				}
			}
		}
	})
}

// Webhooks are not told of it either, nor does a replay find it.
func TestWebhooksAreNotToldOfContexts(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		id := p.subscribeAs(p.root, r, "").text("id")
		p.deliver()
		p.native(contexts)
		p.ann.emit(event("after", `{}`)).want(http.StatusOK)
		p.until("what follows", func() bool { return p.total(id, "delivered") == "1" })
		p.root.do(http.MethodPost, subscriptions+"/"+id+"/replay", `{}`).want(http.StatusOK)
		p.until("it is sent again", r.has(2))
		if got := r.types(); got != "after after" {
			t.Errorf("the endpoint got %s", got)
		}
	})
}
