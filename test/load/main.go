// Command load measures the product against a bare net/http server in the same run, on the same machine, with the same
// client. Figures are ratios: machines differ, ratios less so. It needs bin/atelier; `make bench` builds it first.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	bare := flag.Bool("bare", false, "serve a small JSON on standard output's address and nothing else")
	binary := flag.String("binary", "bin/atelier", "the binary to measure")
	seconds := flag.Int("seconds", 3, "how long each measurement takes")
	rounds := flag.Int("rounds", 3, "how often each is repeated; the median counts")
	onlyBulk := flag.Bool("bulk", false, "measure bulk operations and nothing else")
	onlyEvents := flag.String("events", "", "measure this of the events service and nothing else: ingest, search, feeds or all")
	onlyAutomations := flag.Bool("automations", false, "measure automations and nothing else")
	onlyHostile := flag.Bool("hostile", false, "measure the neighbours of a hostile workspace and nothing else")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	run := serveBare
	if !*bare {
		run = func(ctx context.Context) error {
			if *onlyBulk {
				return measureBulk(ctx, *binary)
			}
			if *onlyHostile {
				return measureHostile(ctx, *binary, hostileSpan)
			}
			if *onlyAutomations {
				return measureAutomations(ctx, *binary, time.Duration(*seconds)*time.Second, *rounds)
			}
			if *onlyEvents != "" {
				return measureEvents(ctx, *binary, *onlyEvents, time.Duration(*seconds)*time.Second)
			}
			return measure(ctx, *binary, time.Duration(*seconds)*time.Second, *rounds)
		}
	}
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// serveBare is the reference: the standard library answering the same JSON as our GET /, and nothing more.
func serveBare(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	type status struct {
		Status  string `json:"status"`
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(status{"ok", "Atelier", "bare"})
	})
	mux.HandleFunc("POST /hello", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Name string `json:"name"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"message": "Hello " + in.Name})
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func measure(ctx context.Context, binary string, span time.Duration, rounds int) error {
	dir, err := os.MkdirTemp("", "atelier-load-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	reference, err := start(ctx, dir, regexp.MustCompile(`(http://\S+)`), self, "-bare")
	if err != nil {
		return err
	}
	defer reference.stop()
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	product, err := startProduct(ctx, dir, binary)
	if err != nil {
		return err
	}
	defer product.stop()
	if err := reportStart(ctx, product, binary); err != nil {
		return err
	}
	if err := definitions(ctx, product); err != nil {
		return err
	}
	if err := bulk(ctx, dir, binary); err != nil {
		return err
	}
	return errors.Join(compare(ctx, reference, product, span, rounds), measureEvents(ctx, binary, "all", span))
}

// process is a server under test.
type process struct {
	cmd   *exec.Cmd
	url   string
	token string
	took  time.Duration
}

// start runs a command and waits for the line that says where it listens.
func start(ctx context.Context, dir string, address *regexp.Regexp, name string, args ...string) (*process, error) {
	return startWith(ctx, nil, dir, address, name, args...)
}

// startWith is start with more environment variables.
func startWith(ctx context.Context, env []string, dir string, address *regexp.Regexp, name string, args ...string) (*process, error) {
	began := time.Now()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	cmd.Env = append(append(os.Environ(), "LOG_LEVEL=error", "ADMIN_PASSWORD="+password, "DISABLE_RATE_LIMIT=yes"), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var seen strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := out.Read(buffer)
		seen.Write(buffer[:n])
		if found := address.FindStringSubmatch(seen.String()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return &process{cmd: cmd, url: found[1], took: time.Since(began)}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s did not say where it listens: %s", name, seen.String())
		}
	}
}

// cpu is the processor time the process has used so far; zero where /proc does not tell.
func (p *process) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	const userTime, ticks = 11, 100 // fields after the command's name; Linux counts hundredths of a second
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, _ := strconv.Atoi(fields[userTime])
	system, _ := strconv.Atoi(fields[userTime+1])
	return time.Duration(user+system) * time.Second / ticks
}

// calm waits until the process has caught up with what it does behind the requests that it was sent, as bringing the index of events
// up to date: what is measured then is not measured beside that.
func (p *process) calm(ctx context.Context) error {
	const (
		look  = 200 * time.Millisecond
		least = look / 20 // of a processor
		looks = 300
	)
	before := p.cpu()
	for range looks {
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return ctx.Err()
		}
		now := p.cpu()
		if now-before <= least {
			return nil
		}
		before = now
	}
	return errors.New("the product does not come to rest")
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait()
}
