package cron_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/dsul/cron"
)

func at(text string) time.Time {
	t, _ := time.Parse(time.DateTime, text) // a mistake is the year 1, which no test expects
	return t
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ schedule, after, want string }{
		{"* * * * *", "2026-03-01 10:00:00", "2026-03-01 10:01:00"},
		{"* * * * *", "2026-03-01 10:00:59", "2026-03-01 10:01:00"},
		{"*/15 * * * *", "2026-03-01 10:15:00", "2026-03-01 10:30:00"},
		{"5/20 * * * *", "2026-03-01 10:26:00", "2026-03-01 10:45:00"},
		{"0 0 1 1 *", "2026-03-01 10:00:00", "2027-01-01 00:00:00"},
		{"59 23 31 12 *", "2026-12-31 23:58:30", "2026-12-31 23:59:00"},
		{"59 23 31 12 *", "2026-12-31 23:59:00", "2027-12-31 23:59:00"},
		{"30 8 * * mon-fri", "2026-03-06 08:30:00", "2026-03-09 08:30:00"}, // a Friday
		{"30 8 * * MON-Fri", "2026-03-06 08:30:00", "2026-03-09 08:30:00"},
		{"0 12 * * 7", "2026-03-02 00:00:00", "2026-03-08 12:00:00"},
		{"0 12 * * 0", "2026-03-02 00:00:00", "2026-03-08 12:00:00"},
		{"0 12 * * sat-sun", "2026-03-07 12:00:00", "2026-03-08 12:00:00"},
		{"0 12 * * 5-7", "2026-03-07 12:00:00", "2026-03-08 12:00:00"},
		{"0 0 29 2 *", "2096-03-01 00:00:00", "2104-02-29 00:00:00"},     // 2100 has none
		{"0 0 13 * fri", "2026-03-01 00:00:00", "2026-03-06 00:00:00"},   // either is enough
		{"0 0 2 * fri", "2026-03-01 00:00:00", "2026-03-02 00:00:00"},    // either is enough
		{"0 0 */2 * fri", "2026-03-03 00:00:00", "2026-03-05 00:00:00"},  // a step is a choice
		{"0 0 1-31 * fri", "2026-03-01 00:00:00", "2026-03-06 00:00:00"}, // every day is none
		{"0 0 31 * *", "2026-04-01 00:00:00", "2026-05-31 00:00:00"},
		{"0 0 30 2,4 *", "2026-01-01 00:00:00", "2026-04-30 00:00:00"},
		{"0 0 30 2 mon", "2026-02-01 00:00:00", "2026-02-02 00:00:00"},
		{"0 9-17/4,23 * jan,DEC *", "2026-01-31 13:00:00", "2026-01-31 17:00:00"},
		{"0 9-17/4,23 * jan,DEC *", "2026-01-31 23:00:00", "2026-12-01 09:00:00"},
		{" 0\t0  * * * ", "2026-01-31 23:00:00", "2026-02-01 00:00:00"},
	} {
		schedule, err := cron.Parse(test.schedule)
		if err != nil {
			t.Errorf("%q: %v", test.schedule, err)
			continue
		}
		if got, ok := schedule.Next(at(test.after)); !ok || !got.Equal(at(test.want)) {
			t.Errorf("%q after %s fires at %v, %v, want %s", test.schedule, test.after, got, ok, test.want)
		}
	}
}

// Whatever zone a time is told in, a schedule is in UTC.
func TestNextIsInUTC(t *testing.T) {
	t.Parallel()
	schedule, err := cron.Parse("0 12 * * *")
	if err != nil {
		t.Fatal(err)
	}
	after := at("2026-03-01 12:30:00").In(time.FixedZone("east", 5*3600+1800))
	if got, ok := schedule.Next(after); !ok || got.Location() != time.UTC || !got.Equal(at("2026-03-02 12:00:00")) {
		t.Errorf("fires at %v, %v", got, ok)
	}
}

func TestNoScheduleNeverFires(t *testing.T) {
	t.Parallel()
	if got, ok := (cron.Schedule{}).Next(at("2026-03-01 00:00:00")); ok {
		t.Errorf("fires at %v", got)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ schedule, field, says string }{
		{"", "", "five fields"},
		{"* * * *", "", "this one has 4"},
		{"* * * * * *", "", "this one has 6"},
		{"@every 0s", "", "five fields"},
		{"@daily", "", "five fields"},
		{"TZ=0 * * * * *", "", "five fields"},
		{"TZ=0 * * * *", "minute", `"TZ=0" is not valid: use *, a number from 0 to 59`},
		{"CRON_TZ= * * * *", "minute", "not valid"},
		{strings.Repeat("1,", 600) + "1 * * * *", "", "at most 256"},
		{"60 * * * *", "minute", "from 0 to 59"},
		{"-1 * * * *", "minute", "from 0 to 59"},
		{"+1 * * * *", "minute", "from 0 to 59"},
		{"*/0 * * * *", "minute", "a step is a number from 1 to 59"},
		{"*/-1 * * * *", "minute", "a step"},
		{"*/ * * * *", "minute", "a step"},
		{"/5 * * * *", "minute", "not valid"},
		{"1//5 * * * *", "minute", "a step"},
		{"*/60 * * * *", "minute", "a step"},
		{"1, * * * *", "minute", "not valid"},
		{",1 * * * *", "minute", "not valid"},
		{"1-2-3 * * * *", "minute", "not valid"},
		{"1- * * * *", "minute", "not valid"},
		{"5-1 * * * *", "minute", "from the smaller to the greater"},
		{"*-5 * * * *", "minute", "not valid"},
		{"1.5 * * * *", "minute", "not valid"},
		{"٣ * * * *", "minute", "not valid"},
		{"* 24 * * *", "hour", "from 0 to 23"},
		{"* * 0 * *", "day of month", "from 1 to 31"},
		{"* * 32 * *", "day of month", "from 1 to 31"},
		{"* * L * *", "day of month", "not valid"},
		{"* * mon * *", "day of month", "not valid"},
		{"* * * 13 *", "month", "a name such as jan"},
		{"* * * mon *", "month", "a name such as jan"},
		{"* * * anf *", "month", "not valid"},
		{"* * * * 8", "day of week", "a name such as sun"},
		{"* * * * 1#2", "day of week", "not valid"},
		{"* * * * monday", "day of week", "not valid"},
		{"0 0 30 2 *", "day of month", "never fire"},
		{"0 0 31 2,4,6,9,11 *", "day of month", "never fire"},
		{"2021-12-25T00:00", "", "five fields"},
	} {
		_, err := cron.Parse(test.schedule)
		var found *cron.Error
		if !errors.As(err, &found) || found.Field != test.field || !strings.Contains(err.Error(), test.says) || !strings.HasPrefix(err.Error(), test.field) {
			t.Errorf("%q gives %v, want %s: %s", test.schedule, err, test.field, test.says)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	schedule, err := cron.Parse("  */5  8\t* JAN mon ")
	if err != nil || schedule.String() != "*/5 8 * JAN mon" {
		t.Errorf("%q, %v", schedule, err)
	}
}

// field is a field of a generated schedule: its text, and the numbers it stands for.
type field struct {
	text   string
	values []int
	any    bool
}

// draw makes a field of single numbers, ranges and steps, counting out by hand what they mean.
func draw(t *rapid.T, name string, first, last int) field {
	if rapid.IntRange(0, 3).Draw(t, name+" star") == 0 {
		return field{text: "*", any: true}
	}
	var f field
	var texts []string
	for range rapid.IntRange(1, 3).Draw(t, name+" items") {
		from := rapid.IntRange(first, last).Draw(t, name+" from")
		to := rapid.IntRange(from, last).Draw(t, name+" to")
		step := rapid.IntRange(1, last).Draw(t, name+" step")
		text := fmt.Sprintf("%d-%d/%d", from, to, step)
		for n := from; n <= to; n += step {
			f.values = append(f.values, n)
		}
		texts = append(texts, text)
	}
	f.text = strings.Join(texts, ",")
	slices.Sort(f.values)
	f.values = slices.Compact(f.values)
	f.any = len(f.values) == last-first+1
	return f
}

func (f field) has(n int) bool { return f.any || slices.Contains(f.values, n) }

// Next is the first minute that a walk over all minutes finds.
func TestNextIsWhatAWalkFinds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minute, hour, day := draw(t, "minute", 0, 59), draw(t, "hour", 0, 23), draw(t, "day", 1, 31)
		month, weekday := draw(t, "month", 1, 12), draw(t, "weekday", 0, 6)
		text := strings.Join([]string{minute.text, hour.text, day.text, month.text, weekday.text}, " ")
		after := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "after"), 0).UTC()
		schedule, err := cron.Parse(text)
		const days = 40
		want, found := time.Time{}, false
		for m := after.Truncate(time.Minute).Add(time.Minute); m.Sub(after) < days*24*time.Hour; m = m.Add(time.Minute) {
			inMonth, inWeek := day.has(m.Day()), weekday.has(int(m.Weekday()))
			onDay := inMonth && inWeek || !day.any && !weekday.any && (inMonth || inWeek)
			if minute.has(m.Minute()) && hour.has(m.Hour()) && month.has(int(m.Month())) && onDay {
				want, found = m, true
				break
			}
		}
		if err != nil {
			if found {
				t.Fatalf("%q: %v, but it fires at %v", text, err, want)
			}
			return
		}
		got, ok := schedule.Next(after)
		switch {
		case found && (!ok || !got.Equal(want)):
			t.Fatalf("%q after %v fires at %v, want %v", text, after, got, want)
		case !found && ok && got.Sub(after) < (days-1)*24*time.Hour:
			t.Fatalf("%q after %v fires at %v, a walk finds nothing", text, after, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"* * * * *", "*/15 0-5,7 1 jan-mar/2 mon", "0 0 29 2 *", "0 0 30 2 *", "CRON_TZ=UTC * * * * *", "60 24 32 13 8"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		schedule, err := cron.Parse(text)
		if err != nil {
			return
		}
		after := at("2026-03-01 10:00:00")
		next, ok := schedule.Next(after)
		if !ok || !next.After(after) || next.Second() != 0 {
			t.Fatalf("%q fires at %v, %v", text, next, ok)
		}
		again, err := cron.Parse(schedule.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", text, schedule, err)
		}
		if same, _ := again.Next(after); !same.Equal(next) {
			t.Fatalf("%q fires at %v, %q at %v", text, next, schedule, same)
		}
	})
}

func BenchmarkNextOfALeapDay(b *testing.B) {
	schedule, err := cron.Parse("0 0 29 2 *")
	if err != nil {
		b.Fatal(err)
	}
	after := at("2096-03-01 00:00:00")
	for b.Loop() {
		schedule.Next(after)
	}
}
