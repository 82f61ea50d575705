package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"punctual/app/database"
)

func (c *cli) databaseCommand() *cobra.Command {
	return group("database", "The database as a whole", c.databaseCopyCommand())
}

const databaseCopyHelp = `Copy everything from SQLite into an empty Postgres database, and compare both row by row.

Stop punctual first. The target gets the schema; a target that is in use is refused. The copy is one
transaction: if it is interrupted, the target stays empty, and the command can be run again. Then set
database.url to the target and start punctual.`

func (c *cli) databaseCopyCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "copy", Short: "Copy everything from SQLite to Postgres", Long: databaseCopyHelp, Args: cobra.NoArgs,
		Example: "  punctual database copy --from sqlite:data/punctual.db --to postgres://punctual:secret@127.0.0.1/punctual",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				settings, err := c.load()
				if err != nil {
					return err
				}
				from = settings.Database.URL
			}
			if !strings.HasPrefix(from, "sqlite:") {
				return usageError{errors.New("--from must be like sqlite:data/punctual.db")}
			}
			if !strings.HasPrefix(to, "postgres://") && !strings.HasPrefix(to, "postgresql://") {
				return usageError{errors.New("--to must be like postgres://user:password@host/database")}
			}
			return c.copyDatabase(cmd.Context(), from, to)
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "database to copy, such as sqlite:data/punctual.db; default: database.url of the configuration")
	f.StringVar(&to, "to", "", "empty database, such as postgres://user:password@host/database")
	return cmd
}

func (c *cli) copyDatabase(ctx context.Context, from, to string) error {
	if err := exists(strings.TrimPrefix(from, "sqlite:")); err != nil {
		return err
	}
	source, err := database.Open(ctx, from, database.Options{})
	if err != nil {
		return err
	}
	bar := c.newProgress()
	tables, err := database.Copy(ctx, source, to, func(done, total int64) { bar.show(int(done), int(total)) })
	bar.end()
	if err = errors.Join(err, source.Close()); err != nil {
		return err
	}
	var rows int64
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tROWS\tCHECKSUM")
	for _, t := range tables {
		if rows += t.Rows; t.Rows > 0 {
			fmt.Fprintf(w, "%s\t%d\t%016x\n", t.Name, t.Rows, t.Checksum)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "Copied %d rows of %d tables; both sides match. Set database.url to the target, and start punctual.\n", rows, len(tables))
	return nil
}

// exists returns an error unless there is such a file: opening a SQLite database would make it.
func exists(file string) error {
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	return nil
}
