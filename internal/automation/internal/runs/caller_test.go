package runs_test

import (
	"context"
	"testing"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/httpx"
	"atelier/internal/sqldb"
)

// watcher is an engine that only looks at what it is to run.
type watcher struct {
	seen chan *machine.Run
	who  chan access.Principal
}

func (e watcher) Execute(ctx context.Context, run *machine.Run, _ *machine.Automation, payload *value.Object) machine.Result {
	if run.CorrelationID != httpx.InfoFrom(ctx).CorrelationID || payload.Len() != 3 {
		run = nil
	}
	e.who <- access.From(ctx)
	e.seen <- run
	return machine.Result{}
}

// A run acts for whoever the event comes from, but never with the rights of a super admin.
func TestCaller(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, open func() *sqldb.DB) {
		w := newWorld(t)
		w.users["ann"] = access.Principal{Kind: access.User, UserID: "ann", SuperAdmin: true, AuthData: map[string]map[string]any{"svc": {"email": "a@b.c"}}}
		w.add("w1", "do", "when: {events: [go]}\ndo: []\n")
		e := watcher{make(chan *machine.Run, 1), make(chan access.Principal, 1)}
		i := w.start(open(), options{engine: e})
		for name, c := range map[string]struct {
			user, session string
			want          access.Principal
		}{
			"an account": {"ann", "s1", access.Principal{Kind: access.User, UserID: "ann", SessionID: "s1"}},
			"a visitor":  {"", "s2", access.Principal{Kind: access.Anonymous, SessionID: "s2"}},
			"who is not": {"gone", "s3", access.Principal{Kind: access.Anonymous, UserID: "gone", SessionID: "s3"}},
			"nobody":     {"", "", access.Principal{}},
		} {
			sent := i.emit("w1", "go", `{}`, func(e *envelope.Event) {
				e.Source.UserID, e.Source.SessionID, e.Source.SocketID, e.Source.Hops = c.user, c.session, "socket", 4
			})
			who, run := <-e.who, <-e.seen
			if who.Kind != c.want.Kind || who.UserID != c.want.UserID || who.SessionID != c.want.SessionID || who.SuperAdmin {
				t.Errorf("%s: %+v", name, who)
			}
			if run == nil || run.Trigger != (catalogue.Trigger{Type: "event", Value: "go", ID: sent.Position.ID()}) || run.SocketID != "socket" || run.Hops != 4 || run.Depth != 0 ||
				!run.Journal.Durable() || run.CorrelationID == "" {
				t.Errorf("%s: %+v", name, run)
			}
			if name == "an account" && who.AuthData["svc"]["email"] != "a@b.c" {
				t.Errorf("what the sign-in says is lost: %+v", who)
			}
		}
		i.idle()
	})
}
