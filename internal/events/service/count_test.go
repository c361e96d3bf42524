package service_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/bus"
	"atelier/internal/events/service"
	"atelier/internal/sqldb"
)

// The total is told where 500 events or fewer have to be looked at for it, and on the last page, and not otherwise. Marks tell which
// have to be looked at.
func TestTotalsThatWouldTakeLong(t *testing.T) {
	t.Parallel()
	eachArchive(t, service.Marks{Block: 8, Blocks: 32, Least: 50}, func(t *testing.T, a *archive) {
		total := func(parameters string) string {
			t.Helper()
			if !strings.Contains(parameters, "limit") {
				parameters += "&limit=1"
			}
			list := a.ann.get(events + "?" + parameters).want(http.StatusOK)
			if len(list.at("result.events").([]any)) == 0 {
				t.Errorf("%s finds nothing", parameters)
			}
			return strings.Join(list.header.Values("X-Total-Count"), "+")
		}
		a.bulk(0, 500)
		for parameters, want := range map[string]string{"text=frequent": "500", "payload.n[0]=": "500", "text=twin": "2", "text=twin&page=1": "2", "text=rare250": "1", "types=bulk": "500"} {
			if got := total(parameters); got != want {
				t.Errorf("%s: the total of 500 events is %q, want %q", parameters, got, want)
			}
		}
		a.bulk(500, 501)
		for _, parameters := range []string{"text=frequent", "payload.n[0]=", "text=twin", "types=bulk"} {
			if got := total(parameters); got != "" {
				t.Errorf("%s: the total is %q, for which 501 events were looked at", parameters, got)
			}
		}
		for parameters, want := range map[string]string{"text=frequent&limit=300&page=1": "501", "text=frequent&page=500": "501", "text=twin&page=1": "2", "text=rare250": "1"} {
			if got := total(parameters); got != want {
				t.Errorf("%s: on the last page of 501 events the total is %q, want %q", parameters, got, want)
			}
		}
		a.marked()
		for parameters, want := range map[string]string{"text=frequent": "", "payload.n[0]=": "", "text=twin": "2", "text=twin*": "2", "payload.twin=true": "2", "payload.usual[0]=": "2"} {
			if got := total(parameters); got != want {
				t.Errorf("%s: with marks the total of 501 events is %q, want %q", parameters, got, want)
			}
		}
	})
}

// bulk stores events from one number up to another, at once.
func (a *archive) bulk(from, to int) {
	a.t.Helper()
	a.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		for i := from; i < to; i++ {
			usual := `"usual":1,`
			if i == 100 || i == 300 {
				usual = `"twin":true,"also":"twin",`
			}
			position := bus.PositionAt(march.Add(time.Duration(i)*time.Second), bus.PartitionOf(home))
			body := fmt.Sprintf(`{"payload":{%s"text":"a frequent word and rare%d"},"source":{"workspaceId":%q}}`, usual, i, home)
			_, err := tx.Exec(ctx, `INSERT INTO bus_events (partition, pos, workspace_id, type, body, transient) VALUES ($1, $2, $3, 'bulk', $4, 0)`,
				position.Partition(), int64(position), home, body)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
