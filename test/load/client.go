package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// result is what one measurement gave.
type result struct {
	count     int
	perSecond float64
	p99       time.Duration
	// cpu is what the server spent on a request; unlike the rate it hardly depends on what else the machine does.
	cpu time.Duration
}

// patience is how long an answer may take once the measurement is over.
const patience = 30 * time.Second

// drive keeps every connection busy with the request for a while. The client is as small as it can be, because it shares
// the processors with what it measures.
func drive(ctx context.Context, address, request string, span time.Duration) (result, error) {
	u, err := url.Parse(address)
	if err != nil {
		return result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	end := began.Add(span)
	latencies := make([][]time.Duration, callers)
	failures := make([]error, callers)
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() { latencies[i], failures[i] = call(ctx, u.Host, []byte(request), end) })
	}
	wait.Wait()
	took := time.Since(began)
	for _, err := range failures {
		if err != nil {
			return result{}, err
		}
	}
	all := slices.Concat(latencies...)
	slices.Sort(all)
	return result{count: len(all), perSecond: float64(len(all)) / took.Seconds(), p99: all[len(all)*99/100]}, nil
}

func call(ctx context.Context, host string, request []byte, end time.Time) ([]time.Duration, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(end.Add(patience)); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(conn)
	latencies := make([]time.Duration, 0, 1<<16)
	for {
		sent := time.Now()
		if sent.After(end) {
			return latencies, nil
		}
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		if err := read(reader); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(sent))
	}
}

// read takes one response, with a Content-Length or in chunks.
func read(r *bufio.Reader) error {
	status, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 2")) {
		return fmt.Errorf("the server answered %s", bytes.TrimSpace(status))
	}
	length, chunked := 0, false
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		chunked = chunked || bytes.EqualFold(name, []byte("Transfer-Encoding"))
	}
	if chunked {
		return readChunks(r)
	}
	_, err = r.Discard(length)
	return err
}

// readChunks takes the chunks of a response up to the empty one.
func readChunks(r *bufio.Reader) error {
	const hexadecimal, lineEnd = 16, 2
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), hexadecimal, 32)
		if err != nil {
			return err
		}
		if _, err := r.Discard(int(size) + lineEnd); err != nil || size == 0 {
			return err
		}
	}
}
