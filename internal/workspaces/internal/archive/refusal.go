package archive

import (
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"atelier/internal/errs"
)

// whole is the field of failures that are about the archive and not about one entry.
const whole = "archive"

// maxShown is how much of an entry's name a failure shows.
const maxShown = 100

// refuse is the failure of an entry, or of the whole.
func refuse(name, format string, args ...any) error {
	return errs.Invalid(errs.Field{Field: shown(name), Message: fmt.Sprintf(format, args...)})
}

// tooLarge is the failure of a limit on size.
func tooLarge(name, of string, limit int64, format string) error {
	failure := errs.Newf(errs.PayloadTooLarge, format, limit).With("limit", limit).With("of", of)
	if name != whole {
		failure = failure.With("entry", shown(name))
	}
	return failure
}

// unreadable is the failure of a read: ours when the storage failed, the archive's when its bytes are not what they claim.
func unreadable(name string, err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(name, "its data is damaged or cut off; make the archive again")
	}
	return errs.Wrap(err, "read an archive")
}

// shown is a name fit to be shown: short, and without anything that is not seen.
func shown(name string) string {
	if len(name) > maxShown {
		name = name[:maxShown] + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(name, string(unicode.ReplacementChar)))
}
