// Package cli is the command line of punctual.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/app/config"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

type usageError struct{ error }

type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	configFile     string
}

// Main runs one command and returns the exit code of the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	defer stop()

	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr, environ: os.Environ()}
	root := c.root()
	root.SetArgs(args[1:])
	err := root.ExecuteContext(ctx)
	switch _, usage := errors.AsType[usageError](err); {
	case err == nil:
		return exitDone
	case errors.Is(err, errReported):
		return exitFailed
	case usage:
		fmt.Fprintf(stderr, "punctual: %s\n", oneLine(err))
		return exitUsage
	default:
		fmt.Fprintf(stderr, "punctual: %s\n", oneLine(err))
		return exitFailed
	}
}

var errReported = errors.New("reported")

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "punctual",
		Short:         "Meeting room scheduling",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see punctual --help", args[0])}
			}
			return cmd.Help()
		},
	}
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.PersistentFlags().StringVar(&c.configFile, "config", config.DefaultFile, "path of the configuration file")
	root.AddCommand(c.serveCommand(), c.healthCommand(), c.doctorCommand(), c.migrateCommand(), c.databaseCommand(), c.backupCommand(), c.restoreCommand(), c.configCommand(), c.userCommand(), c.authCommand(), c.secretCommand(), c.queueCommand(), c.zonesCommand(), c.importCommand(), c.exportCommand(), c.mailroomCommand(), c.notifyCommand(), c.demoCommand(), c.versionCommand())
	markUsageErrors(root)
	return root
}

// markUsageErrors lets callers distinguish wrong flags and arguments of any command from failures.
func markUsageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markUsageErrors(sub)
	}
}

func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())}
			}
			return usageError{fmt.Errorf("%s needs a command; see %s --help", cmd.CommandPath(), cmd.CommandPath())}
		},
	}
	cmd.AddCommand(subs...)
	return cmd
}

func (c *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(c.stdout, "punctual", app.Version())
			return nil
		},
	}
}

func (c *cli) load() (*config.Config, error) {
	loaded, err := config.Load(c.configFile, c.environ)
	for _, w := range loaded.Warnings {
		fmt.Fprintln(c.stderr, "punctual: warning:", w)
	}
	return loaded.Config, err
}

func jsonFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "json", false, "print JSON instead of a table")
}

func (c *cli) printJSON(v any) error {
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
