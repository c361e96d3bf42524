package s3blob

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	defaultRegion = "us-east-1"
	// attempts is how often a request is tried; the pauses between them stay below a second.
	attempts = 4
	// partSize is the largest piece sent at once. Larger content is sent in parts, each checked by the server.
	partSize = 64 << 20
	// cleanupTimeout bounds the requests that clean up after a failure.
	cleanupTimeout = 5 * time.Second
)

// Config says where the bucket is. Endpoint is a URL such as https://s3.example.com; an empty Region means us-east-1; an
// empty Prefix means the top of the bucket. Transport carries every request, nil means the library's own.
type Config struct {
	Endpoint  string
	AccessKey string //nolint:gosec // filled from the environment, never written anywhere
	SecretKey string
	Bucket    string
	Region    string
	Prefix    string
	Transport http.RoundTripper
}

func (c Config) connect() (*minio.Core, error) {
	endpoint, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	if c.AccessKey == "" || c.SecretKey == "" {
		return nil, errors.New("access key and secret key are both needed")
	}
	region := c.Region
	if region == "" {
		region = defaultRegion
	}
	return minio.NewCore(endpoint.Host, &minio.Options{
		Creds:      credentials.NewStaticV4(c.AccessKey, c.SecretKey, ""),
		Secure:     endpoint.Scheme == "https",
		Transport:  c.Transport,
		Region:     region,
		MaxRetries: attempts,
	})
}

// endpoint never quotes what it refuses: people paste credentials into addresses.
func (c Config) endpoint() (*url.URL, error) {
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil:
		return nil, errors.New("the endpoint is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the endpoint must start with http:// or https://")
	case u.User != nil:
		return nil, errors.New("the endpoint must not hold credentials; they have settings of their own")
	case u.Host == "":
		return nil, errors.New("the endpoint names no host")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the endpoint must end after the host %s; the bucket and the prefix have settings of their own", u.Host)
	}
	return u, nil
}

func (c Config) keyPrefix() string {
	if trimmed := strings.Trim(c.Prefix, "/"); trimmed != "" {
		return trimmed + "/"
	}
	return ""
}
