package mail_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/mail"
	"atelier/internal/mail/mailtest"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sender that fails as told.
type recorder struct {
	mu    sync.Mutex
	sent  map[string]int // by subject
	tries []time.Time
	clock clock.Clock
	fail  func(mail.Message) error
	// entered, when set, gets a value for every call, which then waits for its context.
	entered chan struct{}
	arrived chan struct{}
}

func newRecorder(clk clock.Clock) *recorder {
	return &recorder{sent: map[string]int{}, clock: clk, arrived: make(chan struct{}, 1000)}
}

func (r *recorder) Driver() string             { return "test" }
func (r *recorder) Ping(context.Context) error { return nil }
func (r *recorder) Close() error               { return nil }

func (r *recorder) Send(ctx context.Context, m mail.Message) error {
	if r.entered != nil {
		r.entered <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.arrived <- struct{}{} }()
	r.tries = append(r.tries, r.clock.Now())
	if r.fail != nil {
		if err := r.fail(m); err != nil {
			return err
		}
	}
	r.sent[m.Subject]++
	return nil
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sent)
}

func (r *recorder) attempts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tries)
}

// post is a database, the time, and what was logged.
type post struct {
	db    *sqldb.DB
	clock *clock.Manual
	log   *safeBuffer
}

type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func each(t *testing.T, run func(t *testing.T, p *post)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		run(t, &post{db: db, clock: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), log: &safeBuffer{}})
	}, mail.Migrations())
}

func (p *post) outbox(t *testing.T, sender mail.Sender, key string) *mail.Outbox {
	t.Helper()
	outbox, err := mail.NewOutbox(mail.OutboxDeps{
		DB: p.db, Sender: sender, Clock: p.clock, Log: slog.New(slog.NewTextHandler(p.log, nil)), Key: key,
	})
	if err != nil {
		t.Fatal(err)
	}
	return outbox
}

// run starts a worker, which ends with the test or when told.
func run(t *testing.T, outbox *mail.Outbox) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := outbox.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); group.Wait() }
	t.Cleanup(stop)
	return stop
}

const key = "an internal key for the tests"

func letter(subject string) mail.Message {
	return mail.Message{To: "ada@example.com", Subject: subject, Text: "https://example.com/?token=s3cr3t-t0ken"}
}

func (p *post) put(t *testing.T, outbox *mail.Outbox, subjects ...string) {
	t.Helper()
	for _, subject := range subjects {
		err := p.db.Tx(t.Context(), func(tx *sqldb.Tx) error { return outbox.Enqueue(t.Context(), tx, letter(subject)) })
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (p *post) waiting(t *testing.T) (n int) {
	t.Helper()
	if err := p.db.QueryRow(t.Context(), `SELECT count(*) FROM mail_outbox`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// until moves the clock in small steps until the condition holds.
func (p *post) until(t *testing.T, what string, step time.Duration, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("%s does not come true; the log says: %s", what, p.log)
		case <-tick.C:
			p.clock.Advance(step)
		}
	}
}

func (p *post) empty(t *testing.T) func() bool { return func() bool { return p.waiting(t) == 0 } }

func TestSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		sender := newRecorder(p.clock)
		outbox := p.outbox(t, sender, key)
		p.put(t, outbox, "before the worker")
		run(t, outbox)
		p.put(t, outbox, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
		p.until(t, "an empty outbox", 10*time.Millisecond, p.empty(t))
		if sender.count() != 11 || sender.attempts() != 11 {
			t.Errorf("%d mails were sent in %d attempts", sender.count(), sender.attempts())
		}
		if p.log.String() != "" {
			t.Errorf("the log says: %s", p.log)
		}
	})
}

// A message belongs to the transaction that put it in: it waits for it, and vanishes with it.
func TestTransactions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		sender := newRecorder(p.clock)
		outbox := p.outbox(t, sender, key)
		run(t, outbox)
		failure := errors.New("no")
		err := p.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
			return errors.Join(outbox.Enqueue(t.Context(), tx, letter("never")), failure)
		})
		if !errors.Is(err, failure) || p.waiting(t) != 0 {
			t.Errorf("%v, %d wait", err, p.waiting(t))
		}
		p.put(t, outbox, "kept")
		p.until(t, "an empty outbox", 10*time.Millisecond, p.empty(t))
		if sender.count() != 1 || sender.sent["kept"] != 1 {
			t.Errorf("%v", sender.sent)
		}
	})
}

// What waits can be read neither in the database nor, later, in the log.
func TestSealed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		sender := newRecorder(p.clock)
		sender.fail = func(mail.Message) error { return fmt.Errorf("%w: no such person", mail.ErrRejected) }
		outbox := p.outbox(t, sender, key)
		p.put(t, outbox, "Hello", "Hello")
		var sealed []string
		rows, err := p.db.Query(t.Context(), `SELECT sealed || id || holder FROM mail_outbox`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			sealed = append(sealed, text)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
		for _, text := range sealed {
			for _, secret := range []string{"t0ken", "example", "Hello", "token="} {
				if strings.Contains(text, secret) {
					t.Errorf("the table shows %q", secret)
				}
			}
		}
		if len(sealed) != 2 || sealed[0] == sealed[1] {
			t.Error("equal mails look equal")
		}
		run(t, outbox)
		p.until(t, "an empty outbox", 10*time.Millisecond, p.empty(t))
		if log := p.log.String(); strings.Count(log, "given up") != 2 || !strings.Contains(log, "no such person") || strings.Contains(log, "t0ken") {
			t.Errorf("the log says: %s", log)
		}
	})
}

// A mail that was put in under another key, or was moved to another row, is given up and not sent.
func TestForeignSeals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		sender := newRecorder(p.clock)
		p.put(t, p.outbox(t, sender, "another internal key"), "other")
		outbox := p.outbox(t, sender, key)
		p.put(t, outbox, "moved")
		err := p.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE mail_outbox SET id = id || 'x'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, outbox)
		p.until(t, "an empty outbox", 10*time.Millisecond, p.empty(t))
		if sender.attempts() != 0 || strings.Count(p.log.String(), "given up") != 2 {
			t.Errorf("%d attempts; the log says: %s", sender.attempts(), p.log)
		}
	})
}

// due is when the only mail that waits is tried again; zero when none waits.
func (p *post) due(t *testing.T) (at time.Time) {
	t.Helper()
	var millis int64
	err := p.db.QueryRow(t.Context(), `SELECT due_at FROM mail_outbox`).Scan(&millis)
	if sqldb.IsNotFound(err) {
		return at
	}
	if err != nil {
		t.Fatal(err)
	}
	return sqldb.Time(millis)
}

// A mail that cannot be sent is tried again, ever more rarely, and given up after a day.
func TestRetries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		sender := newRecorder(p.clock)
		held := map[int]time.Time{} // until when the mail was claimed, by attempt
		sender.fail = func(mail.Message) error {
			held[len(sender.tries)] = p.due(t)
			return errors.New("no route")
		}
		outbox := p.outbox(t, sender, key)
		p.put(t, outbox, "Hello")
		begin := p.clock.Now()
		run(t, outbox)
		delay := 5 * time.Second
		for attempt := 1; ; attempt++ {
			p.until(t, "an attempt", time.Second, func() bool { return sender.attempts() == attempt })
			sender.mu.Lock()
			tried, claimed := sender.tries[attempt-1], held[attempt]
			sender.mu.Unlock()
			due := claimed
			p.until(t, "the mail is given back", 0, func() bool {
				due = p.due(t)
				return !due.Equal(claimed)
			})
			if due.IsZero() {
				break
			}
			if wait := due.Sub(tried); wait < delay || wait > delay+5*time.Second {
				t.Fatalf("after attempt %d it waits for %s, want %s", attempt, wait, delay)
			}
			delay = min(2*delay, 30*time.Minute)
			p.clock.Advance(due.Sub(p.clock.Now()))
		}
		if age := p.clock.Now().Sub(begin); age < 24*time.Hour || age > 25*time.Hour || !strings.Contains(p.log.String(), "given up") {
			t.Errorf("given up after %s; the log says: %s", age, p.log)
		}
	})
}

func TestTriedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		sender := newRecorder(p.clock)
		sender.fail = func(mail.Message) error {
			if len(sender.tries) < 3 {
				return errors.New("not now")
			}
			return nil
		}
		outbox := p.outbox(t, sender, key)
		p.put(t, outbox, "Hello")
		run(t, outbox)
		p.until(t, "an empty outbox", time.Second, p.empty(t))
		if sender.sent["Hello"] != 1 || sender.attempts() != 3 {
			t.Errorf("%v in %d attempts", sender.sent, sender.attempts())
		}
	})
}

// Of several instances each mail is sent by one.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		sender := newRecorder(p.clock)
		var subjects []string
		for i := range 60 {
			subjects = append(subjects, fmt.Sprint(i))
		}
		p.put(t, p.outbox(t, sender, key), subjects...)
		for range 4 {
			run(t, p.outbox(t, sender, key))
		}
		p.until(t, "an empty outbox", time.Millisecond, p.empty(t))
		if sender.count() != 60 || sender.attempts() != 60 {
			t.Errorf("%d mails were sent in %d attempts", sender.count(), sender.attempts())
		}
	})
}

// A worker that is stopped gives its mails back at once; one that dies gives them back when its claim ends.
func TestStopped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		stuck := newRecorder(p.clock)
		stuck.entered = make(chan struct{}, 10)
		outbox := p.outbox(t, stuck, key)
		p.put(t, outbox, "Hello")
		stop := run(t, outbox)
		<-stuck.entered
		sender := newRecorder(p.clock)
		other := p.outbox(t, sender, key)
		run(t, other)
		p.until(t, "a minute", time.Second, func() bool { return p.clock.Now().Minute() >= 1 })
		if sender.attempts() != 0 {
			t.Error("two have the same mail")
		}
		stop()
		before := p.clock.Now()
		p.until(t, "an empty outbox", 100*time.Millisecond, p.empty(t))
		if sender.sent["Hello"] != 1 {
			t.Errorf("%v", sender.sent)
		}
		if waited := p.clock.Now().Sub(before); waited > 30*time.Second {
			t.Errorf("it came back after %s", waited)
		}
	})
}

func TestEnqueueRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *post) {
		outbox := p.outbox(t, newRecorder(p.clock), key)
		for name, change := range mailtest.Invalid("ada@example.com") {
			if strings.Contains(name, " id") {
				continue // the outbox makes its own
			}
			message := letter("Hello")
			change(&message)
			err := p.db.Tx(t.Context(), func(tx *sqldb.Tx) error { return outbox.Enqueue(t.Context(), tx, message) })
			if !errors.Is(err, mail.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if p.waiting(t) != 0 {
			t.Errorf("%d wait", p.waiting(t))
		}
	})
}
