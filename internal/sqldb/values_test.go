package sqldb_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestIn(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{"": sqldb.In(1, 0), "$1": sqldb.In(1, 1), "$3, $4, $5": sqldb.In(3, 3), "$9, $10": sqldb.In(9, 2)} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestInIsUnderstoodByTheEngines(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		for _, id := range []string{"a", "b", "c"} {
			if err := add(ctx, db, id); err != nil {
				t.Fatal(err)
			}
		}
		var n int
		err := db.QueryRow(ctx, `SELECT COUNT(*) FROM things WHERE n = $1 AND id IN (`+sqldb.In(2, 2)+`)`, 1, "a", "c").Scan(&n)
		if err != nil || n != 2 {
			t.Errorf("%d rows, error %v, want 2", n, err)
		}
	}, things())
}

func TestTimeIsKeptToTheMillisecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-1<<45, 1<<45).Draw(t, "ms")
		got := sqldb.Time(ms)
		if sqldb.Millis(got) != ms || got.Location() != time.UTC {
			t.Fatalf("%d became %v", ms, got)
		}
		elsewhere := got.In(time.FixedZone("UTC+12:45", 45900)).Add(999 * time.Microsecond)
		if sqldb.Millis(elsewhere) != ms {
			t.Fatalf("%v became %d, want %d", elsewhere, sqldb.Millis(elsewhere), ms)
		}
	})
}
