package gateway

import (
	"context"
	"net/url"

	"atelier/internal/gateway/internal/identity"
	"atelier/internal/gateway/internal/letters"
	"atelier/internal/mail"
	"atelier/internal/sqldb"
)

// post writes a letter and hands it to the outbox, in the transaction that it is about.
func (g *Gateway) post(ctx context.Context, tx *sqldb.Tx, letter identity.Letter) error {
	message, err := write(letter)
	if err != nil {
		return err
	}
	message.To = letter.To
	return g.deps.Mail.Enqueue(ctx, tx, message)
}

func write(letter identity.Letter) (mail.Message, error) {
	switch {
	case letter.Known:
		return letters.Known(letter.Language, letter.Link)
	case letter.Purpose == identity.ForPassword:
		return letters.Reset(letter.Language, letter.Link)
	case letter.Purpose == identity.ForDeletion:
		return letters.Deletion(letter.Language, letter.Link)
	default:
		return letters.Validate(letter.Language, letter.Link)
	}
}

// originOf is the scheme, host and port of an address, as browsers name an origin.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
