package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"punctual/app/config"
	"punctual/app/doctor"
)

// healthTimeout is how long the server may take to answer.
const healthTimeout = 3 * time.Second

func (c *cli) healthCommand() *cobra.Command {
	return &cobra.Command{
		Use: "health", Short: "Exit 0 if the server on this machine answers; for health checks of containers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return askHealth(cmd.Context(), config.LoadHTTP(c.configFile, c.environ))
		},
	}
}

// askHealth returns nil if a server with these settings answers on this machine.
func askHealth(ctx context.Context, c config.HTTP) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	answer, err := doctor.Ask(ctx, c, "/healthz")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", answer.Request.URL, answer.Status)
	}
	return nil
}
