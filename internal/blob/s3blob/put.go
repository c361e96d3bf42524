package s3blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"

	"atelier/internal/blob"
	"atelier/internal/blob/internal/content"
	"atelier/internal/ident"
)

// Put implements blob.Store. Content that is already there is sent again: asking first would race with a Delete.
func (s *Store) Put(ctx context.Context, r io.Reader, max int64) (blob.Info, error) {
	spool, err := createSpool()
	if err != nil {
		return blob.Info{}, fmt.Errorf("put blob: %w", err)
	}
	defer func() { _ = spool.Close() }()
	digest, size, err := content.Copy(ctx, spool, r, max)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put blob: %w", err)
	}
	if err := s.send(ctx, spool, digest, size); err != nil {
		return blob.Info{}, err
	}
	return blob.Info{Hash: digest.Hash(), Size: size}, nil
}

// createSpool makes a temporary file without a name: it disappears with the process, however that ends.
func createSpool() (*os.File, error) {
	file, err := os.CreateTemp("", "atelier-blob-")
	if err != nil {
		return nil, fmt.Errorf("create spool file: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil { //nolint:gosec // made one line above
		return nil, errors.Join(fmt.Errorf("unlink spool file: %w", err), file.Close())
	}
	return file, nil
}

func (s *Store) send(ctx context.Context, spool io.ReaderAt, digest content.Digest, size int64) error {
	if size > s.partSize {
		return s.sendInParts(ctx, spool, s.key(digest), size)
	}
	_, err := s.client.PutObject(ctx, s.bucket, s.key(digest), io.NewSectionReader(spool, 0, size), size, "", digest.Hex(), putOptions())
	if err != nil {
		return s.failure("put blob", err)
	}
	return nil
}

// sendInParts needs no more memory than one request. The object appears when the last step succeeds.
func (s *Store) sendInParts(ctx context.Context, spool io.ReaderAt, key string, size int64) error {
	upload, err := s.client.NewMultipartUpload(ctx, s.bucket, key, putOptions())
	if err != nil {
		return s.failure("start parts", err)
	}
	parts, err := s.sendParts(ctx, spool, key, upload, size)
	if err == nil {
		_, err = s.client.CompleteMultipartUpload(ctx, s.bucket, key, upload, parts, putOptions())
	}
	if err == nil {
		return nil
	}
	// Parts that are not given up are stored, and paid for, for ever.
	cleanup, cancel := afterwards(ctx)
	defer cancel()
	_ = s.client.AbortMultipartUpload(cleanup, s.bucket, key, upload)
	return s.failure("put blob in parts", err)
}

func (s *Store) sendParts(ctx context.Context, spool io.ReaderAt, key, upload string, size int64) ([]minio.CompletePart, error) {
	var parts []minio.CompletePart
	for offset := int64(0); offset < size; offset += s.partSize {
		length := min(s.partSize, size-offset)
		sum, err := sumOf(io.NewSectionReader(spool, offset, length))
		if err != nil {
			return nil, fmt.Errorf("read spool file: %w", err)
		}
		number := len(parts) + 1
		part, err := s.client.PutObjectPart(ctx, s.bucket, key, upload, number, io.NewSectionReader(spool, offset, length), length,
			minio.PutObjectPartOptions{Sha256Hex: sum, DisableContentSha256: true})
		if err != nil {
			return nil, err
		}
		parts = append(parts, minio.CompletePart{PartNumber: number, ETag: part.ETag})
	}
	return parts, nil
}

// putOptions turns the streaming signature off, which makes room for the checksum of the whole body: the server checks
// that one, over TLS and without.
func putOptions() minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}
}

func sumOf(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func (s *Store) pingKey() string { return s.prefix + "ping/" + ident.Source{}.UUID() }

func (s *Store) putText(ctx context.Context, key, text string) error {
	sum, err := sumOf(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("ping blobs: %w", err)
	}
	if _, err := s.client.PutObject(ctx, s.bucket, key, strings.NewReader(text), int64(len(text)), "", sum, putOptions()); err != nil {
		return s.failure("ping blobs", err)
	}
	return nil
}
