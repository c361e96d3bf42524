package archive

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// The flags an entry may have: two about how hard it was compressed, sizes that follow the data, and names in UTF-8.
const (
	flagEncrypted  = 1 << 0
	flagEffort     = 3 << 1
	flagDescriptor = 1 << 3
	flagStrong     = 1 << 6
	flagUTF8       = 1 << 11
	flagMasked     = 1 << 13
)

// The two methods we read.
const (
	stored   = 0
	deflated = 8
)

// The kinds of extra fields that change what an entry is.
const (
	extraZip64       = 0x0001
	extraUnix        = 0x000d // may hold the target of a link
	extraStrong      = 0x0017
	extraASi         = 0x756e // may hold the target of a link
	extraUnicodePath = 0x7075
	extraAES         = 0x9901
)

// The parts of the external attributes: the mode of Unix in the upper half, the attributes of DOS in the lower.
const (
	modeType      = 0o170000
	modeRegular   = 0o100000
	modeDirectory = 0o040000
	modeSpecial   = 0o7000
	dosVolume     = 0x08
	dosDirectory  = 0x10
)

// entry is a file or folder of a container, as the directory has it.
type entry struct {
	name         string
	flags        uint16
	method       uint16
	crc          uint32
	packed, size int64
	attributes   uint32
	offset       int64 // of its local header
	data         int64 // of its bytes, known once the local header was read
	dir          bool
}

// admit checks everything the directory says about an entry by itself.
func (z *container) admit(e *entry, extra []byte) error {
	if problem := nameProblem(e.name); problem != "" {
		return z.refuse(e.name, "%s", problem)
	}
	e.dir = strings.HasSuffix(e.name, "/")
	for _, check := range []func(*entry) string{packing, nature} {
		if problem := check(e); problem != "" {
			return z.refuse(e.name, "%s", problem)
		}
	}
	if problem := extraProblem(e.name, extra); problem != "" {
		return z.refuse(e.name, "%s", problem)
	}
	return nil
}

// packing says what is wrong with how an entry is packed.
func packing(e *entry) string {
	switch {
	case e.flags&(flagEncrypted|flagStrong|flagMasked) != 0:
		return "it is encrypted; make the archive without a password"
	case e.flags&^(flagEffort|flagDescriptor|flagUTF8) != 0:
		return "it is packed in a way that is not accepted"
	case e.method != stored && e.method != deflated:
		return "its compression is not accepted; use deflate, or none"
	case e.method == stored && e.packed != e.size:
		return "it is not compressed, yet its two sizes differ"
	case e.packed == 0xffffffff, e.size == 0xffffffff, e.offset == 0xffffffff:
		return "zip64 is not accepted, and not needed for its size"
	}
	return ""
}

// nature says what is wrong with what an entry is: only regular files and folders are accepted, and no special rights.
func nature(e *entry) string {
	mode := e.attributes >> 16
	switch kind := mode & modeType; {
	case kind != 0 && kind != modeRegular && kind != modeDirectory, e.attributes&dosVolume != 0:
		return "it is a link or a device; only files and folders are accepted"
	case mode&modeSpecial != 0:
		return "it has special rights (setuid, setgid or sticky); remove them"
	case e.dir && (kind == modeRegular || e.size != 0):
		return "it is a file whose name ends with /"
	case !e.dir && (kind == modeDirectory || e.attributes&dosDirectory != 0):
		return "it is a folder whose name does not end with /"
	}
	return ""
}

// extraProblem says what is wrong with the extra fields of a header.
func extraProblem(name string, extra []byte) string {
	for len(extra) > 0 {
		if len(extra) < 4 {
			return "its header is damaged"
		}
		kind, length := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if length > len(extra)-4 {
			return "its header is damaged"
		}
		if problem := fieldProblem(name, kind, extra[4:4+length]); problem != "" {
			return problem
		}
		extra = extra[4+length:]
	}
	return ""
}

func fieldProblem(name string, kind uint16, value []byte) string {
	switch kind {
	case extraZip64:
		return "zip64 is not accepted, and not needed for its size"
	case extraUnix, extraASi:
		return "its header can hold a link; make the archive with another tool"
	case extraStrong, extraAES:
		return "it is encrypted; make the archive without a password"
	case extraUnicodePath:
		if len(value) < 5 || !bytes.Equal(value[5:], []byte(name)) {
			return "it has two names"
		}
	}
	return ""
}
