package service_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

func (h *house) internal() *caller { return h.as(access.Principal{Kind: access.Internal}) }

// show lets the others know of the instance until stop is called.
func (h *house) show() (stop func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.whole.Show(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	}
}

// Operators see who listens: with what, to how much, and at which instance; who has left is not there any more.
func TestWhoListens(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		const path = "/sys/subscriptions"
		for _, who := range []*caller{h.root, h.ann} {
			who.get(path).wantError(http.StatusForbidden, errs.PermissionDenied)
		}
		h.nobody.get(path).wantError(http.StatusUnauthorized, errs.MissingToken)
		stream, plug := h.ann.listen("", ""), h.ann.connect()
		for range 2 {
			plug.ask(`"type":"subscribe"`)
		}
		other := newHouse(t, h.db)
		far := other.bob.listen("", "")
		// A stream answers before it has its subscription; what an instance shows to others is what it has at that moment.
		listening := func(at *house, subscribers string) func() bool {
			return func() bool { return at.internal().get(path).text("nodes.0.subscribers") == subscribers }
		}
		h.until("three listen here", listening(h, "3"))
		other.until("one listens there", listening(other, "1"))
		stop := other.show()
		h.until("the other one is there", func() bool { return h.internal().get(path).at("nodes.1") != nil })
		seen := h.internal().get(path).want(http.StatusOK)
		for at, want := range map[string]string{
			"nodes.0.self": "true", "nodes.0.sockets.sse": "1", "nodes.0.sockets.websocket": "1", "nodes.0.sockets.socket.io": "", "nodes.0.subscribers": "3", "nodes.0.workspaces": "1",
			"nodes.1.self": "", "nodes.1.sockets.sse": "1", "nodes.1.subscribers": "1", "nodes.2": "", "sockets.sse": "2", "sockets.websocket": "1", "subscribers": "4",
		} {
			if got := seen.text(at); got != want {
				t.Errorf("%s: %q, want %q", at, got, want)
			}
		}
		if seen.text("nodes.0.id") == seen.text("nodes.1.id") {
			t.Error("two instances have one name")
		}
		stream.leave()
		far.leave()
		h.until("the stream is gone", func() bool { return h.internal().get(path).text("nodes.0.sockets.sse") == "0" })
		stop()
		if left := h.internal().get(path); left.at("nodes.1") != nil {
			t.Errorf("an instance that has ended is still there: %s", left.body)
		}
	})
}

// An instance that dies without a farewell is forgotten, by the database's clock.
func TestNodesThatDied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		now := time.Now().UnixMilli() //nolint:forbidigo // the database's time is what counts
		for id, seen := range map[string]int64{"dead": now - time.Minute.Milliseconds(), "alive": now} {
			h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO ev_nodes (id, figures, seen_at) VALUES ($1, '{"sockets":{"sse":7},"subscribers":7,"workspaces":1}', $2)`, id, seen)
				return err
			})
		}
		seen := h.internal().get("/sys/subscriptions").want(http.StatusOK)
		if seen.text("nodes.1.id") != "alive" || seen.at("nodes.2") != nil || seen.text("subscribers") != "7" {
			t.Errorf("%s", seen.body)
		}
	})
}

// Where the log itself is searched there are no shards, and that is what is said; a search engine tells of those of events only.
func TestShards(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		for _, who := range []*caller{h.root, h.internal()} {
			if got := strings.TrimSpace(who.get("/sys/events/shards").want(http.StatusOK).body.String()); !strings.HasSuffix(got, `"total":0,"shards":[]}`) {
				t.Errorf("%s", got)
			}
		}
		if got := strings.TrimSpace(h.internal().get("/sys/shards?group=node").want(http.StatusOK).body.String()); !strings.HasSuffix(got, `"total":0,"groups":[]}`) {
			t.Errorf("%s", got)
		}
		h.root.get("/sys/shards").wantError(http.StatusForbidden, errs.PermissionDenied)
		h.ann.get("/sys/events/shards").wantError(http.StatusForbidden, errs.PermissionDenied)
		h.root.get("/sys/events/shards?group=nonsense").wantError(http.StatusBadRequest, errs.InvalidParameter)
	})
	for _, perWorkspace := range []bool{false, true} {
		eachEngine(t, perWorkspace, func(t *testing.T, h *house) {
			const path = "/sys/events/shards"
			h.ann.emit(event("order.paid", `{}`), event("order.sent", `{}`)).want(http.StatusOK)
			h.ann.types() // the index has them now
			all := h.root.get(path).want(http.StatusOK)
			if all.text("total") == "0" || !strings.HasSuffix(all.text("shards.0.stream"), "-events") || all.text("shards.0.primary") != "true" || all.text("shards.0.state") != "STARTED" {
				t.Fatalf("%s", all.body)
			}
			stream, index := all.text("shards.0.stream"), all.text("shards.0.index")
			home := strings.ToLower(home)
			for query, want := range map[string]bool{
				"?index=" + index: true, "?index=" + stream: true, "?patterns=nothing-*": false, "?patterns=nothing-*,*events*": true,
				"?index=readiness": false, "?tenants=" + home: true, "?tenants=Unknown": !perWorkspace,
			} {
				if got := h.root.get(path+query).want(http.StatusOK).text("total") != "0"; got != want {
					t.Errorf("%s: %t", query, got)
				}
			}
			grouped := h.root.get(path + "?group=stream&tenants=" + home).want(http.StatusOK)
			if grouped.at("shards") != nil || grouped.text("groups.0.docs") != "2" || grouped.at("groups.1") != nil || grouped.text("groups.0.primaries") == "0" {
				t.Errorf("%s", grouped.body)
			}
		})
	}
}
