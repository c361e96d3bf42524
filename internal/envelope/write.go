package envelope

import (
	"strconv"

	"atelier/internal/bus"
	"atelier/internal/catalogue"
)

// usual is the room that the event of an endpoint's run takes, so that its text hardly ever has to grow.
const usual = 640

// written makes the record of a payload that writes itself, in one piece of memory and without the encoder of the standard library. What is JSON in
// it already was written by the language, from values.
func written(workspaceID, eventType string, payload catalogue.Writer, source *Source) (bus.Record, error) {
	text := append(make([]byte, 0, usual), `{"payload":`...)
	text, err := payload.AppendJSON(text)
	text = source.append(append(text, `,"source":`...))
	return bus.Record{
		WorkspaceID: workspaceID, Type: eventType, Body: append(text, '}'), Correlation: source.CorrelationID, User: source.UserID, Checked: true,
	}, err
}

// append writes the source as its tags say; what is empty is left out.
func (s *Source) append(text []byte) []byte {
	o := object{text: append(text, '{')}
	o.string("workspaceId", s.WorkspaceID)
	o.string("userId", s.UserID)
	o.string("sessionId", s.SessionID)
	o.string("ip", s.IP)
	o.string("correlationId", s.CorrelationID)
	o.string("socketId", s.SocketID)
	o.string("serviceTopic", s.ServiceTopic)
	if s.Hops != 0 {
		o.int("hops", &s.Hops)
	}
	if s.Host != nil {
		o.key("host")
		o.text = catalogue.AppendText(append(o.text, `{"service":`...), s.Host.Service)
		o.text = append(o.text, '}')
	}
	o.string("automationSlug", s.AutomationSlug)
	o.int("automationDepth", s.AutomationDepth)
	o.string("appSlug", s.AppSlug)
	o.string("appInstanceFullSlug", s.AppInstanceFullSlug)
	o.int("appInstanceDepth", s.AppInstanceDepth)
	return append(o.text, '}')
}

// object is a JSON object that is being written.
type object struct {
	text []byte
	more bool // it has a member
}

func (o *object) key(name string) {
	if o.more {
		o.text = append(o.text, ',')
	}
	o.more = true
	o.text = append(o.text, '"')
	o.text = append(o.text, name...)
	o.text = append(o.text, '"', ':')
}

func (o *object) string(name, v string) {
	if v != "" {
		o.key(name)
		o.text = catalogue.AppendText(o.text, v)
	}
}

func (o *object) int(name string, v *int) {
	if v != nil {
		o.key(name)
		o.text = strconv.AppendInt(o.text, int64(*v), 10)
	}
}
