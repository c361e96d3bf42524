package gateway

import (
	"net/http"
	"strings"

	"atelier/internal/httpx"
)

// Service is the name of a service behind the gateway.
type Service string

// The services behind the gateway.
const (
	Workspaces Service = "workspaces"
	Events     Service = "events"
	Runtime    Service = "runtime"
)

// Route sends a public path to a service. The more specific pattern wins.
type Route struct {
	Pattern string
	Service Service
}

// Every pattern of Routes begins with one of these.
const (
	servicesPrefix  = "/v2/workspaces"
	filesPrefix     = "/v2/files/"
	pagesPrefix     = "/v2/pages/"
	appsPrefix      = "/v2/apps"
	functionsPrefix = "/v2/functions/"
	gitPrefix       = "/git/"
	searchPath      = "/v2/search"
	cleanupPrefix   = "/sys/cleanup/"
	schedulesPath   = "/sys/schedules"
	listeningPath   = "/sys/subscriptions"
	shardsPath      = "/sys/shards"
	eventsPrefix    = "/sys/events/"
	socketPath      = "/socket.io"
)

// ofServices tells whether a path is that of a service behind the gateway.
func ofServices(path string) bool {
	return strings.HasPrefix(path, servicesPrefix) || strings.HasPrefix(path, filesPrefix) || strings.HasPrefix(path, pagesPrefix) ||
		strings.HasPrefix(path, appsPrefix) || strings.HasPrefix(path, functionsPrefix) || strings.HasPrefix(path, gitPrefix) || path == searchPath ||
		strings.HasPrefix(path, cleanupPrefix) || path == schedulesPath || path == listeningPath || path == shardsPath ||
		strings.HasPrefix(path, eventsPrefix) || ofSockets(path)
}

// ofSockets tells whether a path is that of socket.io. Its clients send their credentials inside of it as well, and are told
// there which of them do not count.
func ofSockets(path string) bool { return path == socketPath || path == socketPath+"/" }

// listens tells whether a request goes on for as long as somebody listens to events. Other answers that come bit by bit end by
// themselves.
func listens(r *http.Request) bool {
	if !reads(r.Method) {
		return false
	}
	return ofSockets(r.URL.Path) || httpx.Streams(r) && strings.HasPrefix(r.URL.Path, servicesPrefix+"/") && strings.HasSuffix(r.URL.Path, "/events")
}

// shows tells whether a request asks for something that may be for everybody: a page or a file, which browsers show.
func shows(method, path string) bool {
	return strings.HasPrefix(path, filesPrefix) || strings.HasPrefix(path, pagesPrefix) && reads(method)
}

// belowWorkspace gives the name of what is below a workspace when a pattern stands for all of that.
func belowWorkspace(pattern string) (name string, ok bool) {
	if pattern, ok = strings.CutPrefix(pattern, servicesPrefix+"/{workspaceId}/"); !ok {
		return "", false
	}
	return strings.CutSuffix(pattern, "/")
}

// handler finds the service of a request. What is below a workspace, as endpoints are, is found without a router: the service has one.
func (g *Gateway) handler(r *http.Request) http.Handler {
	tail, ok := strings.CutPrefix(r.URL.Path, servicesPrefix+"/")
	if !ok || r.URL.RawPath != "" {
		return g.mux
	}
	id, tail, _ := strings.Cut(tail, "/")
	name, tail, _ := strings.Cut(tail, "/")
	if service := g.below[name]; service != nil && id != "" && tail != "" {
		return service
	}
	return g.mux
}

// Routes is the public map of the services. A path that is not here is the gateway's own, or does not exist.
func Routes() []Route {
	return []Route{
		{servicesPrefix, Workspaces},
		{servicesPrefix + "/", Workspaces},
		{servicesPrefix + "/{workspaceId}/events", Events},
		{servicesPrefix + "/{workspaceId}/events/", Events},
		{servicesPrefix + "/{workspaceId}/subscriptions", Events},
		{servicesPrefix + "/{workspaceId}/subscriptions/", Events},
		{servicesPrefix + "/{workspaceId}/search", Events},
		{servicesPrefix + "/{workspaceId}/usage", Events},
		{servicesPrefix + "/{workspaceId}/webhooks/", Runtime},
		{servicesPrefix + "/{workspaceId}/test/", Runtime},
		{functionsPrefix, Runtime},
		{searchPath, Events},
		{cleanupPrefix, Events},
		{schedulesPath, Events},
		{listeningPath, Events},
		{shardsPath, Events},
		{eventsPrefix, Events},
		{socketPath, Events},
		{socketPath + "/", Events},
		{filesPrefix, Workspaces},
		{pagesPrefix, Workspaces},
		{appsPrefix, Workspaces},
		{appsPrefix + "/", Workspaces},
		{gitPrefix, Workspaces},
	}
}
