package service_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/events/service"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// eachCluster is eachPost by the machine's clock, which leases need when instances wait for each other.
func eachCluster(t *testing.T, lease time.Duration, run func(t *testing.T, p *post)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		run(t, newPost(t, db, func(deps *service.Deps) {
			deps.Clock, deps.Webhooks.Lease, deps.Webhooks.Timeout = clock.System{}, lease, lease/4
		}))
	}, sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), service.Migrations())
}

// Two instances share the work: every delivery is sent once, and never more at a time than the endpoint takes.
func TestWebhooksOfTwoInstances(t *testing.T) {
	t.Parallel()
	eachCluster(t, 20*time.Second, func(t *testing.T, p *post) {
		other := service.New(p.deps)
		const endpoints, events = 6, 20
		var receivers []*receiver
		for range endpoints {
			r := receive(t)
			p.subscribe(r, `"concurrency":2`)
			receivers = append(receivers, r)
		}
		run(t, p.service)
		stop := run(t, other)
		for i := range events {
			p.ann.emit(event("step", fmt.Sprintf(`{"n":%d}`, i))).want(http.StatusOK)
			if i == events/2 {
				stop() // gives back what it has
			}
		}
		added := receive(t) // through one instance; whoever matches events has to notice
		p.subscribe(added, "")
		p.ann.emit(event("last", `{}`)).want(http.StatusOK)
		p.until("everything", func() bool { return p.rowsIn("delivered") == endpoints*(events+1)+1 })
		for i, r := range append(receivers, added) {
			if n, ids := len(r.all()), len(idsOf(r.all())); n != ids || r.atOnce() > 2 && r != added {
				t.Errorf("endpoint %d got %d requests with %d ids, %d at once", i, n, ids, r.atOnce())
			}
		}
	})
}

func (p *post) rowsIn(state string) (n int) {
	p.t.Helper()
	p.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.QueryRow(ctx, `SELECT COUNT(*) FROM ev_deliveries WHERE state = $1`, state).Scan(&n)
	})
	return n
}

// What an instance held that died is not touched before its lease has ended; then another one sends it. One that lost an
// endpoint in the middle of a delivery records nothing any more.
func TestWebhooksOfADeadInstance(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	eachCluster(t, lease, func(t *testing.T, p *post) {
		r := receive(t)
		id := p.subscribe(r, "").text("id")
		taken := make(chan struct{}, 10)
		release := make(chan struct{})
		r.answers(func(http.ResponseWriter, received) {
			taken <- struct{}{}
			<-release
		})
		run(t, p.service)
		p.ann.emit(paid).want(http.StatusOK)
		<-taken
		// somebody else believes that this instance is dead, takes over, and dies
		ends := p.steal(id, lease)
		close(release)
		p.until("the second sending", r.has(2))
		if p.databaseTime() < ends {
			t.Error("it was sent again while somebody else held it")
		}
		p.until("the end", func() bool { return p.total(id, "delivered") == "1" })
		if got := p.delivery(id); got.text("attempts") != "1" || len(idsOf(r.all())) != 1 {
			t.Errorf("recorded: %s", got.body)
		}
	})
}

// steal takes an endpoint over as another instance does, and tells when that lease ends by the database's time.
func (p *post) steal(id string, lease time.Duration) (ends int64) {
	p.t.Helper()
	p.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.QueryRow(ctx, `UPDATE ev_subscriptions SET owner = 'dead', fence = fence + 1, lease_until = `+p.databaseNow()+` + $1 WHERE id = $2 RETURNING lease_until`,
			lease.Milliseconds(), id).Scan(&ends)
	})
	return ends
}

func (p *post) databaseTime() (now int64) {
	p.t.Helper()
	p.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.QueryRow(ctx, `SELECT `+p.databaseNow()).Scan(&now)
	})
	return now
}

func (p *post) databaseNow() string {
	if p.db.Driver() == "sqlite" {
		return `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`
	}
	return `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
}
