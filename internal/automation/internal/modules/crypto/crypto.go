// Package crypto is the module crypto: digests, signatures, base64 and what is random.
package crypto

import (
	"context"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

const (
	// maxData is how much a function takes, in bytes.
	maxData = 10 << 20
	// maxKey is the longest key of a signature, in bytes.
	maxKey = 64 << 10
	// maxRandom is how many random bytes are given at once.
	maxRandom = 1024
)

// Functions are the functions of the module.
func Functions(ids ident.Source) map[string]func(f *machine.Frame, parameters *value.Object) (any, error) {
	table := map[string]func(f *machine.Frame, parameters *value.Object) (any, error){
		"hmac":         plain(HMAC),
		"base64Encode": plain(Base64Encode),
		"base64Decode": plain(Base64Decode),
		"randomBytes": func(f *machine.Frame, parameters *value.Object) (any, error) {
			draw, err := RandomBytes(parameters)
			if err != nil {
				return nil, err
			}
			return once(f, draw)
		},
		"randomUUID": func(f *machine.Frame, _ *value.Object) (any, error) {
			return once(f, ids.UUID)
		},
	}
	for _, name := range []string{"sha256", "sha512", "md5"} {
		table[name] = plain(func(parameters *value.Object) (any, error) { return Digest(name, parameters) })
	}
	return table
}

// plain is a function that needs nothing but its parameters.
func plain(do func(parameters *value.Object) (any, error)) func(*machine.Frame, *value.Object) (any, error) {
	return func(_ *machine.Frame, parameters *value.Object) (any, error) { return do(parameters) }
}

// once draws something. A run that is begun anew gets what it drew before: what it has done with it is not done again either.
func once(f *machine.Frame, draw func() string) (any, error) {
	if !f.Run().Journal.Durable() {
		return draw(), nil
	}
	return f.Once(func(context.Context, *sqldb.Tx) (any, error) { return draw(), nil })
}

// Digest is {data, encoding}: the digest of a text.
func Digest(algorithm string, parameters *value.Object) (any, error) {
	p := params.Read("crypto."+algorithm, parameters)
	data := p.Data("data", maxData)
	encoding := p.OneOf("encoding", digestEncodings()...)
	if err := p.Err(); err != nil {
		return nil, err
	}
	h := newHash(algorithm)
	_, _ = h.Write([]byte(data))
	return encode(encoding, h.Sum(nil)), nil
}
