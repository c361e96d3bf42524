package factors_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"

	"atelier/internal/gateway/internal/factors"
)

// device is a security key made of software. Its fields are what a dishonest one would change.
type device struct {
	t      *testing.T
	key    *ecdsa.PrivateKey
	id     []byte
	count  uint32
	flags  byte
	origin string
	host   string
	handle string
}

const (
	present  = 0x01
	verified = 0x04
	attested = 0x40
)

func newDevice(t *testing.T) *device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	return &device{t: t, key: key, id: id, flags: present | verified, origin: home, host: "localhost"}
}

func text(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// asked is what a browser reads out of the options.
func (d *device) asked(c factors.Ceremony) (challenge, handle string) {
	d.t.Helper()
	raw, err := json.Marshal(c.Options)
	if err != nil {
		d.t.Fatal(err)
	}
	var options struct {
		Challenge string `json:"challenge"`
		User      struct {
			ID string `json:"id"`
		} `json:"user"`
	}
	if err := json.Unmarshal(raw, &options); err != nil {
		d.t.Fatal(err)
	}
	return options.Challenge, options.User.ID
}

func (d *device) clientData(kind, challenge string) []byte {
	data, _ := json.Marshal(map[string]any{"type": kind, "challenge": challenge, "origin": d.origin, "crossOrigin": false})
	return data
}

func (d *device) authData(flags byte) []byte {
	hash := sha256.Sum256([]byte(d.host))
	return binary.BigEndian.AppendUint32(append(hash[:], flags), d.count)
}

// make answers a registration.
func (d *device) make(c factors.Ceremony) factors.Answer {
	challenge, handle := d.asked(c)
	d.handle = handle
	data := d.authData(d.flags | attested)
	data = append(data, make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(d.id)))
	data = append(append(data, d.id...), d.publicKey()...)
	attestation := append([]byte{0xa3}, cborText("fmt")...)
	attestation = append(append(attestation, cborText("none")...), cborText("attStmt")...)
	attestation = append(append(attestation, 0xa0), cborText("authData")...)
	attestation = append(attestation, cborBytes(data)...)
	return d.answer(c, map[string]any{
		"clientDataJSON": text(d.clientData("webauthn.create", challenge)), "attestationObject": text(attestation),
	})
}

// use answers a sign-in.
func (d *device) use(c factors.Ceremony) factors.Answer {
	challenge, _ := d.asked(c)
	d.count++
	client, data := d.clientData("webauthn.get", challenge), d.authData(d.flags)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(data, hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, d.key, digest[:])
	if err != nil {
		d.t.Fatal(err)
	}
	return d.answer(c, map[string]any{
		"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature), "userHandle": d.handle,
	})
}

func (d *device) answer(c factors.Ceremony, response map[string]any) factors.Answer {
	credential, _ := json.Marshal(map[string]any{"id": text(d.id), "rawId": text(d.id), "type": "public-key", "response": response})
	return factors.Answer{Challenge: c.Challenge, Credential: credential}
}

// publicKey is the COSE form of an ES256 key.
func (d *device) publicKey() []byte {
	point, err := d.key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		d.t.Fatal(err)
	}
	key := []byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21}
	key = append(append(key, cborBytes(point[1:33])...), 0x22)
	return append(key, cborBytes(point[33:])...)
}

func cborText(s string) []byte { return append([]byte{0x60 + byte(len(s))}, s...) }

func cborBytes(b []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0x59}, uint16(len(b))), b...)
}

// register adds the device to the account of the caller.
func (d *device) register(h *house, ctx context.Context) factors.Passkey {
	d.t.Helper()
	c, err := h.factors.BeginPasskey(ctx, "")
	h.must(err)
	made, err := h.factors.FinishPasskey(ctx, d.make(c), "  A key ")
	h.must(err)
	return made
}
