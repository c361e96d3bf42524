package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"

	"atelier/internal/blob"
	"atelier/internal/blob/internal/content"
)

// Open implements blob.Store. The reader works as long as ctx does. Reading a whole blob ends with blob.ErrCorrupt if
// what came is not what the hash names.
func (s *Store) Open(ctx context.Context, hash string, offset, length int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	if offset < 0 {
		return nil, fmt.Errorf("open blob: offset %d is negative", offset)
	}
	digest, ok := content.Parse(hash)
	if !ok {
		return nil, blob.ErrNotFound
	}
	if length == 0 { // no range of HTTP is empty
		if _, err := s.Stat(ctx, hash); err != nil {
			return nil, err
		}
		return content.Nothing(), nil
	}
	return s.get(ctx, digest, offset, length)
}

func (s *Store) get(ctx context.Context, digest content.Digest, offset, length int64) (io.ReadCloser, error) {
	var options minio.GetObjectOptions
	ranged := offset > 0 || length > 0
	if ranged {
		options.Set("Range", byteRange(offset, length))
	}
	body, object, header, err := s.client.GetObject(ctx, s.bucket, s.key(digest), options)
	switch {
	case isAbsent(err):
		return nil, blob.ErrNotFound
	case ranged && isBeyondEnd(err):
		return content.Nothing(), nil
	case err != nil:
		return nil, s.failure("open blob", err)
	}
	total := object.Size
	if ranged {
		if total, err = totalSize(header.Get("Content-Range")); err != nil {
			return nil, errors.Join(err, body.Close())
		}
	}
	if object.Size < 0 {
		return nil, errors.Join(errors.New("open blob: the server does not tell the size"), body.Close())
	}
	source := content.WithContext(ctx, s.hiding(body)) // the library notices the end of ctx too, but later
	if object.Size == total {
		return content.Whole(source, body, total, digest), nil
	}
	return content.Part(source, body, object.Size), nil
}

func byteRange(offset, length int64) string {
	if length < 0 || length > math.MaxInt64-offset {
		return fmt.Sprintf("bytes=%d-", offset)
	}
	return fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)
}

// totalSize reads "bytes 3-6/10". Its absence means that the server sent something else than was asked for.
func totalSize(contentRange string) (int64, error) {
	_, text, _ := strings.Cut(contentRange, "/")
	total, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("open blob: the server did not honour the range")
	}
	return total, nil
}

// hiding words the errors of a stream that breaks, except its end.
func (s *Store) hiding(body io.Reader) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		n, err := body.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			err = s.failure("read blob", err)
		}
		return n, err
	})
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
