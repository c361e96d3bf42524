package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	lines := strings.Join([]string{
		`{"Action":"pass","Package":"p","Test":"TestFine"}`,
		`{"Action":"output","Package":"p","Test":"TestBad","Output":"    it broke\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestBad"}`,
		`{"Action":"output","Package":"p","Test":"TestSkip","Output":"    x_test.go:1: SKIPPED: redis: not set\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestSkip"}`,
		`{"Action":"fail","Package":"p","Elapsed":1.5}`,
		`{"Action":"output","Package":"q","Output":"panic: no\n"}`,
		`{"Action":"fail","Package":"q"}`,
	}, "\n")
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	if r.close(false) {
		t.Error("failures were called fine")
	}
	for _, want := range []string{"it broke", "SKIPPED: p TestSkip: redis: not set", "panic: no", "1 passed, 2 failed, 1 skipped"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

func TestASkipFailsWhereEverythingIsProvided(t *testing.T) {
	t.Parallel()
	for strict, fine := range map[bool]bool{true: false, false: true} {
		r := newReport(&strings.Builder{})
		_ = r.read(strings.NewReader(`{"Action":"pass","Package":"p","Test":"A"}` + "\n" + `{"Action":"skip","Package":"p","Test":"B"}`))
		if r.close(strict) != fine {
			t.Errorf("strict %v", strict)
		}
	}
	if newReport(&strings.Builder{}).close(false) {
		t.Error("no test at all was called fine")
	}
}
