package files

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"time"

	"atelier/internal/access"
	"atelier/internal/sqldb"
)

// Links makes the tokens of temporary links. They are not stored: a token is the signature of a file and a time, and the
// time. Whoever gives a file another share token ends its temporary links too.
type Links struct{ key []byte }

// NewLinks derives the key from the installation's internal key, so that every instance knows every link.
func NewLinks(internalKey string) (*Links, error) {
	key, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "links to files", sha256.Size)
	return &Links{key: key}, err
}

// signatureLength is how many characters of a token are its signature.
const signatureLength = 2 * sha256.Size

func (l *Links) token(s Stored, until int64) string {
	mac := hmac.New(sha256.New, l.key)
	for _, part := range []string{s.ID, s.ShareToken, strconv.FormatInt(sqldb.Millis(s.CreatedAt), 10), strconv.FormatInt(until, 10)} {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(mac.Sum(nil)) + strconv.FormatInt(until, 16)
}

// opens tells whether a token is that of a temporary link to the file whose time has not passed.
func (l *Links) opens(s Stored, token string, now time.Time) bool {
	if len(token) <= signatureLength {
		return false
	}
	until, err := strconv.ParseInt(token[signatureLength:], 16, 64)
	return err == nil && until > sqldb.Millis(now) && hmac.Equal([]byte(token), []byte(l.token(s, until)))
}

// Link is a temporary link to a file.
type Link struct {
	URL       string    `json:"url" doc:"Everybody who has this address may read the file, for a while."`
	ExpiresAt time.Time `json:"expiresAt" doc:"When it ends."`
	ExpiresIn int64     `json:"expiresIn" doc:"After how many seconds it ends."`
}

// Share makes a temporary link to a file that the caller may read and change. It ends with the file at the latest.
func (f *Files) Share(ctx context.Context, ref, file string, lasts time.Duration) (Link, error) {
	v, s, err := f.find(ctx, f.DB, ref, file, access.ActionUpdate)
	if err != nil {
		return Link{}, err
	}
	if err := readable(v, s); err != nil {
		return Link{}, err
	}
	now := f.now()
	until := now.Add(lasts)
	if !s.ExpiresAt.IsZero() && s.ExpiresAt.Before(until) {
		until = s.ExpiresAt
	}
	address := f.address(s) + "?" + url.Values{"token": {f.Links.token(s, sqldb.Millis(until))}}.Encode()
	return Link{URL: address, ExpiresAt: until, ExpiresIn: int64(until.Sub(now) / time.Second)}, nil
}

// opens tells whether a token that came with a request opens the file.
func (f *Files) opens(s Stored, token string) bool {
	if token == "" {
		return false
	}
	return s.ShareToken != "" && hmac.Equal([]byte(token), []byte(s.ShareToken)) || f.Links.opens(s, token, f.Clock.Now())
}
