package app

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *cli) configCommand() *cobra.Command {
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Tell everything that is wrong with a configuration file, with the lines around it",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				c.configFile = args[0]
			}
			_, err := c.load()
			if e, ok := isConfigError(err); ok {
				fmt.Fprint(c.stderr, e.Report())
				return errReported
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(c.stdout, "%s is fine\n", c.configFile)
			return nil
		},
	}
	return group("config", "Look at the configuration", check)
}
