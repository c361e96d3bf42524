package searchengine

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// mostFields is how many fields an index may have. An event whose aggPayload would make it more is kept without it.
const mostFields = 1000

// template is what every index of events is made of.
func (e *Engine) template(generation string, plain bool) map[string]any {
	made := map[string]any{
		"index_patterns": []string{e.shared(), e.pattern()},
		"priority":       500,
		"template": map[string]any{
			"settings": map[string]any{"index": map[string]any{
				"number_of_shards": 1, "refresh_interval": strconv.FormatInt(e.config.Refresh.Milliseconds(), 10) + "ms",
				"mapping": map[string]any{"total_fields": map[string]any{"limit": mostFields}},
			}},
			"mappings": e.mappings(generation),
		},
	}
	if !plain {
		made["data_stream"] = map[string]any{}
	}
	return made
}

func (e *Engine) mappings(generation string) map[string]any {
	keyword := map[string]any{"type": "keyword", "ignore_above": 8000}
	token := map[string]any{"type": "keyword", "doc_values": false}
	source := map[string]any{"appInstanceDepth": map[string]any{"type": "integer", "ignore_malformed": true}, "automationDepth": map[string]any{"type": "integer", "ignore_malformed": true}}
	for _, name := range []string{
		"userId", "sessionId", "workspaceId", "correlationId", "socketId", "serviceTopic", "automationSlug", "appSlug", "appInstanceFullSlug", "ip",
	} {
		source[name] = keyword
	}
	// The payload may have any fields: one flat field cannot have too many, nor can the texts of one be the numbers of another.
	payload := map[string]any{"type": "flattened", "ignore_above": 8000}
	if e.config.Driver == OpenSearch {
		payload = map[string]any{"type": "flat_object"}
	}
	return map[string]any{
		"dynamic": false,
		"_meta":   map[string]any{"generation": generation},
		"properties": map[string]any{
			"@timestamp": map[string]any{"type": "date"}, "createdAt": map[string]any{"type": "date"},
			"id": keyword, "position": map[string]any{"type": "long"}, "workspaceId": map[string]any{"type": "keyword"}, "type": map[string]any{"type": "keyword"},
			"size": map[string]any{"type": "long"}, "depth": map[string]any{"type": "double"}, "terms": token, "words": token,
			"body":   map[string]any{"type": "keyword", "index": false, "doc_values": false},
			"source": map[string]any{"type": "object", "dynamic": false, "properties": source}, "payload": payload,
			"aggPayload": map[string]any{"type": "object", "dynamic": true},
		},
	}
}

// withoutStreams tells whether the engine lacks data streams; some small builds do.
func (e *Engine) withoutStreams(ctx context.Context) (bool, error) {
	e.mu.Lock()
	known := e.plain
	e.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	err := e.client.do(ctx, http.MethodGet, "/_data_stream/"+e.shared(), nil, nil)
	status := statusOf(err)
	plain := status == http.StatusMethodNotAllowed || status == http.StatusBadRequest
	if err != nil && !plain && status != http.StatusNotFound {
		return false, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.plain = &plain
	return plain, nil
}

// putTemplate says how new indices are made.
func (e *Engine) putTemplate(ctx context.Context, generation string) error {
	plain, err := e.withoutStreams(ctx)
	if err != nil {
		return err
	}
	return e.client.do(ctx, http.MethodPut, "/_index_template/"+e.shared(), e.template(generation, plain), nil)
}

// ensure creates a stream unless it is there. It gives the name of the stream to write to: when the engine takes no more
// indices, that is the one that all share.
func (e *Engine) ensure(ctx context.Context, stream string) (string, error) {
	e.mu.Lock()
	known := e.there[stream]
	e.mu.Unlock()
	if known {
		return stream, nil
	}
	plain, err := e.withoutStreams(ctx)
	if err != nil {
		return "", err
	}
	if plain {
		err = e.client.do(ctx, http.MethodPut, "/"+stream+"-000001", map[string]any{"aliases": map[string]any{stream: map[string]any{"is_write_index": true}}}, nil)
	} else {
		err = e.client.do(ctx, http.MethodPut, "/_data_stream/"+stream, nil, nil)
	}
	switch {
	case err == nil || exists(err):
	case statusOf(err) == http.StatusBadRequest && stream != e.shared():
		e.Log.WarnContext(ctx, "the search engine takes no further index; the events of this workspace are kept with those of others", "stream", stream, "error", err)
		return e.ensure(ctx, e.shared())
	default:
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.there[stream] = true
	return stream, nil
}

// forget makes ensure look again.
func (e *Engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.there)
}

// exists tells that something is there already.
func exists(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && f.status == http.StatusBadRequest && (f.kind == "resource_already_exists_exception" || strings.Contains(f.reason, "already exists"))
}
