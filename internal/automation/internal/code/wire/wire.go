// Package wire is what the runtime and its worker processes say to each other: frames over two pipes. A frame is four bytes with
// the length of all that follows, four with the length of the header, the header as JSON, and a body. Neither side believes the
// other one: whoever reads says how long a frame may be.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Version is that of the frames. Both sides are the same program, so another one means that something else answers.
const Version = 1

// Patience is how long a call works like everything else. What takes longer gets what the others on the machine leave, and takes turns
// when its workspace has to.
const Patience = 20 * time.Millisecond

// Setup is the first frame to a worker.
type Setup struct {
	Version int `json:"version"`
	// Heap is how many bytes the values of one virtual machine may take, Output how many a result.
	Heap   int64 `json:"heap"`
	Output int   `json:"output"`
	// Request is how long a frame to the worker may be.
	Request int `json:"request"`
	// Isolated tells that the process was started in namespaces of its own.
	Isolated bool `json:"isolated"`
}

// Ready is the first frame from a worker.
type Ready struct {
	Version int `json:"version"`
	// Shields names what keeps the process from the machine: namespaces, seccomp and so on.
	Shields []string `json:"shields"`
}

// Function is code that can be called by its name.
type Function struct {
	Name       string   `json:"name"`
	Parameters []string `json:"parameters"`
	Code       string   `json:"code"`
}

// Request asks for one call. Its body are the parameters as a JSON object.
type Request struct {
	ID uint64 `json:"id"`
	// Functions replace those that the worker has; Replace tells that they do.
	Functions []Function `json:"functions,omitempty"`
	Replace   bool       `json:"replace,omitempty"`
	// Function is called; without one Code is run, in a virtual machine of its own.
	Function string `json:"function,omitempty"`
	Code     string `json:"code,omitempty"`
	// Now is the time, in milliseconds. Limit is how long the call may take, in milliseconds.
	Now   int64 `json:"now"`
	Limit int64 `json:"limit"`
	// Low asks for what others on the machine leave, and no more.
	Low bool `json:"low,omitempty"`
}

// Response is what became of a call. Its body is the result as JSON; an empty one is undefined.
type Response struct {
	ID    uint64   `json:"id"`
	Error *Error   `json:"error,omitempty"`
	Logs  []string `json:"logs,omitempty"`
	// Duration is how long the call took, in milliseconds.
	Duration float64 `json:"duration"`
}

// The kinds of errors of a call.
const (
	KindThrown  = "thrown"  // the code threw it
	KindTimeout = "timeout" // it took too long
	KindMemory  = "memory"  // it needs too much memory
	KindOutput  = "output"  // its result is too large
	KindStuck   = "stuck"   // it waits for what never happens
)

// Error is why a call has no result.
type Error struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty"`
}

// ErrFrame is a frame that is none, or longer than it may be.
var ErrFrame = errors.New("a frame is malformed")

const lengths = 8 // bytes before the header

// Write writes a frame, in one piece where the body is small.
func Write(w io.Writer, header any, body []byte) error {
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	const together = 64 << 10
	frame := make([]byte, lengths, lengths+len(head)+min(len(body), together))
	binary.BigEndian.PutUint32(frame, uint32(4+len(head)+len(body))) //nolint:gosec // bodies are limited to some megabytes
	binary.BigEndian.PutUint32(frame[4:], uint32(len(head)))         //nolint:gosec // and so are headers
	frame = append(frame, head...)
	if len(body) <= together {
		_, err = w.Write(append(frame, body...))
		return err
	}
	if _, err := w.Write(frame); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// Read reads a frame of at most so many bytes. The end before a frame is io.EOF, the end inside of one io.ErrUnexpectedEOF.
func Read(r io.Reader, limit int, header any) (body []byte, err error) {
	var sizes [lengths]byte
	if _, err := io.ReadFull(r, sizes[:]); err != nil {
		return nil, err
	}
	total, head := binary.BigEndian.Uint32(sizes[:]), binary.BigEndian.Uint32(sizes[4:])
	if int64(total) > int64(limit) || total < 4 || head > total-4 {
		return nil, fmt.Errorf("%w: it says that it has %d bytes, %d of them the header, and %d are allowed", ErrFrame, total, head, limit)
	}
	rest := make([]byte, total-4)
	if _, err := io.ReadFull(r, rest); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if err := json.Unmarshal(rest[:head], header); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return rest[head:], nil
}
