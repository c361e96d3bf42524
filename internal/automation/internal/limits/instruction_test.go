package limits_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// journal does effects in transactions of a database; what it has noted is not done again.
type journal struct {
	db   *sqldb.DB
	done map[string]any
}

func (j *journal) Once(ctx context.Context, place string, do func(context.Context, *sqldb.Tx) (any, error)) (out any, err error) {
	if noted, ok := j.done[place]; ok {
		return noted, nil
	}
	err = j.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		out, err = do(ctx, tx)
		return err
	})
	if err == nil {
		j.done[place] = out
	}
	return out, err
}

func (j *journal) Durable() bool { return true }
func (j *journal) RunID() string { return "run" }

// run runs an automation in a run of its own.
func (b *bench) run(m *machinetest.Bench, automation *machine.Automation, notes *journal) machine.Result {
	b.t.Helper()
	run := m.Fresh()
	run.Journal = notes
	return m.Machine.Execute(b.t.Context(), run, automation, value.NewObject(0))
}

func (b *bench) journal() *journal { return &journal{db: b.db, done: map[string]any{}} }

func (b *bench) machine() *machinetest.Bench {
	return machinetest.New(b.t, machine.Instructions{"rateLimit": b.Instruction()})
}

func TestInstruction(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		m := b.machine()
		breaking := m.Add("breaking", "do:\n  - rateLimit: {name: n, consumer: '{{user.id}}c', window: 10, limit: 2, output: l}\n  - set: {name: went, value: on}\noutput: {went: '{{went}}', l: '{{l}}'}")
		asking := m.Add("asking", "do:\n  - rateLimit: {name: n, consumer: c, window: '10', limit: '2', consume: 2, break: false, output: l}\n  - set: {name: went, value: on}\noutput: {went: '{{went}}', l: '{{l}}'}")
		shop := m.AddInstance(m.Home, "shop", "Shop")
		app := m.AddTo(shop, "app", "do:\n  - rateLimit: {name: n, consumer: c, window: 10, limit: 2, output: l}\noutput: '{{l.ok}}'")
		for i, c := range []struct {
			automation *machine.Automation
			want       string
			broken     bool
		}{
			{breaking, `{"went":"on","l":{"ok":true,"retryAfter":0,"remaining":1,"limit":2,"window":10,"consumer":"c"}}`, false},
			{asking, `{"went":"on","l":{"ok":false,"retryAfter":10,"remaining":1,"limit":2,"window":10,"consumer":"c"}}`, false},
			{breaking, `{"went":"on","l":{"ok":true,"retryAfter":0,"remaining":0,"limit":2,"window":10,"consumer":"c"}}`, false},
			{breaking, `{"l":{"ok":false,"retryAfter":10,"remaining":0,"limit":2,"window":10,"consumer":"c"}}`, true},
			{app, `true`, false}, // it counts for itself
		} {
			got := b.run(m, c.automation, b.journal())
			if text := machinetest.JSON(got.Output); got.Err != nil || text != c.want || got.Broken != c.broken {
				b.t.Errorf("%d: %s %v %v\nwant %s", i, text, got.Broken, got.Err, c.want)
			}
		}
		b.clock.Advance(10 * time.Second)
		notes := b.journal()
		for range 3 { // a run that is begun anew counts once
			got := b.run(m, asking, notes)
			if text := machinetest.JSON(got.Output); got.Err != nil || !strings.Contains(text, `"ok":true,"retryAfter":0,"remaining":0`) {
				b.t.Errorf("%s %v", text, got.Err)
			}
		}
	})
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		m := b.machine()
		for _, parameters := range []string{
			"{consumer: c, window: 1, limit: 1}", "{name: '', window: 1, limit: 1}", "{name: n, limit: 1}", "{name: n, window: 0, limit: 1}",
			"{name: n, window: -1, limit: 1}", "{name: n, window: 1}", "{name: n, window: 1, limit: -1}", "{name: n, window: 1, limit: many}",
			"{name: n, window: 1, limit: 1, consume: -1}", "{name: n, window: 1e12, limit: 1}", "{name: n, consumer: [1], window: 1, limit: 1}",
			"{name: n, consumer: " + strings.Repeat("c", 501) + ", window: 1, limit: 1}",
		} {
			got := b.run(m, m.Add("main", "do:\n  - rateLimit: "+parameters), b.journal())
			if got.Err == nil || !strings.Contains(got.Err.Error(), machine.InvalidInstruction) {
				b.t.Errorf("%s: %v", parameters, got.Err)
			}
		}
		if got := b.run(m, m.Add("main", "do:\n  - rateLimit: {name: n, window: 1, limit: 1, output: l}\noutput: '{{l.consumer}}'"), b.journal()); got.Err != nil || got.Output != "" {
			b.t.Errorf("without a consumer all are one: %v %v", got.Output, got.Err)
		}
	})
}
