package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/internal/feed"
	"atelier/internal/events/internal/searchengine"
	"atelier/internal/restapi"
)

// Listening is who listens to events as they happen, at which instances.
type Listening struct {
	Nodes       []ListeningNode   `json:"nodes" nullable:"false" doc:"The instances: the one that answers first."`
	Sockets     map[feed.Kind]int `json:"sockets" doc:"The connections at all instances, by kind."`
	Subscribers int               `json:"subscribers" doc:"What they have subscribed to: a WebSocket can have several subscriptions."`
}

// ListeningNode is an instance, and who listens there.
type ListeningNode struct {
	ID     string    `json:"id" doc:"The instance; another one after each start."`
	Self   bool      `json:"self,omitempty" doc:"Whether it is the one that answers."`
	SeenAt time.Time `json:"seenAt" doc:"When these were its figures."`
	feed.Figures
}

type listeningOutput struct{ Body Listening }

type shardsInput struct {
	Group    string `query:"group" enum:"index,stream,node,state" doc:"Only the sums of each of these."`
	Patterns string `query:"patterns" maxLength:"2000" doc:"Only indices or streams with these names, as a comma list in which * is any text."`
	Tenants  string `query:"tenants" maxLength:"2000" doc:"Only shards with events of these workspaces, as a comma list of ids."`
	Index    string `query:"index" maxLength:"300" doc:"Only this index, or this stream."`
}

// ShardList is the shards of the search engine, or sums of them.
type ShardList struct {
	Total  int                  `json:"total" doc:"How many shards there are; none where events are searched in the database."`
	Shards []searchengine.Shard `json:"shards,omitzero" doc:"The shards, without a group."`
	Groups []ShardGroup         `json:"groups,omitzero" doc:"With a group: the sums."`
}

// ShardGroup is the sum of some shards.
type ShardGroup struct {
	Key       string `json:"key" doc:"What they have in common."`
	Total     int    `json:"total" doc:"How many there are."`
	Primaries int    `json:"primaries" doc:"How many of them are written to."`
	Docs      int64  `json:"docs" doc:"How many documents they have."`
	Bytes     int64  `json:"bytes" doc:"How large they are."`
}

type shardsOutput struct{ Body ShardList }

// RegisterSystem adds what operators ask of the service. Without an index there are no shards.
func RegisterSystem(api *restapi.API, hub *feed.Hub, index *searchengine.Engine) {
	restapi.Register(api, restapi.Operation{
		ID: "listListening", Method: http.MethodGet, Path: "/sys/subscriptions", Tag: "System", Policy: access.InternalOnly, Hidden: true,
		Summary: "Who listens to events, at which instances",
	}, func(ctx context.Context, _ *struct{}) (*listeningOutput, error) {
		nodes, err := hub.Nodes(ctx)
		return &listeningOutput{Body: listeningAt(nodes)}, err
	})
	list := func(ctx context.Context, in *shardsInput) (*shardsOutput, error) {
		if index == nil {
			return &shardsOutput{Body: summed(nil, in.Group)}, nil
		}
		shards, err := index.Shards(ctx, searchengine.Which{Index: in.Index, Patterns: listed(in.Patterns), Workspaces: listed(in.Tenants)})
		return &shardsOutput{Body: summed(shards, in.Group)}, err
	}
	restapi.Register(api, restapi.Operation{
		ID: "listShardsInside", Method: http.MethodGet, Path: "/sys/shards", Tag: "System", Policy: access.InternalOnly, Hidden: true, Summary: "List the shards of the search engine",
	}, list)
	restapi.Register(api, restapi.Operation{
		ID: "listShards", Method: http.MethodGet, Path: "/sys/events/shards", Tag: "System", Policy: access.Operators, Scope: access.Account, Summary: "List the shards of the search engine",
		Description: "The shards in which Elasticsearch or OpenSearch keeps the index of events, or sums of them. Where events are searched in the database there are none.",
		Errors:      []errs.Code{errs.Unavailable},
	}, list)
}

func listeningAt(nodes []feed.Node) Listening {
	all := Listening{Nodes: make([]ListeningNode, 0, len(nodes)), Sockets: map[feed.Kind]int{}}
	for _, n := range nodes {
		all.Nodes = append(all.Nodes, ListeningNode{ID: n.ID, Self: n.Self, SeenAt: n.SeenAt, Figures: n.Figures})
		for kind, count := range n.Sockets {
			all.Sockets[kind] += count
		}
		all.Subscribers += n.Subscribers
	}
	return all
}

// summed puts shards into their groups, when there are to be any.
func summed(shards []searchengine.Shard, by string) ShardList {
	list := ShardList{Total: len(shards)}
	if by == "" {
		list.Shards = append([]searchengine.Shard{}, shards...)
		return list
	}
	list.Groups = []ShardGroup{}
	for _, s := range shards {
		key := map[string]string{"index": s.Index, "stream": s.Stream, "node": s.Node, "state": s.State}[by]
		at := slices.IndexFunc(list.Groups, func(g ShardGroup) bool { return g.Key == key })
		if at < 0 {
			at = len(list.Groups)
			list.Groups = append(list.Groups, ShardGroup{Key: key})
		}
		g := &list.Groups[at]
		g.Total, g.Docs, g.Bytes = g.Total+1, g.Docs+s.Docs, g.Bytes+s.Bytes
		if s.Primary {
			g.Primaries++
		}
	}
	slices.SortFunc(list.Groups, func(a, b ShardGroup) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// listed reads a comma list.
func listed(text string) (items []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
