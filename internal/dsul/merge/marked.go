package merge

import (
	"bytes"
	"strings"

	"atelier/internal/dsul/compare"
	"atelier/internal/dsul/splice"
)

// Marked merges as Texts does. Where there are conflicts, the lines of both sides stand in the text between markers, as git
// writes them.
func Marked(base, ours, theirs []byte) (Result, error) {
	result, err := Texts(base, ours, theirs)
	if err != nil || len(result.Conflicts) == 0 {
		return result, err
	}
	other := theirs
	if len(result.Conflicts[0].Path) > 0 {
		if other, err = opposite(base, ours, theirs, result); err != nil {
			return Result{}, err
		}
	}
	result.Text = marked(ended(result.Text), ended(other))
	return result, nil
}

// opposite gives the merged text with what theirs has in the places of conflicts, and no other difference.
func opposite(base, ours, theirs []byte, result Result) ([]byte, error) {
	t, err := read(base, ours, theirs)
	if err != nil {
		return nil, err
	}
	merged, err := splice.Read(result.Text)
	if err != nil {
		return nil, err
	}
	m := &merger{choices: map[string]choice{}}
	for _, c := range result.Conflicts {
		m.choices[joined(c.Path)] = choice{side: Theirs}
	}
	return merged.Merge(m.merge(spot{}, t.values()), t.theirs, t.base)
}

// near is how many equal lines may stand between two differences that are shown as one.
const near = 3

// ended cuts a text into lines, all of which have an end: a marker may follow the last one.
func ended(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return lines(bytes.TrimSuffix(text, []byte("\n")))
}

// marked shows where two texts differ.
func marked(ours, theirs []string) []byte {
	end := ""
	if len(ours) > 0 && strings.HasSuffix(ours[0], "\r") {
		end = "\r"
	}
	var out []string
	at := 0
	differences := compare.Lines(ours, theirs)
	for i := 0; i < len(differences); i++ {
		one := differences[i]
		for i+1 < len(differences) && differences[i+1].From-one.FromEnd <= near {
			i++
			one.FromEnd, one.ToEnd = differences[i].FromEnd, differences[i].ToEnd
		}
		out = append(append(out, ours[at:one.From]...), "<<<<<<< ours"+end)
		out = append(append(out, ours[one.From:one.FromEnd]...), "======="+end)
		out = append(append(out, theirs[one.To:one.ToEnd]...), ">>>>>>> theirs"+end)
		at = one.FromEnd
	}
	return []byte(strings.Join(append(out, ours[at:]...), "\n") + "\n")
}
