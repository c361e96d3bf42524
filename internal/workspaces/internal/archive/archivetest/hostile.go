package archivetest

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
)

// Case is an archive that must be refused.
type Case struct {
	Name string
	// Status is what a client must get for it.
	Status int
	// Field is the entry that the failure must name, when it is about one.
	Field string
	// Build makes the archive; some are large.
	Build func() []byte
}

// The modes of Unix as they stand in the attributes of an entry.
const (
	Regular   = 0o100644 << 16
	Folder    = 0o040755 << 16
	Symlink   = 0o120777 << 16
	Device    = 0o060644 << 16
	Character = 0o020644 << 16
	FIFO      = 0o010644 << 16
	Socket    = 0o140644 << 16
	Setuid    = 0o104755 << 16
	Setgid    = 0o102755 << 16
	Sticky    = 0o101755 << 16
)

// Index is the entry that makes an archive one of a workspace.
func Index() Entry {
	return Entry{Name: "current/index.yml", Text: []byte("name: Shop\nslug: shop\n"), Method: Deflated, Attributes: Regular}
}

// Hostile are archives of every kind that must be refused, for tests of everything that takes archives.
func Hostile() []Case {
	return concat(names(), natures(), structures(), lies(), zip64(), bombs(), layouts(), formats(), metadata(), bulks())
}

func concat(lists ...[]Case) []Case {
	var all []Case
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// invalid is a case answered with 422, of the index and further entries; the last one is to blame.
func invalid(name string, entries ...Entry) Case {
	return Case{
		Name: name, Status: http.StatusUnprocessableEntity, Field: entries[len(entries)-1].Name,
		Build: func() []byte { return Zip(append([]Entry{Index()}, entries...)...) },
	}
}

// broken is a case answered with 422 that is about the whole.
func broken(name string, container Container) Case {
	return Case{Name: name, Status: http.StatusUnprocessableEntity, Field: "archive", Build: func() []byte {
		if container.Entries == nil {
			container.Entries = []Entry{Index()}
		}
		return container.Bytes()
	}}
}

func file(name string) Entry {
	return Entry{Name: name, Text: []byte("name: x\n"), Attributes: Regular}
}

// names are B-ARC-01.
func names() []Case {
	var cases []Case
	for _, name := range []string{
		"../x.yml", "..", "current/../../x.yml", "current/..", "current/./x.yml", "/x.yml", "//server/x.yml", `C:\x.yml`, "C:/x.yml", "c:x.yml",
		`a\..\b.yml`, `current\x.yml`, "current//x.yml", "current/x\x00.yml", "current/x\n.yml", "current/x\x7f.yml", "current/\u0085.yml",
		"current/\u202egnp.yml", "current/" + strings.Repeat("n", 300) + ".yml", "current/\xff\xfe.yml", "current/\xc0\xae\xc0\xae/x.yml", "",
		"current/automations/%.yml", "current/automations/a.b.yml", "current/automations/ a.yml", "current/automations/\u00e9.yml",
		"current/pages/" + strings.Repeat("p", 101) + ".yml",
	} {
		one := invalid("name "+name, file(name))
		one.Field = "" // it is shown shortened and cleaned
		cases = append(cases, one)
	}
	return append(cases,
		invalid("the same name twice", file("current/security.yml"), file("current/security.yml")),
		invalid("case twins", file("current/automations/hello.yml"), file("current/automations/Hello.yml")),
		invalid("case twins of an ignored file", file("docs/README"), file("docs/readme")),
		invalid("twins by Unicode form", file("current/caf\u00e9"), file("current/cafe\u0301")),
		invalid("twins by Unicode case", file("current/STRASSE"), file("current/stra\u00dfe")),
		invalid("a file and a folder of one name", file("current/x"), Entry{Name: "current/x/", Attributes: Folder}),
		invalid("a file as a folder", file("current/x"), file("current/x/y")),
		invalid("a file as a folder, other case", file("current/X"), file("current/x/y")),
		invalid("the same document with two extensions", file("current/automations/a.yml"), file("current/automations/a.json")),
		invalid("two indexes", file("current/index.json")),
		invalid("a file with a trailing slash", file("current/automations/")),
		invalid("bytes in a folder", Entry{Name: "current/automations/", Text: []byte("x"), Attributes: Folder}),
		invalid("a folder without a slash", Entry{Name: "current/x", Attributes: Folder}),
		invalid("a DOS folder without a slash", Entry{Name: "current/x", Attributes: 0x10}),
		invalid("a second name in an extra field", Entry{Name: "current/x.txt", Extra: extra(0x7075, "\x01\x00\x00\x00\x00../x.yml")}),
	)
}

// natures are B-ARC-02, as far as zip has them; the rest is tar.
func natures() []Case {
	kind := func(name string, attributes uint32) Case {
		return invalid(name, Entry{Name: "current/automations/a.yml", Text: []byte("/etc/passwd"), Attributes: attributes})
	}
	return []Case{
		kind("symlink", Symlink), kind("block device", Device), kind("character device", Character), kind("FIFO", FIFO), kind("socket", Socket),
		kind("setuid", Setuid), kind("setgid", Setgid), kind("sticky", Sticky), kind("volume label", 0x08),
		invalid("setgid folder", Entry{Name: "current/automations/", Attributes: Folder | 0o2000<<16}),
		invalid("link in an extra field", Entry{Name: "current/a.txt", Extra: extra(0x756e, "\x00\x00\x00\x00\xff\xa1\x00\x00\x00\x00\x00\x00\x00\x00/etc")}),
		invalid("link in the old extra field", Entry{Name: "current/a.txt", Extra: extra(0x000d, strings.Repeat("\x00", 12)+"/etc")}),
	}
}

// structures are files whose parts do not fit together.
func structures() []Case {
	page := file("current/pages/a.yml")
	moved := func(change func(*Header)) Entry {
		e := page
		e.Central = change
		return e
	}
	overlapping := file("current/pages/b.yml")
	overlapping.Central = func(h *Header) { h.Offset = 5 }
	return []Case{
		{Name: "data before the first entry", Status: http.StatusUnprocessableEntity, Field: "current/index.yml", Build: func() []byte {
			return Container{Before: []byte("PK\x03\x04 a program"), Entries: []Entry{Index()}}.Bytes()
		}},
		broken("a program in front", Container{Before: []byte("#!/bin/sh\n")}),
		broken("data before the directory", Container{Between: []byte("hidden")}),
		broken("data in the directory", Container{Within: []byte("hidden")}),
		broken("a signature in the directory", Container{Within: []byte("PK\x05\x05\x00\x00")}),
		broken("data before the end", Container{Tail: []byte("hidden")}),
		broken("data after the end", Container{After: []byte("hidden")}),
		broken("a zero after the end", Container{After: []byte{0}}),
		broken("two ends", Container{After: Zip(Index())[len(Zip(Index()))-22:]}),
		broken("a second archive after the end", Container{After: Zip(Index())}),
		broken("a comment with a record in it", Container{Comment: "PK\x05\x06" + strings.Repeat("\x00", 18)}),
		broken("a comment that is not text", Container{Comment: "\x00"}),
		broken("a comment that ends with something else", Container{Comment: "\x00hello"}),
		broken("a comment that is cut off", Container{Comment: "hello", End: func(e *End) { e.Comment = 9 }}),
		broken("a long comment", Container{Comment: strings.Repeat("c", 300)}),
		invalid("data between entries", Entry{Name: "current/x.txt", Text: []byte("x"), Behind: []byte("hidden")}, page),
		invalid("overlapping entries", overlapping),
		invalid("the same data twice", moved(func(h *Header) { h.Offset = 0 })),
		invalid("an entry behind the directory", moved(func(h *Header) { h.Offset = 1 << 20 })),
		invalid("an entry in the directory", moved(func(h *Header) { h.Packed, h.Size = 1<<16, 1<<16 })),
		invalid("an entry in another part", moved(func(h *Header) { h.Disk = 1 })),
		invalid("a broken extra field", Entry{Name: "current/x.txt", Extra: []byte{1, 2, 200, 0, 5}}),
		invalid("a short extra field", Entry{Name: "current/x.txt", Extra: []byte{1, 2}}),
	}
}

// lies are headers that contradict each other or the data.
func lies() []Case {
	text := bytes.Repeat([]byte("name: a\n"), 100)
	packed := Entry{Name: "current/pages/a.yml", Text: text, Method: Deflated, Attributes: Regular}
	local := func(name string, change func(*Header)) Case {
		e := packed
		e.Local = change
		return invalid("local header with another "+name, e)
	}
	both := func(name string, change func(*Header)) Case {
		e := packed
		e.Local, e.Central = change, change
		return invalid(name, e)
	}
	late := packed
	late.Flags = Descriptor
	lateLie := late
	lateLie.Local = func(h *Header) { h.Size = 7 }
	behind := packed
	behind.Packed = append(Deflate(text), "more"...)
	return []Case{
		local("name", func(h *Header) { h.Name = "current/pages/b.yml" }),
		local("length of its name", func(h *Header) { h.Name = "current/pages/longer.yml" }),
		local("method", func(h *Header) { h.Method = Stored }),
		local("checksum", func(h *Header) { h.CRC++ }),
		local("size", func(h *Header) { h.Size++ }),
		local("packed size", func(h *Header) { h.Packed++ }),
		local("flag", func(h *Header) { h.Flags = Descriptor }),
		both("a size one too small", func(h *Header) { h.Size-- }),
		both("a size one too large", func(h *Header) { h.Size++ }),
		both("no size", func(h *Header) { h.Size = 0 }),
		both("a size far too large", func(h *Header) { h.Size += 100_000 }),
		both("a wrong checksum", func(h *Header) { h.CRC++ }),
		both("encrypted", func(h *Header) { h.Flags = 1 }),
		both("strongly encrypted", func(h *Header) { h.Flags = 1 | 1<<6 }),
		both("masked headers", func(h *Header) { h.Flags = 1 << 13 }),
		both("patched data", func(h *Header) { h.Flags = 1 << 5 }),
		both("an unknown flag", func(h *Header) { h.Flags = 1 << 15 }),
		both("method bzip2", func(h *Header) { h.Method = 12 }),
		both("method AES", func(h *Header) { h.Method = 99 }),
		both("method deflate64", func(h *Header) { h.Method = 9 }),
		both("stored with two sizes", func(h *Header) { h.Method = Stored }),
		invalid("AES in an extra field", Entry{Name: "current/x.txt", Extra: extra(0x9901, "\x02\x00AE\x03\x08\x00")}),
		invalid("garbage instead of deflated data", Entry{Name: "current/pages/a.yml", Text: text, Method: Deflated, Packed: []byte("\xff\xff\xff\xff")}),
		invalid("data behind the deflated data", behind),
		invalid("deflated data that is cut off", Entry{Name: "current/pages/a.yml", Text: text, Method: Deflated, Packed: Deflate(text)[:10]}),
		invalid("a descriptor and a local size that lies", lateLie),
		invalid("a descriptor that lies", lyingDescriptor(late)),
		invalid("a descriptor that is missing", Entry{
			Name: "current/x.txt", Text: []byte("x"), Local: func(h *Header) { h.Flags = Descriptor }, Central: func(h *Header) { h.Flags = Descriptor },
		}),
	}
}

// lyingDescriptor makes the descriptor contradict the directory, which tells the truth.
func lyingDescriptor(e Entry) Entry {
	record := binary.LittleEndian.AppendUint32([]byte("PK\x07\x08"), 1)
	record = binary.LittleEndian.AppendUint32(record, 2)
	e.Flags = 0
	e.Behind = binary.LittleEndian.AppendUint32(record, size32(len(e.Text)))
	e.Local = func(h *Header) { h.Flags, h.CRC, h.Packed, h.Size = Descriptor, 0, 0, 0 }
	e.Central = func(h *Header) { h.Flags = Descriptor }
	return e
}

// zip64 are the tricks of the format for huge files.
func zip64() []Case {
	huge := extra(0x0001, strings.Repeat("\x01\x00\x00\x00\x00\x00\x00\x00", 2))
	locator := []byte("PK\x06\x06" + strings.Repeat("\x00", 52) + "PK\x06\x07" + strings.Repeat("\x00", 16))
	all := func(h *Header) { h.Packed, h.Size = 0xffffffff, 0xffffffff }
	return []Case{
		invalid("zip64 field", Entry{Name: "current/x.txt", Text: []byte("x"), Extra: huge}),
		invalid("zip64 field in the local header only", Entry{Name: "current/x.txt", Text: []byte("x"), Local: func(h *Header) { h.Extra = huge }}),
		invalid("zip64 sizes", Entry{Name: "current/x.txt", Text: []byte("x"), Local: all, Central: all}),
		invalid("zip64 offset", Entry{Name: "current/x.txt", Text: []byte("x"), Central: func(h *Header) { h.Offset = 0xffffffff }}),
		broken("zip64 end", Container{Tail: locator}),
		broken("zip64 end, all fields", Container{Tail: locator, End: func(e *End) { e.Here, e.Count, e.Size, e.Offset = 0xffff, 0xffff, 0xffffffff, 0xffffffff }}),
		broken("zip64 offset of the directory", Container{End: func(e *End) { e.Offset = 0xffffffff }}),
		broken("several parts", Container{End: func(e *End) { e.Disk = 1 }}),
		broken("a directory in another part", Container{End: func(e *End) { e.DirectoryDisk = 1 }}),
		broken("a count of its own for this part", Container{End: func(e *End) { e.Here = 0 }}),
		broken("fewer entries than there are", Container{Entries: []Entry{Index(), file("current/a.txt")}, End: func(e *End) { e.Here, e.Count = 1, 1 }}),
		broken("more entries than there are", Container{End: func(e *End) { e.Here, e.Count = 2, 2 }}),
	}
}

func extra(kind uint16, value string) []byte {
	field := binary.LittleEndian.AppendUint16(nil, kind)
	return append(binary.LittleEndian.AppendUint16(field, length(value)), value...)
}
