package searchengine

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"atelier/internal/events/internal/query"
)

// Shard is a part of the index on a node of the engine.
type Shard struct {
	Index   string `json:"index" doc:"The index."`
	Stream  string `json:"stream" doc:"The data stream that the index is a part of."`
	Number  int    `json:"shard" doc:"Which shard of the index."`
	Primary bool   `json:"primary" doc:"Whether it is written to; otherwise it is a copy."`
	State   string `json:"state" doc:"STARTED, or what else the engine says of it."`
	Docs    int64  `json:"docs" doc:"How many documents it has."`
	Bytes   int64  `json:"bytes" doc:"How large it is."`
	Node    string `json:"node,omitempty" doc:"Where it is; empty while it has no place."`
}

// Which says which shards are meant; what is empty does not matter.
type Which struct {
	// Index is the name of an index or of a stream.
	Index string
	// Patterns are names of indices or streams in which * stands for any text. One that fits will do.
	Patterns []string
	// Workspaces are those whose events are in the shard.
	Workspaces []string
}

func (w Which) fits(e *Engine, index string) bool {
	stream := streamOfIndex(index)
	if w.Index != "" && w.Index != index && w.Index != stream {
		return false
	}
	if len(w.Patterns) > 0 && !slices.ContainsFunc(w.Patterns, func(pattern string) bool {
		fits := query.Starred(pattern)
		return fits(index) || fits(stream)
	}) {
		return false
	}
	return len(w.Workspaces) == 0 || slices.ContainsFunc(w.Workspaces, func(id string) bool { return e.streamOf(id) == stream })
}

// longestList is how many characters of names are asked for at once: they stand in the address of the request.
const longestList = 3000

// Shards lists the shards of the index, by name and number. Other indices of the engine are never among them.
func (e *Engine) Shards(ctx context.Context, which Which) ([]Shard, error) {
	parts, err := e.parts(ctx)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	var names []string
	for _, p := range parts {
		if p.generation != "" && which.fits(e, p.name) {
			names = append(names, p.name)
		}
	}
	shards := []Shard{}
	for len(names) > 0 {
		count, length := 0, 0
		for count < len(names) && (count == 0 || length+len(names[count]) < longestList) {
			length += len(names[count]) + 1
			count++
		}
		some, err := e.shardsOf(ctx, names[:count])
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		shards, names = append(shards, some...), names[count:]
	}
	slices.SortFunc(shards, compareShards)
	return shards, nil
}

func compareShards(a, b Shard) int {
	switch {
	case a.Index != b.Index:
		return strings.Compare(a.Index, b.Index)
	case a.Number != b.Number:
		return a.Number - b.Number
	case a.Primary != b.Primary && a.Primary:
		return -1
	case a.Primary != b.Primary:
		return 1
	default:
		return strings.Compare(a.Node, b.Node)
	}
}

func (e *Engine) shardsOf(ctx context.Context, names []string) ([]Shard, error) {
	var rows []struct {
		Index, Shard, Prirep, State, Docs, Store, Node string
	}
	path := "/_cat/shards/" + strings.Join(names, ",") + "?format=json&bytes=b&h=index,shard,prirep,state,docs,store,node"
	if err := e.client.do(ctx, http.MethodGet, path, nil, &rows); err != nil {
		return nil, err
	}
	shards := make([]Shard, 0, len(rows))
	for _, row := range rows {
		number, err := strconv.Atoi(row.Shard)
		if err != nil {
			return nil, &failure{status: http.StatusOK, kind: "unreadable", reason: "a shard has no number"}
		}
		docs, _ := json.Number(row.Docs).Int64() // a shard without a place has neither
		bytes, _ := json.Number(row.Store).Int64()
		shards = append(shards, Shard{
			Index: row.Index, Stream: streamOfIndex(row.Index), Number: number, Primary: row.Prirep == "p", State: row.State, Docs: docs, Bytes: bytes, Node: row.Node,
		})
	}
	return shards, nil
}
