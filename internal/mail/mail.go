// Package mail is the contract for outgoing mail: a message to one person, senders that deliver it, and an outbox that loses
// none.
package mail

import (
	"context"
	"errors"
)

// ErrRejected says that the server will never take the message; trying again is useless.
var ErrRejected = errors.New("mail: the message was rejected")

// Sender delivers messages. It is safe for concurrent use.
type Sender interface {
	// Driver is the way mails leave, as operators know it: smtp or file.
	Driver() string
	// Send returns when the message is in other hands. A message that makes no sense gives ErrInvalid, one that will never be
	// taken ErrRejected; after any other error it may be tried again. A call ends with its context; what a call that was cut
	// off did is unknown.
	Send(ctx context.Context, message Message) error
	// Ping makes a real round trip without sending anything.
	Ping(ctx context.Context) error
	// Close releases what the sender holds; closing twice does no harm.
	Close() error
}

// Message is a mail to one person.
type Message struct {
	// ID becomes the Message-ID, so that a message that is sent twice can be told to be one. Empty means a new one.
	ID string `json:"id"`
	// To is exactly one address, without a name.
	To string `json:"to"`
	// ToName is the name of the person; may be empty.
	ToName  string `json:"toName,omitempty"`
	Subject string `json:"subject"`
	// Text is what is shown where HTML is not. HTML may be empty.
	Text string `json:"text"`
	HTML string `json:"html,omitempty"`
}
