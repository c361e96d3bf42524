package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
)

// failure words an error of the server or the network for the log. Some servers repeat the request's credentials in what
// they answer, so only text without them gets out, and nothing of the original stays reachable but the context's end.
func (s *Store) failure(doing string, err error) error {
	text := s.withoutCredentials(describe(err))
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, ended) {
			return fmt.Errorf("%s: %s: %w", doing, text, ended)
		}
	}
	return fmt.Errorf("%s: %s", doing, text)
}

func describe(err error) string {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("the server answered %d %s: %s", answer.StatusCode, answer.Code, answer.Error())
}

func (s *Store) withoutCredentials(text string) string {
	for _, credential := range []string{s.secretKey, s.accessKey} {
		if len(credential) > 3 { // shorter ones are no secrets, and striking them out would make the text unreadable
			text = strings.ReplaceAll(text, credential, "***")
		}
	}
	return text
}

func isAbsent(err error) bool {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && (answer.Code == minio.NoSuchKey || answer.StatusCode == http.StatusNotFound && answer.Code != minio.NoSuchBucket)
}

func isBeyondEnd(err error) bool {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable
}

func alreadyOurs(err error) bool {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && answer.Code == minio.BucketAlreadyOwnedByYou
}
