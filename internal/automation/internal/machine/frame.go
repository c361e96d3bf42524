package machine

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// Step does one instruction.
type Step func(f *Frame) error

// Block does instructions one after the other.
type Block func(f *Frame) error

// Value computes a value of a definition in a frame.
type Value func(f *Frame) (any, error)

// Frame is an automation that is being executed, or a branch of it that runs beside others. One goroutine uses it at a time.
type Frame struct {
	*invocation
	// apart are the variables that a branch has for itself; nil in the automation itself.
	apart *variables
	// place is where in the run the frame is; effects and calls count what one instruction does there.
	place          []int32
	effects, calls int
	loops          int   // how many repeats it is in
	ticks          int   // steps that were not counted yet
	weighed        int64 // bytes of values that were weighed since then
	made           int64 // bytes of values that the instruction made
	env            *expr.Env
	failed         error // why a context could not be read
	step           *TraceStep
	acting         acting
	stint          *turns.Stint // what its goroutine works
}

// invocation is what all branches of an automation that is being executed have in common.
type invocation struct {
	machine    *Machine
	run        *Run
	root       *root
	automation *Automation
	payload    *value.Object
	locals     *variables
	ctx        context.Context //nolint:containedctx // a run has one, as a request does
	depth      int
	nested     bool // another automation called it
	trigger    trigger
	started    time.Time
	throttled  atomic.Int64
	reported   atomic.Bool // that its variables are large
}

type trigger struct{ kind, value, id string }

// acting remembers the context of who acts, so that it is made anew only when somebody else does.
type acting struct {
	ctx context.Context //nolint:containedctx // see invocation
	who identity
}

type identity struct {
	kind               access.Kind
	credential         access.Credential
	user, session, key string
	superAdmin         bool
}

func identityOf(p access.Principal) identity {
	return identity{kind: p.Kind, credential: p.Credential, user: p.UserID, session: p.SessionID, key: p.KeyID, superAdmin: p.SuperAdmin}
}

// Context ends with the run. It carries the caller and the request, as envelope and access look for them.
func (f *Frame) Context() context.Context {
	if f.run.Scopes == nil {
		return f.ctx
	}
	p := f.run.Scopes.Identity()
	who := identityOf(p)
	if who == identityOf(f.run.Caller) {
		return f.ctx // it carries the caller
	}
	if f.acting.ctx == nil || f.acting.who != who {
		f.acting = acting{ctx: access.With(f.ctx, p), who: who}
	}
	return f.acting.ctx
}

// Machine is what runs it.
func (f *Frame) Machine() *Machine { return f.machine }

// Run is the run it belongs to.
func (f *Frame) Run() *Run { return f.run }

// Automation is what is executed.
func (f *Frame) Automation() *Automation { return f.automation }

// Home is where the automation belongs.
func (f *Frame) Home() *Home { return f.automation.Home }

// Depth is how many automations led to this one, itself included.
func (f *Frame) Depth() int { return f.depth }

// Trigger is what started this automation: that of the run, or the automation that called it.
func (f *Frame) Trigger() (kind, name string) { return f.trigger.kind, f.trigger.value }

// TriggerID is the id of the event that started this automation; empty when none did.
func (f *Frame) TriggerID() string { return f.trigger.id }

// Source says which automation and app the events of this frame come from.
func (f *Frame) Source() envelope.Run {
	home := f.automation.Home
	return envelope.Run{
		AutomationSlug: f.automation.Slug, AutomationDepth: &f.depth,
		AppSlug: home.AppSlug, AppInstanceFullSlug: home.FullSlug, AppInstanceDepth: &home.Depth,
	}
}

// Origin is Source with the connection that started the run.
func (f *Frame) Origin() envelope.Origin {
	return envelope.Origin{Run: f.Source(), SocketID: f.run.SocketID, Hops: f.run.Hops}
}

// Place names the instruction that is being done, in the whole run: the same when the run is begun anew.
func (f *Frame) Place() string {
	const digits = 4
	text := make([]byte, 0, digits*len(f.place))
	for i, at := range f.place {
		if i > 0 {
			text = append(text, '.')
		}
		text = strconv.AppendInt(text, int64(at), 10)
	}
	return string(text)
}

// Once does an effect on the platform that must not be repeated when the run is begun anew. An instruction may have several.
func (f *Frame) Once(do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (any, error) {
	place := f.Place()
	if f.effects > 0 {
		place += "#" + strconv.Itoa(f.effects)
	}
	f.effects++
	defer f.database()()
	return f.run.Journal.Once(f.Context(), place, do)
}

// Throttle takes n units of something from the workspace's share, and waits for them. The time counts as throttled.
func (f *Frame) Throttle(kind string, n int) error {
	if f.machine.Throttle == nil || !f.machine.Throttle.Limits(f.run.Root, kind) {
		return nil
	}
	defer f.Away()()
	waited, err := f.machine.Throttle.Wait(f.ctx, f.run.Root, kind, n)
	f.throttled.Add(int64(waited))
	return err
}

// database is Away for what the database does. One that is inside this process works for the run: then it keeps its turn.
func (f *Frame) database() (back func()) {
	const inside = "sqlite"
	if db := f.machine.DB; db == nil || db.Driver() == inside {
		return func() {}
	}
	return f.Away()
}

// Away lets other runs work while this one waits for something outside, until the function is called that it gives.
func (f *Frame) Away() (back func()) {
	f.stint.Pause()
	return func() { f.stint.Resume(f.ctx) }
}

// Sleep waits, and ends early with the run.
func (f *Frame) Sleep(d time.Duration) error {
	if d <= 0 {
		return f.ctx.Err()
	}
	defer f.Away()()
	return pause(f.ctx, f.machine.Clock, d)
}

func pause(ctx context.Context, clk clock.Clock, d time.Duration) error {
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Latest is the id of an event that several branches may set.
type Latest struct{ id atomic.Pointer[string] }

// Set keeps the newest id.
func (l *Latest) Set(id string) { l.id.Store(&id) }

// Get gives the id; empty when none was set.
func (l *Latest) Get() string {
	if id := l.id.Load(); id != nil {
		return *id
	}
	return ""
}
