package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const password = "a password for measuring"

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// startProduct starts the binary on an empty directory, and once more to see how long a restart takes; it stays up.
func startProduct(ctx context.Context, dir, binary string) (*process, error) {
	first, err := serve(ctx, dir, binary)
	if err != nil {
		return nil, err
	}
	fmt.Printf("first start on an empty directory: ready after %v (target: 1 s)\n", first.took.Round(time.Millisecond))
	first.stop()
	product, err := serve(ctx, dir, binary)
	if err != nil {
		return nil, err
	}
	fmt.Printf("second start: ready after %v (target: 0.25 s)\n", product.took.Round(time.Millisecond))
	var signedIn struct {
		Token string `json:"token"`
	}
	err = post(ctx, product, "/v2/login", map[string]string{"email": "admin@localhost", "password": password}, &signedIn)
	product.token = signedIn.Token
	return product, err
}

// serve starts the binary on the data of a directory.
func serve(ctx context.Context, dir, binary string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return start(ctx, dir, regexp.MustCompile(`is ready: (http://\S+)`), binary, "serve", "--host", "127.0.0.1", "--port", port, "--data-dir", "data")
}

// reportStart prints what the process costs while idle.
func reportStart(_ context.Context, product *process, binary string) error {
	info, err := os.Stat(binary)
	if err != nil {
		return err
	}
	fmt.Printf("binary: %.1f MB (target: 80 MB)\n", float64(info.Size())/1e6)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", product.cmd.Process.Pid))
	if err != nil {
		return nil //nolint:nilerr // not Linux: the memory is not reported
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			fmt.Printf("idle memory: %.1f MiB (target: 80 MiB)\n", float64(kib)/1024)
		}
	}
	return nil
}

func post(ctx context.Context, p *process, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return p.exchange(ctx, request{method: http.MethodPost, path: path, kind: "application/json", body: text}, into)
}
