package gitcmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// quarantinePrefix is one that git takes for a folder of its own which is left over and can be removed when it is old.
	quarantinePrefix = "tmp_objdir-atelier-"
	// lookInterval is how often a growing quarantine is looked at.
	lookInterval = 200 * time.Millisecond
	// packHeader is "PACK", a version and the number of objects, four bytes each.
	packHeader = 12
)

// Quarantine holds objects that are not yet part of a repository. It is a Repository that sees them and all others, for
// looking at what came before Keep or Drop, one of which must be called; Drop after Keep does nothing.
type Quarantine struct {
	*Repository
}

func (r *Repository) quarantine() (*Quarantine, error) {
	if r.objects != "" {
		return nil, errors.New("a quarantine has no quarantine of its own")
	}
	folder, err := os.MkdirTemp(filepath.Join(r.folder, "objects"), quarantinePrefix)
	if err != nil {
		return nil, fmt.Errorf("make quarantine: %w", err)
	}
	return &Quarantine{&Repository{git: r.git, folder: r.folder, objects: folder}}, nil
}

// Receive takes a pack into a quarantine, completes it and checks all of it: that the objects are sound, and that what
// they need is there. A pack of more than most bytes, or of too many objects, is a *Problem of the kind TooLarge, one that
// is not sound of the kind Damaged.
func (r *Repository) Receive(ctx context.Context, pack io.Reader, most int64) (*Quarantine, error) {
	in := bufio.NewReader(pack)
	if err := r.checkPackHeader(in); err != nil {
		return nil, err
	}
	q, err := r.quarantine()
	if err != nil {
		return nil, err
	}
	command := NewCommand("index-pack", "--stdin", "--fix-thin").
		option("--strict=", strings.Join(flaws(), "=ignore,")+"=ignore").
		option("--max-input-size=", strconv.FormatInt(most, 10))
	err = q.run(ctx, command, in, io.Discard)
	if err == nil {
		return q, nil
	}
	q.Drop()
	exit, ended := errors.AsType[*ExitError](err)
	switch {
	case !ended:
		return nil, err
	case find(signs(), exit.Stderr) == TooLarge:
		return nil, &Problem{Kind: TooLarge, Message: fmt.Sprintf("What was sent is larger than the %d bytes allowed.", most), cause: err}
	}
	return nil, &Problem{Kind: Damaged, Message: "What was sent is not sound: " + Remote{}.words(exit.Stderr), cause: err}
}

func (r *Repository) checkPackHeader(in *bufio.Reader) error {
	header, err := in.Peek(packHeader)
	if err != nil || !bytes.HasPrefix(header, []byte("PACK")) {
		return &Problem{Kind: Damaged, Message: "What was sent is not a pack.", cause: err}
	}
	return checkCount(header, r.git.limits.Objects)
}

func checkCount(header []byte, most int) error {
	if count := binary.BigEndian.Uint32(header[8:]); int64(count) > int64(most) {
		return &Problem{Kind: TooLarge, Message: fmt.Sprintf("There are %d objects to transfer; at most %d are allowed.", count, most)}
	}
	return nil
}

// Keep makes the objects part of the repository. The index of a pack comes last: before it nobody sees the pack.
func (q *Quarantine) Keep() error {
	var indexes, others []string
	err := filepath.WalkDir(q.objects, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		switch name := filepath.Base(path); {
		case strings.HasPrefix(name, "tmp_"), strings.HasSuffix(name, ".keep"), strings.HasSuffix(name, ".lock"):
		case strings.HasSuffix(name, ".idx"):
			indexes = append(indexes, path)
		default:
			others = append(others, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep objects: %w", err)
	}
	for _, path := range append(others, indexes...) {
		if err := q.move(path); err != nil {
			return fmt.Errorf("keep objects: %w", err)
		}
	}
	q.Drop()
	return nil
}

func (q *Quarantine) move(path string) error {
	below, err := filepath.Rel(q.objects, path)
	if err != nil {
		return err
	}
	if strings.HasPrefix(below, "info") {
		return nil
	}
	target := filepath.Join(q.folder, "objects", below)
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	if err := os.Rename(path, target); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(target))
}

// syncFolder makes sure that the names of a folder outlive a crash of the machine.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Drop removes what was not kept. Then the quarantine sees what its repository sees.
func (q *Quarantine) Drop() {
	if q.objects != "" {
		_ = os.RemoveAll(q.objects)
		q.objects = ""
	}
}

// watch ends an operation whose quarantine outgrows the limits.
func (r *Repository) watch(ctx context.Context, end context.CancelCauseFunc) {
	if r.objects == "" {
		return
	}
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := r.checkSize(); err != nil {
				end(err)
				return
			}
		}
	}
}

// checkSize measures the quarantine, and reads how many objects its packs have, or will have once they are there.
func (r *Repository) checkSize() error {
	var size int64
	limits := r.git.limits
	err := filepath.WalkDir(r.objects, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // what vanishes meanwhile has no size
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		if size > limits.Disk {
			return &Problem{Kind: TooLarge, Message: fmt.Sprintf("The repository is larger than the %d bytes allowed.", limits.Disk)}
		}
		if strings.HasPrefix(entry.Name(), "tmp_pack_") || strings.HasSuffix(entry.Name(), ".pack") {
			return checkArriving(path, limits.Objects)
		}
		return nil
	})
	return err
}

func checkArriving(path string, most int) error {
	file, err := os.Open(path)
	if err != nil {
		return nil // gone already
	}
	defer func() { _ = file.Close() }()
	header := make([]byte, packHeader)
	if _, err := io.ReadFull(file, header); err != nil {
		return nil // not there yet
	}
	return checkCount(header, most)
}
