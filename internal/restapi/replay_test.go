package restapi_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// shop is an API with one operation that stores something: what it does can be changed between calls.
type shop struct {
	*bench
	db *sqldb.DB
	do func(ctx context.Context) error
}

func work() sqldb.Migrations {
	return sqldb.Migrations{Component: "work", Files: fstest.MapFS{
		"0001_work.sql": {Data: []byte("CREATE TABLE work (id BIGINT NOT NULL PRIMARY KEY);")},
	}}
}

func onEach(t *testing.T, run func(t *testing.T, s *shop)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		t.Helper()
		s := &shop{bench: newBench(db), db: db}
		s.do = s.store
		restapi.Register(s.API, operation(http.MethodPost, "/work"), func(ctx context.Context, in *textInput) (*textOutput, error) {
			if err := s.do(ctx); err != nil {
				return nil, err
			}
			return &textOutput{Body: textBody{Text: in.Body.Text, Size: s.stored(t)}}, nil
		})
		run(t, s)
	}, restapi.Migrations(), work())
}

// store is the work of a request: one row more.
func (s *shop) store(ctx context.Context) error {
	return s.db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO work (id) SELECT COUNT(*) + 1 FROM work`)
		return err
	})
}

func (s *shop) stored(t *testing.T) (rows int) {
	t.Helper()
	if err := s.db.QueryRow(context.WithoutCancel(t.Context()), `SELECT COUNT(*) FROM work`).Scan(&rows); err != nil {
		t.Error(err)
	}
	return rows
}

func (s *shop) wantStored(t *testing.T, rows int) {
	t.Helper()
	if got := s.stored(t); got != rows {
		t.Errorf("%d rows are stored, want %d", got, rows)
	}
}

func keyed(key string) call {
	return call{method: http.MethodPost, path: "/work", body: `{"text":"a"}`}.with("Idempotency-Key", key)
}

// instead replaces the work of the calls that follow.
func (s *shop) instead(do func(ctx context.Context) error) { s.do = do }

func TestAnswerIsKept(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shop) {
		t.Helper()
		first := s.serve(t, keyed("a"))
		again := s.serve(t, keyed("a"))
		if first.Code != http.StatusOK || again.Body.String() != first.Body.String() || again.Header().Get("Idempotency-Replayed") != "true" {
			t.Errorf("%d %s, then %d %s", first.Code, first.Body, again.Code, again.Body)
		}
		other := keyed("a")
		other.body = `{"text":"b"}`
		s.serve(t, other).want(t, http.StatusConflict, "resource_conflict")
		bob := keyed("a")
		bob.who = access.Principal{Kind: access.User, UserID: "bob"}
		if got := s.serve(t, bob); got.Header().Get("Idempotency-Replayed") != "" {
			t.Error("bob got alice's answer")
		}
		s.wantStored(t, 2)
		s.clk.Advance(24 * time.Hour)
		if got := s.serve(t, keyed("a")); got.Header().Get("Idempotency-Replayed") != "" {
			t.Error("the answer was kept for more than a day")
		}
	})
}

// A failure that may pass, and that stored nothing, gives the key back; one that stored something does not.
func TestFailureGivesTheKeyBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shop) {
		t.Helper()
		for key, failure := range map[string]error{
			"internal": context.DeadlineExceeded, "unavailable": errs.New(errs.Unavailable, "Later."),
			"limited": errs.New(errs.RateLimitExceeded, "Later."), "locked": errs.New(errs.Locked, "Later."),
		} {
			before := s.stored(t)
			s.instead(func(context.Context) error { return failure })
			if got := s.serve(t, keyed(key)); got.code() != string(errs.CodeOf(failure)) {
				t.Errorf("%s: %s", key, got.Body)
			}
			s.instead(s.store)
			if got := s.serve(t, keyed(key)); got.Code != http.StatusOK {
				t.Errorf("%s: the repeat is answered %d %s", key, got.Code, got.Body)
			}
			s.wantStored(t, before+1)
		}
		s.instead(func(context.Context) error { return errs.New(errs.Conflict, "No.") })
		s.serve(t, keyed("refused")).want(t, http.StatusConflict, "resource_conflict")
		s.instead(s.store)
		s.serve(t, keyed("refused")).want(t, http.StatusConflict, "resource_conflict") // a refusal is an answer
	})
}

// Work that was done is never done again, even when its answer was lost with the process or hidden by a failure after it.
func TestCommittedButAnswerLost(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shop) {
		t.Helper()
		s.instead(func(ctx context.Context) error {
			if err := s.store(ctx); err != nil {
				return err
			}
			return errs.New(errs.Internal, "after the commit")
		})
		s.serve(t, keyed("a")).want(t, http.StatusInternalServerError, "internal_error")
		s.instead(s.store)
		running := s.serve(t, keyed("a")).want(t, http.StatusConflict, "resource_conflict")
		if running.Header().Get("Retry-After") != "1" || !strings.Contains(running.Body.String(), "still running") {
			t.Errorf("%v %s", running.Header(), running.Body)
		}
		s.clk.Advance(5*time.Minute + time.Millisecond)
		lost := s.serve(t, keyed("a")).want(t, http.StatusConflict, "resource_conflict")
		if lost.Header().Get("Retry-After") != "" || !strings.Contains(lost.Body.String(), "was lost") {
			t.Errorf("%v %s", lost.Header(), lost.Body)
		}
		s.wantStored(t, 1)
		s.clk.Advance(24 * time.Hour)
		if got := s.serve(t, keyed("a")); got.Code != http.StatusOK {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	})
}

// A handler that panics gives the key back and the panic goes on to the front.
func TestPanicGivesTheKeyBack(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shop) {
		t.Helper()
		s.instead(func(context.Context) error { panic("in the handler") }) //nolint:forbidigo // what the test is about
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			s.serve(t, keyed("a"))
		}()
		s.instead(s.store)
		if got := s.serve(t, keyed("a")); got.Code != http.StatusOK {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	})
}

// The client leaves as soon as the work is done: the answer is kept for when it comes back.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shop) {
		t.Helper()
		ctx, leave := context.WithCancel(t.Context())
		s.instead(func(ctx context.Context) error {
			err := s.store(ctx)
			leave()
			return err
		})
		first := keyed("a")
		first.ctx = ctx
		s.serve(t, first)
		again := s.serve(t, keyed("a"))
		if again.Code != http.StatusOK || again.Header().Get("Idempotency-Replayed") != "true" {
			t.Errorf("%d %s", again.Code, again.Body)
		}
		s.wantStored(t, 1)
	})
}

// A request that hangs for so long that its key is given to a repeat cannot do its work any more when it wakes up.
func TestAbandonedRequestIsFencedOff(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shop) {
		t.Helper()
		begun, wake := make(chan struct{}), make(chan struct{})
		s.instead(func(ctx context.Context) error {
			close(begun)
			<-wake
			return s.store(ctx)
		})
		var slow answer
		var wait sync.WaitGroup
		wait.Go(func() { slow = s.serve(t, keyed("a")) })
		<-begun
		s.serve(t, keyed("a")).want(t, http.StatusConflict, "resource_conflict") // still running
		s.clk.Advance(5*time.Minute + time.Millisecond)
		s.instead(s.store)
		repeat := s.serve(t, keyed("a"))
		if repeat.Code != http.StatusOK || repeat.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("%d %s", repeat.Code, repeat.Body)
		}
		close(wake)
		wait.Wait()
		slow.want(t, http.StatusConflict, "resource_conflict")
		s.wantStored(t, 1)
		if again := s.serve(t, keyed("a")); again.Body.String() != repeat.Body.String() {
			t.Errorf("the late answer took the place of the right one: %s", again.Body)
		}
	})
}

// Of many at once one executes, with a new key and with one that was given up for dead.
func TestOneOfManyExecutes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *shop) {
		t.Helper()
		for round, abandon := range []bool{false, true} {
			key := "round-" + strconv.Itoa(round)
			if abandon {
				s.abandon(t, key)
			}
			before := s.stored(t)
			answers := make([]answer, 16)
			var wait sync.WaitGroup
			for i := range answers {
				wait.Go(func() { answers[i] = s.serve(t, keyed(key)) })
			}
			wait.Wait()
			executed := 0
			for _, got := range answers {
				if got.Code == http.StatusOK && got.Header().Get("Idempotency-Replayed") == "" {
					executed++
				}
				if got.Code != http.StatusOK && got.Code != http.StatusConflict {
					t.Errorf("%d %s", got.Code, got.Body)
				}
			}
			if executed != 1 {
				t.Errorf("%s: %d executed", key, executed)
			}
			s.wantStored(t, before+1)
		}
	})
}

// abandon leaves the claim of a process that died: taken, nothing committed, no answer, more than five minutes ago.
func (s *shop) abandon(t *testing.T, key string) {
	t.Helper()
	s.serve(t, keyed(key))
	err := s.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(t.Context(), `DELETE FROM work`); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), `UPDATE http_idempotency SET committed = 0, status = 0, headers = '', body = ''`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.clk.Advance(5*time.Minute + time.Millisecond)
}

// Without a caller there is nobody whose key it could be.
func TestNobodyHasNoKeys(t *testing.T) {
	t.Parallel()
	db := sqldbtest.SQLite(t, restapi.Migrations(), work())
	b := newBench(db)
	op := operation(http.MethodPost, "/open")
	op.Policy = access.Public
	calls := 0
	restapi.Register(b.API, op, func(context.Context, *struct{}) (*textOutput, error) {
		calls++
		return &textOutput{}, nil
	})
	for range 2 {
		b.serve(t, call{method: http.MethodPost, path: "/open", anonymous: true}.with("Idempotency-Key", "a"))
	}
	if calls != 2 {
		t.Errorf("%d calls of two were carried out", calls)
	}
}
