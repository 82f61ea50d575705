package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"punctual/app/database"
)

const exportAllHelp = `Write everything that the installation holds as lines of JSON: a header, one line per row, and a last line
with the number of rows. punctual import jsonl reads it into an empty installation of the same version, on
SQLite or Postgres.

Tokens, calendar subscriptions, codes, webhooks, chats and keys are left out, because they hold secrets. Passwords
are left out unless --passwords is given. The file has personal data: keep it like the database itself.`

func (c *cli) exportAllCommand() *cobra.Command {
	var format, output string
	var passwords bool
	cmd := &cobra.Command{
		Use: "all", Short: "Write everything as lines of JSON", Long: exportAllHelp, Args: cobra.NoArgs,
		Example: "  punctual export all --output everything.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "jsonl" {
				return usageError{fmt.Errorf("--format is %q; it must be jsonl", format)}
			}
			return c.withDatabase(cmd.Context(), func(ctx context.Context, db *database.DB) error {
				to, closeFile := c.stdout, func() error { return nil }
				if output != "" {
					file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
					if err != nil {
						return err
					}
					to, closeFile = file, file.Close
				}
				n, err := database.Export(ctx, db, to, passwords)
				if err = errors.Join(err, closeFile()); err != nil {
					return err
				}
				fmt.Fprintf(c.stderr, "Wrote %d rows.\n", n)
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "jsonl", "format: jsonl")
	f.StringVarP(&output, "output", "o", "", "file to write; default: standard output")
	f.BoolVar(&passwords, "passwords", false, "include the hashes of passwords")
	return cmd
}

const importJSONLHelp = `Read an export of punctual export all into an empty installation of the same version, all or nothing.
Do it before the first start: an installation with users is refused.`

func (c *cli) importJSONLCommand() *cobra.Command {
	return &cobra.Command{
		Use: "jsonl FILE", Short: "Read an export into an empty installation; - is standard input", Long: importJSONLHelp, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withDatabase(cmd.Context(), func(ctx context.Context, db *database.DB) error {
				var in io.Reader = c.stdin
				if args[0] != "-" {
					file, err := os.Open(args[0])
					if err != nil {
						return err
					}
					defer file.Close()
					in = file
				}
				n, err := database.Import(ctx, db, in)
				if err != nil {
					return err
				}
				fmt.Fprintf(c.stdout, "Imported %d rows.\n", n)
				return nil
			})
		},
	}
}
