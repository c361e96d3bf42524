// Package services_test proves that the servers provided for the tests are real: a round trip with each that has no driver
// yet. The others are proved by the suites of their contracts.
package services_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// A document written to each search engine is found again by a key inside its flattened payload.
func TestSearchEngines(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]struct{ variable, flat string }{
		"opensearch":    {"TEST_OPENSEARCH_URL", "flat_object"},
		"elasticsearch": {"TEST_ELASTICSEARCH_URL", "flattened"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := os.Getenv(engine.variable)
			if base == "" {
				t.Skipf("SKIPPED: %s: %s is not set", name, engine.variable)
			}
			index := base + "/atelier-check"
			call(t, http.MethodPut, index, `{"mappings":{"properties":{"payload":{"type":"`+engine.flat+`"}}}}`)
			t.Cleanup(func() { call(t, http.MethodDelete, index, "") })
			call(t, http.MethodPut, index+"/_doc/1?refresh=true", `{"payload":{"order":{"id":"abc"}}}`)
			found := call(t, http.MethodPost, index+"/_search", `{"query":{"term":{"payload.order.id":"abc"}}}`)
			if !strings.Contains(found, `"_id":"1"`) {
				t.Errorf("the document was not found: %s", found)
			}
		})
	}
}

func call(t *testing.T, method, url, body string) string {
	t.Helper()
	r, err := http.NewRequest(method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %v %s", method, url, response.StatusCode, err, text)
	}
	return string(text)
}
