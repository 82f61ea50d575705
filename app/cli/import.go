package cli

import "github.com/spf13/cobra"

func (c *cli) importCommand() *cobra.Command {
	return group("import", "Bring in data from other programs", c.importICSCommand(), c.importCSVCommand(), c.importMRBSCommand(), c.importLibreBookingCommand(), c.importJSONLCommand())
}
