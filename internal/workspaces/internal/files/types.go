package files

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
)

// sniffed is how many bytes of a file are looked at.
const sniffed = 512

const (
	anyBytes  = "application/octet-stream"
	plainText = "text/plain"
)

// mediaType is the type that a file is kept and served as, from what its uploader says, its name and its first bytes. One
// that browsers show is only believed when the bytes are of that type; nothing is served as more than it was said to be.
func mediaType(declared, name string, head []byte) string {
	said, named, seen := canonical(declared), byExtension(name), detect(head)
	if said == "" || said == anyBytes {
		said = undeclared(named, seen)
	}
	if family(said) == "" {
		return said
	}
	kind := confirmed(said, seen)
	if kind != plainText && named != "" && family(named) == "" {
		return anyBytes // a picture that calls itself a page
	}
	return kind
}

// undeclared is the type of a file of which only the name and the bytes speak.
func undeclared(named, seen string) string {
	switch {
	case named != "" && !active(named):
		return named
	case named == "" && family(seen) != "":
		return seen
	default:
		return anyBytes
	}
}

// confirmed holds a type that browsers show against the bytes.
func confirmed(said, seen string) string {
	switch {
	case family(said) == family(seen):
		return said
	case said == plainText && strings.HasPrefix(seen, "text/"):
		return said
	case family(seen) != "" && seen != plainText:
		return seen
	default:
		return anyBytes
	}
}

// family names the format of types that browsers show and that cannot carry a script; empty for all others.
func family(kind string) string {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "audio/mpeg", "audio/wav", plainText:
		return kind
	case "video/mp4", "audio/mp4":
		return "mp4"
	case "video/webm", "audio/webm":
		return "webm"
	case "audio/ogg", "video/ogg":
		return "ogg"
	default:
		return ""
	}
}

// Inert tells whether browsers may show a file of the type instead of saving it.
func Inert(kind string) bool { return family(kind) != "" }

// active tells the types that browsers run, or may.
func active(kind string) bool {
	return strings.Contains(kind, "html") || strings.HasSuffix(kind, "xml") || strings.Contains(kind, "script")
}

// canonical is the type without its parameters, in the spelling that we know; empty when it is none.
func canonical(declared string) string {
	const longest = 100
	kind, _, err := mime.ParseMediaType(declared)
	if main, sub, _ := strings.Cut(kind, "/"); err != nil || main == "" || sub == "" || len(kind) > longest {
		return ""
	}
	switch kind {
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "image/x-png":
		return "image/png"
	case "audio/mp3", "audio/x-mp3", "audio/x-mpeg":
		return "audio/mpeg"
	case "audio/wave", "audio/x-wav", "audio/vnd.wave":
		return "audio/wav"
	case "audio/x-m4a", "audio/m4a":
		return "audio/mp4"
	case "application/ogg":
		return "audio/ogg"
	case "binary/octet-stream":
		return anyBytes
	default:
		return kind
	}
}

// detect tells what the bytes are, whatever anybody says.
func detect(head []byte) string {
	switch {
	case len(head) > 11 && bytes.Equal(head[4:8], []byte("ftyp")) && bytes.HasPrefix(head[8:], []byte("avi")):
		return "image/avif"
	case len(head) > 1 && head[0] == 0xff && head[1]&0xe6 == 0xe2: // a frame of MPEG layer III without a tag before it
		return "audio/mpeg"
	default:
		return canonical(http.DetectContentType(head))
	}
}

// byExtension is the type that a name promises; empty when it promises none that we know. The machine's own table is not
// asked, because it differs from machine to machine.
func byExtension(name string) string {
	for kind, endings := range map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg .jpeg", "image/gif": ".gif", "image/webp": ".webp", "image/avif": ".avif",
		"video/mp4": ".mp4 .m4v", "video/webm": ".webm", "audio/mpeg": ".mp3", "audio/ogg": ".ogg .oga .opus", "video/ogg": ".ogv", "audio/wav": ".wav",
		"audio/mp4": ".m4a", plainText: ".txt .log .text", "text/csv": ".csv", "text/markdown": ".md", "text/css": ".css",
		"application/json": ".json", "application/yaml": ".yml .yaml", "application/pdf": ".pdf", "application/zip": ".zip", "application/gzip": ".gz .tgz",
		"text/html": ".html .htm", "application/xhtml+xml": ".xhtml .xht", "image/svg+xml": ".svg .svgz", "text/xml": ".xml .xsl .xslt",
		"text/javascript": ".js .mjs", "font/woff": ".woff", "font/woff2": ".woff2", "font/ttf": ".ttf", "font/otf": ".otf",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
		"application/x-msdownload": ".exe .dll .msi .com .bat .cmd .scr", "application/x-sh": ".sh",
	} {
		if slices.Contains(strings.Fields(endings), strings.ToLower(path.Ext(name))) {
			return kind
		}
	}
	return ""
}

// allows tells whether files of a type are taken.
func (s Settings) allows(kind string) bool {
	matches := func(pattern string) bool {
		main, wild := strings.CutSuffix(strings.ToLower(pattern), "*")
		return wild && strings.HasPrefix(kind, main) || strings.EqualFold(pattern, kind)
	}
	return slices.ContainsFunc(s.Allowed, matches) && !slices.ContainsFunc(s.Forbidden, matches)
}
