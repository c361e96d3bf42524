package gateway

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

// servicesPrefix begins every pattern of Routes.
const servicesPrefix = "/v2/workspaces"

// Routes is the public map of the services. A path that is not here is the gateway's own, or does not exist.
func Routes() []Route {
	return []Route{
		{servicesPrefix, Workspaces},
		{servicesPrefix + "/", Workspaces},
		{servicesPrefix + "/{workspaceId}/events", Events},
		{servicesPrefix + "/{workspaceId}/events/", Events},
	}
}
