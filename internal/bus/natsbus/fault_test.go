package natsbus_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"atelier/internal/bus"
	"atelier/internal/bus/natsbus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// faulty is a log on SQLite whose consumers soon look into the table, and a consumer that remembers what it got.
type faulty struct {
	cfg natsbus.Config
	db  *sqldb.DB
	log *natsbus.Log

	mu   sync.Mutex
	seen []bus.Event
	stop func()
}

func newFaulty(t *testing.T, opts ...natsbus.Option) *faulty {
	t.Helper()
	f := &faulty{cfg: config(t), db: sqldbtest.SQLite(t, sqlbus.Migrations())}
	f.log = open(t, f.cfg, f.db, clock.System{}, append([]natsbus.Option{natsbus.WithPatience(500 * time.Millisecond)}, opts...)...)
	f.start(t)
	return f
}

func (f *faulty) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- f.log.Consume(ctx, bus.Consumer{Name: "reader", FromStart: true, Handle: func(_ context.Context, events []bus.Event) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.seen = append(f.seen, events...)
			return nil
		}})
	}()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Consume: %v", err)
		}
	})
	t.Cleanup(func() { f.stop() })
	eventually(t, "the consumer to register", func() bool {
		var n int
		err := f.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM bus_cursors WHERE consumer = 'reader'`).Scan(&n)
		return err == nil && n == bus.Partitions
	})
}

func (f *faulty) append(t *testing.T, count int) {
	t.Helper()
	records := make([]bus.Record, count)
	for n := range records {
		records[n] = bus.Record{WorkspaceID: fmt.Sprint("workspace-", n%40), Type: "test", Body: []byte(`{"mine":true}`)}
	}
	if _, err := f.log.Append(t.Context(), records...); err != nil {
		t.Fatal(err)
	}
}

// caughtUp waits until the consumer, and the relay when wanted, have handled everything, and checks what came: each
// stored event, whole, in the order of its partition.
func (f *faulty) caughtUp(t *testing.T, consumers ...string) {
	t.Helper()
	eventually(t, "everything to be handled", func() bool {
		for _, name := range append(consumers, "reader") {
			if lag, err := f.log.Lag(t.Context(), name); err != nil || lag > 0 {
				return false
			}
		}
		return true
	})
	var stored []bus.Event
	for partition := range bus.Partitions {
		events, err := sqlbus.Following(t.Context(), f.db, partition, 0, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, events...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := slices.Clone(f.seen)
	slices.SortStableFunc(seen, func(a, b bus.Event) int { return a.Position.Partition() - b.Position.Partition() })
	if !slices.EqualFunc(seen, stored, same) {
		t.Errorf("%d events were handled, which are not the %d stored ones in their order", len(seen), len(stored))
	}
}

func same(a, b bus.Event) bool {
	return a.Position == b.Position && a.WorkspaceID == b.WorkspaceID && a.Type == b.Type && string(a.Body) == string(b.Body)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited too long for: %s", what)
		}
	}
}

func TestEventsTravelThroughTheStream(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, natsbus.WithPatience(time.Hour))
	f.append(t, 80) // two for each workspace: every partition is awake now
	f.caughtUp(t)
	before := f.log.Stats()
	for range 10 {
		f.append(t, 100)
		f.caughtUp(t, "relay")
	}
	after := f.log.Stats()
	if got := after.FromStream - before.FromStream; got != 1000 || after.FromTable != before.FromTable {
		t.Errorf("of 1000 events %d came from the stream and %d from the table", got, after.FromTable-before.FromTable)
	}
	if after.Refused != 0 {
		t.Errorf("%d genuine messages were refused", after.Refused)
	}
}

// F-BRK-05: whoever can write to the broker cannot make events up, change them or have them handled again.
func TestForgedMessagesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.append(t, 100)
	f.caughtUp(t, "relay")
	js := connect(t, f.cfg.URLs)
	stream, err := js.Stream(t.Context(), streamOf(f.cfg))
	if err != nil {
		t.Fatal(err)
	}
	genuine, err := stream.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	changed := slices.Clone(genuine.Data)
	changed[len(changed)-2] ^= 1
	subjects := f.cfg.Namespace + ".events."
	forged := 0
	for partition := range bus.Partitions {
		subject := fmt.Sprint(subjects, partition)
		for _, data := range [][]byte{nil, []byte("x"), changed, make([]byte, 100), genuine.Data} {
			if _, err := js.Publish(t.Context(), subject, data); err != nil {
				t.Fatal(err)
			}
			forged++
		}
	}
	eventually(t, "the forged messages to be refused", func() bool { return f.log.Stats().Refused >= int64(forged-1) })
	f.append(t, 100)
	f.caughtUp(t, "relay")
}

// F-BRK-04: the broker loses the stream while consumers run, and while they do not.
func TestLostStreamIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	js := connect(t, f.cfg.URLs)
	lose := func() {
		t.Helper()
		if err := js.DeleteStream(t.Context(), streamOf(f.cfg)); err != nil {
			t.Fatal(err)
		}
	}
	f.append(t, 200)
	f.caughtUp(t, "relay")
	lose()
	f.append(t, 50)
	f.caughtUp(t, "relay")
	f.stop()
	f.append(t, 100)
	lose()
	f.append(t, 50)
	eventually(t, "the relay to make the stream again", func() bool {
		lag, err := f.log.Lag(t.Context(), "relay")
		return err == nil && lag == 0
	})
	f.start(t)
	f.caughtUp(t, "relay")
	before := f.log.Stats().FromStream
	f.append(t, 100)
	f.caughtUp(t, "relay")
	eventually(t, "the stream to be used again", func() bool {
		f.append(t, 40)
		f.caughtUp(t, "relay")
		return f.log.Stats().FromStream > before
	})
}

// F-BRK-01 and F-BRK-02: while the broker is away appends and consumers go on; when it is back it is used again.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	wire := &cutter{}
	f := newFaulty(t, natsbus.WithDialer(wire))
	f.append(t, 100)
	f.caughtUp(t, "relay")
	wire.cut()
	if err := f.log.Ping(t.Context()); err == nil {
		t.Error("Ping does not notice that the broker is away")
	}
	for range 5 {
		f.append(t, 100)
		f.caughtUp(t)
	}
	if lag, err := f.log.Lag(t.Context(), "relay"); err != nil || lag == 0 {
		t.Errorf("the relay is %d behind (%v) although the broker is away", lag, err)
	}
	wire.mend()
	f.caughtUp(t, "relay")
	before := f.log.Stats().FromStream
	eventually(t, "the stream to be used again", func() bool {
		f.append(t, 40)
		f.caughtUp(t, "relay")
		return f.log.Stats().FromStream > before
	})
	if err := f.log.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

func TestLargeEventsAreReadFromTheTable(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, natsbus.WithPatience(time.Hour))
	f.append(t, 80)
	f.caughtUp(t, "relay")
	body := fmt.Appendf(nil, `{"large":%q}`, strings.Repeat("x", 2<<20))
	for range 2 {
		if _, err := f.log.Append(t.Context(), bus.Record{WorkspaceID: "workspace-1", Type: "large", Body: body}); err != nil {
			t.Fatal(err)
		}
		f.append(t, 40)
	}
	f.caughtUp(t, "relay")
}

// cutter is a network that can be cut.
type cutter struct {
	mu    sync.Mutex
	away  bool
	conns []net.Conn
}

func (c *cutter) Dial(network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, errors.New("the network is cut")
	}
	conn, err := net.Dial(network, address) //nolint:noctx // the interface has no context
	if err == nil {
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func (c *cutter) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = false
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	db := sqldbtest.SQLite(t, sqlbus.Migrations())
	good := config(t)
	js := connect(t, good.URLs)
	memory, few := config(t), config(t)
	for _, weak := range []jetstream.StreamConfig{
		{Name: streamOf(memory), Subjects: []string{memory.Namespace + ".events.*"}, Storage: jetstream.MemoryStorage, Replicas: memory.Replicas},
		{Name: streamOf(few), Subjects: []string{few.Namespace + ".events.*"}, Replicas: 1},
	} {
		if _, err := js.CreateStream(t.Context(), weak); err != nil {
			t.Fatal(err)
		}
	}
	few.Replicas = 3
	change := func(set func(*natsbus.Config)) natsbus.Config {
		cfg := good
		set(&cfg)
		return cfg
	}
	for name, cfg := range map[string]natsbus.Config{
		"in memory":   memory,
		"3 are":       few,
		"namespace":   change(func(c *natsbus.Config) { c.Namespace = "a.b" }),
		"no server":   change(func(c *natsbus.Config) { c.URLs = nil }),
		"connect":     change(func(c *natsbus.Config) { c.URLs = []string{"nats://user:geheim@127.0.0.1:1"} }),
		"not a nats":  change(func(c *natsbus.Config) { c.URLs = []string{"nats://user:geheim@127.0.0.1:x"} }),
		"no such fil": change(func(c *natsbus.Config) { c.CAFile = "/no/such/file" }),
	} {
		log, err := natsbus.Open(t.Context(), cfg, db, clock.System{}, quiet())
		if err == nil {
			_ = log.Close()
		}
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("want an error about %q without a password, got: %v", name, err)
		}
	}
}
