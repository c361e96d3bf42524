package crypto_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/crypto"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
)

// call calls a function that needs no run.
func call(name string, parameters ...any) (any, error) {
	return crypto.Functions(ident.Source{})[name](nil, machine.Payload(parameters...))
}

func TestKnownAnswers(t *testing.T) {
	t.Parallel()
	const fox = "The quick brown fox jumps over the lazy dog"
	for name, c := range map[string]struct {
		function   string
		parameters []any
		want       string
	}{
		"sha256":            {"sha256", []any{"data", "abc"}, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		"sha256 of nothing": {"sha256", []any{"data", ""}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"sha256, base64":    {"sha256", []any{"data", "abc", "encoding", "base64"}, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="},
		"sha256, base64url": {"sha256", []any{"data", "abc", "encoding", "base64url"}, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"},
		"sha256 of JSON":    {"sha256", []any{"data", machine.Payload("a", 1.0)}, "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"},
		"sha256 of number":  {"sha256", []any{"data", 1.0}, "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"},
		"sha512": {"sha512", []any{"data", "abc"}, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a" +
			"2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
		"md5":           {"md5", []any{"data", fox}, "9e107d9d372bb6826bd81d3542a419d6"},
		"hmac":          {"hmac", []any{"data", fox, "key", "key"}, "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"},
		"hmac, md5":     {"hmac", []any{"data", fox, "key", "key", "algorithm", "md5"}, "80070713463e7749b90c2dc24911e275"},
		"hmac, sha1":    {"hmac", []any{"data", fox, "key", "key", "algorithm", "sha1"}, "de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9"},
		"encode":        {"base64Encode", []any{"data", "é?>"}, "w6k/Pg=="},
		"encode, safe":  {"base64Encode", []any{"data", "é?>", "urlSafe", true}, "w6k_Pg"},
		"decode":        {"base64Decode", []any{"data", "w6k/Pg=="}, "é?>"},
		"decode, safe":  {"base64Decode", []any{"data", "w6k_Pg", "urlSafe", true}, "é?>"},
		"decode, lines": {"base64Decode", []any{"data", "w6k/\r\nPg==\n"}, "é?>"},
		"decode, bytes": {"base64Decode", []any{"data", "/v9h"}, "\ufffd\ufffda"},
	} {
		if got, err := call(c.function, c.parameters...); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		function   string
		parameters []any
		says       string
	}{
		"no data":          {"sha256", nil, "crypto.sha256: data is missing"},
		"null data":        {"sha256", []any{"data", nil}, "data is missing"},
		"other encoding":   {"md5", []any{"data", "", "encoding", "latin1"}, "encoding must be one of hex, base64, base64url"},
		"no key":           {"hmac", []any{"data", "a"}, "key is missing"},
		"list as key":      {"hmac", []any{"data", "a", "key", []any{}}, "key must be a text"},
		"other algorithm":  {"hmac", []any{"data", "a", "key", "b", "algorithm", "rot13"}, "algorithm must be one of"},
		"no base64":        {"base64Decode", []any{"data", "a$b"}, "data is not valid base64"},
		"long key":         {"hmac", []any{"data", "a", "key", strings.Repeat("k", 70_000)}, "key is longer than"},
		"too much":         {"sha256", []any{"data", strings.Repeat("x", 10<<20+1)}, "data is longer than"},
		"too much JSON":    {"sha256", []any{"data", []any{strings.Repeat("x", 10<<20)}}, "data is longer than"},
		"urlSafe is text":  {"base64Encode", []any{"data", "a", "urlSafe", "yes"}, "urlSafe must be true or false"},
		"no random bytes":  {"randomBytes", []any{"length", 0.0}, "length must be a whole number from 1 to 1024"},
		"half a byte":      {"randomBytes", []any{"length", 1.5}, "length must be a whole number"},
		"many bytes":       {"randomBytes", []any{"length", 1e9}, "length must be a whole number"},
		"bytes of what":    {"randomBytes", []any{"length", "many"}, "length must be a whole number"},
		"random otherwise": {"randomBytes", []any{"encoding", "utf8"}, "encoding must be one of"},
	} {
		_, err := call(c.function, c.parameters...)
		var failure *machine.Failure
		if !errors.As(err, &failure) || failure.Name != machine.InvalidArguments || !strings.Contains(failure.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRandomBytes(t *testing.T) {
	t.Parallel()
	for encoding, decode := range map[string]func(string) ([]byte, error){
		"": base64.RawURLEncoding.DecodeString, "hex": hex.DecodeString, "base64": base64.StdEncoding.DecodeString,
	} {
		parameters := value.NewObject(0)
		if encoding != "" {
			parameters.Set("encoding", encoding)
		}
		for want, length := range map[int]any{32: value.Undefined{}, 1024: 1024.0, 7: "7"} {
			parameters.Set("length", length)
			draw, err := crypto.RandomBytes(parameters)
			if err != nil {
				t.Fatal(err)
			}
			one, two := draw(), draw()
			if data, err := decode(one); len(data) != want || err != nil || one == two {
				t.Errorf("%s: %q and %q, %v", encoding, one, two, err)
			}
		}
	}
}
