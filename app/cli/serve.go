package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"punctual/app"
)

func (c *cli) serveCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use: "serve", Short: "Migrate the database, then serve until SIGTERM or SIGINT", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch r := app.Role(as); r {
			case app.RoleAll, app.RoleAPI, app.RoleWorker:
				return app.Serve(cmd.Context(), app.ServeOptions{ConfigFile: c.configFile, Environ: c.environ, Role: r, Stdout: c.stdout, Stderr: c.stderr})
			default:
				return usageError{fmt.Errorf("--role is %q; it must be all, api or worker", as)}
			}
		},
	}
	cmd.Flags().StringVar(&as, "role", string(app.RoleAll), "all, api (HTTP only) or worker (loader and consumer only)")
	return cmd
}
