package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"punctual/app"
)

func (c *cli) authCommand() *cobra.Command {
	return group("auth", "Sign-in with the accounts of a company", c.authTestCommand())
}

func (c *cli) authTestCommand() *cobra.Command {
	var email string
	cmd := &cobra.Command{
		Use: "test [PROVIDER...]", Short: "Contact the identity providers and directories of auth.oidc and auth.ldap, and print what to register with them",
		RunE: func(cmd *cobra.Command, ids []string) error {
			settings, err := c.load()
			if err != nil {
				return err
			}
			known := app.ProviderIDs(settings)
			if len(known) == 0 {
				return errors.New("auth.oidc and auth.ldap name no provider")
			}
			for _, id := range ids {
				if !slices.Contains(known, id) {
					return usageError{fmt.Errorf("there is no provider %q in auth.oidc and auth.ldap; there are %s", id, strings.Join(known, ", "))}
				}
			}
			failed := 0
			for _, p := range app.CheckProviders(settings, ids...) {
				fmt.Fprintf(c.stdout, "%s (%s)\n  issuer        %s\n  redirect URI  %s\n  logout URI    %s\n", p.ID, p.Name, p.Issuer, p.RedirectURL, p.LogoutURL)
				if p.Err != nil {
					failed++
					fmt.Fprintf(c.stdout, "  failed        %v\n", p.Err)
					continue
				}
				fmt.Fprintln(c.stdout, "  reached       the issuer matches; sign in to check whether it accepts the client")
			}
			for _, d := range app.CheckDirectories(cmd.Context(), settings, email, ids...) {
				if d.Err != nil {
					failed++
				}
				c.printDirectory(d, email)
			}
			if failed > 0 {
				return fmt.Errorf("%d of the providers not reached", failed)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "address to look up in the directories")
	return cmd
}

func (c *cli) printDirectory(d app.CheckedDirectory, email string) {
	fmt.Fprintf(c.stdout, "%s (directory)\n  URL           %s\n", d.ID, d.URL)
	if d.Err != nil {
		fmt.Fprintf(c.stdout, "  failed        %v\n", d.Err)
		return
	}
	fmt.Fprintln(c.stdout, "  reached       the base can be searched; sign in to check whether it accepts passwords")
	switch p := d.Person; {
	case p != nil:
		fmt.Fprintf(c.stdout, "  person        %s\n  ID            %s\n  address       %s\n  name          %s\n", p.DN, p.Identity.Subject, p.Identity.Email, p.Identity.Name)
		for _, g := range p.Groups {
			fmt.Fprintf(c.stdout, "  group         %s\n", g)
		}
		fmt.Fprintf(c.stdout, "  role          %s\n", cmp.Or(string(p.Identity.Role), "not decided by the directory"))
		if !p.Identity.Join {
			fmt.Fprintln(c.stdout, "  note          the address is in none of the configured domains, so it matches no user and creates none")
		}
	case email != "":
		fmt.Fprintf(c.stdout, "  person        nobody has the address %s, or several people\n", email)
	}
}
