package content

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"atelier/internal/blob"
)

// Whole reads all size bytes of a blob and checks that they still have its digest.
func Whole(source io.Reader, closer io.Closer, size int64, want Digest) io.ReadCloser {
	return &checked{source: source, Closer: closer, left: size, sum: sha256.New(), want: want}
}

// Part reads size bytes from the middle of a blob: they can be counted, not checked.
func Part(source io.Reader, closer io.Closer, size int64) io.ReadCloser {
	return &checked{source: source, Closer: closer, left: size}
}

// Nothing is an empty part.
func Nothing() io.ReadCloser { return Part(eof{}, eof{}, 0) }

type checked struct {
	io.Closer
	source io.Reader
	left   int64
	sum    hash.Hash // nil for a part
	want   Digest
	failed error
}

// Read hands out the last bytes only when the whole was found intact: a caller that reads an exact length never looks at
// the error that would follow.
func (c *checked) Read(p []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	if c.left == 0 {
		return 0, c.finish(io.EOF)
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := c.source.Read(p[:min(int64(len(p)), c.left)])
	if c.sum != nil {
		_, _ = c.sum.Write(p[:n]) // a hash never fails
	}
	c.left -= int64(n)
	switch {
	case c.left == 0:
		if err := c.finish(nil); err != nil {
			return 0, err
		}
		return n, nil
	case errors.Is(err, io.EOF): // a cut connection is io.ErrUnexpectedEOF and says nothing about what is stored
		c.failed = fmt.Errorf("%w: it ends %d bytes early", blob.ErrCorrupt, c.left)
		return n, c.failed
	case err != nil:
		c.failed = err
	}
	return n, err
}

func (c *checked) finish(intact error) error {
	if c.sum == nil {
		return intact
	}
	if got := digestOf(c.sum); got != c.want {
		c.failed = fmt.Errorf("%w: %s reads as %s", blob.ErrCorrupt, c.want.Hash(), got.Hash())
		return c.failed
	}
	return intact
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
func (eof) Close() error             { return nil }
