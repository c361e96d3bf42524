package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// idle measures what connections cost that listen and hear nothing: half of them server-sent events, half WebSockets.
func (p eventsPlan) idle(ctx context.Context, dir string) (err error) {
	port, err := freePort()
	if err != nil {
		return err
	}
	product, err := startWith(ctx, []string{"CONCURRENT_REQUESTS=100000"}, dir, regexp.MustCompile(`is ready: (http://\S+)`), p.binary, "serve", "--host", "127.0.0.1", "--port", port, "--data-dir", "feeds")
	if err != nil {
		return err
	}
	defer product.stop()
	var signedIn struct {
		Token string `json:"token"`
	}
	if err := post(ctx, product, "/v2/login", map[string]string{"email": "admin@localhost", "password": password}, &signedIn); err != nil {
		return err
	}
	product.token = signedIn.Token
	workspace, err := newWorkspace(ctx, product)
	if err != nil {
		return err
	}
	before := product.memory()
	l := &listeners{product: product, path: "/v2/workspaces/" + workspace + "/events"}
	defer l.leave()
	began := time.Now()
	if err := l.join(ctx, p.feeds); err != nil {
		return err
	}
	took := time.Since(began)
	most := l.watch(ctx, product)
	if err := l.failed(); err != nil {
		return err
	}
	target := before + (mostMemory-before)*float64(p.feeds)/mostFeeds
	fmt.Printf("\n%d idle feeds, joined in %v: %.1f MiB, %.1f KiB each above the %.1f MiB before (target: %.1f MiB; %.0f MiB with %d)\n",
		p.feeds, took.Round(time.Millisecond), most, (most-before)*1024/float64(p.feeds), before, target, mostMemory, mostFeeds)
	return missed(most < target, "memory of idle feeds")
}

// listeners are the connections.
type listeners struct {
	product *process
	path    string

	reading sync.WaitGroup
	mu      sync.Mutex
	conns   []net.Conn
	leaving bool
	failure error
}

// joining is how many connect at the same time.
const joining = 32

func (l *listeners) join(ctx context.Context, feeds int) error {
	u, err := url.Parse(l.product.url)
	if err != nil {
		return err
	}
	numbers := make(chan int)
	failures := make([]error, joining)
	var wait sync.WaitGroup
	for i := range joining {
		wait.Go(func() {
			for number := range numbers {
				if failures[i] == nil {
					failures[i] = l.one(ctx, u.Host, number%2 == 0)
				}
			}
		})
	}
	for number := range feeds {
		numbers <- number
	}
	close(numbers)
	wait.Wait()
	return errors.Join(failures...)
}

// one connects, waits until the server listens back, and goes on reading.
func (l *listeners) one(ctx context.Context, host string, stream bool) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.conns = append(l.conns, conn)
	l.mu.Unlock()
	r := bufio.NewReaderSize(conn, 1024)
	serve := l.hear
	if stream {
		err = l.begin(conn, r, "Accept: text/event-stream\r\n\r\n", "HTTP/1.1 200")
	} else {
		serve = l.answer
		if err = l.begin(conn, r, "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", "HTTP/1.1 101"); err == nil {
			err = l.subscribe(conn, r)
		}
	}
	if err != nil {
		return err
	}
	l.reading.Go(func() {
		err := serve(conn, r)
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.leaving && l.failure == nil {
			l.failure = fmt.Errorf("a feed has ended: %w", err)
		}
	})
	return nil
}

// begin sends the head of a request and reads that of the answer.
func (l *listeners) begin(conn net.Conn, r *bufio.Reader, rest, status string) error {
	if _, err := io.WriteString(conn, head(l.product, "GET", l.path, l.product.token)+rest); err != nil {
		return err
	}
	first, err := r.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(first, status) {
		return fmt.Errorf("the server answered %s", strings.TrimSpace(first))
	}
	for line := first; strings.TrimSpace(line) != ""; {
		if line, err = r.ReadString('\n'); err != nil {
			return err
		}
	}
	return nil
}

// hear reads a stream until it ends.
func (l *listeners) hear(_ net.Conn, r *bufio.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return errors.Join(err, io.EOF)
}

// The kinds of frames of a WebSocket.
const (
	frameText = 0x81
	framePing = 0x89
	framePong = 0x8a
	frameMask = 0x80
)

func (l *listeners) subscribe(conn net.Conn, r *bufio.Reader) error {
	if err := frame(conn, frameText, []byte(`{"id":1,"type":"subscribe"}`)); err != nil {
		return err
	}
	_, text, err := readFrame(r)
	if err == nil && !strings.Contains(string(text), `"subscribed"`) {
		err = fmt.Errorf("the server said %s", text)
	}
	return err
}

// answer reads a WebSocket until it ends, and says that it is alive when it is asked.
func (l *listeners) answer(conn net.Conn, r *bufio.Reader) error {
	for {
		kind, text, err := readFrame(r)
		if err == nil && kind == framePing {
			err = frame(conn, framePong, text)
		}
		if err != nil {
			return err
		}
	}
}

// frame sends a short frame as clients do, with a mask of zeros.
func frame(conn net.Conn, kind byte, text []byte) error {
	_, err := conn.Write(append([]byte{kind, frameMask | byte(len(text)), 0, 0, 0, 0}, text...))
	return err
}

// readFrame reads a frame of a server, which has no mask.
func readFrame(r *bufio.Reader) (kind byte, text []byte, err error) {
	var start [2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return 0, nil, err
	}
	const twoBytes = 126
	size := int(start[1])
	switch {
	case size == twoBytes:
		var long [2]byte
		if _, err := io.ReadFull(r, long[:]); err != nil {
			return 0, nil, err
		}
		size = int(binary.BigEndian.Uint16(long[:]))
	case size > twoBytes:
		return 0, nil, errors.New("a frame came that is longer than any that is expected")
	}
	text = make([]byte, size)
	_, err = io.ReadFull(r, text)
	return start[0], text, err
}

// watch gives the most memory that the server has while two signs of life go to everybody.
func (l *listeners) watch(ctx context.Context, product *process) (most float64) {
	end := time.After(35 * time.Second)
	for {
		most = max(most, product.memory())
		select {
		case <-time.After(time.Second):
		case <-end:
			return most
		case <-ctx.Done():
			return most
		}
	}
}

func (l *listeners) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure
}

// leave closes the connections and waits until nobody reads.
func (l *listeners) leave() {
	l.mu.Lock()
	l.leaving = true
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.mu.Unlock()
	l.reading.Wait()
}
