package restapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of the idempotency records.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "http", Files: files}
}

const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"
	maxKey         = 255
	keptFor        = 24 * time.Hour
	// abandonedAfter is when a request that neither committed nor answered is taken for dead: longer than any may run.
	abandonedAfter = 5 * time.Minute
)

// replays keeps the answers of requests that carry an Idempotency-Key. The record is claimed before the work, marked in
// the very transaction that does the work, and completed with the answer; so however the process dies, a repeated request
// is never carried out twice.
type replays struct {
	db    *sqldb.DB
	clock clock.Clock
}

// repeatable tells whether an operation honours an Idempotency-Key.
func (op Operation) repeatable() bool {
	return !op.Once && op.Policy != access.Public && (op.Method == http.MethodPost || op.Method == http.MethodPatch)
}

// keyParameter documents the header on the operations that honour it.
func keyParameter() *huma.Param {
	longest := maxKey
	return &huma.Param{
		Name: headerKey, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest},
		Description: "Makes the request safe to repeat: the same key with the same body gives the first answer again, for 24 hours.",
	}
}

type answer struct {
	status  int
	headers http.Header
	body    []byte
}

// replay is the middleware of operations that can be repeated safely by their key.
func (a *API) replay(maxBody int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		keys := r.Header[headerKey]
		if len(keys) == 0 || access.From(r.Context()).Kind == access.Nobody { // nobody's key could be anybody's
			next(ctx)
			return
		}
		if err := a.replayed(ctx, keys, maxBody, next); err != nil {
			a.errors.Write(w, r, err)
		}
	}
}

func (a *API) replayed(ctx huma.Context, keys []string, maxBody int64, next func(huma.Context)) error {
	r, w := humago.Unwrap(ctx)
	if len(keys) != 1 || !validKey(keys[0]) {
		return errs.Parameter(headerKey, "give one key of 1 to 255 visible ASCII characters")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return httpx.BodyError(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	mine := claim{
		id:          digest(access.From(r.Context()).Key(), r.Method, r.URL.Path, keys[0]),
		fingerprint: digest(r.URL.RawQuery, string(body)), started: sqldb.Millis(a.replays.clock.Now()),
	}
	kept, err := a.replays.take(r.Context(), mine)
	if err != nil {
		return err
	}
	if kept != nil {
		kept.write(w)
		return nil
	}
	caught := &catcher{header: w.Header()}
	defer caught.send(w) // after the answer is kept: who has seen it can repeat the request at once
	defer func() { a.replays.settle(context.WithoutCancel(r.Context()), mine, caught, a.errors) }()
	next(humago.NewContext(ctx.Operation(), r.WithContext(sqldb.WithHook(r.Context(), mine.mark)), caught))
	return nil
}

func validKey(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}

// claim is a request's hold on its key. When it started tells it from a later claim that took the key over.
type claim struct {
	id, fingerprint string
	started         int64
}

// mark notes, in the transaction that does the request's work, that it was done. A request that was given up for dead, and
// whose key another one holds by now, must not do the work a second time.
func (c claim) mark(ctx context.Context, tx *sqldb.Tx) error {
	marked, err := tx.Exec(ctx, `UPDATE http_idempotency SET committed = 1 WHERE id = $1 AND started_at = $2`, c.id, c.started)
	if err == nil && marked == 0 {
		return errs.New(errs.Conflict, "The request took too long, and a repeated one with the same Idempotency-Key took its place.")
	}
	return err
}

// take gets the key for this request, or gives the kept answer of an earlier one.
func (p *replays) take(ctx context.Context, c claim) (kept *answer, err error) {
	err = p.db.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM http_idempotency WHERE expires_at <= $1`, c.started); err != nil {
			return err
		}
		claimed, err := tx.Exec(ctx, `INSERT INTO http_idempotency (id, fingerprint, committed, started_at, expires_at, status, headers, body)
			VALUES ($1, $2, 0, $3, $4, 0, '', '') ON CONFLICT (id) DO NOTHING`, c.id, c.fingerprint, c.started, c.started+keptFor.Milliseconds())
		if err != nil || claimed == 1 {
			return err
		}
		kept, err = earlier(ctx, tx, c)
		return err
	})
	return kept, err
}

// earlier decides what an already used key means.
func earlier(ctx context.Context, tx *sqldb.Tx, c claim) (*answer, error) {
	var known, headers, body string
	var committed bool
	var started int64
	var status int
	err := tx.QueryRow(ctx, `SELECT fingerprint, committed <> 0, started_at, status, headers, body FROM http_idempotency WHERE id = $1`, c.id).
		Scan(&known, &committed, &started, &status, &headers, &body)
	if sqldb.IsNotFound(err) {
		return nil, stillRunning() // it failed just now and gave the key back
	}
	if err != nil {
		return nil, err
	}
	abandoned := c.started-started > abandonedAfter.Milliseconds()
	switch {
	case known != c.fingerprint:
		return nil, errs.New(errs.Conflict, "This Idempotency-Key was used for another request; use a new key.")
	case status != 0:
		kept := &answer{status: status, headers: http.Header{}, body: []byte(body)}
		return kept, json.Unmarshal([]byte(headers), &kept.headers)
	case committed && abandoned:
		return nil, errs.New(errs.Conflict, "The request with this Idempotency-Key was carried out, but its answer was lost; read the resource.")
	case committed || !abandoned:
		return nil, stillRunning()
	}
	return nil, takeOver(ctx, tx, c, started)
}

// takeOver gets the key of a request that was given up for dead. Of several that try, one does.
func takeOver(ctx context.Context, tx *sqldb.Tx, c claim, started int64) error {
	taken, err := tx.Exec(ctx, `UPDATE http_idempotency SET started_at = $1 WHERE id = $2 AND started_at = $3 AND committed = 0 AND status = 0`,
		c.started, c.id, started)
	if err == nil && taken == 0 {
		return stillRunning()
	}
	return err
}

func stillRunning() *errs.Error {
	return errs.New(errs.Conflict, "The request with this Idempotency-Key is still running; repeat it shortly.").WithRetryAfter(time.Second)
}

// settle keeps the answer. A failure that may pass, and that did not commit anything, gives the key back, so that a repeat
// tries again.
func (p *replays) settle(ctx context.Context, c claim, caught *catcher, failures errorLog) {
	err := p.db.Tx(ctx, func(tx *sqldb.Tx) error {
		if passing(caught.status) {
			_, err := tx.Exec(ctx, `DELETE FROM http_idempotency WHERE id = $1 AND started_at = $2 AND committed = 0`, c.id, c.started)
			return err
		}
		headers, err := json.Marshal(keptHeaders(caught.Header()))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE http_idempotency SET status = $1, headers = $2, body = $3 WHERE id = $4 AND started_at = $5`,
			caught.status, string(headers), caught.body.String(), c.id, c.started)
		return err
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		failures.Failed(ctx, "keep the answer for an Idempotency-Key", err)
	}
}

// passing tells that the same request may have another answer later; zero is a handler that panicked.
func passing(status int) bool {
	switch status {
	case 0, http.StatusRequestTimeout, http.StatusLocked, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}

// errorLog is told of failures that no client hears of.
type errorLog interface {
	Failed(ctx context.Context, doing string, err error)
}

func keptHeaders(h http.Header) http.Header {
	kept := http.Header{}
	for _, name := range []string{"Content-Type", "Location", "Etag", "X-Total-Count", "Link"} {
		if values := h.Values(name); len(values) > 0 {
			kept[name] = values
		}
	}
	return kept
}

func (k *answer) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.headers)
	w.Header().Set(headerReplayed, "true")
	w.WriteHeader(k.status)
	_, _ = w.Write(k.body)
}

// catcher holds the answer back until it is kept.
type catcher struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (c *catcher) Header() http.Header { return c.header }

func (c *catcher) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
}

func (c *catcher) Write(b []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	return c.body.Write(b)
}

// send passes the answer on; a handler that panicked has none.
func (c *catcher) send(w http.ResponseWriter) {
	if c.status == 0 {
		return
	}
	w.WriteHeader(c.status)
	_, _ = w.Write(c.body.Bytes())
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		sum := sha256.Sum256([]byte(part))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
