package searchengine

import (
	"regexp"
	"strconv"
)

var (
	backing = regexp.MustCompile(`^\.ds-(.+)-\d{4}\.\d\d\.\d\d-\d{6,}$`) //nolint:gochecknoglobals // compiled once, never changed
	dsPlain = regexp.MustCompile(`^(?:\.ds-)?(.+)-\d{6,}$`)              //nolint:gochecknoglobals // compiled once, never changed
)

// streamOfIndex is the stream that an index belongs to: Elasticsearch writes the day into the names of its own, OpenSearch does not.
func streamOfIndex(index string) string {
	for _, form := range []*regexp.Regexp{backing, dsPlain} {
		if match := form.FindStringSubmatch(index); match != nil {
			return match[1]
		}
	}
	return index
}

// size is a number of bytes as search engines read it.
func size(bytes int64) string { return strconv.FormatInt(bytes, 10) + "b" }
