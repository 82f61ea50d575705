package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/app/config"
	"punctual/app/database"
)

const backupHelp = `Write everything that the database holds into a file, while punctual runs. The file shows the database
as it was at one instant. punctual restore reads it into an empty database, SQLite or Postgres, also with a
newer version of punctual.

The file is compressed and has checksums. It appears under its name only when it is complete. It contains
secrets and personal data: keep it like the database itself. To encrypt it, write it to standard output:

  punctual backup - | age -r RECIPIENT >punctual.backup.age`

func (c *cli) backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write everything into a file, for restore; - is standard output", Long: backupHelp, Args: cobra.ExactArgs(1),
		Example: "  punctual backup punctual-$(date +%F).backup",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withDatabase(cmd.Context(), func(ctx context.Context, db *database.DB) error {
				write := func(w io.Writer) error { return c.backup(ctx, db, w) }
				if args[0] == "-" {
					return write(c.stdout)
				}
				return writeWhole(args[0], write)
			})
		},
	}
	cmd.AddCommand(c.backupVerifyCommand())
	return cmd
}

func (c *cli) backup(ctx context.Context, db *database.DB, w io.Writer) error {
	done, err := database.Backup(ctx, db, w, app.Version())
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "Backed up %d rows of %d tables, schema %d.\n", done.Rows, len(done.Tables), done.Schema)
	return nil
}

// writeWhole writes a file that only its owner can read. It gets its name when it is complete and on disk. It
// replaces a file, but nothing else: no device, and no symbolic link.
func writeWhole(name string, write func(io.Writer) error) (err error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: must be a file, or a name that is not in use; use - for standard output", name)
	}
	folder := filepath.Dir(name)
	f, err := os.CreateTemp(folder, "."+filepath.Base(name)+".*") // has the mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return nil // the file is there; its name may not be on disk yet
	}
	_ = d.Sync() // not every file system can
	return d.Close()
}

func (c *cli) backupVerifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify FILE", Short: "Check that a backup is complete and undamaged; - is standard input", Args: cobra.ExactArgs(1),
		Long: "Read a backup to its end, check its counts and checksums, and list its tables. It needs no database.",
		RunE: func(_ *cobra.Command, args []string) error {
			in := c.stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			done, err := database.VerifyBackup(in)
			if err != nil {
				return err
			}
			return c.printBackup(done)
		},
	}
}

func (c *cli) printBackup(done *database.BackedUp) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tROWS\tSHA256")
	for _, t := range done.Tables {
		if t.Rows > 0 {
			fmt.Fprintf(w, "%s\t%d\t%.16s\n", t.Name, t.Rows, t.SHA256)
		}
	}
	_ = w.Flush() // a buffer takes everything
	fmt.Fprintf(&text, "Complete: %d rows of %d tables, schema %d, of %s, by punctual %s.\n",
		done.Rows, len(done.Tables), done.Schema, done.At.Format(time.RFC3339), done.Program)
	_, err := c.stdout.Write(text.Bytes())
	return err
}

const restoreHelp = `Restore a backup into an empty database: the one that database.url names. Do it before the first start.

The whole file is verified before anything is written. All rows are written in one transaction: if it is
interrupted, run the command again. A backup of an older version is then migrated to this version; if that is
interrupted, run punctual migrate up. Tables of other programs in the same database are not touched.

The queue needs no backup. What Redis holds under queue.prefix is deleted before the transaction ends, and
loaded from the database when punctual starts.`

func (c *cli) restoreCommand() *cobra.Command {
	var keepQueue bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Restore a backup into an empty database", Long: restoreHelp, Args: cobra.ExactArgs(1),
		Example: "  punctual restore punctual-2027-02-10.backup",
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := c.load()
			if err != nil {
				return err
			}
			return c.restore(cmd.Context(), settings, args[0], keepQueue)
		},
	}
	cmd.Flags().BoolVar(&keepQueue, "keep-queue", false, "do not empty the queue in Redis, for example because queue.prefix is new")
	return cmd
}

func (c *cli) restore(ctx context.Context, settings *config.Config, name string, keepQueue bool) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s: must be a file, because it is read twice: first to verify it", name))
	}
	var clearQueue func(context.Context) error
	if !keepQueue {
		queue, client, err := app.OpenQueue(ctx, settings.Queue, slog.New(slog.DiscardHandler))
		if err != nil {
			return fmt.Errorf("the queue must be emptied, too; start Redis, or use --keep-queue and a new queue.prefix: %w", err)
		}
		if client != nil {
			defer client.Close()
		}
		if q, ok := queue.(interface{ Clear(context.Context) error }); ok {
			clearQueue = func(ctx context.Context) error {
				if err := q.Clear(ctx); err != nil {
					return fmt.Errorf("the queue is not empty. Nothing was restored; run the command again: %w", err)
				}
				return nil
			}
		}
	}
	db, err := app.OpenDatabase(ctx, settings.Database)
	if err != nil {
		return err
	}
	bar := c.newProgress()
	done, err := database.Restore(ctx, db, f, clearQueue, func(done, total int64) { bar.show(int(done), int(total)) })
	bar.end()
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "Restored %d rows of %d tables, as they were at %s.\n", done.Rows, len(done.Tables), done.At.Format(time.RFC3339))
	return nil
}
