package webhook

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"path"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// fields are the fields of a form in the order in which they came. What comes more than once becomes a list.
type fields struct{ *value.Object }

func (f fields) add(name string, v any, seen map[string]int) {
	seen[name]++
	switch seen[name] {
	case 1:
		f.Set(name, v)
	case 2:
		f.Set(name, []any{f.Get(name), v})
	default:
		list, _ := f.Get(name).([]any)
		f.Set(name, append(list, v))
	}
}

// pairs reads a query, or an encoded form. Names with brackets mean nothing but themselves.
func (l Limits) pairs(text string) (*value.Object, error) {
	if text == "" {
		return value.NewObject(0), nil
	}
	out, seen, count := fields{value.NewObject(0)}, map[string]int{}, 0
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		if count++; count > l.Pairs {
			return nil, tooLarge("There are too many parameters.", int64(l.Pairs))
		}
		name, v, _ := strings.Cut(pair, "=")
		out.add(unescaped(name), unescaped(v), seen)
	}
	return out.Object, nil
}

// unescaped reads an escaped text; one that is not escaped well stays as it is.
func unescaped(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		plain = text
	}
	return valid(plain)
}

// form reads a form with files, part by part.
func (l Limits) form(body io.Reader, boundary string) (any, error) {
	if boundary == "" {
		return nil, machine.Fail(InvalidRequest, "The content type has no boundary, so the form cannot be read.")
	}
	counted := &counter{reader: body, left: l.Total, last: []byte("--" + boundary + "--")}
	reader, out, seen := multipart.NewReader(counted, boundary), fields{value.NewObject(0)}, map[string]int{}
	for parts := 1; ; parts++ {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) && counted.whole { // one that is cut off between two parts ends the same way
			return out.Object, nil
		}
		if err != nil {
			return nil, l.failed(counted, err)
		}
		if parts > l.Parts {
			return nil, tooLarge("The form has too many parts.", int64(l.Parts))
		}
		name, v, err := l.part(part)
		if err != nil {
			return nil, l.failed(counted, err)
		}
		if v != nil {
			out.add(name, v, seen)
		}
	}
}

// failed is why a form could not be read: what a part says of itself, or that all of it is too large, or cut off.
func (l Limits) failed(counted *counter, err error) error {
	if counted.left < 0 {
		return tooLarge("The form is too large.", l.Total)
	}
	if failure, ok := errors.AsType[*machine.Failure](err); ok {
		return failure
	}
	return unreadable(err)
}

// part reads a field or a file; nil for a file that nobody chose.
func (l Limits) part(part *multipart.Part) (name string, v any, err error) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return "", nil, machine.Fail(InvalidRequest, "A part of the form does not say what it is.").Because(err)
	}
	name = valid(params["name"])
	filename, isFile := params["filename"]
	if name == "" {
		name = "file"
	}
	if !isFile {
		text, err := io.ReadAll(io.LimitReader(part, l.Field+1))
		if err == nil && int64(len(text)) > l.Field {
			err = tooLarge("A field of the form is too large: "+shortened(name), l.Field)
		}
		return name, valid(string(text)), err
	}
	file, size, err := l.file(part, name)
	if err != nil || size == 0 && filename == "" {
		return name, nil, err
	}
	file.Set("originalname", valid(path.Base(strings.ReplaceAll(filename, `\`, "/"))))
	return name, file, nil
}

// file reads a file. Its bytes are encoded as they come, so that there is only one copy of them.
func (l Limits) file(part *multipart.Part, name string) (*value.Object, int64, error) {
	var text strings.Builder
	encoder := base64.NewEncoder(base64.StdEncoding, &text)
	size, err := io.Copy(encoder, io.LimitReader(part, l.File+1))
	if err != nil {
		return nil, 0, err
	}
	if size > l.File {
		return nil, 0, tooLarge("A file is too large: "+shortened(name), l.File)
	}
	if err := encoder.Close(); err != nil {
		return nil, 0, err
	}
	kind := part.Header.Get("Content-Type")
	if kind == "" {
		kind = "application/octet-stream"
	}
	encoding := part.Header.Get("Content-Transfer-Encoding")
	if encoding == "" {
		encoding = "7bit"
	}
	return machine.Payload(
		"originalname", "", "encoding", valid(encoding), "mimetype", valid(kind), "size", float64(size), "base64", text.String(),
	), size, nil
}

func shortened(name string) string {
	const longest = 100
	if len(name) <= longest {
		return name
	}
	return valid(name[:longest]) + "..."
}

// counter is a reader of so many bytes, which looks for what ends them.
type counter struct {
	reader io.Reader
	// left is negative when there were more.
	left int64
	// last is what comes in the end, whole tells that it came, and tail is the end of what was read so far.
	last, tail []byte
	whole      bool
}

var errTooMuch = errors.New("the body is longer than allowed")

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, errTooMuch
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.reader.Read(p)
	c.look(p[:n])
	c.left -= int64(n)
	if c.left < 0 {
		return n, errTooMuch
	}
	return n, err
}

// look notes whether the last thing came; it may come in two pieces.
func (c *counter) look(p []byte) {
	if c.whole {
		return
	}
	overlap := len(c.last) - 1
	c.tail = append(c.tail, p[:min(len(p), overlap)]...)
	c.whole = bytes.Contains(c.tail, c.last) || bytes.Contains(p, c.last)
	if len(p) > overlap {
		c.tail = append(c.tail[:0], p[len(p)-overlap:]...)
	} else if len(c.tail) > overlap {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-overlap:]...)
	}
}
