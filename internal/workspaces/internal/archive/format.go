package archive

import (
	"bytes"
	"slices"
)

// sniffed is how many leading bytes tell the format of a file: those of tar stand far behind.
const sniffed = 265

// signature is how files of a format begin.
type signature struct {
	format string
	offset int
	magic  string
}

// signatures are the archive formats we tell apart, to name them and to find archives inside archives.
func signatures() []signature {
	return []signature{
		{"zip", 0, "PK\x03\x04"},
		{"zip", 0, "PK\x05\x06"},
		{"zip", 0, "PK\x07\x08"},
		{"gzip", 0, "\x1f\x8b"},
		{"bzip2", 0, "BZh"},
		{"xz", 0, "\xfd7zXZ\x00"},
		{"zstd", 0, "\x28\xb5\x2f\xfd"},
		{"7z", 0, "7z\xbc\xaf\x27\x1c"},
		{"rar", 0, "Rar!\x1a\x07"},
		{"tar", 257, "ustar\x00"},
		{"tar", 257, "ustar  \x00"},
	}
}

// format is the archive format that head is the beginning of, "" for anything else.
func format(head []byte) string {
	all := signatures()
	at := slices.IndexFunc(all, func(s signature) bool {
		return len(head) >= s.offset && bytes.HasPrefix(head[s.offset:], []byte(s.magic))
	})
	if at < 0 || all[at].format == "bzip2" && !bytes.HasPrefix(head[min(4, len(head)):], []byte("1AY&SY")) {
		return ""
	}
	return all[at].format
}
