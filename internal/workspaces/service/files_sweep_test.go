package service_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/blob"
	"atelier/internal/errs"
	"atelier/internal/workspaces/service"
)

const day = 24 * time.Hour

// What has ended is removed with its bytes, a day later and not before; what anybody still needs stays.
func TestSweepOfFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		upload := func(body string, fields ...piece) string {
			t.Helper()
			return ann.upload(at, aFile("a.txt", "text/plain", body), fields...).text("0.id")
		}
		upload("expires", aField("expiresAfter", "60"))
		deleted, twin := upload("shared"), upload("shared")
		picture := upload("a picture")
		replaced := upload("before")
		ann.form(http.MethodPost, at+"/files", aFile("a.txt", "text/plain", "orphan"), aField("public", "perhaps")).want(http.StatusUnprocessableEntity)
		ann.delete(at + "/files/" + deleted).want(http.StatusOK)
		ann.delete(at + "/files/" + picture).want(http.StatusOK)
		ann.form(http.MethodPut, at+"/files/"+replaced, aFile("a.txt", "text/plain", "after")).want(http.StatusOK)
		c.photos[hashOf("a picture")] = true // somebody's profile picture
		c.clk.Advance(2 * time.Minute)
		c.sweep()
		if told := c.events(at, "workspaces.files.deleted"); len(told) != 3 || !strings.Contains(string(told[0].Payload), `"size":7`) {
			t.Errorf("%d deletions were told", len(told))
		}
		if n := len(c.hashes()); n != 6 {
			t.Errorf("%d contents are left, want all 6", n)
		}
		c.clk.Advance(day)
		c.sweep()
		c.wantContents("shared", "a picture", "after")
		ann.delete(at + "/files/" + twin).want(http.StatusOK)
		c.clk.Advance(day - time.Second)
		c.sweep()
		c.wantContents("shared", "a picture", "after")
		c.clk.Advance(time.Second)
		c.sweep()
		c.wantContents("a picture", "after")
		c.clk.Advance(30 * day)
		c.sweep()
		c.wantContents("a picture", "after")
	})
}

func hashOf(body string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(body)))
}

// wantContents fails unless exactly these contents are stored.
func (c *cabinet) wantContents(bodies ...string) {
	c.t.Helper()
	got := c.hashes()
	var want []string
	for _, body := range bodies {
		want = append(want, hashOf(body))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		c.t.Errorf("%d contents are stored, want %v", len(got), bodies)
	}
}

// A content that is uploaded again while it is being removed is never lost: the upload is whole, or it is refused.
func TestUploadDuringTheSweep(t *testing.T) {
	t.Parallel()
	const body = "the same again"
	for name, at := range map[string]func(s *trap, sweep, upload func()){
		// stored, swept wholly, then noted
		"the sweep comes after the bytes": func(s *trap, sweep, upload func()) {
			s.afterPut = sweep
			upload()
		},
		// the sweep has decided, the upload comes, the bytes are removed
		"the upload comes before the removal": func(s *trap, sweep, upload func()) {
			s.beforeDelete = upload
			sweep()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachCabinet(t, func(t *testing.T, c *cabinet) {
				ann := c.user("ann")
				workspace := ann.workspace("Mine")
				old := ann.upload(workspace, aFile("a.txt", "text/plain", body))
				ann.delete(workspace + "/files/" + old.text("0.id")).want(http.StatusOK)
				c.clk.Advance(2 * day)
				s := &trap{Store: c.blobs}
				c.deps.Blobs = s
				c.open()
				var made *answer
				at(s, c.sweep, func() { made = ann.form(http.MethodPost, workspace+"/files", aFile("a.txt", "text/plain", body)) })
				made.wantError(http.StatusServiceUnavailable, errs.Unavailable)
				if made.header.Get("Retry-After") == "" {
					t.Error("it does not say when to try again")
				}
				again := ann.upload(workspace, aFile("a.txt", "text/plain", body))
				c.clk.Advance(2 * day)
				c.sweep()
				if got := ann.download(again.text("0.url")).want(http.StatusOK); got.body.String() != body {
					t.Errorf("downloaded %q", got.body)
				}
			})
		})
	}
}

// Others who store contents are protected in the same way.
func TestOthersStoreDuringTheSweep(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		workspace := ann.workspace("Mine")
		const body = "a picture"
		s := &trap{Store: c.blobs}
		c.deps.Blobs = s
		c.open()
		shared := service.TendBlobs(s, c.db, c.clk)
		put := func() (blob.Info, error) { return shared.Put(t.Context(), strings.NewReader(body), 0) }
		old := ann.upload(workspace, aFile("a.txt", "text/plain", body))
		ann.delete(workspace + "/files/" + old.text("0.id")).want(http.StatusOK)
		c.clk.Advance(2 * day)
		s.afterPut = c.sweep
		if _, err := put(); errs.CodeOf(err) != errs.Unavailable {
			t.Errorf("a content that is gone was taken for stored: %v", err)
		}
		info, err := put()
		if err != nil {
			t.Fatal(err)
		}
		c.sweep()
		c.photos[info.Hash] = true
		c.clk.Advance(30 * day)
		c.sweep()
		c.wantContents(body)
	})
}

// A removal that fails is tried again, also when the instance that began it is gone.
func TestInterruptedSweep(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		workspace := ann.workspace("Mine")
		for _, body := range []string{"x", "y", "z"} {
			old := ann.upload(workspace, aFile("a.txt", "text/plain", body))
			ann.delete(workspace + "/files/" + old.text("0.id")).want(http.StatusOK)
		}
		c.clk.Advance(2 * day)
		c.deps.Blobs = stuck{Store: c.blobs, hash: hashOf("x")} // which keeps nothing else
		c.open()
		if err := c.built.SweepFiles(t.Context()); err == nil {
			t.Fatal("the failure was not told")
		}
		c.deps.Blobs = c.blobs
		c.open()
		c.sweep() // the other instance may still be at it
		c.wantContents("x")
		c.clk.Advance(time.Hour)
		c.sweep()
		c.wantContents()
		ann.upload(workspace, aFile("a.txt", "text/plain", "x"))
	})
}

type stuck struct {
	blob.Store
	hash string
}

func (s stuck) Delete(ctx context.Context, hash string) error {
	if hash == s.hash {
		return errors.New("no")
	}
	return s.Store.Delete(ctx, hash)
}

// Several instances sweep at the same time.
func TestSeveralSweeps(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		workspace := ann.workspace("Mine")
		for i := range 120 {
			ann.upload(workspace, aFile("a.txt", "text/plain", strings.Repeat("x", i)), aField("expiresAfter", "1"))
		}
		for _, wait := range []time.Duration{time.Minute, 2 * day} {
			c.clk.Advance(wait)
			var running sync.WaitGroup
			for range 4 {
				running.Go(func() {
					if err := c.built.SweepFiles(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			c.sweep()
		}
		c.wantContents()
		if told := c.eventCount(workspace, "workspaces.files.deleted"); told != 120 {
			t.Errorf("%d deletions were told, want each once", told)
		}
	})
}

// eventCount counts the events of a type about the workspace at an address.
func (h *house) eventCount(at, eventType string) (count int) {
	h.t.Helper()
	err := h.db.QueryRow(h.t.Context(), `SELECT COUNT(*) FROM bus_events WHERE workspace_id = $1 AND type = $2`,
		strings.TrimPrefix(at, "/v2/workspaces/"), eventType).Scan(&count)
	if err != nil {
		h.t.Fatal(err)
	}
	return count
}

// The worker sweeps at once and then every few minutes, until it is stopped.
func TestSweepWorker(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		workspace := ann.workspace("Mine")
		ann.upload(workspace, aFile("a.txt", "text/plain", "x"), aField("expiresAfter", "1"))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.built.KeepFiles(ctx) }()
		for len(c.events(workspace, "workspaces.files.deleted")) == 0 {
			c.clk.Advance(10 * time.Minute)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
