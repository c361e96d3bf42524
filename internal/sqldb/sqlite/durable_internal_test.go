package sqlite

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"atelier/internal/sqldb"
)

// An engine like ours in everything but one setting is refused.
func TestSettingsThatCouldLoseACommitAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ pragmas, refused string }{
		{"journal_mode(WAL),synchronous(OFF)", "journal_mode=wal, synchronous=0"},
		{"journal_mode(WAL),synchronous(NORMAL)", "journal_mode=wal, synchronous=1"},
		{"journal_mode(DELETE),synchronous(FULL)", "journal_mode=delete, synchronous=2"},
		{"journal_mode(MEMORY),synchronous(FULL)", "journal_mode=memory, synchronous=2"},
		{"journal_mode(WAL),synchronous(FULL)", ""},
		{"journal_mode(WAL),synchronous(EXTRA)", ""},
	} {
		t.Run(test.pragmas, func(t *testing.T) {
			t.Parallel()
			pragmas := url.Values{"_pragma": strings.Split(test.pragmas, ",")}
			pool, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db")+"?"+pragmas.Encode())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = pool.Close() }()
			db, err := sqldb.New(t.Context(), sqldb.Engine{Name: "sqlite", Read: pool, Write: pool, Grouped: true, Kind: kind, Durable: durable})
			if test.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				_ = db.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("error %v, want %q", err, test.refused)
			}
		})
	}
}
