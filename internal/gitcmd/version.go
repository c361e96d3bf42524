package gitcmd

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of git.
type Version struct {
	Major, Minor, Patch int
}

// oldest is the first version that merges without a working tree.
func oldest() Version { return Version{Major: 2, Minor: 38} }

// String is the version as git writes it.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Before tells whether v is older than other.
func (v Version) Before(other Version) bool {
	if v.Major != other.Major {
		return v.Major < other.Major
	}
	if v.Minor != other.Minor {
		return v.Minor < other.Minor
	}
	return v.Patch < other.Patch
}

// parseVersion reads "git version 2.39.5" and what distributors make of it: "2.39.3 (Apple Git-146)",
// "2.45.1.windows.1", "2.47.GIT".
func parseVersion(text string) (Version, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "git version ")
	if !ok {
		return Version{}, false
	}
	number, _, _ := strings.Cut(rest, " ")
	parts := strings.Split(number, ".")
	if len(parts) < 2 {
		return Version{}, false
	}
	major, errMajor := strconv.Atoi(parts[0])
	minor, errMinor := strconv.Atoi(parts[1])
	if errMajor != nil || errMinor != nil {
		return Version{}, false
	}
	version := Version{Major: major, Minor: minor}
	if len(parts) > 2 {
		version.Patch, _ = strconv.Atoi(parts[2]) // a name instead of a number counts as zero
	}
	return version, true
}
