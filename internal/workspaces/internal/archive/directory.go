package archive

import (
	"bufio"
	"encoding/binary"
	"io"
)

// The records of the zip format: how each begins, and the length of its fixed part.
const (
	localSignature      = 0x04034b50
	localLength         = 30
	centralSignature    = 0x02014b50
	centralLength       = 46
	descriptorSignature = 0x08074b50
	endSignature        = 0x06054b50
	endLength           = 22
)

// maxComment is how long the comment of an archive may be. Git puts the id of a commit there.
const maxComment = 255

// container is one zip file being read. The archives inside a bulk archive share the budget of the outer one.
type container struct {
	r      io.ReaderAt
	size   int64
	prefix string // of names in failures: the path of an inner archive
	budget *budget
	work   *scratch
}

// end is what the end record says about the directory.
type end struct {
	at           int64
	count        int
	size, offset int64
}

// entries reads the directory and checks it against the rest of the file: every byte belongs to exactly one entry.
func (z *container) entries() ([]entry, error) {
	tail, err := z.end()
	if err != nil {
		return nil, err
	}
	if err := z.budget.takeEntries(tail.count); err != nil {
		return nil, err
	}
	entries, err := z.directory(tail)
	if err != nil {
		return nil, err
	}
	if err := z.tile(entries, tail.offset); err != nil {
		return nil, err
	}
	return entries, z.distinct(entries)
}

// end finds the end record, which must be the last thing in the file.
func (z *container) end() (end, error) {
	head := make([]byte, min(z.size, sniffed))
	if err := z.readAt(whole, head, 0); err != nil {
		return end{}, err
	}
	if kind := format(head); kind != "zip" {
		return end{}, z.refuse(whole, "%s", notZip(kind, z.size))
	}
	buffer := make([]byte, min(z.size, endLength+maxComment))
	if err := z.readAt(whole, buffer, z.size-int64(len(buffer))); err != nil {
		return end{}, err
	}
	for comment := 0; comment+endLength <= len(buffer); comment++ {
		if comment > 0 && !plain(buffer[len(buffer)-comment]) {
			break
		}
		record := buffer[len(buffer)-endLength-comment:]
		if binary.LittleEndian.Uint32(record) == endSignature && int(binary.LittleEndian.Uint16(record[20:])) == comment {
			return z.parseEnd(record, z.size-int64(len(record)))
		}
	}
	return end{}, z.refuse(whole, "it is cut off, or something follows its end; make the archive again")
}

// plain tells whether a byte may stand in a comment. Nothing that looks like a record can be made of plain bytes.
func plain(b byte) bool { return b >= ' ' && b <= '~' }

func notZip(kind string, size int64) string {
	switch {
	case size == 0:
		return "it is empty; send a zip file"
	case kind == "":
		return "it is not a zip file"
	}
	return "it is a " + kind + " file; send a zip file"
}

func (z *container) parseEnd(record []byte, at int64) (end, error) {
	word := func(offset int) int { return int(binary.LittleEndian.Uint16(record[offset:])) }
	long := func(offset int) int64 { return int64(binary.LittleEndian.Uint32(record[offset:])) }
	found := end{at: at, count: word(10), size: long(12), offset: long(16)}
	switch {
	case found.count == 0xffff, found.size == 0xffffffff, found.offset == 0xffffffff:
		return end{}, z.refuse(whole, "zip64 is not accepted, and not needed for its size")
	case word(4) != 0, word(6) != 0, word(8) != found.count:
		return end{}, z.refuse(whole, "it is one part of several; send it in one file")
	case found.offset+found.size != at:
		return end{}, z.refuse(whole, "its directory is not where its end says; make the archive again")
	}
	return found, nil
}

// directory reads as many entries as the end record counts; there must be nothing beside them.
func (z *container) directory(tail end) ([]entry, error) {
	section := bufio.NewReader(io.NewSectionReader(z.r, tail.offset, tail.size))
	entries := make([]entry, 0, tail.count)
	left := tail.size
	for range tail.count {
		e, length, err := z.centralEntry(section)
		if err != nil {
			return nil, err
		}
		left -= length
		entries = append(entries, e)
	}
	if left != 0 {
		return nil, z.refuse(whole, "its directory holds more than its end says; make the archive again")
	}
	return entries, z.budget.inTime()
}

// centralEntry reads one entry of the directory and gives its length.
func (z *container) centralEntry(section *bufio.Reader) (entry, int64, error) {
	fixed := z.work.fixed[:centralLength]
	if _, err := io.ReadFull(section, fixed); err != nil {
		return entry{}, 0, z.unreadable(whole, err)
	}
	word := func(offset int) uint16 { return binary.LittleEndian.Uint16(fixed[offset:]) }
	long := func(offset int) uint32 { return binary.LittleEndian.Uint32(fixed[offset:]) }
	if long(0) != centralSignature {
		return entry{}, 0, z.refuse(whole, "its directory is damaged; make the archive again")
	}
	names, extras, comment := int(word(28)), int(word(30)), int(word(32))
	variable := z.work.variable[:names+extras]
	if _, err := io.ReadFull(section, variable); err != nil {
		return entry{}, 0, z.unreadable(whole, err)
	}
	if _, err := section.Discard(comment); err != nil {
		return entry{}, 0, z.unreadable(whole, err)
	}
	e := entry{
		name: string(variable[:names]), flags: word(8), method: word(10), crc: long(16), packed: int64(long(20)), size: int64(long(24)),
		attributes: long(38), offset: int64(long(42)),
	}
	if word(34) != 0 {
		return entry{}, 0, z.refuse(e.name, "it is in another part of the archive")
	}
	if err := z.admit(&e, variable[names:]); err != nil {
		return entry{}, 0, err
	}
	return e, int64(centralLength + len(variable) + comment), nil
}

// readAt reads exactly the bytes at an offset.
func (z *container) readAt(name string, buffer []byte, offset int64) error {
	if n, err := z.r.ReadAt(buffer, offset); n < len(buffer) {
		return z.unreadable(name, err)
	}
	return nil
}

// The failures of an inner archive name its path too.
func (z *container) refuse(name, format string, args ...any) error {
	return refuse(z.named(name), format, args...)
}

func (z *container) unreadable(name string, err error) error { return unreadable(z.named(name), err) }

func (z *container) named(name string) string {
	switch {
	case z.prefix == "":
		return name
	case name == whole:
		return z.prefix
	}
	return z.prefix + "/" + name
}
