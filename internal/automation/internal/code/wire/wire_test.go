package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"atelier/internal/automation/internal/code/wire"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{}", strings.Repeat("é", 100_000)} {
		var pipe bytes.Buffer
		sent := wire.Request{ID: 7, Function: "f", Functions: []wire.Function{{Name: "f", Parameters: []string{"a"}, Code: "return a"}}, Replace: true, Now: 5, Limit: 9}
		for range 2 {
			if err := wire.Write(&pipe, sent, []byte(body)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			var got wire.Request
			received, err := wire.Read(&pipe, 1<<20, &got)
			if err != nil || string(received) != body || got.ID != 7 || len(got.Functions) != 1 || got.Functions[0].Code != "return a" {
				t.Errorf("%+v %d bytes %v", got, len(received), err)
			}
		}
		if _, err := wire.Read(&pipe, 1<<20, new(wire.Request)); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	frame := func(total, head uint32, rest string) string {
		return string(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, total), head)) + rest
	}
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"too long":       {frame(1<<30, 2, "{}"), wire.ErrFrame},
		"just too long":  {frame(101, 2, "{}"), wire.ErrFrame},
		"header too big": {frame(6, 3, "{}"), wire.ErrFrame},
		"wraps around":   {frame(6, 0xffffffff, "{}"), wire.ErrFrame},
		"too short":      {frame(3, 0, ""), wire.ErrFrame},
		"no JSON":        {frame(6, 2, "no"), wire.ErrFrame},
		"other JSON":     {frame(6, 2, "[]"), wire.ErrFrame},
		"no header":      {frame(4, 0, ""), wire.ErrFrame},
		"broken off":     {frame(50, 2, "{}"), io.ErrUnexpectedEOF},
		"nothing after":  {frame(50, 2, ""), io.ErrUnexpectedEOF},
		"half a length":  {"\x00\x00", io.ErrUnexpectedEOF},
	} {
		if _, err := wire.Read(strings.NewReader(test.text), 100, new(wire.Response)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x06\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := wire.Read(bytes.NewReader(data), 1000, new(wire.Response))
		if err == nil && len(body) > 1000 {
			t.Errorf("%d bytes", len(body))
		}
	})
}
