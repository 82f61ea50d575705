package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/app/config"
	"punctual/app/doctor"
)

const doctorHelp = `Check the configuration, database, queue, mail server, sign-in providers, clocks, disk, certificate and
running server, and say what to do about each problem.

Nothing is changed or sent. The exit code is 1 if there is a fault; warnings do not count. Secrets are
not printed, so the output can be sent to others.`

func (c *cli) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check everything that punctual needs, and say what to do", Long: doctorHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded, err := config.Load(c.configFile, c.environ)
			found := doctor.Configuration(c.configFile, loaded.Warnings, err)
			if err == nil {
				checks := append(doctor.Of(loaded.Config), providerChecks(loaded.Config)...)
				found = append(found, doctor.Examine(cmd.Context(), checks...)...)
			}
			if asJSON {
				err = c.printJSON(map[string]any{"version": app.Version(), "findings": found})
			} else {
				err = c.printFindings(found)
			}
			if err == nil && doctor.Worst(found) == doctor.Fault {
				err = errReported
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// providerChecks are of the identity providers and directories, each with its name.
func providerChecks(settings *config.Config) (checks []doctor.Check) {
	for _, id := range app.ProviderIDs(settings) {
		checks = append(checks, doctor.Check{Name: "sign-in " + id, Examine: func(ctx context.Context) []doctor.Finding {
			var err error
			for _, p := range app.CheckProviders(settings, id) {
				err = p.Err
			}
			for _, d := range app.CheckDirectories(ctx, settings, "", id) {
				err = d.Err
			}
			if err != nil {
				return []doctor.Finding{{Level: doctor.Fault, Found: err.Error(), Advice: "See punctual auth test " + id + "."}}
			}
			return []doctor.Finding{{Level: doctor.OK, Found: "reached"}}
		}})
	}
	return checks
}

func (c *cli) printFindings(found []doctor.Finding) error {
	width := 0
	for _, f := range found {
		width = max(width, len(f.Check))
	}
	counts := map[doctor.Level]int{}
	for _, f := range found {
		counts[f.Level]++
		fmt.Fprintf(c.stdout, "%-7s  %-*s  %s\n", f.Level, width, f.Check, oneLine(errors.New(f.Found)))
		if f.Advice != "" {
			fmt.Fprintf(c.stdout, "%s  -> %s\n", strings.Repeat(" ", 9+width), f.Advice)
		}
	}
	_, err := fmt.Fprintf(c.stdout, "%s, %s\n", counted(counts[doctor.Fault], "fault"), counted(counts[doctor.Warning], "warning"))
	return err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
