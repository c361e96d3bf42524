package rest

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/files"
)

const (
	maxParts       = 50
	longestOption  = 16 << 10
	metadataOption = "metadata"
	metadataPrefix = "metadata."
	dataPrefix     = "data:"
)

// form is an upload while it is read: part by part, and never more than one of them.
type form struct {
	reader *multipart.Reader
	// options are the values of the fields, in the order in which they came.
	options map[string][]string
	parts   int
	part    *formPart
}

// formPart is a field or a file of a form.
type formPart struct {
	field, name, kind string
	file              bool
	body              *bufio.Reader
	// failed is why the client's bytes ended early.
	failed error
	// garbled tells that they are not the base64 that they were said to be.
	garbled bool
}

func openForm(r *http.Request) (*form, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != formData {
		return nil, errs.New(errs.InvalidRequest, "Send the files as "+formData+".").WithStatus(http.StatusUnsupportedMediaType)
	}
	if params["boundary"] == "" {
		return nil, errs.New(errs.InvalidRequest, "The content type has no boundary, so the form cannot be read.")
	}
	return &form{reader: multipart.NewReader(r.Body, params["boundary"]), options: map[string][]string{}}, nil
}

// next gives the next part of the form; nil at its end.
func (f *form) next() (*formPart, error) {
	raw, err := f.reader.NextPart()
	if errors.Is(err, io.EOF) {
		return nil, nil //nolint:nilnil // the end is no part and no failure
	}
	if err != nil {
		return nil, unreadable(err)
	}
	if f.parts++; f.parts > maxParts {
		return nil, errs.Newf(errs.InvalidRequest, "The form has too many parts; at most %d are read.", maxParts)
	}
	_, params, err := mime.ParseMediaType(raw.Header.Get("Content-Disposition"))
	if err != nil || params["name"] == "" {
		return nil, errs.New(errs.InvalidRequest, "A part of the form has no name.")
	}
	part := &formPart{field: shortened(params["name"]), kind: raw.Header.Get("Content-Type")}
	part.name, part.file = params["filename"]
	part.body = bufio.NewReader(noting(raw, func(err error) { part.failed = err }))
	f.part = part
	return part, nil
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// noting tells of the failures of a reader. Whoever reads may wrap them, or take them for its own.
func noting(r io.Reader, failed func(error)) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			failed(err)
		}
		return n, err
	})
}

// explain tells what went wrong with the form when that is why something else failed.
func (f *form) explain(err error) error {
	switch {
	case err == nil || f.part == nil:
		return err
	case f.part.failed != nil:
		return unreadable(f.part.failed)
	case f.part.garbled:
		return errs.Invalid(errs.Field{Field: f.part.field, Message: "the data are not valid base64"})
	default:
		return err
	}
}

// unreadable is what to answer when a form cannot be read to its end.
func unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return errs.New(errs.PayloadTooLarge, "The form is too large.").With("limit", tooLarge.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errs.New(errs.InvalidRequest, "The form did not arrive in time.").WithStatus(http.StatusRequestTimeout)
	default:
		return errs.New(errs.InvalidRequest, "The form cannot be read to its end; it is cut off, or not the one that the content type describes.")
	}
}

func isOption(field string) bool {
	switch field {
	case "expiresAfter", "public", "shareToken", "id", metadataOption:
		return true
	default:
		return strings.HasPrefix(field, metadataPrefix)
	}
}

// keep remembers the value of a field.
func (f *form) keep(part *formPart) error {
	text, err := io.ReadAll(io.LimitReader(part.body, longestOption+1))
	if err != nil {
		return err
	}
	switch {
	case part.field == "id":
		return errs.Invalid(errs.Field{Field: "id", Message: "ids are made by the service; replace the content of a file with PUT"})
	case len(text) > longestOption:
		return errs.Invalid(errs.Field{Field: part.field, Message: "it is longer than " + strconv.Itoa(longestOption) + " bytes"})
	}
	f.options[part.field] = append(f.options[part.field], string(text))
	return nil
}

// incoming is the file of a part; nil when a browser sent the field of a file that nobody chose.
func (p *formPart) incoming() (*files.Incoming, error) {
	if p.file {
		if _, err := p.body.Peek(1); p.name == "" && errors.Is(err, io.EOF) {
			return nil, nil //nolint:nilnil // there is none
		}
		return &files.Incoming{Field: p.field, Name: p.name, Type: p.kind, Content: p.body}, nil
	}
	if start, _ := p.body.Peek(len(dataPrefix)); string(start) != dataPrefix {
		if p.failed != nil {
			return nil, p.failed
		}
		return nil, errs.Invalid(errs.Field{Field: p.field, Message: "send a file, or a text of the form data:{type};filename:{name};base64,{bytes}"})
	}
	return p.data()
}

// data is the file of a text of the form data:{type};filename:{name};base64,{bytes}.
func (p *formPart) data() (*files.Incoming, error) {
	const longestHead = 4096
	wrong := errs.Invalid(errs.Field{Field: p.field, Message: "write it as data:{type};filename:{name};base64,{bytes}"})
	var head strings.Builder
	for {
		c, err := p.body.ReadByte()
		if err != nil || head.Len() > longestHead {
			return nil, wrong
		}
		if c == ',' {
			break
		}
		head.WriteByte(c)
	}
	said, isBase64 := strings.CutSuffix(strings.TrimPrefix(head.String(), dataPrefix), ";base64")
	if !isBase64 {
		return nil, wrong
	}
	kind, attributes, _ := strings.Cut(said, ";")
	in := &files.Incoming{Field: p.field, Type: kind, Content: noting(base64.NewDecoder(base64.StdEncoding, p.body), func(error) { p.garbled = true })}
	for attribute := range strings.SplitSeq(attributes, ";") {
		for _, prefix := range []string{"filename:", "filename=", "name="} {
			if name, ok := strings.CutPrefix(attribute, prefix); ok {
				in.Name = name
			}
		}
	}
	if plain, err := url.PathUnescape(in.Name); err == nil {
		in.Name = plain
	}
	return in, nil
}

// soFar is what is known about the file at a place when its bytes come.
func (f *form) soFar(place int) (files.Options, error) {
	var known files.Options
	if text, ok := pick(f.options["public"], place); ok {
		public, err := truth(text)
		if err != nil {
			return known, err
		}
		known.Public = &public
	}
	metadata, err := f.metadata(place)
	if len(metadata) > 0 {
		known.Metadata = &metadata
	}
	return known, err
}

// all are the options of every file.
func (f *form) all(of *files.Files, count int) ([]files.Options, error) {
	for field, values := range f.options {
		if len(values) != 1 && len(values) != count {
			return nil, errs.Invalid(errs.Field{Field: field, Message: "give it once, or once for each file"})
		}
	}
	options := make([]files.Options, count)
	for i := range options {
		var err error
		if options[i], err = f.soFar(i); err != nil {
			return nil, err
		}
		if text, ok := pick(f.options["expiresAfter"], i); ok {
			seconds, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, errs.Invalid(errs.Field{Field: "expiresAfter", Message: "give a whole number of seconds"})
			}
			options[i].ExpiresAfter = &seconds
		}
		if text, ok := pick(f.options["shareToken"], i); ok {
			token, err := shareToken(of, asToken(text))
			if err != nil {
				return nil, err
			}
			options[i].ShareToken = &token
		}
	}
	return options, nil
}

// metadata joins the JSON object and the single texts that are about the file at a place.
func (f *form) metadata(place int) (files.Metadata, error) {
	joined := files.Metadata{}
	if text, ok := pick(f.options[metadataOption], place); ok {
		parsed, err := files.ParseMetadata(text)
		if err != nil {
			return nil, err
		}
		joined = parsed
	}
	for field, values := range f.options {
		name, ok := strings.CutPrefix(field, metadataPrefix)
		if text, given := pick(values, place); ok && given {
			joined.Set(name, text)
		}
	}
	return joined, joined.Check()
}

// pick gives the value of a field for the file at a place: its own, or the one for all.
func pick(values []string, place int) (string, bool) {
	switch {
	case len(values) == 1:
		return values[0], true
	case place < len(values):
		return values[place], true
	default:
		return "", false
	}
}

func truth(text string) (bool, error) {
	switch text {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	default:
		return false, errs.Invalid(errs.Field{Field: "public", Message: "use true or false"})
	}
}

// asToken is the text of a field as JSON would have it: a truth, or a token.
func asToken(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	default:
		return text
	}
}
