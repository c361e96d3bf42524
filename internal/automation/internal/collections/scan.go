package collections

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"atelier/internal/automation/internal/collections/internal/query"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// scan looks for the records of a collection that match a query.
type scan struct {
	col *collection
	r   sqldb.Reader
	// left is how many records may still be looked at.
	left, most int
	// held is how many bytes may be kept at once.
	held int64
}

func (c *Collections) scan(r sqldb.Reader, col *collection) *scan {
	return &scan{col: col, r: r, left: c.deps.Limits.Scan, most: c.deps.Limits.Scan, held: int64(c.deps.Limits.Result)}
}

// order is how records come.
type order int

const (
	anyOrder order = iota
	oldestFirst
	newestFirst
)

// chunk is how many records a statement reads.
const chunk = 500

// each visits the records that match, in any order, until visit says that it is enough.
func (s *scan) each(ctx context.Context, q *query.Query, visit func(*record) (more bool, err error)) error {
	ids, known, err := s.candidates(ctx, q, anyOrder, 0)
	if err != nil {
		return err
	}
	if known {
		return s.among(ctx, q, ids, visit)
	}
	return s.walk(ctx, q, false, 0, visit)
}

// among visits those of some records that match.
func (s *scan) among(ctx context.Context, q *query.Query, ids []string, visit func(*record) (bool, error)) error {
	for part := range slices.Chunk(ids, chunk) {
		args := []any{s.col.id}
		for _, id := range part {
			args = append(args, id)
		}
		read, err := s.read(ctx, q, visit, `SELECT `+recordColumns+` FROM collection_records
			WHERE collection_id = $1 AND id IN (`+sqldb.In(2, len(part))+`)`, args...)
		if err != nil || read.enough {
			return err
		}
	}
	return nil
}

// reading is what became of a query.
type reading struct {
	records int
	last    int64
	enough  bool
}

// errEnough ends a query of which no more is wanted.
var errEnough = errors.New("enough")

// read visits those of the rows of a query that match, one by one: records may be large, and are not kept together.
func (s *scan) read(ctx context.Context, q *query.Query, visit func(*record) (bool, error), text string, args ...any) (read reading, err error) {
	if err := ctx.Err(); err != nil {
		return read, err
	}
	_, err = sqldb.All(ctx, s.r, func(rows *sql.Rows) (none struct{}, err error) {
		if s.left--; s.left < 0 {
			return none, tooLarge("The query would look at more than %d records of %s. Narrow it down by fields that have an index, or add an index for its fields.", s.most, shorten(s.col.name))
		}
		r, err := s.col.scanRecord(rows)
		if err != nil {
			return none, err
		}
		read.records++
		read.last = r.sequence
		if !q.Match(r.shown) {
			return none, nil
		}
		more, err := visit(r)
		if err == nil && !more {
			err = errEnough
		}
		return none, err
	}, text, args...)
	if errors.Is(err, errEnough) {
		read.enough, err = true, nil
	}
	return read, err
}

// inOrder visits those of some records that match, the oldest first.
func (s *scan) inOrder(ctx context.Context, q *query.Query, ids []string, visit func(*record) (bool, error)) error {
	var found []*record
	bytes := int64(0)
	err := s.among(ctx, q, ids, func(r *record) (bool, error) {
		if bytes += r.size(); bytes > s.held {
			return false, tooLarge("The records that match take more than %d bytes together; narrow the query down.", s.held)
		}
		found = append(found, r)
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b *record) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, r := range found {
		if more, err := visit(r); err != nil || !more {
			return err
		}
	}
	return nil
}

// walk visits all records that match, in their order. It reads few at first when few are wanted.
func (s *scan) walk(ctx context.Context, q *query.Query, reverse bool, wanted int, visit func(*record) (bool, error)) error {
	from, text := int64(0), `SELECT `+recordColumns+` FROM collection_records WHERE collection_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`
	if reverse {
		from, text = math.MaxInt64, `SELECT `+recordColumns+` FROM collection_records WHERE collection_id = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3`
	}
	size := chunk
	if wanted > 0 {
		size = min(chunk, max(wanted, 20))
	}
	for {
		read, err := s.read(ctx, q, visit, text, s.col.id, from, size)
		if err != nil || read.enough || read.records < size {
			return err
		}
		from, size = read.last, chunk
	}
}

// candidates gives the records that may match, as an index knows them. It is false when all records are to be looked at.
func (s *scan) candidates(ctx context.Context, q *query.Query, by order, wanted int) (ids []string, known bool, err error) {
	bounds := q.Bounds()
	if points, ok := fewest(bounds, fieldID); ok {
		return textsOf(points), true, nil
	}
	if ids, ok, err := s.byUnique(ctx, bounds); ok || err != nil {
		return ids, ok, err
	}
	slot, spans, ok := s.plan(bounds)
	if !ok {
		return nil, false, nil
	}
	if len(spans) == 0 {
		return nil, true, nil
	}
	const few = 1000
	if ids, err = s.behind(ctx, slot, spans, few+1); err != nil || len(ids) <= few {
		return ids, err == nil, err
	}
	if by != anyOrder && wanted > 0 {
		found, err := s.countTerms(ctx, slot, spans)
		if err != nil {
			return nil, false, err
		}
		if int64(wanted)*s.col.records/max(found, 1) < found {
			return nil, false, nil // so many match that enough of them come soon in any case
		}
	}
	ids, err = s.behind(ctx, slot, spans, s.left+1)
	return ids, err == nil && len(ids) <= s.left, err
}

func textsOf(points []any) []string {
	seen := map[string]bool{}
	ids := make([]string, 0, len(points))
	for _, point := range points {
		if id, ok := point.(string); ok && !seen[id] && isID(id) {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// byUnique finds the one record whose unique values are asked for.
func (s *scan) byUnique(ctx context.Context, bounds []query.Bound) (ids []string, ok bool, err error) {
	for _, unique := range s.col.schema.unique {
		values := make([]any, 0, len(unique.fields))
		for _, field := range unique.fields {
			points, has := fewest(bounds, field)
			if has && len(points) == 1 && value.Exists(points[0]) && s.col.schema.class(field).single() {
				values = append(values, points[0])
			}
		}
		if len(values) == len(unique.fields) {
			ids, err := s.holder(ctx, unique.slot, digestOf(values))
			return ids, err == nil, err
		}
	}
	return nil, false, nil
}

func (s *scan) holder(ctx context.Context, slot int64, digest string) ([]string, error) {
	return sqldb.All(ctx, s.r, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT record_id FROM collection_uniques WHERE collection_id = $1 AND slot = $2 AND digest = $3`, s.col.id, slot, digest)
}

// plan chooses the index that tells most.
func (s *scan) plan(bounds []query.Bound) (slot int64, spans []span, ok bool) {
	if len(bounds) == 0 {
		return 0, nil, false
	}
	best := 0
	for _, one := range s.col.schema.indexes {
		if parts, used, useful := one.spans(s.col.schema, bounds); useful && used > best {
			best, slot, spans, ok = used, one.slot, parts, true
		}
	}
	return slot, spans, ok
}

// where is the condition of the parts of an index, as parameters from number 3 on.
func (s *scan) where(slot int64, spans []span) (condition string, args []any) {
	args = []any{s.col.id, slot}
	parts := make([]string, 0, len(spans))
	for _, one := range spans {
		n := len(args)
		parts = append(parts, "(term >= $"+strconv.Itoa(n+1)+" AND term < $"+strconv.Itoa(n+2)+")")
		args = append(args, one.low, one.high)
	}
	return `collection_id = $1 AND slot = $2 AND (` + strings.Join(parts, " OR ") + `)`, args
}

// behind gives the records in parts of an index, each once.
func (s *scan) behind(ctx context.Context, slot int64, spans []span, most int) ([]string, error) {
	condition, args := s.where(slot, spans)
	ids, err := sqldb.All(ctx, s.r, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT record_id FROM collection_terms WHERE `+condition+` LIMIT $`+strconv.Itoa(len(args)+1), append(args, most)...)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(ids))
	out := ids[:0]
	full := len(ids) == most // whatever is twice among them: there are more
	for _, id := range ids {
		if full || !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out, nil
}

func (s *scan) countTerms(ctx context.Context, slot int64, spans []span) (n int64, err error) {
	const most = 10_000
	condition, args := s.where(slot, spans)
	err = s.r.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM collection_terms WHERE `+condition+` LIMIT $`+strconv.Itoa(len(args)+1)+`) AS found`,
		append(args, most)...).Scan(&n)
	return n, err
}
