package fetch_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/machine"
)

// The signatures are those that AWS publishes for its test suite and in its guide of S3.
func TestSignatures(t *testing.T) {
	t.Parallel()
	const suite = `{"accessKeyId":"AKIDEXAMPLE","secretAccessKey":"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY","service":"service","region":"us-east-1"}`
	const s3 = `{"accessKeyId":"AKIAIOSFODNN7EXAMPLE","secretAccessKey":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY","region":"us-east-1"}`
	inSuite := time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)
	inGuide := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		auth, method, url, header, body string
		at                              time.Time
		want                            string
	}{
		"get-vanilla":                       {suite, "GET", "https://example.amazonaws.com/", "", "", inSuite, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		"get-vanilla-query-order-key-case":  {suite, "GET", "https://example.amazonaws.com/?Param2=value2&Param1=value1", "", "", inSuite, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		"get-vanilla-utf8-query":            {suite, "GET", "https://example.amazonaws.com/?ሴ=bar", "", "", inSuite, "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
		"post-vanilla":                      {suite, "POST", "https://example.amazonaws.com/", "", "", inSuite, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		"post-x-www-form-urlencoded":        {suite, "POST", "https://example.amazonaws.com/", "Content-Type: application/x-www-form-urlencoded", "Param1=value1", inSuite, "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		"S3, an object with a range":        {s3, "GET", "https://examplebucket.s3.amazonaws.com/test.txt", "Range: bytes=0-9", "", inGuide, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		"S3, the lifecycle of a bucket":     {s3, "GET", "https://examplebucket.s3.amazonaws.com/?lifecycle", "", "", inGuide, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		"S3, the objects of a bucket":       {s3, "GET", "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J", "", "", inGuide, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
		"get-slash, which is normal anyway": {suite, "GET", "https://example.amazonaws.com//", "", "", inSuite, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, test.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name, v, ok := strings.Cut(test.header, ": "); ok {
			r.Header.Set(name, v)
		}
		r.Header.Set("User-Agent", "not signed")
		if err := fetch.Sign(parse(t, test.auth), r, []byte(test.body), test.at); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestServiceAndRegionOfHosts(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"sqs.eu-west-3.amazonaws.com":                     "sqs eu-west-3",
		"bucket.s3.eu-west-3.amazonaws.com":               "s3 eu-west-3",
		"my.bucket.s3.amazonaws.com":                      "s3 us-east-1",
		"s3-eu-west-1.amazonaws.com":                      "s3 eu-west-1",
		"b.s3-accelerate.amazonaws.com":                   "s3 us-east-1",
		"b.s3.dualstack.eu-west-1.amazonaws.com":          "s3 eu-west-1",
		"iam.amazonaws.com":                               "iam us-east-1",
		"abc.execute-api.us-west-2.amazonaws.com":         "execute-api us-west-2",
		"abc.lambda-url.eu-west-1.on.aws":                 "lambda eu-west-1",
		"ec2.cn-north-1.amazonaws.com.cn":                 "ec2 cn-north-1",
		"bedrock-runtime.us-east-1.amazonaws.com":         "bedrock-runtime us-east-1",
		"search-x.eu-west-1.es.amazonaws.com":             "es eu-west-1",
		"example.com":                                     " ",
		"other.on.aws":                                    " ",
		"amazonaws.com.example.com":                       " ",
		"search-x.eu-west-1.es.amazonaws.com.example.org": " ",
	} {
		service, region := fetch.AWSHost(host)
		if got := service + " " + region; got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

func TestWrongKeysOfAWS(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{`{}`, `{"accessKeyId":"a"}`, `{"accessKeyId":"a","secretAccessKey":"b"}`, `{"accessKeyId":"a\r\nb","secretAccessKey":"b","service":"s","region":"r"}`} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		wantFailure(t, fetch.Sign(parse(t, auth), r, nil, time.Unix(0, 0)), machine.InvalidInstruction, "")
	}
}
