package merge

import (
	"slices"

	"atelier/internal/dsul/compare"
	"atelier/internal/dsul/internal/value"
)

// write gives a text that means the merged value: that of ours with the lines that theirs changed, if that is what it
// means, and otherwise with the merged value written into it.
func (t texts) write(merged *value.Value) ([]byte, error) {
	if text, ok := t.unchanged(); ok {
		return text, nil
	}
	changes := newChanges(t.base.Raw(), t.ours.Raw(), t.theirs.Raw())
	if text := changes.apply(changes.others); t.ours.Means(text, merged) {
		return text, nil
	}
	text, err := t.ours.Merge(merged, t.theirs, t.base)
	if err != nil {
		return nil, err
	}
	return t.remarks(text, merged), nil
}

// effort bounds how many bytes are read again to find out which lines of theirs can be taken over.
const effort = 4 << 20

// remarks adds the comments that theirs has changed elsewhere: lines that a text can take over from theirs without
// meaning anything else.
func (t texts) remarks(text []byte, merged *value.Value) []byte {
	changes := newChanges(t.base.Raw(), text, t.theirs.Raw())
	if taken := changes.apply(changes.others); t.ours.Means(taken, merged) {
		return taken
	}
	var good []compare.Stretch
	left := effort
	for _, one := range changes.others {
		if left -= len(text); left < 0 {
			break
		}
		if taken := changes.apply(append(slices.Clip(good), one)); t.ours.Means(taken, merged) {
			text, good = taken, append(good, one)
		}
	}
	return text
}
