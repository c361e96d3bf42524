package catalogue

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// Writer is a payload that writes itself, as those of events do that every run of an automation has. It is the same text that the
// encoder of the standard library writes, in a fraction of the time; a test holds them against each other.
type Writer interface {
	Payload
	// AppendJSON appends the payload.
	AppendJSON(out []byte) ([]byte, error)
}

// AppendText appends a text in quotes, as the encoder of the standard library writes it when HTML is not escaped.
func AppendText(out []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			made, _ := appendAny(out, text) // a text can always be written
			return made
		}
	}
	out = append(out, '"')
	out = append(out, text...)
	return append(out, '"')
}

// appendAny appends a value as the encoder writes it. JSON is taken as it is.
func appendAny(out []byte, v any) ([]byte, error) {
	if text, ok := v.(json.RawMessage); ok && text != nil {
		return append(out, text...), nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return append(out, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
}

// appendField appends a member of an object that is not the first; an empty text is left out.
func appendField(out []byte, name, text string) []byte {
	if text == "" {
		return out
	}
	return AppendText(append(out, name...), text)
}

func appendTime(out []byte, at time.Time) ([]byte, error) {
	out, err := at.AppendText(append(out, '"'))
	return append(out, '"'), err
}

func (t *Trigger) append(out []byte) []byte {
	out = AppendText(append(out, `{"type":`...), t.Type)
	out = AppendText(append(out, `,"value":`...), t.Value)
	out = appendField(out, `,"id":`, t.ID)
	out = appendField(out, `,"appInstanceSlug":`, t.AppInstanceSlug)
	return append(out, '}')
}

// AppendJSON appends the payload.
func (e *Interaction) AppendJSON(out []byte) ([]byte, error) {
	out = AppendText(append(out, `{"workspaceId":`...), e.WorkspaceID)
	out = appendField(out, `,"sourceWorkspaceId":`, e.SourceWorkspaceID)
	out = appendField(out, `,"authenticatedWorkspaceId":`, e.AuthenticatedWorkspaceID)
	out = AppendText(append(out, `,"automation":`...), e.Automation)
	out = e.Trigger.append(append(out, `,"trigger":`...))
	out, err := appendTime(append(out, `,"startedAt":`...), e.StartedAt)
	return append(out, '}'), err
}

// AppendJSON appends the payload. What it was called with and what it gave back are taken as they are when they are JSON.
func (e *AutomationExecuted) AppendJSON(out []byte) (_ []byte, err error) {
	out = AppendText(append(out, `{"slug":`...), e.Slug)
	out = e.Trigger.append(append(out, `,"trigger":`...))
	if e.Payload != nil {
		if out, err = appendAny(append(out, `,"payload":`...), e.Payload); err != nil {
			return out, err
		}
	}
	if e.Output != nil {
		if out, err = appendAny(append(out, `,"output":`...), e.Output); err != nil {
			return out, err
		}
	}
	out = strconv.AppendInt(append(out, `,"duration":`...), e.Duration, 10)
	if e.Throttled != 0 {
		out = strconv.AppendInt(append(out, `,"throttled":`...), e.Throttled, 10)
	}
	if out, err = appendTime(append(out, `,"startedAt":`...), e.StartedAt); err != nil {
		return out, err
	}
	out = strconv.AppendBool(append(out, `,"break":`...), e.Break)
	if e.Error != nil {
		if out, err = appendAny(append(out, `,"error":`...), e.Error); err != nil {
			return out, err
		}
	}
	return append(out, '}'), nil
}
