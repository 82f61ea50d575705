package cli

import (
	"cmp"
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
	"punctual/delayjob/pause"
	"punctual/meeting"
	"punctual/meeting/importing/moving"
	"punctual/meeting/places"
)

func (c *cli) importCSVCommand() *cobra.Command {
	var people, bookings, invite bool
	var flags movingImport
	cmd := &cobra.Command{
		Use: "csv FILE", Short: "Add rooms, people or bookings from a CSV file; - is standard input",
		Long: `Add rooms, people or bookings from a CSV file. What exists is left as it is, so that a file may be imported again.
A first line with the names of the columns may put them in another order.

Columns of rooms:  name, capacity, floor, features (separated by semicolons), site (name)
Columns of people: email, name, role (default: member), phone, language, timezone
Columns of bookings: title, room, start, end, organizer (email), site, timezone, description,
  attendees (emails, separated by semicolons), private (yes or no), id

Rooms and people of bookings must exist. Nobody is notified. A line with an id of its own can be changed
and imported again; without one, room, start and organizer identify it. See docs/moving.md.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case invite && !people:
				return usageError{errors.New("--invite needs --people")}
			case people && bookings:
				return usageError{errors.New("--people and --bookings cannot be combined")}
			case bookings:
				return c.importBookings(cmd.Context(), args[0], flags)
			}
			dryRun := flags.dryRun
			text, err := c.readFile(args[0])
			if err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				if people {
					return c.importPeople(cmd.Context(), a.Accounts(), text, invite, dryRun)
				}
				return c.importRooms(cmd.Context(), a.Places(), text, dryRun)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&people, "people", false, "the file lists people instead of rooms")
	f.BoolVar(&invite, "invite", false, "email new people a link to choose a password")
	f.BoolVar(&bookings, "bookings", false, "the file lists bookings instead of rooms")
	f.StringVar(&flags.onConflict, "on-conflict", string(moving.Skip), "for bookings, if a room is taken: skip (only report it), keep (as a rejected meeting), other_room, or fail (import nothing)")
	f.StringVar(&flags.from, "from", "", "date such as 2027-01-01; bookings that end before are left out")
	f.StringVar(&flags.report, "report", "", "file for the whole report of bookings: .html or .json")
	f.BoolVar(&flags.json, "json", false, "print the report of bookings as JSON")
	f.BoolVar(&flags.dryRun, "dry-run", false, "only report what would be added")
	return cmd
}

// importBookings books a list. Its local times are in the time zone of the installation, unless a line
// names another.
func (c *cli) importBookings(ctx context.Context, file string, flags movingImport) error {
	text, err := c.readFile(file)
	if err != nil {
		return err
	}
	settings, err := c.load()
	if err != nil {
		return err
	}
	data, err := moving.ReadList(text, cmp.Or(settings.Booking.Timezone, "UTC"))
	if e, ok := errors.AsType[*table.SyntaxError](err); ok {
		return fmt.Errorf("line %d: %w", e.Line, err)
	}
	if err != nil {
		return err
	}
	return c.moveData(ctx, data, flags, func(o *moving.Options) { o.Existing = true })
}

func (c *cli) readFile(name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(c.stdin)
		return string(b), err
	}
	b, err := os.ReadFile(name)
	return string(b), err
}

func (c *cli) importRooms(ctx context.Context, rooms *places.Service, text string, dryRun bool) error {
	operator := meeting.Actor{Kind: meeting.ActorSystem, Name: "punctual import", Role: meeting.Role(account.Admin)}
	rows, err := rooms.ImportRooms(ctx, operator, places.RoomList{CSV: text}, dryRun)
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
	steps := pause.Begin()
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
			if err := steps.Next(ctx); err != nil {
				return err
			}
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
