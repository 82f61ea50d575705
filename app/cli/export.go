package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/meeting"
)

func (c *cli) exportCommand() *cobra.Command {
	return group("export", "Write data for other programs", c.exportICSCommand(), c.exportAuditCommand(), c.exportAllCommand())
}

const exportICSHelp = `Write the meetings of a room, of a person or of all rooms as iCalendar. Requests that wait for approval
and cancelled meetings are left out. A series is one recurring event, without the dates that are left out.

punctual import ics reads the file back.`

// icsExport are the flags of punctual export ics.
type icsExport struct {
	room, user, from, to, output string
	all                          bool
}

func (c *cli) exportICSCommand() *cobra.Command {
	var flags icsExport
	cmd := &cobra.Command{
		Use: "ics", Short: "Write meetings as iCalendar", Long: exportICSHelp, Args: cobra.NoArgs,
		Example: `  punctual export ics --room Turing --output turing.ics
  punctual export ics --all --from 2027-01-01 --to 2028-01-01 >all.ics`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := 0
			for _, is := range []bool{flags.room != "", flags.user != "", flags.all} {
				if is {
					given++
				}
			}
			if given != 1 {
				return usageError{errors.New("one of --room, --user and --all is required; see punctual export ics --help")}
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error { return c.exportICS(cmd.Context(), a, flags) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.room, "room", "", "name or ID of a room")
	f.StringVar(&flags.user, "user", "", "email address of a person; exports what they organize or are invited to")
	f.BoolVar(&flags.all, "all", false, "all rooms")
	f.StringVar(&flags.from, "from", "", "date such as 2027-01-01; default: the first meeting")
	f.StringVar(&flags.to, "to", "", "date such as 2028-01-01, exclusive; default: the last meeting")
	f.StringVarP(&flags.output, "output", "o", "", "file to write; default: standard output")
	return cmd
}

func (c *cli) exportICS(ctx context.Context, a *app.Application, flags icsExport) error {
	q := meeting.MeetingQuery{Statuses: []meeting.Status{meeting.Confirmed, meeting.InProgress, meeting.Ended}}
	var err error
	if q.From, err = dateFlag("from", flags.from, time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		return err
	}
	if q.To, err = dateFlag("to", flags.to, time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		return err
	}
	name, qs := "Punctual", []meeting.MeetingQuery{q}
	switch {
	case flags.room != "":
		room, err := roomNamed(ctx, a, flags.room)
		if err != nil {
			return err
		}
		name, qs[0].RoomID = room.Name, room.ID
	case flags.user != "":
		u, err := userNamed(ctx, a, flags.user)
		if err != nil {
			return err
		}
		name = u.Name
		invited := q
		invited.AttendeeEmail = u.Email
		qs[0].OrganizerID = u.ID
		qs = append(qs, invited)
	}
	ms, err := meetingsOf(ctx, a, qs)
	if err != nil {
		return err
	}
	until := time.Now()
	for _, m := range ms {
		if m.Slot.End.After(until) {
			until = m.Slot.End
		}
	}
	calendar, err := a.Export(ctx, name, ms, until)
	if err != nil {
		return err
	}
	if flags.output == "" {
		_, err = c.stdout.Write(calendar)
		return err
	}
	if err := os.WriteFile(flags.output, calendar, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(c.stderr, "Wrote %d meetings to %s.\n", len(ms), flags.output)
	return nil
}

func (c *cli) exportAuditCommand() *cobra.Command {
	var from, to, output string
	var actions []string
	cmd := &cobra.Command{
		Use: "audit", Short: "Write the audit log as lines of JSON, newest first", Args: cobra.NoArgs,
		Example: "  punctual export audit --from 2027-01-01 --action 'user.*' --action session.refused | jq .actor.name",
		RunE: func(cmd *cobra.Command, _ []string) error {
			since, err1 := dateFlag("from", from, time.Time{})
			until, err2 := dateFlag("to", to, time.Time{})
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				if output == "" {
					return a.ExportAudit(cmd.Context(), c.stdout, since, until, actions...)
				}
				file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
				if err != nil {
					return err
				}
				return errors.Join(a.ExportAudit(cmd.Context(), file, since, until, actions...), file.Close())
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "date such as 2027-01-01; default: the first entry")
	f.StringVar(&to, "to", "", "date such as 2028-01-01, exclusive; default: the last entry")
	f.StringSliceVar(&actions, "action", nil, "actions such as room.changed or room.*; default: all")
	f.StringVarP(&output, "output", "o", "", "file to write; default: standard output")
	return cmd
}

func dateFlag(name, text string, otherwise time.Time) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, usageError{fmt.Errorf("--%s is %q; it must be a date such as 2027-01-01", name, text)}
	}
	return t, nil
}

// meetingsOf returns the meetings of several queries, each once.
func meetingsOf(ctx context.Context, a *app.Application, qs []meeting.MeetingQuery) ([]*meeting.Meeting, error) {
	by := meeting.Actor{Kind: meeting.ActorSystem, Name: "export"}
	seen := map[meeting.ID]bool{}
	var all []*meeting.Meeting
	for _, q := range qs {
		for page := (meeting.Page{Limit: 500}); ; {
			ms, next, err := a.Meetings().Meetings(ctx, by, q, page)
			if err != nil {
				return nil, err
			}
			for _, m := range ms {
				if !seen[m.ID] {
					seen[m.ID] = true
					all = append(all, m)
				}
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
	}
	return all, nil
}
