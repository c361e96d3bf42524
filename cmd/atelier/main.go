// Command atelier is the whole product in one binary: the server, its tools, and its checks.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is stamped by the build.
var version = "dev" //nolint:gochecknoglobals // the linker needs a variable

// How a command ends.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // the command line itself is wrong

	exitUnmerged = 129 // a merge driver could not merge
)

func main() {
	if run, ok := aside(os.Args[1:]); ok {
		os.Exit(run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], process{out: os.Stdout, err: os.Stderr, environ: os.Environ()})
	stop()
	os.Exit(code)
}

// process is what a command sees of the world.
type process struct {
	out, err io.Writer
	environ  []string
}

// run is main without the process, for tests.
func run(ctx context.Context, args []string, p process) int {
	root := rootCommand(p)
	root.SetArgs(args)
	root.SetOut(p.out)
	root.SetErr(p.err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		_, _ = fmt.Fprintf(p.err, "atelier: %s\n", line)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		_, _ = fmt.Fprintf(p.err, "See %s --help.\n", command.CommandPath())
		return exitUsage
	}
	if _, ok := errors.AsType[*unmergedError](err); ok {
		return exitUnmerged
	}
	return exitFailed
}

// usageError is a command line that cannot be understood.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// takes checks that a command gets exactly the named arguments.
func takes(names ...string) cobra.PositionalArgs {
	wanted := "no arguments"
	if len(names) > 0 {
		wanted = strings.Join(names, " ")
	}
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return &usageError{fmt.Errorf("%s takes %s", cmd.CommandPath(), wanted)}
		}
		return nil
	}
}

func rootCommand(p process) *cobra.Command {
	root := &cobra.Command{
		Use:           "atelier",
		Short:         "An open, self-hostable workspace platform in one binary",
		Long:          "An open, self-hostable workspace platform in one binary.\n\nStart it with \"atelier serve\": everything is embedded and its data is in ./data.\n\nThe exit code is 0 when all went well, 1 when something failed and 2 when the command line is wrong.",
		Version:       version,
		Args:          onlyCommands,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.PersistentFlags().String(configFlag, "", "The configuration file, in YAML. (ATELIER_CONFIG)")
	root.AddCommand(
		serveCommand(p),
		configCommand(p),
		migrateCommand(p),
		openapiCommand(p),
		eventsCommand(p),
		doctorCommand(p),
		lintCommand(p),
		mergeDriverCommand(p),
		backupCommand(p),
		restoreCommand(p),
		keysCommand(p),
		secretsCommand(p),
		versionCommand(p),
	)
	return root
}

// onlyCommands refuses words that are no command, with those that are close to it.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("there is no command %q", args[0])
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		message += "; did you mean " + strings.Join(close, " or ") + "?"
	}
	return &usageError{errors.New(message)}
}
