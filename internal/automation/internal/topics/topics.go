// Package topics are the instructions createUserTopic and joinUserTopic: names under which events can be meant for several
// people. Who is in a topic is known to the access rules, which let them read what is meant for it.
package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

const (
	// longestTopic is how many characters the target of an event may name.
	longestTopic = 200
	longestUser  = 100
	// mostUsers is how many people one instruction lets in.
	mostUsers = 1000
	service   = "runtime"
)

// Topics makes the topics of workspaces.
type Topics struct {
	clock clock.Clock
	bus   bus.Log
}

// New returns the topics of an installation.
func New(clk clock.Clock, log bus.Log) *Topics { return &Topics{clock: clk, bus: log} }

// Create is createUserTopic: it makes a topic, if there is none of this name, and lets people in.
func (t *Topics) Create() machine.Instruction {
	return machine.Simple(func(f *machine.Frame, parameters *value.Object) (any, error) {
		wanted, err := read("createUserTopic", parameters)
		if err != nil {
			return nil, err
		}
		wanted.create = true
		return t.do(f, wanted)
	})
}

// Join is joinUserTopic: it lets people into a topic, the current user unless it names others, and makes the topic unless that
// is not wanted.
func (t *Topics) Join() machine.Instruction {
	return machine.Simple(func(f *machine.Frame, parameters *value.Object) (any, error) {
		wanted, err := read("joinUserTopic", parameters)
		if err != nil {
			return nil, err
		}
		said := parameters.Get("create")
		wanted.create = !value.Exists(said) || value.Truthy(said)
		if !wanted.named {
			wanted.users = current(f)
		}
		if len(wanted.users) == 0 {
			return nil, invalid("joinUserTopic", "there is no user; name some in userIds.")
		}
		return t.do(f, wanted)
	})
}

// current is the user that an automation runs for.
func current(f *machine.Frame) []string {
	who := f.Run().Caller
	if f.Run().Scopes != nil {
		who = f.Run().Scopes.Identity()
	}
	if who.UserID == "" {
		return nil
	}
	return []string{who.UserID}
}

// wanted is what an instruction asks for.
type wanted struct {
	topic string
	users []string
	// named tells that the instruction names the users.
	named  bool
	create bool
}

// do makes a topic and lets people in, with the events that tell of it.
func (t *Topics) do(f *machine.Frame, w wanted) (any, error) {
	_, err := f.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		return nil, t.Enter(ctx, tx, Entry{
			WorkspaceID: f.Run().Root.WorkspaceID, Topic: w.topic, UserIDs: w.users, Create: w.create, Origin: f.Origin(),
		})
	})
	if refusal, ok := errors.AsType[*errs.Error](err); ok {
		names := map[errs.Code]string{errs.NotFound: machine.ObjectNotFound, errs.QuotaExceeded: machine.QuotaExceeded}
		if name, ok := names[refusal.Code]; ok {
			err = machine.Fail(name, refusal.Message).With(machine.Payload("topic", w.topic))
		}
	}
	if err != nil {
		return nil, err
	}
	return value.Undefined{}, nil
}

// Entry lets people into a topic.
type Entry struct {
	WorkspaceID, Topic string
	UserIDs            []string
	// Create makes the topic if there is none.
	Create bool
	// Origin is where in a run it comes from.
	Origin envelope.Origin
}

// Enter makes a topic and lets people in, in the caller's transaction; resource_not_found when there is no such topic and none
// is to be made. What is so already is not told again, but for those who join: they are told each time.
func (t *Topics) Enter(ctx context.Context, tx *sqldb.Tx, e Entry) error {
	var records []bus.Record
	tell := func(payload catalogue.Payload) error {
		record, err := envelope.NativeFrom(ctx, service, e.WorkspaceID, payload, e.Origin)
		records = append(records, record)
		return err
	}
	created, err := t.ensure(ctx, tx, e)
	if err != nil {
		return err
	}
	if created {
		if err := tell(&catalogue.UserTopicCreated{Topic: e.Topic, UserIDs: e.UserIDs}); err != nil {
			return err
		}
	}
	for _, user := range e.UserIDs {
		if _, err := access.JoinTopic(ctx, tx, e.WorkspaceID, e.Topic, user, t.clock.Now()); err != nil {
			return err
		}
		if err := tell(&catalogue.UserTopicJoined{User: catalogue.TopicUser{ID: user}, Topic: e.Topic}); err != nil {
			return err
		}
	}
	if len(records) == 0 {
		return nil
	}
	_, err = t.bus.AppendTx(ctx, tx, records...)
	return err
}

// ensure makes sure that there is a topic, and tells whether it was made.
func (t *Topics) ensure(ctx context.Context, tx *sqldb.Tx, e Entry) (created bool, err error) {
	if e.Create {
		return access.CreateTopic(ctx, tx, e.WorkspaceID, e.Topic, t.clock.Now())
	}
	known, err := access.HasTopic(ctx, tx, e.WorkspaceID, e.Topic)
	if err == nil && !known {
		err = errs.New(errs.NotFound, "There is no such topic; make it with createUserTopic, or leave create out.")
	}
	return false, err
}

func invalid(instruction, message string) *machine.Failure {
	return machine.Fail(machine.InvalidInstruction, "Invalid "+instruction+" instruction: "+message)
}

// read makes sense of the parameters.
func read(instruction string, parameters *value.Object) (w wanted, err error) {
	topic, ok := parameters.Get("topic").(string)
	switch {
	case !ok || topic == "":
		return w, invalid(instruction, "name a topic.")
	case utf8.RuneCountInString(topic) > longestTopic:
		return w, invalid(instruction, fmt.Sprintf("the name of a topic may have %d characters at most.", longestTopic))
	}
	w.topic = topic
	switch given := parameters.Get("userIds").(type) {
	case nil, value.Undefined:
		return w, nil
	case string:
		w.users = []string{given}
	case []any:
		for _, item := range given {
			id, _ := item.(string) // refused below when it is none
			w.users = append(w.users, id)
		}
	default:
		return w, invalid(instruction, "userIds is a list of ids.")
	}
	w.named = true
	if len(w.users) > mostUsers {
		return w, invalid(instruction, fmt.Sprintf("userIds may have %d ids at most.", mostUsers))
	}
	if slices.ContainsFunc(w.users, func(id string) bool { return id == "" || utf8.RuneCountInString(id) > longestUser }) {
		return w, invalid(instruction, "each of userIds is the id of a user.")
	}
	slices.Sort(w.users) // runs that let the same people in take their rows in the same order
	w.users = slices.Compact(w.users)
	return w, nil
}
