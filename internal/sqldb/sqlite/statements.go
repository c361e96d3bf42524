package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
)

// engineConn is what the engine's connections can do.
type engineConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// engineStmt is what the engine's statements can do.
type engineStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// conn is a connection that keeps its statements: to understand a statement takes the engine longer than to run it. One
// goroutine at a time uses a connection, which database/sql sees to.
type conn struct {
	engineConn

	// recent and older hold the statements that nobody uses at this moment. When there are many recent ones they become the
	// older ones, and those that were it until then, and were not used since, are closed.
	recent, older map[string]engineStmt
}

const (
	mostStatements = 64
	// longestKept is the longest text of a statement that is kept: what is longer is not written twice.
	longestKept = 16 << 10
)

func keeping(inner driver.Conn) (driver.Conn, error) {
	able, ok := inner.(engineConn)
	if !ok {
		return nil, errors.Join(errors.New("the engine's connection lacks what is needed"), inner.Close())
	}
	return &conn{engineConn: able, recent: map[string]engineStmt{}, older: map[string]engineStmt{}}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	if err != nil {
		_ = s.Close() // what is left of a failure is nobody else's
		return nil, err
	}
	return result, c.keep(query, s)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return &keptRows{Rows: rows, conn: c, query: query, stmt: s}, nil
}

// Close closes the statements, and the connection.
func (c *conn) Close() error {
	err := errors.Join(closeAll(c.recent), closeAll(c.older))
	clear(c.recent)
	clear(c.older)
	return errors.Join(err, c.engineConn.Close())
}

// take gives a statement that nobody else uses.
func (c *conn) take(ctx context.Context, query string) (engineStmt, error) {
	for _, kept := range []map[string]engineStmt{c.recent, c.older} {
		if s, ok := kept[query]; ok {
			delete(kept, query)
			return s, nil
		}
	}
	made, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s, ok := made.(engineStmt)
	if !ok {
		return nil, errors.Join(errors.New("the engine's statement lacks what is needed"), made.Close())
	}
	return s, nil
}

// keep takes back a statement that was used without a failure.
func (c *conn) keep(query string, s engineStmt) error {
	if _, twice := c.recent[query]; twice || len(query) > longestKept {
		return s.Close()
	}
	var err error
	if len(c.recent) >= mostStatements {
		err = closeAll(c.older)
		c.older, c.recent = c.recent, map[string]engineStmt{}
	}
	c.recent[query] = s
	return err
}

func closeAll(statements map[string]engineStmt) error {
	var failures []error
	for _, s := range statements {
		failures = append(failures, s.Close())
	}
	return errors.Join(failures...)
}

// keptRows gives its statement back when it is closed.
type keptRows struct {
	driver.Rows

	conn  *conn
	query string
	stmt  engineStmt
}

// Close implements driver.Rows.
func (r *keptRows) Close() error {
	if r.stmt == nil {
		return nil
	}
	s := r.stmt
	r.stmt = nil
	if err := r.Rows.Close(); err != nil {
		return errors.Join(err, s.Close())
	}
	return r.conn.keep(r.query, s)
}
