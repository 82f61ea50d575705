package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"punctual/app"
)

func (c *cli) secretCommand() *cobra.Command {
	return group("secret", "Keys that sign links and cookies", c.secretListCommand(), c.secretRotateCommand())
}

func (c *cli) secretListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the keys, without their secrets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				keys, err := a.SigningKeys(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return c.printJSON(keys)
				}
				w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
				fmt.Fprintln(w, "NAME\tGENERATION\tCREATED\tEXPIRES")
				for _, k := range keys {
					expires := "-"
					if k.ExpiresAt != nil {
						expires = k.ExpiresAt.UTC().Format(time.RFC3339)
					}
					fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", k.Name, k.Generation, k.CreatedAt.UTC().Format(time.RFC3339), expires)
				}
				return w.Flush()
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (c *cli) secretRotateCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{
		Use:   "rotate [NAME...]",
		Short: "Replace keys; without a name, all",
		Long: "Replace keys; without a name, all. Names: " + strings.Join(app.SigningKeyNames, ", ") + ".\n\n" +
			"What the old keys signed stays valid for the grace period. After a leak, use --grace 0s: links in\n" +
			"mails that were sent stop working at once.",
		RunE: func(cmd *cobra.Command, names []string) error {
			if grace < 0 {
				return usageError{errors.New("--grace is negative")}
			}
			for _, name := range names {
				if !slices.Contains(app.SigningKeyNames, name) {
					return usageError{fmt.Errorf("there is no key %q; there are %s", name, strings.Join(app.SigningKeyNames, ", "))}
				}
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				if err := a.RotateSigningKeys(cmd.Context(), grace, names...); err != nil {
					return err
				}
				if len(names) == 0 {
					names = app.SigningKeyNames
				}
				fmt.Fprintf(c.stdout, "Replaced %s. Running servers use the new keys within %v. ", strings.Join(names, ", "), app.SigningKeysEvery)
				if grace == 0 {
					fmt.Fprintln(c.stdout, "What the old keys signed is no longer valid.")
				} else {
					fmt.Fprintf(c.stdout, "What the old keys signed is valid until %s.\n", time.Now().Add(grace).UTC().Format(time.RFC3339))
				}
				return nil
			})
		},
	}
	cmd.Flags().DurationVar(&grace, "grace", 30*24*time.Hour, "how long to accept what the old keys signed")
	return cmd
}
