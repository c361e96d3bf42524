package restapi

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// Page is the paging part of a list's parameters: embed it.
type Page struct {
	Page   int    `query:"page" minimum:"0" maximum:"1000000" doc:"Which page, counted from 0. Ignored when a cursor is given."`
	Limit  int    `query:"limit" minimum:"1" maximum:"2000" default:"20" doc:"How many items at most."`
	Cursor string `query:"cursor" maxLength:"2048" doc:"Continue where the previous answer ended: the cursor in its Link header."`
}

// Listed is the paging part of a list's answer: embed it.
type Listed struct {
	Total string `header:"X-Total-Count" doc:"How many items there are in all."`
	Link  string `header:"Link" doc:"The next page, as rel=\"next\"; absent on the last one."`
}

// Cursors seals places in lists. A cursor is bound to the caller and to the list it came from, so it can be neither forged
// nor carried elsewhere.
type Cursors struct{ key []byte }

// NewCursors derives the sealing key from the installation's internal key, so that every instance reads every cursor.
func NewCursors(internalKey string) (*Cursors, error) {
	key, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "list cursors", sha256.Size)
	return &Cursors{key: key}, err
}

// Seal gives the opaque text of a place. The scope names the list and its filters.
func (c *Cursors) Seal(ctx context.Context, scope string, place any) (string, error) {
	payload, err := json.Marshal(place)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(c.seal(ctx, scope, payload), payload...)), nil
}

// Open reads a cursor back into place; invalid_parameter when it is not one of ours for this caller and this list.
func (c *Cursors) Open(ctx context.Context, scope, cursor string, place any) error {
	wrong := errs.Parameter("cursor", "use the cursor of a previous answer of this list, unchanged and with the same filters")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(raw) <= sealSize || base64.RawURLEncoding.EncodeToString(raw) != cursor {
		return wrong // also another spelling of the same bytes: unchanged means unchanged
	}
	if !hmac.Equal(raw[:sealSize], c.seal(ctx, scope, raw[sealSize:])) || json.Unmarshal(raw[sealSize:], place) != nil {
		return wrong
	}
	return nil
}

const sealSize = 16

func (c *Cursors) seal(ctx context.Context, scope string, payload []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	for _, part := range []string{access.From(ctx).Key(), scope} {
		mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	mac.Write(payload)
	return mac.Sum(nil)[:sealSize]
}

// NextLink writes the Link header that leads to the next page of path.
func NextLink(path string, query url.Values) string {
	return "<" + path + "?" + query.Encode() + `>; rel="next"`
}

// ETag names a revision of a resource.
func ETag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// CheckIfMatch refuses an edit of another revision than the client has seen; an empty header means the client does not mind.
func CheckIfMatch(header, etag string) error {
	if header == "" || strings.TrimSpace(header) == "*" {
		return nil
	}
	for candidate := range strings.SplitSeq(header, ",") {
		if strings.TrimSpace(candidate) == etag {
			return nil
		}
	}
	return errs.New(errs.Conflict, "The resource was changed by someone else; read it again and repeat your change.").
		With("etag", etag).WithStatus(http.StatusPreconditionFailed)
}

// From tells where a page of a list begins. The scope names the list and its filters.
func (p Page) From(ctx context.Context, cursors *Cursors, scope string) (offset int, err error) {
	offset = p.Page * p.Limit
	if p.Cursor != "" {
		err = cursors.Open(ctx, scope, p.Cursor, &offset)
	}
	return offset, err
}

// Place is where a page of a list ends: the list and its filters, the next offset and how many items there are in all.
type Place struct {
	Path        string
	Query       url.Values
	Next, Total int
}

// NewListed is the paging part of a list's answer, with a link to the next page when there is one.
func NewListed(ctx context.Context, cursors *Cursors, place Place) (listed Listed, err error) {
	listed.Total = strconv.Itoa(place.Total)
	if place.Next >= place.Total {
		return listed, nil
	}
	cursor, err := cursors.Seal(ctx, place.Path+"?"+place.Query.Encode(), place.Next)
	if err != nil {
		return listed, err
	}
	place.Query.Set("cursor", cursor)
	listed.Link = NextLink(place.Path, place.Query)
	return listed, nil
}
