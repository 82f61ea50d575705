package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"punctual/app/config"
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

// askHealth returns nil if a server with these settings answers on this machine. It does not check the
// certificate, whose name is not that of the local address.
func askHealth(ctx context.Context, c config.HTTP) error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if c.TLS.Enabled() {
		scheme = "https"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return err
	}
	secure := &tls.Config{InsecureSkipVerify: true}
	if domains := c.TLS.ACME.Domains; len(domains) > 0 {
		secure.ServerName = domains[0] // other names have no certificate
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: secure, DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL, answer.Status)
	}
	return nil
}
