package webhooks

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks.
const (
	headerID        = "webhook-id"
	headerTimestamp = "webhook-timestamp"
	headerSignature = "webhook-signature"
)

// sign gives the value of webhook-signature: a signature for every key that is live, the newest first. Receivers accept a
// message when one of them is right, so nothing is refused while keys are being changed.
func (c content) sign(id string, at time.Time, body []byte) string {
	signed := []byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "." + string(body))
	var signatures []string
	for _, key := range c.live(at) {
		if private, ok := privateKey(key.Key); ok {
			signatures = append(signatures, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(private, signed)))
			continue
		}
		secret, err := secretBytes(key.Key)
		if err != nil {
			continue // none was stored that is not one
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(signed)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " ")
}
