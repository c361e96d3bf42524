package archive

import (
	"bufio"
	"compress/flate"
	"errors"
	"hash/crc32"
	"io"
)

// scratch is memory that reading uses again and again.
type scratch struct {
	fixed    [centralLength]byte
	variable [2 * 0xffff]byte
	chunk    [32 << 10]byte
	source   *bufio.Reader
	inflater io.ReadCloser
}

// content reads the bytes of an entry to their end, and gives them when its role needs them. They must be exactly what the
// directory says: no more, no less, with the same checksum, and nothing left over behind them.
func (z *container) content(e entry, as role) ([]byte, error) {
	keep := as != ignored && (as != inner || e.method != stored)
	source, err := z.open(e)
	if err != nil {
		return nil, err
	}
	var text []byte
	if keep {
		text = make([]byte, 0, e.size)
	}
	head := make([]byte, 0, sniffed)
	sum, length := uint32(0), int64(0)
	for {
		n, err := source.Read(z.work.chunk[:])
		chunk := z.work.chunk[:n]
		if length += int64(n); length > e.size {
			return nil, z.refuse(e.name, "it is larger than the directory says")
		}
		sum = crc32.Update(sum, crc32.IEEETable, chunk)
		head = append(head, chunk[:min(n, cap(head)-len(head))]...)
		if keep {
			text = append(text, chunk...)
		}
		if err := z.budget.inTime(); err != nil {
			return nil, err
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, z.unreadable(e.name, err)
		}
	}
	if err := z.complete(e, sum, length); err != nil {
		return nil, err
	}
	if kind := format(head); kind != "" && as != inner {
		return nil, z.refuse(e.name, "it is a %s file; an archive may not hold another", kind)
	}
	return text, nil
}

// open gives the unpacked bytes of an entry.
func (z *container) open(e entry) (io.Reader, error) {
	section := io.NewSectionReader(z.r, e.data, e.packed)
	if z.work.source == nil {
		z.work.source = bufio.NewReader(section)
	}
	z.work.source.Reset(section)
	if e.method == stored {
		return z.work.source, nil
	}
	if z.work.inflater == nil {
		z.work.inflater = flate.NewReader(z.work.source)
		return z.work.inflater, nil
	}
	resetter, ok := z.work.inflater.(flate.Resetter)
	if !ok {
		return flate.NewReader(z.work.source), nil
	}
	return z.work.inflater, resetter.Reset(z.work.source, nil)
}

// complete checks what was read against the directory.
func (z *container) complete(e entry, sum uint32, length int64) error {
	if length != e.size {
		return z.refuse(e.name, "it is smaller than the directory says")
	}
	if sum != e.crc {
		return z.refuse(e.name, "its checksum is wrong; make the archive again")
	}
	switch _, err := z.work.source.ReadByte(); {
	case err == nil:
		return z.refuse(e.name, "there is something behind its data")
	case !errors.Is(err, io.EOF):
		return z.unreadable(e.name, err)
	}
	return nil
}
