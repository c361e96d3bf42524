package js

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
)

// bytesOfBase64 reads both alphabets, with padding or without, and stops at what is neither.
func bytesOfBase64(_ *VM, a arguments) (any, error) {
	text := strings.NewReplacer("-", "+", "_", "/", "\n", "", "\r", "", "\t", "", " ", "").Replace(a.text(0))
	end := strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '/'
	})
	if end >= 0 {
		text = text[:end]
	}
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	return binary(data), a.err()
}

// unescape decodes %xx; what is no such sequence stays.
func unescape(_ *VM, a arguments) (any, error) {
	text := a.text(0)
	data := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2]) {
			data = append(data, hexOf(text[i+1])<<4|hexOf(text[i+2]))
			i += 2
			continue
		}
		data = append(data, text[i])
	}
	return strings.ToValidUTF8(string(data), "\ufffd"), a.err()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func hexOf(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	default:
		return c - '0'
	}
}

// parts are those of an address as JavaScript names them.
type parts struct {
	Protocol string `json:"protocol"`
	Slashes  bool   `json:"slashes"`
	Username string `json:"username"`
	Password string `json:"password"` //nolint:gosec // a part of an address that code takes apart
	Hostname string `json:"hostname"`
	Port     string `json:"port"`
	Pathname string `json:"pathname"`
	Search   string `json:"search"`
	Hash     string `json:"hash"`
}

var errURL = errors.New("it is not an absolute address")

func parseURL(_ *VM, a arguments) (any, error) {
	input, base := strings.TrimSpace(a.text(0)), strings.TrimSpace(a.text(1))
	if err := a.err(); err != nil {
		return nil, err
	}
	parsed, err := url.Parse(input)
	if err != nil {
		return nil, err
	}
	if base != "" {
		from, err := url.Parse(base)
		if err != nil || from.Scheme == "" {
			return nil, errURL
		}
		parsed = from.ResolveReference(parsed)
	}
	special := map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
	port, isSpecial := special[parsed.Scheme]
	if parsed.Scheme == "" || (isSpecial && parsed.Hostname() == "") {
		return nil, errURL
	}
	p := parts{Protocol: parsed.Scheme + ":", Slashes: parsed.Opaque == "", Hostname: strings.ToLower(parsed.Hostname()), Port: parsed.Port(), Pathname: parsed.EscapedPath()}
	if strings.Contains(p.Hostname, ":") {
		p.Hostname = "[" + p.Hostname + "]"
	}
	if p.Port == port {
		p.Port = ""
	}
	if parsed.Opaque != "" {
		p.Pathname = parsed.Opaque
	} else if p.Pathname == "" && isSpecial {
		p.Pathname = "/"
	}
	if parsed.User != nil {
		p.Username, p.Password, _ = strings.Cut(parsed.User.String(), ":")
	}
	if parsed.RawQuery != "" {
		p.Search = "?" + strings.ReplaceAll(parsed.RawQuery, " ", "%20")
	}
	if parsed.Fragment != "" {
		p.Hash = "#" + parsed.EscapedFragment()
	}
	text, err := json.Marshal(p)
	return string(text), err
}

func pack(_ *VM, a arguments) (any, error) {
	var packed bytes.Buffer
	var w io.WriteCloser
	switch format, data := a.text(0), a.bytes(1); format {
	case "gzip":
		w = gzip.NewWriter(&packed)
		return finish(w, data, &packed, a)
	case "zlib":
		w = zlib.NewWriter(&packed)
		return finish(w, data, &packed, a)
	case "raw":
		w, err := flate.NewWriter(&packed, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		return finish(w, data, &packed, a)
	default:
		return nil, unavailable("format", format)
	}
}

func finish(w io.WriteCloser, data []byte, packed *bytes.Buffer, a arguments) (any, error) {
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close(), a.err()); err != nil {
		return nil, err
	}
	return binary(packed.Bytes()), nil
}

// unpack gives what was packed, unless that is more than there is room for.
func unpack(m *VM, a arguments) (any, error) {
	data := bytes.NewReader(a.bytes(1))
	var r io.Reader
	var err error
	switch format := a.text(0); format {
	case "gzip":
		r, err = gzip.NewReader(data)
	case "zlib":
		r, err = zlib.NewReader(data)
	case "raw":
		r = flate.NewReader(data)
	default:
		return nil, unavailable("format", format)
	}
	if err = errors.Join(err, a.err()); err != nil {
		return nil, errors.New("the data is not compressed in this way")
	}
	most := m.limits.Heap / 8
	unpacked, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, errors.New("the data is damaged")
	}
	if int64(len(unpacked)) > most {
		return nil, errors.New("what was compressed is too large to be unpacked here")
	}
	return binary(unpacked), nil
}
