package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"punctual/account"
	"punctual/account/fault"
	"punctual/app"
	"punctual/app/leaving"
)

// withApplication runs a command on the installation's data, beside the servers that may run.
// It leaves the queue alone: what it makes due, their loaders find in the database.
func (c *cli) withApplication(ctx context.Context, do func(*app.Application) error) error {
	settings, err := c.load()
	if err != nil {
		return err
	}
	settings.Queue.URL = "memory:"
	level := new(slog.LevelVar)
	level.Set(slog.LevelWarn)
	a, err := app.New(ctx, settings, app.RoleAPI, app.NewLogger(c.stderr, settings.Log.Format, level), level)
	if err != nil {
		return err
	}
	return errors.Join(do(a), a.Close())
}

func (c *cli) userCommand() *cobra.Command {
	return group("user", "People who may sign in", c.userAddCommand(), c.userInviteCommand(), c.userListCommand(), c.userDisableCommand(), c.userExportCommand(), c.userEraseCommand(), c.userUnlinkCommand())
}

func (c *cli) userAddCommand() *cobra.Command {
	var n account.NewUser
	var role string
	var passwordStdin bool
	cmd := &cobra.Command{
		Use: "add", Short: "Add a user; prompts for the password", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n.Role = account.Role(role)
			switch {
			case n.Email == "" || n.Name == "":
				return usageError{errors.New("--email and --name are required; see punctual user add --help")}
			case !slices.Contains(account.Roles, n.Role):
				return usageError{fmt.Errorf("--role is %q; it must be member, manager or admin", role)}
			}
			var err error
			if n.Password, err = c.readPassword(passwordStdin); err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				u, err := a.Accounts().CreateUser(cmd.Context(), n)
				if err != nil {
					return fault.Plain(err)
				}
				fmt.Fprintf(c.stdout, "Added %s (%s, id %d).\n", u.Email, u.Role, u.ID)
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&n.Email, "email", "", "address to sign in with")
	f.StringVar(&n.Name, "name", "", "name shown to others")
	f.StringVar(&role, "role", string(account.Member), "member, manager or admin")
	f.StringVar(&n.Phone, "phone", "", "phone number for text messages")
	f.StringVar(&n.Locale, "locale", "", "language of messages, such as en or zh-CN")
	f.StringVar(&n.Timezone, "timezone", "", "IANA time zone of messages; default booking.timezone")
	f.BoolVar(&passwordStdin, "password-stdin", false, "read the password from the first line of standard input")
	return cmd
}

func (c *cli) userInviteCommand() *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use: "invite EMAIL...", Short: "Email people a link to choose a password; adds people without an account", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, emails []string) error {
			if !slices.Contains(account.Roles, account.Role(role)) {
				return usageError{fmt.Errorf("--role is %q; it must be member, manager or admin", role)}
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				failed := 0
				for _, email := range emails {
					if err := invite(cmd.Context(), a.Accounts(), email, account.Role(role)); err != nil {
						fmt.Fprintf(c.stderr, "%s: %v\n", email, fault.Plain(err))
						failed++
						continue
					}
					fmt.Fprintf(c.stdout, "Invited %s.\n", email)
				}
				if failed > 0 {
					return fmt.Errorf("%d of %d people not invited", failed, len(emails))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", string(account.Member), "role of new users: member, manager or admin")
	return cmd
}

func invite(ctx context.Context, accounts *account.Service, email string, role account.Role) error {
	u, err := accounts.UserByEmail(ctx, email)
	switch {
	case errors.Is(err, account.ErrNotFound):
		_, err = accounts.Invite(ctx, account.NewUser{Email: email, Role: role})
	case err == nil:
		_, err = accounts.InviteAgain(ctx, u.ID)
	}
	return err
}

func (c *cli) userListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the users", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withApplication(cmd.Context(), func(a *app.Application) error { return c.listUsers(cmd.Context(), a) })
		},
	}
}

func (c *cli) listUsers(ctx context.Context, a *app.Application) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tEMAIL\tNAME\tROLE\tSTATE")
	for page := (account.Page{Limit: 500}); ; {
		users, next, err := a.Accounts().ListUsers(ctx, page)
		if err != nil {
			return err
		}
		for _, u := range users {
			state := "active"
			switch {
			case !u.Active():
				state = "disabled"
			case !u.InvitedUntil.IsZero():
				state = "invited"
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", u.ID, u.Email, u.Name, u.Role, state)
		}
		if page.Cursor = next; next == "" {
			return w.Flush()
		}
	}
}

func (c *cli) userUnlinkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unlink EMAIL", Short: "Unlink a user's accounts at identity providers, and end their sessions", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				u, err := a.Accounts().UserByEmail(cmd.Context(), args[0])
				if errors.Is(err, account.ErrNotFound) {
					return fmt.Errorf("no user has the address %s", args[0])
				}
				n := 0
				if err == nil {
					n, err = a.Accounts().Unlink(cmd.Context(), u.ID)
				}
				if err != nil {
					return fault.Plain(err)
				}
				fmt.Fprintf(c.stdout, "Unlinked %s from %d accounts of providers.\n", u.Email, n)
				return nil
			})
		},
	}
}

func (c *cli) userDisableCommand() *cobra.Command {
	return &cobra.Command{
		Use: "disable EMAIL", Short: "Disable a user and revoke all their sessions and tokens", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				u, err := a.Accounts().UserByEmail(cmd.Context(), args[0])
				if errors.Is(err, account.ErrNotFound) {
					return fmt.Errorf("no user has the address %s", args[0])
				}
				if err == nil {
					_, err = a.Accounts().UpdateUser(cmd.Context(), u.ID, nil, account.UserPatch{Disabled: new(true)})
				}
				if err != nil {
					return fault.Plain(err)
				}
				fmt.Fprintf(c.stdout, "Disabled %s.\n", u.Email)
				return nil
			})
		},
	}
}

func (c *cli) userExportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export EMAIL", Short: "Write all data about a user to standard output, as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				u, err := a.Accounts().UserByEmail(cmd.Context(), args[0])
				if errors.Is(err, account.ErrNotFound) {
					return fmt.Errorf("no user has the address %s", args[0])
				}
				if err != nil {
					return err
				}
				write, err := a.Leaving().Export(cmd.Context(), u.ID)
				if err != nil {
					return err
				}
				return write(c.stdout)
			})
		},
	}
}

func (c *cli) userEraseCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "erase EMAIL", Short: "Erase the data of a user who has left, or of a guest; a running server does it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return usageError{errors.New("this cannot be undone: repeat it with --yes")}
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				by := leaving.Admin{Name: "punctual user erase"}
				u, err := a.Accounts().UserByEmail(cmd.Context(), args[0])
				switch {
				case err == nil:
					_, err = a.Leaving().Erase(cmd.Context(), by, u.ID)
				case errors.Is(err, account.ErrNotFound):
					_, err = a.Leaving().EraseGuest(cmd.Context(), by, args[0])
				}
				if err != nil {
					return fault.Plain(err)
				}
				fmt.Fprintf(c.stdout, "A worker will erase %s.\n", args[0])
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm the erasure, which cannot be undone")
	return cmd
}

// readPassword from the first line of standard input, or twice from a terminal that does not show it.
func (c *cli) readPassword(fromStdin bool) (string, error) {
	if fromStdin {
		line, err := bufio.NewReader(io.LimitReader(c.stdin, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return "", errors.New("standard input holds no password")
		}
		return line, nil
	}
	tty, ok := c.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(tty.Fd())) {
		return "", usageError{errors.New("there is no terminal to ask for the password; use --password-stdin")}
	}
	first, err := c.ask(tty, "Password: ")
	if err != nil {
		return "", err
	}
	second, err := c.ask(tty, "Once more: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the passwords differ")
	}
	return first, nil
}

func (c *cli) ask(tty *os.File, prompt string) (string, error) {
	fmt.Fprint(c.stderr, prompt)
	b, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(c.stderr)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return string(b), nil
}
