package service_test

import (
	"net/http"
	"runtime"
	"testing"
	"time"

	"atelier/internal/workspaces/internal/archive/archivetest"
)

func TestZZPerf(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		files := archivetest.Sized(1, 2000)
		raw := zipped(t, files, nil)
		mem := func() uint64 { var m runtime.MemStats; runtime.ReadMemStats(&m); return m.TotalAlloc >> 20 }
		step := func(what string, f func()) {
			b, s := mem(), time.Now()
			f()
			t.Logf("%s %s: %v, %d MiB allocated", h.db.Driver(), what, time.Since(s).Round(time.Millisecond), mem()-b)
		}
		t.Logf("%d files, %d bytes", len(files), len(raw))
		var at string
		step("import new", func() { at = ann.bring(newImport, raw).made() })
		step("export", func() { ann.export(at) })
		step("export", func() { ann.export(at) })
		step("same again", func() { ann.bring(at+"/import?prune=true", raw).want(http.StatusOK) })
		other := zipped(t, archivetest.Sized(2, 2000), nil)
		step("dry run of another", func() { ann.bring(at+"/import?prune=true&dryRun=true", other).want(http.StatusOK) })
		step("another", func() { ann.bring(at+"/import?prune=true", other).want(http.StatusOK) })
		step("diff to lastImport of the first", func() { ann.bring(at+"/diff", raw).want(http.StatusOK) })
		step("get", func() { ann.get(at).want(http.StatusOK) })
	})
}
