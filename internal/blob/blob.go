// Package blob is the contract for immutable bytes named by their SHA-256. Equal content is stored once, no user text
// ever becomes a file name, and a blob can never be half-written: it exists whole or not at all.
package blob

import (
	"context"
	"errors"
	"io"
)

// ErrNotFound says that there is no blob with this hash.
var ErrNotFound = errors.New("blob: no such content")

// ErrTooLarge says that the content exceeded the limit given to Put; nothing was kept.
var ErrTooLarge = errors.New("blob: content is larger than allowed")

// Info describes a blob. Hash is "sha256:" and 64 hexadecimal characters.
type Info struct {
	Hash string
	Size int64
}

// Store keeps blobs.
type Store interface {
	// Driver is the store as operators know it: filesystem or s3.
	Driver() string
	// Put streams r into the store and returns its name; it is durable when Put returns. More than max bytes is
	// ErrTooLarge; max zero means no limit.
	Put(ctx context.Context, r io.Reader, max int64) (Info, error)
	// Open streams the blob from offset for length bytes (to the end when negative). The caller closes it.
	Open(ctx context.Context, hash string, offset, length int64) (io.ReadCloser, error)
	// Stat tells the size, or ErrNotFound. A malformed hash is ErrNotFound too.
	Stat(ctx context.Context, hash string) (Info, error)
	// Delete removes the blob; an absent one is not an error.
	Delete(ctx context.Context, hash string) error
	// Walk calls fn for every blob, in no particular order.
	Walk(ctx context.Context, fn func(Info) error) error
	// Ping writes, reads back and removes a small object.
	Ping(ctx context.Context) error
}
