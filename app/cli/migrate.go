package cli

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/app/database"
	"punctual/migrations"
)

func (c *cli) migrateCommand() *cobra.Command {
	step := func(use, short string, do func(context.Context, *database.DB) error) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return c.withDatabase(cmd.Context(), do) },
		}
	}
	return group("migrate", "The schema by hand",
		step("up", "Bring the schema to the newest version", c.migrateUp),
		step("down", "Take back the latest step, and the data it made room for", c.migrateDown),
		step("status", "List the steps, applied or not", c.migrateStatus))
}

func (c *cli) withDatabase(ctx context.Context, do func(context.Context, *database.DB) error) error {
	settings, err := c.load()
	if err != nil {
		return err
	}
	db, err := app.OpenDatabase(ctx, settings.Database)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, db), db.Close())
}

func (c *cli) migrateUp(ctx context.Context, db *database.DB) error {
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	fmt.Fprintln(c.stdout, "The schema is up to date.")
	return nil
}

func (c *cli) migrateDown(ctx context.Context, db *database.DB) error {
	if err := db.MigrateDown(ctx); err != nil {
		return err
	}
	return c.migrateStatus(ctx, db)
}

func (c *cli) migrateStatus(ctx context.Context, db *database.DB) error {
	steps, err := migrations.Status(ctx, db.SQL, db.Dialect)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "VERSION\tSTEP\tAPPLIED")
	for _, s := range steps {
		applied := "no"
		if !s.AppliedAt.IsZero() {
			applied = s.AppliedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		fmt.Fprintf(w, "%d\t%s\t%s\n", s.Version, s.Name, applied)
	}
	return w.Flush()
}
