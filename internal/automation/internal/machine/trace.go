package machine

import (
	"encoding/json"
	"sync"
	"time"
)

// What a trace keeps.
const (
	traceSteps = 10_000
	traceBytes = 1 << 20
	traceValue = 16 << 10 // one value
)

// Trace is what the steps of a run did, for who tests an automation. Its JSON is {"steps": [...], "truncated": false}.
type Trace struct {
	mu     sync.Mutex
	steps  []*TraceStep
	count  int
	bytes  int
	cut    bool
	closed bool
}

// TraceStep is one instruction that was done.
type TraceStep struct {
	// Path is the place of the instruction in the run: numbers with dots between them.
	Path string `json:"path"`
	// Automation is the slug of the automation, with those of its app instances.
	Automation string `json:"automation"`
	// Instruction is its key.
	Instruction string    `json:"instruction"`
	StartedAt   time.Time `json:"startedAt"`
	// Duration is in milliseconds, to the microsecond.
	Duration float64 `json:"duration"`
	// Input are its parameters, as they were computed; Output is what it set, by the name of the variable.
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	// Branch is which of its branches was taken.
	Branch string `json:"branch,omitempty"`
	// Error is what it failed with.
	Error *TraceError `json:"error,omitempty"`
	// Children are the instructions that were done for it.
	Children []*TraceStep `json:"children,omitempty"`
}

// TraceError is the failure of an instruction.
type TraceError struct {
	Error   string          `json:"error"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// MarshalJSON writes the trace. Nothing is added to it any more.
func (t *Trace) MarshalJSON() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	steps := t.steps
	if steps == nil {
		steps = []*TraceStep{}
	}
	return json.Marshal(struct {
		Steps     []*TraceStep `json:"steps"`
		Truncated bool         `json:"truncated"`
	}{steps, t.cut})
}

// begin adds a step below another one; nil when the trace is full.
func (t *Trace) begin(parent, step *TraceStep) *TraceStep {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.count >= traceSteps || t.bytes >= traceBytes {
		t.cut = true
		return nil
	}
	const overhead = 160
	t.count++
	t.bytes += overhead + len(step.Path) + len(step.Instruction) + len(step.Automation)
	if parent == nil {
		t.steps = append(t.steps, step)
	} else {
		parent.Children = append(parent.Children, step)
	}
	return step
}

// change adds to a step, which may be read at the same time.
func (t *Trace) change(size int, do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.bytes+size > traceBytes {
		t.cut = true
		return
	}
	t.bytes += size
	do()
}

// traced does an instruction and keeps what it did.
func (f *Frame) traced(l *line) error {
	outer := f.step
	started := f.machine.Clock.Now()
	step := f.run.Trace.begin(outer, &TraceStep{
		Path: f.Place(), Automation: f.automation.FullSlug(), Instruction: l.name, StartedAt: started.UTC(),
	})
	f.step = step
	err := l.do(f)
	f.step = outer
	if step == nil {
		return err
	}
	took := float64(f.machine.Clock.Now().Sub(started).Microseconds()) / float64(time.Millisecond/time.Microsecond)
	var failed *TraceError
	size := 0
	if _, leaves := Leaves(err); err != nil && !leaves {
		failure := FailureOf(err)
		details := f.encode(plain(failure.Details), traceValue)
		failed = &TraceError{Error: failure.Name, Message: f.redactor().text(failure.Message), Details: details}
		size = len(details) + len(failed.Message)
	}
	f.run.Trace.change(0, func() { step.Duration = took })
	f.run.Trace.change(size, func() { step.Error = failed })
	return err
}

// Show keeps the parameters of the instruction that is being done, for who traces the run.
func (f *Frame) Show(input any) {
	if step := f.step; step != nil && f.run.Trace != nil {
		text := f.encode(input, traceValue)
		f.run.Trace.change(len(text), func() { step.Input = text })
	}
}

// Branch keeps which branch of the instruction was taken, for who traces the run.
func (f *Frame) Branch(name string) {
	if step := f.step; step != nil && f.run.Trace != nil {
		f.run.Trace.change(len(name), func() { step.Branch = name })
	}
}

func (f *Frame) traceOutput(output any) {
	if step := f.step; step != nil && f.run.Trace != nil {
		text := f.encode(output, traceValue)
		f.run.Trace.change(len(text), func() { step.Output = text })
	}
}
