package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"punctual/account"
	"punctual/account/fault"
	"punctual/account/table"
	"punctual/app"
	"punctual/meeting"
	"punctual/meeting/booking"
)

func (c *cli) importCSVCommand() *cobra.Command {
	var people, invite, dryRun bool
	cmd := &cobra.Command{
		Use: "csv FILE", Short: "Add rooms, or people, from a CSV file; - is standard input",
		Long: `Add rooms, or people, from a CSV file. What exists is left as it is, so that a file may be imported again.
A first line with the names of the columns may put them in another order.

Columns of rooms:  name, capacity, floor, features (separated by semicolons), site (name)
Columns of people: email, name, role (default: member), phone, language, timezone`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if invite && !people {
				return usageError{errors.New("--invite needs --people")}
			}
			text, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				if people {
					return c.importPeople(cmd.Context(), a.Accounts(), text, invite, dryRun)
				}
				return c.importRooms(cmd.Context(), a.Meetings(), text, dryRun)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&people, "people", false, "the file lists people instead of rooms")
	f.BoolVar(&invite, "invite", false, "email new people a link to choose a password")
	f.BoolVar(&dryRun, "dry-run", false, "only say what would be added")
	return cmd
}

func (c *cli) readFile(name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(c.stdin)
		return string(b), err
	}
	b, err := os.ReadFile(name)
	return string(b), err
}

func (c *cli) importRooms(ctx context.Context, meetings *booking.Service, text string, dryRun bool) error {
	operator := meeting.Actor{Kind: meeting.ActorSystem, Name: "punctual import", Role: meeting.Role(account.Admin)}
	rows, err := meetings.ImportRooms(ctx, operator, text, 0, dryRun)
	if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		for _, f := range invalid.Faults {
			c.printFault(f)
		}
		return fmt.Errorf("%d faults", len(invalid.Faults))
	}
	if err != nil {
		return fault.Plain(err)
	}
	faults, exist := 0, 0
	for _, row := range rows {
		for _, f := range row.Faults {
			fmt.Fprintf(c.stderr, "line %d: %s %s\n", row.Line, f.Location, f.Message)
			faults++
		}
		if row.Exists {
			exist++
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d faults", faults)
	}
	fmt.Fprintf(c.stdout, "Rooms %s: %d. Already there: %d.\n", added(dryRun), len(rows)-exist, exist)
	return nil
}

// printFault prints a fault at a location such as csv[3].capacity.
func (c *cli) printFault(f meeting.Fault) {
	line, column, _ := strings.Cut(strings.TrimPrefix(f.Location, "csv["), "]")
	fmt.Fprintf(c.stderr, "line %s: %s\n", line, strings.TrimSpace(strings.TrimPrefix(column, ".")+" "+f.Message))
}

var peopleColumns = []string{"email", "name", "role", "phone", "language", "timezone"}

// importPeople adds people one by one. One who cannot be added does not stop the others.
func (c *cli) importPeople(ctx context.Context, accounts *account.Service, text string, invite, dryRun bool) error {
	rows, err := table.Read(text, peopleColumns)
	if e, ok := errors.AsType[*table.SyntaxError](err); ok {
		return fmt.Errorf("line %d: %w", e.Line, err)
	}
	if err != nil {
		return err
	}
	create := accounts.CreateUser
	if invite {
		create = accounts.Invite
	}
	count, exist, failed := 0, 0, 0
	for _, row := range rows {
		n := account.NewUser{
			Email: row.Cells["email"], Name: row.Cells["name"], Role: account.Role(row.Cells["role"]),
			Phone: row.Cells["phone"], Locale: row.Cells["language"], Timezone: row.Cells["timezone"],
		}
		if n.Role == "" {
			n.Role = account.Member
		}
		_, err := accounts.UserByEmail(ctx, n.Email)
		switch {
		case err == nil:
			exist++
			continue
		case errors.Is(err, account.ErrNotFound) && !dryRun:
			_, err = create(ctx, n)
		case errors.Is(err, account.ErrNotFound):
			err = accounts.CheckNewUser(n, invite)
		}
		if err != nil {
			fmt.Fprintf(c.stderr, "line %d: %v\n", row.Line, fault.Plain(err))
			failed++
			continue
		}
		count++
	}
	fmt.Fprintf(c.stdout, "People %s: %d. Already there: %d.\n", added(dryRun), count, exist)
	if failed > 0 {
		return fmt.Errorf("%d of %d people not added", failed, len(rows))
	}
	return nil
}

func added(dryRun bool) string {
	if dryRun {
		return "to add"
	}
	return "added"
}
