package topics_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/topics"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

type bench struct {
	*testing.T
	db *sqldb.DB
	m  *machinetest.Bench
}

func each(t *testing.T, run func(b *bench)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		clk := clock.NewManual(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
		log, err := sqlbus.Open(db, clk, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		made := topics.New(clk, log)
		run(&bench{T: t, db: db, m: machinetest.New(t, machine.Instructions{"createUserTopic": made.Create(), "joinUserTopic": made.Join()})})
	}, sqlbus.Migrations(), access.Migrations())
}

func (b *bench) journal() *journal { return &journal{db: b.db, done: map[string]any{}} }

// do runs one instruction.
func (b *bench) do(instruction string, notes *journal) error {
	b.Helper()
	run := b.m.Fresh()
	run.Journal = notes
	return b.m.Machine.Execute(b.Context(), run, b.m.Add("main", "do:\n  - "+instruction), value.NewObject(0)).Err
}

// told lists the events so far.
func (b *bench) told() []string {
	b.Helper()
	events, err := sqlbus.Page(b.Context(), b.db, b.m.Home.WorkspaceID, sqlbus.PageQuery{Ascending: true, Limit: 100})
	if err != nil {
		b.Fatal(err)
	}
	var told []string
	for _, stored := range events {
		e, err := envelope.Read(stored)
		if err != nil || e.Source.AutomationSlug != "main" {
			b.Fatalf("%+v %v", e, err)
		}
		var payload map[string]any
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			b.Fatal(err)
		}
		told = append(told, strings.TrimPrefix(e.Type, "events.userTopics.")+" "+fmt.Sprint(payload))
	}
	return told
}

func (b *bench) topics(userID string) []string {
	b.Helper()
	joined, err := access.Topics(b.Context(), b.db, b.m.Home.WorkspaceID, userID)
	if err != nil {
		b.Fatal(err)
	}
	slices.Sort(joined)
	return joined
}

func TestTopics(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		notes := b.journal()
		for i, c := range []struct {
			instruction string
			notes       *journal
			failure     string
			told        []string
		}{
			{"joinUserTopic: {topic: news, create: false}", b.journal(), machine.ObjectNotFound, nil},
			{"createUserTopic: {topic: news}", b.journal(), "", []string{"created map[topic:news]"}},
			{"createUserTopic: {topic: news}", b.journal(), "", nil},
			{"joinUserTopic: {topic: news, create: false}", b.journal(), "", []string{"joined map[topic:news user:map[id:user-1]]"}},
			{"createUserTopic: {topic: team, userIds: [bob, ann, bob]}", notes, "", []string{
				"created map[topic:team userIds:[ann bob]]", "joined map[topic:team user:map[id:ann]]", "joined map[topic:team user:map[id:bob]]",
			}},
			{"createUserTopic: {topic: team, userIds: [bob, ann, bob]}", notes, "", nil}, // begun anew
			{"joinUserTopic: {topic: other, userIds: ann}", b.journal(), "", []string{"created map[topic:other userIds:[ann]]", "joined map[topic:other user:map[id:ann]]"}},
			{"joinUserTopic: {topic: other, userIds: []}", b.journal(), machine.InvalidInstruction, nil},
			{"joinUserTopic: {userIds: [ann]}", b.journal(), machine.InvalidInstruction, nil},
			{"createUserTopic: {topic: x, userIds: [5]}", b.journal(), machine.InvalidInstruction, nil},
			{"createUserTopic: {topic: x, userIds: {a: 1}}", b.journal(), machine.InvalidInstruction, nil},
			{"createUserTopic: {topic: " + strings.Repeat("x", 201) + "}", b.journal(), machine.InvalidInstruction, nil},
		} {
			before := len(b.told())
			err := b.do(c.instruction, c.notes)
			if (err == nil) != (c.failure == "") || err != nil && !strings.Contains(err.Error(), c.failure) {
				b.Errorf("%d: %v", i, err)
			}
			if got := b.told()[before:]; !slices.Equal(got, c.told) {
				b.Errorf("%d: told %q, want %q", i, got, c.told)
			}
		}
		if got := b.topics("ann"); !slices.Equal(got, []string{"other", "team"}) {
			b.Error(got)
		}
		if got := b.topics("user-1"); !slices.Equal(got, []string{"news"}) {
			b.Error(got)
		}
	})
}

// Who acts now joins; an automation that nobody started has nobody to let in.
func TestWhoJoins(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.m.Scopes.Become(access.Principal{Kind: access.User, UserID: "other"})
		if err := b.do("joinUserTopic: {topic: t}", b.journal()); err != nil || len(b.topics("other")) != 1 || len(b.topics("user-1")) != 0 {
			b.Error(err, b.topics("other"))
		}
		b.m.Scopes.Become(access.Principal{})
		if err := b.do("joinUserTopic: {topic: t}", b.journal()); err == nil {
			b.Error("nobody joined")
		}
	})
}

// Nobody can be in more topics than are looked at.
func TestTooMany(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		err := b.db.Tx(b.Context(), func(tx *sqldb.Tx) error {
			for i := range access.MaxTopics {
				if _, err := tx.Exec(b.Context(), `INSERT INTO access_topic_members (workspace_id, user_id, topic, joined_at) VALUES ($1, 'ann', $2, 0)`, b.m.Home.WorkspaceID, fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		if err := b.do("joinUserTopic: {topic: '0', userIds: [ann]}", b.journal()); err != nil {
			b.Errorf("a topic that ann is in already: %v", err)
		}
		err = b.do("joinUserTopic: {topic: more, userIds: [ann]}", b.journal())
		if err == nil || !strings.Contains(err.Error(), machine.QuotaExceeded) || len(b.topics("ann")) != access.MaxTopics {
			b.Error(err)
		}
	})
}
