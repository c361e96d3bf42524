// Package s3blob keeps blobs in a bucket of an S3 server, under the same names fsblob gives its files.
//
// Content is spooled to a temporary file while it is hashed, so its name and checksum are known before the first byte
// travels: every request carries the SHA-256 of its body, and the server refuses what arrived changed.
package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"atelier/internal/blob"
	"atelier/internal/blob/internal/content"
)

// Store keeps blobs in a bucket. It is safe for concurrent use.
type Store struct {
	client    *minio.Core
	bucket    string
	prefix    string
	accessKey string
	secretKey string
	partSize  int64
}

var _ blob.Store = (*Store)(nil)

// Open connects and creates the bucket if it is missing.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	client, err := cfg.connect()
	if err != nil {
		return nil, fmt.Errorf("open s3: %w", err)
	}
	s := &Store{
		client: client, bucket: cfg.Bucket, prefix: cfg.keyPrefix(),
		accessKey: cfg.AccessKey, secretKey: cfg.SecretKey, partSize: partSize,
	}
	exists, err := client.BucketExists(ctx, cfg.Bucket)
	if err != nil {
		return nil, s.failure("look for bucket", err)
	}
	if exists {
		return s, nil
	}
	if err := client.MakeBucket(ctx, cfg.Bucket, minio.MakeBucketOptions{Region: cfg.Region}); err != nil && !alreadyOurs(err) {
		return nil, s.failure("create bucket", err)
	}
	return s, nil
}

// Driver implements blob.Store.
func (s *Store) Driver() string { return "s3" }

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, hash string) (blob.Info, error) {
	if err := ctx.Err(); err != nil {
		return blob.Info{}, fmt.Errorf("stat blob: %w", err)
	}
	digest, ok := content.Parse(hash)
	if !ok {
		return blob.Info{}, blob.ErrNotFound
	}
	object, err := s.client.StatObject(ctx, s.bucket, s.key(digest), minio.StatObjectOptions{})
	if isAbsent(err) {
		return blob.Info{}, blob.ErrNotFound
	}
	if err != nil {
		return blob.Info{}, s.failure("stat blob", err)
	}
	return blob.Info{Hash: hash, Size: object.Size}, nil
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, hash string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	digest, ok := content.Parse(hash)
	if !ok {
		return nil
	}
	return s.remove(ctx, s.key(digest))
}

// Walk implements blob.Store. Objects that are no blobs are passed over.
func (s *Store) Walk(ctx context.Context, fn func(blob.Info) error) error {
	for object := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true}) {
		if object.Err != nil {
			return s.failure("walk blobs", object.Err)
		}
		digest, ok := content.FromPath(object.Key[min(len(s.prefix), len(object.Key)):])
		if !ok {
			continue
		}
		if err := fn(blob.Info{Hash: digest.Hash(), Size: object.Size}); err != nil {
			return err
		}
	}
	// The listing ends silently with its context; taken for complete, a collector would miss what is in use.
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("walk blobs: %w", err)
	}
	return nil
}

func (s *Store) remove(ctx context.Context, key string) error {
	err := s.client.RemoveObject(ctx, s.bucket, key, minio.RemoveObjectOptions{})
	if err != nil && !isAbsent(err) {
		return s.failure("delete blob", err)
	}
	return nil
}

// Ping implements blob.Store. Its object has a name of its own, outside those of blobs.
func (s *Store) Ping(ctx context.Context) error {
	key := s.pingKey()
	const text = "atelier"
	if err := s.putText(ctx, key, text); err != nil {
		return err
	}
	read, err := s.getText(ctx, key, int64(len(text)))
	if err == nil && read != text {
		err = errors.New("ping blobs: what was written does not read back")
	}
	cleanup, cancel := afterwards(ctx)
	defer cancel()
	return errors.Join(err, s.remove(cleanup, key))
}

// afterwards is for cleaning up what ctx, which may have ended, began.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}

func (s *Store) getText(ctx context.Context, key string, limit int64) (string, error) {
	body, _, _, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return "", s.failure("ping blobs", err)
	}
	defer func() { _ = body.Close() }()
	read, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return "", s.failure("ping blobs", err)
	}
	return string(read), nil
}

func (s *Store) key(digest content.Digest) string { return s.prefix + digest.Path() }
