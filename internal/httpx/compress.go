package httpx

import (
	"mime"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// compressFrom is the smallest body worth compressing.
const compressFrom = 1024

// Compress sends larger text answers as gzip or zstd to clients that take it. Event streams are left alone: buffering them
// would delay events.
func Compress(next http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(compressFrom),
		gzhttp.ContentTypeFilter(compressible),
		gzhttp.EnableZstd(true),
		gzhttp.PreferZstd(true),
		gzhttp.SuffixETag(""),
	)
	if err != nil {
		return nil, err
	}
	compressed := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		AddVary(w.Header()) // the wrapper has added a header of its own
		next.ServeHTTP(w, r)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") == "" || r.Header.Get("Upgrade") != "" {
			AddVary(w.Header(), "Accept-Encoding") // caches must know that others get it compressed
			next.ServeHTTP(w, r)
			return
		}
		compressed.ServeHTTP(w, r)
	}), nil
}

func compressible(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind == "text/event-stream" {
		return false
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "yaml") ||
		strings.HasSuffix(kind, "xml") || kind == "application/javascript"
}
