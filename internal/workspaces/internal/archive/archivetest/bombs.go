package archivetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
)

// bombs are B-ARC-03: little that becomes much.
func bombs() []Case {
	return []Case{
		{Name: "1 M entries, counted honestly modulo 65536", Status: http.StatusUnprocessableEntity, Field: "archive", Build: func() []byte { return million(16960) }},
		{Name: "1 M entries behind a small count", Status: http.StatusUnprocessableEntity, Field: "archive", Build: func() []byte { return million(1) }},
		{Name: "5001 entries", Status: http.StatusUnprocessableEntity, Field: "archive", Build: func() []byte { return many(5001) }},
		{Name: "more than 50 MB", Status: http.StatusRequestEntityTooLarge, Build: func() []byte {
			return Zip(Index(), Entry{Name: "current/x", Text: make([]byte, 50_000_000)})
		}},
		{Name: "a file of 6 MB", Status: http.StatusRequestEntityTooLarge, Build: func() []byte {
			return Zip(Index(), Entry{Name: "current/pages/a.yml", Text: noise(6_000_000)})
		}},
		{Name: "a file that claims 4 GB", Status: http.StatusRequestEntityTooLarge, Build: func() []byte {
			huge := func(h *Header) { h.Size = 0xfffffffe }
			return Zip(Index(), Entry{Name: "current/pages/a.yml", Text: []byte("a"), Method: Deflated, Local: huge, Central: huge})
		}},
		{Name: "a bomb of 45 MB in ignored files", Status: http.StatusRequestEntityTooLarge, Build: func() []byte { return repeated("other/%d.bin", 9) }},
		{Name: "a bomb of 45 MB in documents", Status: http.StatusRequestEntityTooLarge, Build: func() []byte { return repeated("current/pages/p%d.yml", 9) }},
		{Name: "a bomb of 20 GB by overlap", Status: http.StatusUnprocessableEntity, Build: overlap},
		invalid("an archive in an archive", Entry{Name: "current/inner.zip", Text: Zip(Index())}),
		invalid("an archive under another name", Entry{Name: "current/pages/a.yml", Text: Zip(Index())}),
		invalid("a packed archive in an archive", Entry{Name: "workspaces/abc1234.zip", Text: Zip(Index()), Method: Deflated}),
		invalid("a gzip file in an archive", Entry{Name: "current/a.gz", Text: []byte("\x1f\x8b\x08\x00\x00\x00")}),
		invalid("a tar file in an archive", Entry{Name: "current/a.dat", Text: tarFile()}),
		{Name: "42.zip", Status: http.StatusUnprocessableEntity, Build: func() []byte {
			inner := repeated("%d.dll", 1)
			for range 5 {
				var layer []Entry
				for i := range 16 {
					layer = append(layer, Entry{Name: fmt.Sprintf("lib %x.zip", i), Text: inner, Method: Deflated})
				}
				inner = Zip(layer...)
			}
			return inner
		}},
	}
}

// noise does not get smaller.
func noise(n int) []byte {
	text := make([]byte, 0, n+8)
	for state := uint64(1); len(text) < n; state ^= state << 17 {
		state ^= state << 13
		state ^= state >> 7
		text = binary.LittleEndian.AppendUint64(text, state)
	}
	return text[:n]
}

// million is one file that a million entries of the directory share.
func million(count uint16) []byte {
	whole := Zip(Entry{Name: "x"})
	const localLength, recordLength = 31, 47
	out := bytes.NewBuffer(nil)
	out.Write(whole[:localLength])
	out.Write(bytes.Repeat(whole[localLength:localLength+recordLength], 1_000_000))
	out.WriteString("PK\x05\x06")
	put(out, uint16(0), uint16(0), count, count, uint32(1_000_000*recordLength), uint32(localLength), uint16(0))
	return out.Bytes()
}

func many(n int) []byte {
	entries := []Entry{Index()}
	for i := range n - 1 {
		entries = append(entries, file(fmt.Sprintf("current/automations/a%d.yml", i)))
	}
	return Zip(entries...)
}

// repeated are n files of nearly 5 MB each, which deflate makes a thousand times smaller.
func repeated(name string, n int) []byte {
	text := make([]byte, 4_999_999)
	packed := Deflate(text)
	entries := []Entry{Index()}
	for i := range n {
		entries = append(entries, Entry{Name: fmt.Sprintf(name, i), Text: text, Method: Deflated, Packed: packed})
	}
	return Zip(entries...)
}

// overlap is a bomb whose entries all use the same data.
func overlap() []byte {
	text := make([]byte, 4_999_999)
	first := Entry{Name: "current/pages/p.yml", Text: text, Method: Deflated, Packed: Deflate(text)}
	entries, sum := []Entry{Index(), first}, crc32.ChecksumIEEE(text)
	offset := size32(len(Zip(Index())) - len("current/index.yml") - 46 - 22)
	for i := range 4000 {
		again := Entry{Name: fmt.Sprintf("current/pages/p%d.yml", i), Method: Deflated, Packed: []byte{}}
		again.Central = func(h *Header) {
			h.Offset, h.CRC, h.Packed, h.Size = offset, sum, size32(len(first.Packed)), size32(len(text))
		}
		entries = append(entries, again)
	}
	return Zip(entries...)
}

// tarFile is the header of a tar file with a link in it.
func tarFile() []byte {
	header := make([]byte, 1536)
	copy(header, "current/index.yml")
	copy(header[156:], "2")
	copy(header[157:], "/etc/passwd")
	copy(header[257:], "ustar\x0000")
	return header
}

// formats are B-ARC-04 and the formats that are not zip.
func formats() []Case {
	raw := func(name, text string) Case {
		return Case{Name: name, Status: http.StatusUnprocessableEntity, Field: "archive", Build: func() []byte { return []byte(text) }}
	}
	return []Case{
		raw("empty", ""), raw("one byte", "P"), raw("wrong magic", "QK\x03\x04"+strings.Repeat("\x00", 100)), raw("YAML", "name: Shop\n"),
		raw("only a magic", "PK\x03\x04"), raw("zeros", strings.Repeat("\x00", 4096)), raw("a sparse tar", string(tarFile())),
		raw("gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), raw("gzip of two streams", strings.Repeat("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00", 2)),
		raw("bzip2", "BZh91AY&SY"), raw("xz", "\xfd7zXZ\x00\x00"), raw("zstd", "\x28\xb5\x2f\xfd\x00"), raw("7z", "7z\xbc\xaf\x27\x1c"), raw("rar", "Rar!\x1a\x07\x01\x00"),
		raw("an empty zip", string(Zip())),
	}
}
