package archive

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// tile checks that the entries fill the file from its first byte to the directory: without gaps, in which something could
// hide, and without overlaps, with which a small file becomes a huge one. Each local header must agree with the directory.
func (z *container) tile(entries []entry, directory int64) error {
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.offset, b.offset) })
	position := int64(0)
	for i := range entries {
		e := &entries[i]
		switch {
		case e.offset < position:
			return z.refuse(e.name, "it overlaps another entry")
		case e.offset > position:
			return z.refuse(e.name, "there is something in front of it that belongs to no entry")
		}
		next := directory
		if i+1 < len(entries) {
			next = entries[i+1].offset
		}
		if err := z.local(e, directory); err != nil {
			return err
		}
		position = e.data + e.packed
		if e.flags&flagDescriptor != 0 {
			if err := z.descriptor(*e, position, next); err != nil {
				return err
			}
			position = next
		}
	}
	if position != directory {
		return z.refuse(whole, "there is something in front of its directory that belongs to no entry")
	}
	return z.budget.inTime()
}

// local reads the local header of an entry and holds it against the directory.
func (z *container) local(e *entry, limit int64) error {
	fixed := z.work.fixed[:localLength]
	if e.offset+localLength > limit {
		return z.refuse(e.name, "it overlaps the directory")
	}
	if err := z.readAt(e.name, fixed, e.offset); err != nil {
		return err
	}
	word := func(offset int) uint16 { return binary.LittleEndian.Uint16(fixed[offset:]) }
	long := func(offset int) uint32 { return binary.LittleEndian.Uint32(fixed[offset:]) }
	names, extras := int(word(26)), int(word(28))
	e.data = e.offset + localLength + int64(names+extras)
	switch {
	case long(0) != localSignature:
		return z.refuse(e.name, "it is not where the directory says; make the archive again")
	case e.data+e.packed > limit:
		return z.refuse(e.name, "it overlaps the directory")
	}
	variable := z.work.variable[:names+extras]
	if err := z.readAt(e.name, variable, e.offset+localLength); err != nil {
		return err
	}
	late := e.flags&flagDescriptor != 0
	agrees := func(local, central uint32) bool { return local == central || late && local == 0 }
	if string(variable[:names]) != e.name || word(6) != e.flags || word(8) != e.method ||
		!agrees(long(14), e.crc) || !agrees(long(18), uint32(e.packed)) || !agrees(long(22), uint32(e.size)) { //nolint:gosec // read as 32 bits
		return z.refuse(e.name, "its header and the directory do not agree; make the archive again")
	}
	if problem := extraProblem(e.name, variable[names:]); problem != "" {
		return z.refuse(e.name, "%s", problem)
	}
	return nil
}

// descriptor checks the record that follows the data of an entry written as a stream: it fills the space up to the next
// entry and agrees with the directory.
func (z *container) descriptor(e entry, at, next int64) error {
	record := z.work.fixed[:max(0, min(next-at, 16))]
	if len(record) != 12 && len(record) != 16 || int64(len(record)) != next-at {
		return z.refuse(e.name, "there is something behind it that belongs to no entry")
	}
	if err := z.readAt(e.name, record, at); err != nil {
		return err
	}
	want := binary.LittleEndian.AppendUint32(nil, descriptorSignature)
	want = binary.LittleEndian.AppendUint32(want, e.crc)
	want = binary.LittleEndian.AppendUint32(want, uint32(e.packed)) //nolint:gosec // read as 32 bits
	want = binary.LittleEndian.AppendUint32(want, uint32(e.size))   //nolint:gosec // read as 32 bits
	if !slices.Equal(record, want[16-len(record):]) {
		return z.refuse(e.name, "what follows its data and the directory do not agree; make the archive again")
	}
	return nil
}
