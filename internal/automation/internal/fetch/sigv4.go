package fetch

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"atelier/internal/dsul/expr/value"
)

// signer signs requests the way of AWS, version 4.
type signer struct {
	key, secret, session, service, region string
}

const (
	algorithm = "AWS4-HMAC-SHA256"
	longTime  = "20060102T150405Z"
	shortTime = "20060102"
)

// newSigner reads auth.awsv4. What it does not say of service and region is in the names of hosts of AWS.
func newSigner(given *value.Object, host string) (*signer, error) {
	text := func(name string) string { t, _ := value.Text(given.Get(name), maxText); return t }
	s := &signer{key: text("accessKeyId"), secret: text("secretAccessKey"), session: text("sessionToken"), service: text("service"), region: text("region")}
	if s.key == "" || s.secret == "" {
		return nil, invalid("Invalid fetch instruction: auth.awsv4 needs accessKeyId and secretAccessKey.")
	}
	service, region := awsHost(strings.ToLower(host))
	if s.service == "" {
		s.service = service
	}
	if s.region == "" {
		s.region = region
	}
	if s.service == "" || s.region == "" {
		return nil, invalid("Invalid fetch instruction: write service and region in auth.awsv4; the address does not tell them.")
	}
	if strings.ContainsFunc(s.key+s.service+s.region+s.session, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, invalid("Invalid fetch instruction: auth.awsv4 holds spaces or characters that cannot be sent.")
	}
	return s, nil
}

// awsHost reads service and region in a host such as sqs.eu-west-3.amazonaws.com. A host without a region is in us-east-1.
func awsHost(host string) (service, region string) {
	if rest, ok := strings.CutSuffix(host, ".on.aws"); ok {
		if labels := strings.Split(rest, "."); len(labels) >= 2 && labels[len(labels)-2] == "lambda-url" {
			return "lambda", labels[len(labels)-1]
		}
		return "", ""
	}
	rest, ok := strings.CutSuffix(strings.TrimSuffix(host, ".cn"), ".amazonaws.com")
	if !ok {
		return "", ""
	}
	labels := strings.Split(rest, ".")
	last := labels[len(labels)-1]
	switch {
	case strings.HasPrefix(last, "s3-") && last != "s3-accelerate":
		return "s3", last[len("s3-"):]
	case len(labels) == 1 || last == "s3" || last == "s3-accelerate":
		return strings.TrimSuffix(last, "-accelerate"), "us-east-1"
	}
	before := labels[len(labels)-2]
	switch {
	case before == "dualstack" && len(labels) > 2:
		return labels[len(labels)-3], last
	case isRegion(before) && !isRegion(last): // such as domain.eu-west-3.es
		return last, before
	default:
		return before, last
	}
}

// isRegion tells a region, such as eu-west-3, from the name of a service.
func isRegion(label string) bool {
	return strings.Count(label, "-") >= 2 && label[len(label)-1] >= '0' && label[len(label)-1] <= '9'
}

// sign adds the headers of the signature. The request goes out as it is now: the body is the one given.
func (s *signer) sign(r *http.Request, body []byte, now time.Time) {
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	at := now.UTC()
	r.Header.Set("X-Amz-Date", at.Format(longTime))
	if s.session != "" {
		r.Header.Set("X-Amz-Security-Token", s.session)
	}
	if s.service == "s3" {
		r.Header.Set("X-Amz-Content-Sha256", payload)
	}
	headers, names := canonicalHeaders(r)
	canonical := strings.Join([]string{r.Method, s.canonicalPath(r.URL), canonicalQuery(r.URL), headers, names, payload}, "\n")
	scope := strings.Join([]string{at.Format(shortTime), s.region, s.service, "aws4_request"}, "/")
	hashed := sha256.Sum256([]byte(canonical))
	toSign := strings.Join([]string{algorithm, at.Format(longTime), scope, hex.EncodeToString(hashed[:])}, "\n")
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{at.Format(shortTime), s.region, s.service, "aws4_request", toSign} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+s.key+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(key))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalHeaders are those that are signed: the host, what describes the body and what belongs to AWS. Others may be changed on
// the way.
func canonicalHeaders(r *http.Request) (lines, names string) {
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	all := map[string]string{"host": host}
	for name, values := range r.Header {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-amz-") || name == "content-type" || name == "content-md5" || name == "range" {
			trimmed := make([]string, len(values))
			for i, v := range values {
				trimmed[i] = strings.Join(strings.Fields(v), " ")
			}
			all[name] = strings.Join(trimmed, ",")
		}
	}
	sorted := make([]string, 0, len(all))
	for name := range all {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	var out strings.Builder
	for _, name := range sorted {
		out.WriteString(name + ":" + all[name] + "\n")
	}
	return out.String(), strings.Join(sorted, ";")
}

// canonicalPath is the path encoded once for S3, whose names may hold anything, and cleaned and encoded twice for the others.
func (s *signer) canonicalPath(u *url.URL) string {
	if s.service == "s3" {
		if u.Path == "" {
			return "/"
		}
		return encodePath(u.Path)
	}
	sent := u.EscapedPath()
	if sent == "" {
		return "/"
	}
	cleaned := path.Clean(sent)
	if strings.HasSuffix(sent, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return encodePath(cleaned)
}

func encodePath(text string) string { return strings.ReplaceAll(encodeAll(text), "%2F", "/") }

// encodeAll encodes everything but letters, digits, dashes, dots, underscores and tildes.
func encodeAll(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

func canonicalQuery(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	var pairs [][2]string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if pair == "" {
			continue
		}
		name, v, _ := strings.Cut(pair, "=")
		pairs = append(pairs, [2]string{encodeAll(unescape(name)), encodeAll(unescape(v))})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		if by := strings.Compare(a[0], b[0]); by != 0 {
			return by
		}
		return strings.Compare(a[1], b[1])
	})
	out := make([]string, len(pairs))
	for i, pair := range pairs {
		out[i] = pair[0] + "=" + pair[1]
	}
	return strings.Join(out, "&")
}

// unescape reads a part of a query; what is encoded wrongly stands for itself.
func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}
