package content

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"

	"atelier/internal/blob"
)

// Copy streams r into w and names what it saw. It stops with blob.ErrTooLarge as soon as more than max bytes came (zero
// means no limit) and with the context's error once that is done.
func Copy(ctx context.Context, w io.Writer, r io.Reader, max int64) (Digest, int64, error) {
	source := WithContext(ctx, r)
	limited := max > 0 && max < math.MaxInt64
	if limited {
		source = io.LimitReader(source, max+1) // one more byte than allowed is enough to know
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(w, sum), source)
	if err != nil {
		return "", 0, fmt.Errorf("stream content: %w", err)
	}
	if limited && size > max {
		return "", 0, blob.ErrTooLarge
	}
	return digestOf(sum), size, nil
}

// WithContext makes every Read fail once ctx is done. A Read that already waits is not interrupted.
func WithContext(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(p)
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
