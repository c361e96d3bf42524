package limits

import (
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/config"
	"atelier/internal/httpx"
	"atelier/internal/kv"
)

// class is a kind of calls with a limit of its own. A call counts in exactly one class.
type class struct {
	name    string
	matches func(method string, path segments) bool
	// perMinute is how many calls one caller may make; never more than the caller may make of any kind.
	perMinute int
	// byNetwork counts the network even when the caller is known: what strangers may do is not to be multiplied with accounts.
	byNetwork bool
}

// classes is the table of limited kinds of calls. What is in none of them is an ordinary call.
func classes(cfg config.Config) []class {
	return []class{
		{name: "signup", matches: post("signup"), perMinute: cfg.RateLimitSignup, byNetwork: true},
		{name: "anonymousLogin", matches: post("login", "anonymous"), perMinute: cfg.RateLimitAnonymous, byNetwork: true},
		{name: "tokenExchange", matches: post("login", "token-exchange"), perMinute: cfg.RateLimitExchange, byNetwork: true},
		{name: "contacts", matches: post("contacts"), perMinute: cfg.RateLimitContacts},
		{name: "createWorkspace", matches: post("workspaces"), perMinute: cfg.RateLimitCreate},
		{name: "importWorkspace", matches: imports, perMinute: cfg.RateLimitImport},
		{name: "uploadFile", matches: uploads, perMinute: cfg.RateLimitUpload},
		{name: "searchEvents", matches: events, perMinute: cfg.RateLimitEvents},
	}
}

// ordinary is the class of calls that are in no other.
const ordinary = "default"

// segments are the parts of a path behind /v2; more than the table looks at are cut off.
type segments struct {
	part  [maxSegments]string
	count int
}

const maxSegments = 6

func split(path string) segments {
	var s segments
	rest, ok := strings.CutPrefix(path, "/v2/")
	for ok && s.count < maxSegments {
		s.part[s.count], rest, ok = strings.Cut(rest, "/")
		s.count++
	}
	return s
}

func (s segments) are(names ...string) bool {
	if s.count != len(names) {
		return false
	}
	for i, name := range names {
		if s.part[i] != name {
			return false
		}
	}
	return true
}

// ofWorkspace is the part behind /v2/workspaces/{id}, empty elsewhere.
func (s segments) ofWorkspace() string {
	const name, collection = 2, 0
	if s.count > name && s.part[collection] == "workspaces" {
		return s.part[name]
	}
	return ""
}

func post(names ...string) func(string, segments) bool {
	return func(method string, path segments) bool { return method == http.MethodPost && path.are(names...) }
}

// imports are the calls that write a whole workspace: import, pull and duplicate, of a workspace or of one of its versions.
func imports(method string, path segments) bool {
	if method != http.MethodPost {
		return false
	}
	action := path.ofWorkspace()
	if action == "versions" {
		const ofVersion = 4
		action = path.part[ofVersion]
	}
	return action == "import" || action == "pull" || action == "duplicate" || path.are("workspaces", "import")
}

func uploads(method string, path segments) bool {
	if method != http.MethodPost && method != http.MethodPut {
		return false
	}
	return path.ofWorkspace() == "files" || path.are("user", "photo")
}

func events(_ string, path segments) bool {
	switch path.ofWorkspace() {
	case "events", "search", "usage":
		return true
	default:
		return path.are("search")
	}
}

// caller is whom a call counts for, and what it may do.
type caller struct {
	key        string
	perMinute  int
	concurrent int
	streams    int
}

// callerOf tells whom a call counts for: a user or an API key; for visitors and without a credential, the network it came
// from.
func (l *Limits) callerOf(p access.Principal, info *httpx.Info) caller {
	cfg := l.deps.Config
	switch p.Kind {
	case access.User:
		return caller{key: p.Key(), perMinute: cfg.RateLimitUser, concurrent: cfg.Concurrent, streams: cfg.Streams}
	case access.Key:
		return caller{key: p.Key(), perMinute: cfg.RateLimitKey, concurrent: cfg.Concurrent, streams: cfg.Streams}
	case access.Anonymous, access.Nobody, access.Internal: // anybody can be many visitors, but hardly many networks
	}
	return caller{key: networkKey(info), perMinute: cfg.RateLimitAddress, concurrent: cfg.ConcurrentAddress, streams: cfg.StreamsAddress}
}

func networkKey(info *httpx.Info) string { return "net:" + info.Network() }

// bucket is the limit that a call counts against.
type bucket struct {
	class string
	key   string
	limit kv.Limit
}

func (l *Limits) bucketOf(c caller, info *httpx.Info, call Call) bucket {
	path := split(call.Path)
	for _, class := range l.classes {
		if !class.matches(call.Method, path) {
			continue
		}
		key := c.key
		if class.byNetwork {
			key = networkKey(info)
		}
		return bucket{class.name, "limit:" + class.name + ":" + key, perMinute(min(class.perMinute, c.perMinute))}
	}
	return bucket{ordinary, "limit:" + ordinary + ":" + c.key, perMinute(c.perMinute)}
}
