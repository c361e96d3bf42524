package sync_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestManyPullsOfALargeRepository lets a hundred workspaces pull at the same time from one repository of SYNC_MEGABYTES. Whoever
// is too many is asked to come again and does, until everybody has pulled. Only so many git processes run at a time, the
// repository is on the disk once, and the memory of the program does not grow with it.
func TestManyPullsOfALargeRepository(t *testing.T) {
	t.Parallel()
	const pullers, atOnce = 100, 16
	megabytes := number(t, "SYNC_MEGABYTES", 30)
	h := newHouse(t)
	h.env = append(h.env, "DISABLE_RATE_LIMIT=yes")
	h.restart()
	r := &race{t: t, h: h, path: h.git.Create("large")}
	random := rand.New(rand.NewPCG(1, 2))
	files := map[string][]byte{}
	for i := range megabytes {
		text := make([]byte, 1<<20)
		for k := 0; k < len(text); k += 8 {
			copy(text[k:], strconv.FormatUint(random.Uint64(), 36))
		}
		files[fmt.Sprintf("large/%d.bin", i)] = text
	}
	for i := range pullers {
		files[fmt.Sprintf("w%d/index.yml", i)] = fmt.Appendf(nil, "name: Pulled %d\n", i)
	}
	h.git.Commit("large", "main", files)
	remote := h.git.Remote("large")
	var places []string
	for i := range pullers {
		var made struct{ ID string }
		r.must(http.MethodPost, "/v2/workspaces", map[string]any{"name": fmt.Sprintf("Puller %d", i)}, &made, http.StatusCreated)
		places = append(places, "/v2/workspaces/"+made.ID)
		r.must(http.MethodPatch, places[i], map[string]any{"repositories": map[string]any{"main": map[string]any{"name": "Main", "config": map[string]any{
			"url": remote.URL, "branch": "main", "dirpath": fmt.Sprintf("w%d", i), "auth": map[string]any{"user": remote.User, "password": remote.Password},
		}}}}, nil, http.StatusOK)
	}
	before := h.memory()
	ended := make(chan struct{})
	most := make(chan int)
	go func() { most <- h.children(ended) }()
	var running sync.WaitGroup
	for i, at := range places {
		running.Go(func() { r.pull(at, fmt.Sprintf("Pulled %d", i)) })
	}
	running.Wait()
	close(ended)
	grown, processes, clones := h.memory()-before, <-most, h.clones()
	t.Logf("%d MB: memory grew by %d MB, %d git processes at a time, %d MB of clones, %d were asked to come again", megabytes, grown>>20, processes, clones>>20, r.refused)
	if grown > 100<<20 {
		t.Errorf("the memory grew by %d MB", grown>>20)
	}
	if processes > atOnce {
		t.Errorf("%d git processes ran at a time, want at most %d", processes, atOnce)
	}
	if size := int64(megabytes) << 20; clones > size+size/2 {
		t.Errorf("the clones have %d MB", clones>>20)
	}
	if r.refused == 0 {
		t.Error("nobody was one too many")
	}
}

// pull pulls until it is done, whenever there is room.
func (r *race) pull(at, name string) {
	for r.t.Context().Err() == nil {
		var answer struct {
			Processing, Error, Message any
			Workspace                  struct{ Name string }
		}
		status, err := r.h.call(r.t.Context(), http.MethodPost, at+"/pull", toMain(map[string]any{"discardLocalChanges": true}), &answer)
		switch {
		case err == nil && status == http.StatusOK && answer.Workspace.Name == name:
			return
		case err == nil && (status == http.StatusTooManyRequests || status == http.StatusLocked || answer.Processing == true):
			r.lost()
			wait(r.t.Context(), 200*time.Millisecond)
		default:
			r.t.Errorf("%s: %d %v %+v", at, status, err, answer)
			return
		}
	}
}

// memory is the most that the program ever had, in bytes.
func (h *house) memory() int64 {
	h.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.process.PID()))
	if err != nil {
		h.t.Skipf("SKIPPED: memory of many pulls: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		h.t.Fatal(err)
	}
	return kilobytes << 10
}

// children is how many processes the program had at a time at most, until it is told that all has ended.
func (h *house) children(ended <-chan struct{}) (most int) {
	parent := strconv.Itoa(h.process.PID())
	for {
		select {
		case <-ended:
			return most
		default:
		}
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		now := 0
		for _, path := range stats {
			text, err := os.ReadFile(path)
			if _, behind, ok := strings.Cut(string(text), ") "); err == nil && ok {
				if fields := strings.Fields(behind); fields[0] != "Z" && fields[1] == parent {
					now++
				}
			}
		}
		most = max(most, now)
		wait(h.t.Context(), 5*time.Millisecond)
	}
}

// clones is what the program keeps of repositories, in bytes.
func (h *house) clones() (size int64) {
	h.t.Helper()
	err := filepath.Walk(h.dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && strings.Contains(path, string(filepath.Separator)+"clones"+string(filepath.Separator)) {
			size += info.Size()
		}
		return nil
	})
	if err != nil || size == 0 {
		h.t.Errorf("%d bytes of clones, %v", size, err)
	}
	return size
}
