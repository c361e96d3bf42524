package egress

import (
	"net/http"
	"time"
)

// Options change what a transport asks of a server. Which addresses it connects to is checked all the same.
type Options struct {
	// AnyCertificate accepts certificates that no authority signed: for servers that users run with one of their own.
	AnyCertificate bool
	// HeaderTimeout is how long a server may think before it answers; zero is 20 seconds.
	HeaderTimeout time.Duration
	// HTTP1 never speaks HTTP/2.
	HTTP1 bool
}

// TransportWith makes a guarded transport with connections of its own. Make one and keep it: what uses the same transport
// shares its connections, and a connection whose certificate nobody looked at must never serve who wants it looked at.
func (g *Guard) TransportWith(options Options) http.RoundTripper {
	made := g.httpTransport()
	if options.AnyCertificate {
		made.TLSClientConfig.InsecureSkipVerify = true // the user asked for it, for one request
	}
	if options.HeaderTimeout > 0 {
		made.ResponseHeaderTimeout = options.HeaderTimeout
	}
	made.ForceAttemptHTTP2 = !options.HTTP1
	return &transport{guard: g, http: made}
}
