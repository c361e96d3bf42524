package gitcmd

import (
	"bufio"
	"context"
	"crypto/sha1" //nolint:gosec // the name of a blob, as git makes it
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxEntries is how many files a folder may have with all that is below it.
const maxEntries = 100_000

// ErrNotFolder says that the folder of a commit that was asked for, or one above it, is a file or a link.
var ErrNotFolder = errors.New("this is a file or a link of the repository, not a folder")

// Entry is a file of a tree: a text, a link (mode 120000) or a submodule (160000). Path is relative to the folder.
type Entry struct {
	Path, Mode, Object string
	Size               int64
}

// Tree is a folder of a commit with all that is below it. A folder that does not exist has no ID and no entries.
type Tree struct {
	ID      string
	Entries []Entry
}

// Has tells whether an object is there.
func (r *Repository) Has(ctx context.Context, object string) (bool, error) {
	if err := checkObjects(object); err != nil {
		return false, err
	}
	return isYes(r.run(ctx, NewCommand("cat-file", "-e").Values(object), nil, nil))
}

// IsAncestor tells whether a commit is the other or lies in its past.
func (r *Repository) IsAncestor(ctx context.Context, ancestor, of string) (bool, error) {
	if err := checkObjects(ancestor, of); err != nil {
		return false, err
	}
	return isYes(r.run(ctx, NewCommand("merge-base", "--is-ancestor").Values(ancestor, of), nil, nil))
}

// isYes reads an answer given by the exit code: 0 is yes, 1 is no.
func isYes(err error) (bool, error) {
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// Tree lists a folder of a commit; the empty folder is the root. A file or link where a folder should be is
// ErrNotFolder, and a folder with more than 100,000 files a *Problem of the kind TooLarge.
func (r *Repository) Tree(ctx context.Context, commit, folder string) (Tree, error) {
	if err := checkObjects(commit); err != nil {
		return Tree{}, err
	}
	if strings.ContainsAny(folder, "\n\x00") {
		return Tree{}, errFolder
	}
	places, err := r.lookUp(ctx, commit+"^{commit}", commit+":"+folder)
	if err != nil {
		return Tree{}, err
	}
	if places[0].kind != "commit" {
		return Tree{}, &Problem{Kind: NoRef, Message: "The commit does not exist here."}
	}
	switch places[1].kind {
	case "tree":
		entries, err := r.entries(ctx, places[1].object)
		return Tree{ID: places[1].object, Entries: entries}, err
	case "":
		return Tree{}, r.checkMissing(ctx, commit, folder)
	default:
		return Tree{}, ErrNotFolder
	}
}

// checkMissing makes sure that a folder is missing because nothing is there, not because something is in the way.
func (r *Repository) checkMissing(ctx context.Context, commit, folder string) error {
	var above []string
	for i, sign := range folder {
		if sign == '/' {
			above = append(above, commit+":"+folder[:i])
		}
	}
	places, err := r.lookUp(ctx, above...)
	for _, place := range places {
		if place.kind != "" && place.kind != "tree" {
			return ErrNotFolder
		}
	}
	return err
}

func (r *Repository) entries(ctx context.Context, tree string) ([]Entry, error) {
	var entries []Entry
	command := NewCommand("ls-tree", "-r", "-z", "--long", "--full-tree").Values(tree)
	err := r.git.converse(ctx, r.call(command, strings.NewReader(""), nil), func(_ io.Writer, out *bufio.Reader) error {
		for {
			line, err := out.ReadString(0)
			if err != nil {
				return errSilenceUnless(errors.Is(err, io.EOF) && line == "")
			}
			entry, err := parseEntry(strings.TrimSuffix(line, "\x00"))
			if err != nil {
				return err
			}
			if entries = append(entries, entry); len(entries) > maxEntries {
				return &Problem{Kind: TooLarge, Message: fmt.Sprintf("The folder has more than %d files.", maxEntries)}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

func errSilenceUnless(done bool) error {
	if done {
		return nil
	}
	return errSilence
}

// parseEntry reads "100644 blob 0123abcd...      12<tab>path".
func parseEntry(line string) (Entry, error) {
	about, path, found := strings.Cut(line, "\t")
	fields := strings.Fields(about)
	if !found || len(fields) != 4 {
		return Entry{}, errors.New("git ls-tree: a line cannot be read")
	}
	size, _ := strconv.ParseInt(fields[3], 10, 64) // a submodule has "-"
	return Entry{Path: path, Mode: fields[0], Object: fields[2], Size: size}, nil
}

// Texts calls each with every one of the blobs, in their order; text is valid until each returns. An object larger than
// most bytes is a *Problem of the kind TooLarge, one that is missing or no blob an error.
func (r *Repository) Texts(ctx context.Context, objects []string, most int64, each func(object string, text []byte) error) error {
	if err := checkObjects(objects...); err != nil {
		return err
	}
	if len(objects) == 0 {
		return nil
	}
	in := strings.NewReader(strings.Join(objects, "\n") + "\n")
	return r.git.converse(ctx, r.call(NewCommand("cat-file", "--batch", "--buffer"), in, nil), func(_ io.Writer, out *bufio.Reader) error {
		var text []byte
		for _, object := range objects {
			var err error
			if text, err = readBlob(out, object, most, text); err != nil {
				return err
			}
			if err := each(object, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// readBlob reads "0123abcd... blob 12<newline>text<newline>" into the space of an earlier text, if it is enough.
func readBlob(out *bufio.Reader, object string, most int64, space []byte) ([]byte, error) {
	line, err := out.ReadString('\n')
	if err != nil {
		return nil, errSilence
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != object || fields[1] != "blob" {
		return nil, fmt.Errorf("the object %s is not a text of this repository", object)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	if size > most {
		return nil, &Problem{Kind: TooLarge, Message: fmt.Sprintf("A file has %d bytes; at most %d are allowed.", size, most)}
	}
	if int64(cap(space)) < size+1 {
		space = make([]byte, size+1)
	}
	space = space[:size+1]
	if _, err := io.ReadFull(out, space); err != nil {
		return nil, errSilence
	}
	return space[:size], nil
}

// BlobID is the name that git gives to a text.
func BlobID(text []byte) string {
	hash := sha1.New() //nolint:gosec // the name of a blob, as git makes it
	hash.Write(fmt.Appendf(nil, "blob %d\x00", len(text)))
	hash.Write(text)
	return hex.EncodeToString(hash.Sum(nil))
}
