package dates_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"

	"atelier/internal/dsul/expr/internal/dates"
	"atelier/internal/dsul/expr/value"
)

// observed are results of Day.js and of JavaScript's Date in UTC.
type observed struct {
	Format []struct {
		T             int64
		F, L, Z, Want string
	}
	Parse []struct {
		S    string
		Want *float64
	}
}

func load(t *testing.T) observed {
	t.Helper()
	raw, err := os.ReadFile("testdata/dayjs.json")
	if err != nil {
		t.Fatal(err)
	}
	var all observed
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFormatIsThatOfDayjs(t *testing.T) {
	t.Parallel()
	for _, row := range load(t).Format {
		zone, err := time.LoadLocation(row.Z)
		if err != nil {
			t.Fatal(err)
		}
		locale, ok := dates.FindLocale(row.L)
		if got := dates.Format(time.UnixMilli(row.T).In(zone), row.F, locale); !ok || got != row.Want {
			t.Errorf("%d as %q in %s, %s is %q, want %q", row.T, row.F, row.L, row.Z, got, row.Want)
		}
	}
}

func TestDatesAreThoseOfJavaScript(t *testing.T) {
	t.Parallel()
	for _, row := range load(t).Parse {
		got, ok := dates.Of(row.S)
		if ok != (row.Want != nil) || ok && dates.Millis(got) != *row.Want {
			t.Errorf("%q is %v, %v", row.S, got, ok)
		}
	}
	for _, v := range []any{math.NaN(), math.Inf(1), 8.64e15 + 1, value.Undefined{}, []any{}, "2022-02-30", "999999-01-01", "2022-04-13T08:04:05 XYZ"} {
		if got, ok := dates.Of(v); ok {
			t.Errorf("%v is %v", v, got)
		}
	}
}

func TestISO(t *testing.T) {
	t.Parallel()
	for millis, want := range map[float64]string{
		0: "1970-01-01T00:00:00.000Z", 1649837045493: "2022-04-13T08:04:05.493Z", 8.64e15: "+275760-09-13T00:00:00.000Z", -8.64e15: "-271821-04-20T00:00:00.000Z",
		-62198755200000: "-000001-01-01T00:00:00.000Z", -1: "1969-12-31T23:59:59.999Z", 1.9: "1970-01-01T00:00:00.001Z",
	} {
		if got, ok := dates.Of(millis); !ok || dates.ISO(got) != want {
			t.Errorf("%v is %s, want %s", millis, dates.ISO(got), want)
		}
	}
}

func TestLocales(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"fr": true, "FR": true, "fr-FR": true, "pt-br": true, "en-US": true, "": false, "xx": false, "fr_FR": false, "\t": false, "f": false, "fr\tjanvier": false, "-": false} {
		if _, ok := dates.FindLocale(name); ok != known {
			t.Errorf("%q is known: %v", name, ok)
		}
	}
}
