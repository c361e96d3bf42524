package code_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
)

// lie is a worker that was taken over: it does not keep to what is agreed.
func lie(how string) int {
	if how == "mute" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	var setup wire.Setup
	if _, err := wire.Read(os.Stdin, 4096, &setup); err != nil {
		return 1
	}
	if how == "stranger" {
		_ = wire.Write(os.Stdout, wire.Ready{Version: 99}, nil)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	if err := wire.Write(os.Stdout, wire.Ready{Version: wire.Version}, nil); err != nil {
		return 1
	}
	var request wire.Request
	if _, err := wire.Read(os.Stdin, setup.Request, &request); err != nil {
		return 0
	}
	switch how {
	case "huge":
		_ = binary.Write(os.Stdout, binary.BigEndian, []uint32{1 << 30, 2})
	case "small":
		_ = binary.Write(os.Stdout, binary.BigEndian, []uint32{3, 2})
	case "header":
		_ = binary.Write(os.Stdout, binary.BigEndian, []uint32{8, 8})
	case "garbage":
		_, _ = os.Stdout.WriteString("HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 100000))
	case "json":
		_ = binary.Write(os.Stdout, binary.BigEndian, []uint32{8, 4})
		_, _ = os.Stdout.WriteString("nope")
	case "other":
		_ = wire.Write(os.Stdout, wire.Response{ID: request.ID + 1}, []byte(`"not yours"`))
	case "deep":
		_ = wire.Write(os.Stdout, wire.Response{ID: request.ID}, bytes.Repeat([]byte("["), 100000))
	case "flood":
		for {
			if _, err := os.Stdout.Write(make([]byte, 1<<20)); err != nil {
				return 1
			}
		}
	case "half":
		_ = binary.Write(os.Stdout, binary.BigEndian, []uint32{100, 2})
		return 0
	case "exit":
		return 3
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// A worker that lies is killed, and only its own call fails.
func TestWorkersAreNotBelieved(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"huge", "small", "header", "garbage", "json", "other", "deep", "flood", "half", "exit"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := room(t, code.Limits{Time: 5 * time.Second, Spares: 1}, program("liar", how))
			began := clock.System{}.Now()
			got, err := inline(t, c, "a", "return 1")
			if failure := failureOf(t, err); failure.Name != code.Failed || got != nil {
				t.Errorf("%v %v", got, failure)
			}
			if took := (clock.System{}).Now().Sub(began); took > 4*time.Second {
				t.Errorf("it took %s to see", took)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		t.Parallel()
		c := room(t, code.Limits{Time: 300 * time.Millisecond, Spares: 1}, program("liar", "silent"))
		_, err := inline(t, c, "a", "return 1")
		if failure := failureOf(t, err); failure.Name != machine.Timeout {
			t.Errorf("%v", failure)
		}
	})
	t.Run("stranger", func(t *testing.T) {
		t.Parallel()
		c := room(t, code.Limits{Spares: 1}, program("liar", "stranger"))
		_, err := inline(t, c, "a", "return 1")
		if failure := failureOf(t, err); failure.Name != code.Failed || strings.Contains(failure.Message, "frame") {
			t.Errorf("%v", failure)
		}
	})
}
