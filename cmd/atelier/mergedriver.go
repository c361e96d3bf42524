package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"atelier/internal/dsul/compare"
	"atelier/internal/dsul/merge"
	"atelier/internal/gitcmd"
)

func mergeDriverCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge-driver BASE OURS THEIRS PATH",
		Short: "Merge a YAML document by its keys, as a merge driver of git",
		Long: `Merge the changes from BASE to THEIRS into OURS, all of them files, by the keys of the documents instead of by their lines.
Changes of different keys never conflict, however near to each other they stand; changes of the same key always do. PATH is
what the document is called in messages.

The exit code is 0 when all went well, and 1 when there are conflicts: they are in OURS between the usual markers. It is 129 when
nothing could be merged, as when a file is missing: git then stops and leaves the files as they are. Files that are not YAML are
merged line by line.`,
		Example: `  git config merge.atelier.name "by the keys of documents"
  git config merge.atelier.driver "atelier merge-driver %O %A %B %P"
  echo "*.yml merge=atelier" >> .gitattributes`,
		Args: takes("BASE", "OURS", "THEIRS", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			conflicts, err := mergeFiles(cmd.Context(), p, versions{base: args[0], ours: args[1], theirs: args[2]}, visible(args[3]))
			switch {
			case err != nil:
				return &unmergedError{err}
			case conflicts != "":
				return errors.New(conflicts)
			default:
				return nil
			}
		},
	}
	cmd.Flags().SetInterspersed(false) // what a document is called may begin with a dash
	return cmd
}

// unmergedError says that nothing could be merged. Git takes a code up to 128 for conflicts that the driver has left in the file.
type unmergedError struct{ error }

func (e *unmergedError) Unwrap() error { return e.error }

// visible is a text that somebody else wrote, without what it could do to a terminal.
func visible(text string) string { return strings.Trim(strconv.Quote(text), `"`) }

// versions are the files of a merge.
type versions struct{ base, ours, theirs string }

// mergeFiles merges, and says which conflicts there are; empty when there are none.
func mergeFiles(ctx context.Context, p process, files versions, name string) (conflicts string, err error) {
	var texts [3][]byte
	for i, file := range []string{files.base, files.ours, files.theirs} {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		texts[i] = text
	}
	merged, err := merge.Marked(texts[0], texts[1], texts[2])
	if err != nil {
		_, _ = fmt.Fprintf(p.err, "atelier: %s: merged line by line: %s\n", name, visible(err.Error()))
		return mergeLines(ctx, files, name)
	}
	if err := replaceText(files.ours, merged.Text); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if len(merged.Conflicts) > 0 {
		return fmt.Sprintf("%s: both sides changed %s", name, places(merged.Conflicts)), nil
	}
	return "", nil
}

// replaceText writes a file that exists; its permissions stay.
func replaceText(file string, text []byte) error { return os.WriteFile(file, text, 0o600) }

// places names the first few conflicts.
func places(conflicts []merge.Conflict) string {
	const most = 5
	var named []string
	for _, one := range conflicts[:min(len(conflicts), most)] {
		if len(one.Path) == 0 {
			return "the whole document"
		}
		named = append(named, compare.Path(one.Path))
	}
	if more := len(conflicts) - most; more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ")
}

// mergeLines merges files as git does without a driver.
func mergeLines(ctx context.Context, files versions, name string) (said string, err error) {
	git, err := gitcmd.Open(ctx, gitcmd.Config{})
	if err != nil {
		return "", err
	}
	command := gitcmd.NewCommand("merge-file", "-p", "-L", "ours", "-L", "base", "-L", "theirs")
	for _, file := range []string{files.ours, files.base, files.theirs} {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		command = command.Values(path)
	}
	var merged bytes.Buffer
	err = git.Run(ctx, "", command, nil, &merged)
	exit, ended := errors.AsType[*gitcmd.ExitError](err)
	conflicts := ended && exit.Code > 0 && exit.Code < 128
	if err != nil && !conflicts {
		return "", err
	}
	if err := replaceText(files.ours, merged.Bytes()); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if conflicts {
		said = name + ": there are conflicts"
	}
	return said, nil
}
