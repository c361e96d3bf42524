// Package e2e_test runs the same scenarios on every topology: one process on embedded engines, one process on real
// servers, and one process a service on real servers. A scenario cannot tell which it has.
package e2e_test

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// installation is a running product, however it is made up.
type installation struct {
	*apptest.Server
	// services are the processes behind the gateway, when there are any.
	services map[string]*apptest.Server
}

// everywhere runs a scenario on each topology.
func everywhere(t *testing.T, scenario func(t *testing.T, it installation)) {
	t.Helper()
	for name, start := range map[string]func(*testing.T) installation{"embedded": embedded, "servers": onServers, "split": split} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario(t, start(t))
		})
	}
}

func embedded(t *testing.T) installation {
	t.Helper()
	return installation{Server: apptest.New(t)}
}

func onServers(t *testing.T) installation {
	t.Helper()
	return installation{Server: apptest.Start(t, clock.System{}, serverSettings(t)...)}
}

// split starts every service as a process of its own would be: only the network and the servers are shared.
func split(t *testing.T) installation {
	t.Helper()
	shared := serverSettings(t)
	front := apptest.Listen(t)
	public := "http://" + front.Addr().String()
	it := installation{services: map[string]*apptest.Server{}}
	gateway := append([]string{"TARGET=gateway"}, shared...)
	for _, service := range []string{"workspaces", "events", "runtime"} {
		behind := apptest.Start(t, clock.System{}, append([]string{
			"TARGET=" + service, "API_URL=" + public + "/v2", "INTERNAL_API_URL=" + public + "/v2",
		}, shared...)...)
		it.services[service] = behind
		gateway = append(gateway, strings.ToUpper(service)+"_API_URL="+behind.URL)
	}
	it.Server = apptest.StartOn(t, clock.System{}, front, gateway...)
	return it
}

// serverSettings point at the provided servers, with a database, a namespace and a bucket of the test's own.
func serverSettings(t *testing.T) []string {
	t.Helper()
	own := strings.ReplaceAll(ident.Source{}.UUID(), "-", "")[:12]
	brokers, user, password := brokers(t)
	return []string{
		"DATA_DIR=" + t.TempDir(),
		"DATABASE_URL=" + sqldbtest.PostgresURL(t), "DATABASE_MAX_CONNS=8",
		"SESSIONS_STORAGE_HOST=" + provided(t, "redis", "TEST_REDIS_URL"),
		"BROKER_DRIVER=nats", "BROKER_HOST=" + brokers, "BROKER_USER=" + user, "BROKER_PASSWORD=" + password, "BROKER_NAMESPACE=t" + own,
		"WORKSPACES_STORAGE_TYPE=S3_LIKE", "WORKSPACES_STORAGE_S3_LIKE_BUCKET_NAME=t" + own,
		"WORKSPACES_STORAGE_S3_LIKE_ENDPOINT=" + provided(t, "s3", "TEST_S3_ENDPOINT"),
		"WORKSPACES_STORAGE_S3_LIKE_ACCESS_KEY=" + provided(t, "s3", "TEST_S3_ACCESS_KEY"),
		"WORKSPACES_STORAGE_S3_LIKE_SECRET_KEY=" + provided(t, "s3", "TEST_S3_SECRET_KEY"),
	}
}

// brokers takes the credentials out of the addresses: they have settings of their own.
func brokers(t *testing.T) (hosts, user, password string) {
	t.Helper()
	var list []string
	for address := range strings.SplitSeq(provided(t, "nats", "TEST_NATS_URL"), ",") {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		user = u.User.Username()
		password, _ = u.User.Password()
		list = append(list, u.Scheme+"://"+u.Host)
	}
	return strings.Join(list, ","), user, password
}

// provided is the address of a real server; without it the test is skipped, loudly.
func provided(t *testing.T, server, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Skipf("SKIPPED: %s: %s is not set", server, variable)
	}
	return value
}

// newWorkspace makes a workspace and gives its id.
func newWorkspace(t *testing.T, c *apptest.Client, name string) string {
	t.Helper()
	return c.Post("/v2/workspaces", map[string]any{"name": name}).Want(http.StatusCreated).Text("id")
}
