package config

import (
	"strconv"
	"strings"
)

const (
	shortestFuzzy = 8  // shorter names, such as HOST or TEST, are too close to too many others
	longName      = 10 // from here on two slips are still clearly the same name
)

// misspelt finds the setting that a variable of the environment was probably meant to be, or nothing.
func misspelt(name string, accepted []string) string {
	if len(name) < shortestFuzzy {
		return ""
	}
	limit := 1
	if len(name) >= longName {
		limit = 2
	}
	var candidates []string
	for _, candidate := range accepted {
		if len(candidate) >= shortestFuzzy {
			candidates = append(candidates, candidate)
		}
	}
	return closest(name, candidates, limit)
}

// didYouMean offers the closest setting for a name that was certainly meant for us: a key of the file, or ATELIER_*.
func didYouMean(name string, accepted []string) string {
	upper := strings.NewReplacer("-", "_", ".", "_", " ", "_").Replace(strings.ToUpper(name))
	if bare, found := strings.CutPrefix(upper, productPrefix); found {
		if meant := closest(bare, accepted, slipsAllowed(bare)); meant != "" {
			return "; did you mean " + meant + "?"
		}
	}
	if meant := closest(upper, append([]string{configVariable}, accepted...), slipsAllowed(upper)); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return "; allowed: the names in docs/configuration.md"
}

// slipsAllowed keeps an offer sensible: a third of the name may differ.
func slipsAllowed(name string) int { return max(1, len(name)/3) }

// closest finds the candidate with the fewest slips, at most limit of them; of equals the first.
func closest(name string, candidates []string, limit int) string {
	best, fewest := "", limit+1
	for _, candidate := range candidates {
		if difference := len(name) - len(candidate); difference > limit || -difference > limit {
			continue // each missing letter is a slip
		}
		if slips := slipsBetween(name, candidate); slips < fewest {
			best, fewest = candidate, slips
		}
	}
	return best
}

// slipsBetween counts the letters to add, drop, change or swap with a neighbour to turn one name into the other.
func slipsBetween(a, b string) int {
	var older, old []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, old, row = old, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := old[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, old[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// oneLine keeps a name that an operator wrote on one line of a message.
func oneLine(name string) string {
	if quoted := strconv.Quote(name); name == "" || quoted != `"`+name+`"` {
		return quote(name)
	}
	return name
}
