// Package archivetest makes archives for tests: workspaces as people write them, and zip files that no honest tool makes.
package archivetest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
)

// The methods and flags of entries.
const (
	Stored     = 0
	Deflated   = 8
	Descriptor = 1 << 3
)

// Entry is a file or folder of a zip file made by hand.
type Entry struct {
	Name string
	Text []byte
	// Method is Stored unless said otherwise; other methods keep the text as it is.
	Method uint16
	// Flags may hold Descriptor: then the sizes follow the data.
	Flags      uint16
	Attributes uint32
	Extra      []byte
	// Packed, when set, is the data instead of the packed text.
	Packed []byte
	// Local and Central change what the two headers say, after they were filled in truthfully.
	Local, Central func(*Header)
	// Behind follows the data, and is counted by nobody.
	Behind []byte
}

// Header is what a header says about its entry.
type Header struct {
	Name               string
	Flags, Method      uint16
	CRC, Packed, Size  uint32
	Attributes, Offset uint32
	Disk               uint16
	Extra              []byte
}

// Container is a zip file made by hand.
type Container struct {
	Entries []Entry
	// Before stands in front of everything, Between in front of the directory, Within at its end, Tail in front of the end
	// record and After behind it.
	Before, Between, Within, Tail, After []byte
	Comment                              string
	// End changes what the end record says, after it was filled in truthfully.
	End func(*End)
}

// End is what the end record says.
type End struct {
	Disk, DirectoryDisk, Here, Count uint16
	Size, Offset                     uint32
	Comment                          uint16
}

// Zip is a zip file of these entries.
func Zip(entries ...Entry) []byte { return Container{Entries: entries}.Bytes() }

// Bytes is the file.
func (c Container) Bytes() []byte {
	out := bytes.NewBuffer(bytes.Clone(c.Before))
	var directory bytes.Buffer
	for _, e := range c.Entries {
		e.write(out, &directory)
	}
	out.Write(c.Between)
	directory.Write(c.Within)
	count := uint16(len(c.Entries))                                                                                                  //nolint:gosec // tests say what they want with End
	end := End{Here: count, Count: count, Size: size32(directory.Len()), Offset: size32(out.Len()), Comment: uint16(len(c.Comment))} //nolint:gosec // as above
	if c.End != nil {
		c.End(&end)
	}
	out.Write(directory.Bytes())
	out.Write(c.Tail)
	out.WriteString("PK\x05\x06")
	put(out, end.Disk, end.DirectoryDisk, end.Here, end.Count, end.Size, end.Offset, end.Comment)
	out.WriteString(c.Comment)
	out.Write(c.After)
	return out.Bytes()
}

func (e Entry) write(out, directory *bytes.Buffer) {
	packed := e.Packed
	if packed == nil {
		packed = e.Text
		if e.Method == Deflated {
			packed = Deflate(e.Text)
		}
	}
	central := Header{
		Name: e.Name, Flags: e.Flags, Method: e.Method, CRC: crc32.ChecksumIEEE(e.Text), Packed: size32(len(packed)), Size: size32(len(e.Text)),
		Attributes: e.Attributes, Offset: size32(out.Len()), Extra: e.Extra,
	}
	local := central
	if e.Flags&Descriptor != 0 {
		local.CRC, local.Packed, local.Size = 0, 0, 0
	}
	if e.Central != nil {
		e.Central(&central)
	}
	if e.Local != nil {
		e.Local(&local)
	}
	local.local(out)
	out.Write(packed)
	if e.Flags&Descriptor != 0 {
		out.WriteString("PK\x07\x08")
		put(out, central.CRC, central.Packed, central.Size)
	}
	out.Write(e.Behind)
	central.central(directory)
}

func (h Header) local(out *bytes.Buffer) {
	out.WriteString("PK\x03\x04")
	put(out, uint16(20), h.Flags, h.Method, uint32(0), h.CRC, h.Packed, h.Size, length(h.Name), length(h.Extra))
	out.WriteString(h.Name)
	out.Write(h.Extra)
}

func (h Header) central(out *bytes.Buffer) {
	out.WriteString("PK\x01\x02")
	put(out, uint16(3<<8|20), uint16(20), h.Flags, h.Method, uint32(0), h.CRC, h.Packed, h.Size, length(h.Name), length(h.Extra))
	put(out, uint16(0), h.Disk, uint16(0), h.Attributes, h.Offset)
	out.WriteString(h.Name)
	out.Write(h.Extra)
}

func put(out *bytes.Buffer, values ...any) {
	for _, value := range values {
		_ = binary.Write(out, binary.LittleEndian, value) // a buffer takes everything
	}
}

func length[T ~string | ~[]byte](of T) uint16 { return uint16(len(of)) } //nolint:gosec // tests know what they write

func size32(n int) uint32 { return uint32(n) } //nolint:gosec // tests know what they write

// Deflate packs a text.
func Deflate(text []byte) []byte {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return nil
	}
	_, _ = w.Write(text) // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}
