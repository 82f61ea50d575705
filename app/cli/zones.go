package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/meeting/zones"
)

func (c *cli) zonesCommand() *cobra.Command {
	return group("zones", "Find and move meetings after the rules of a time zone changed",
		c.zonesSubcommand("check", "List the coming meetings that the present rules of their zones would move; exit 1 if there are any",
			func(ctx context.Context, s *zones.Service) (r ZonesReport, err error) {
				shifts, err := s.Check(ctx)
				for _, z := range shifts {
					if z.Obstacle == "" {
						r.Move = append(r.Move, zoneMoveOf(z))
					} else {
						r.Stay = append(r.Stay, zoneMoveOf(z))
					}
				}
				r.failed = len(shifts) > 0
				return r, err
			}),
		c.zonesSubcommand("rebase", "Move those meetings to where clocks show the time that they were booked for; exit 1 if some cannot move",
			func(ctx context.Context, s *zones.Service) (r ZonesReport, err error) {
				moved, left, err := s.Rebase(ctx)
				for _, z := range moved {
					r.Moved = append(r.Moved, zoneMoveOf(z))
				}
				for _, z := range left {
					r.Stay = append(r.Stay, zoneMoveOf(z))
				}
				r.failed = len(left) > 0
				return r, err
			}))
}

func (c *cli) zonesSubcommand(use, short string, do func(context.Context, *zones.Service) (ZonesReport, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				r, err := do(cmd.Context(), a.Zones())
				if err != nil {
					return err
				}
				if asJSON {
					err = c.printJSON(r.filled())
				} else {
					r.write(c)
				}
				if err == nil && r.failed {
					err = errReported
				}
				return err
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// ZonesReport is what the zones commands print.
type ZonesReport struct {
	Move  []ZoneMove `json:"move"`  // by check: they would
	Moved []ZoneMove `json:"moved"` // by rebase: they did
	Stay  []ZoneMove `json:"stay"`  // they cannot

	failed bool
}

// ZoneMove is a meeting at which clocks show another time than it was booked for.
type ZoneMove struct {
	app.PlannedMeeting
	SeriesID  int64          `json:"series_id,omitempty"`
	Timezone  string         `json:"timezone"`
	End       time.Time      `json:"end"`
	NewStart  *time.Time     `json:"new_start"` // null: the zone is unknown on this machine
	NewEnd    *time.Time     `json:"new_end"`
	Reason    string         `json:"reason,omitempty"` // why it stays: room_conflict, in_past or unknown_timezone
	Conflicts []ZoneConflict `json:"conflicts,omitempty"`
}

// ZoneConflict is what takes a room.
type ZoneConflict struct {
	RoomID int64     `json:"room_id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
}

func zoneMoveOf(z *zones.Shift) ZoneMove {
	m := z.Meeting
	v := ZoneMove{
		PlannedMeeting: app.NewPlannedMeeting(m), SeriesID: m.SeriesID, Timezone: m.Timezone, End: m.Slot.End.UTC(),
		NewStart: orNull(z.To.Start), NewEnd: orNull(z.To.End), Reason: z.Obstacle,
	}
	for _, o := range z.Conflicts {
		v.Conflicts = append(v.Conflicts, ZoneConflict{o.RoomID, o.Slot.Start.UTC(), o.Slot.End.UTC()})
	}
	return v
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

func (r ZonesReport) filled() ZonesReport {
	for _, list := range []*[]ZoneMove{&r.Move, &r.Moved, &r.Stay} {
		*list = append([]ZoneMove{}, *list...)
	}
	return r
}

func (r ZonesReport) write(c *cli) {
	if len(r.Move)+len(r.Moved)+len(r.Stay) == 0 {
		fmt.Fprintln(c.stdout, "All upcoming meetings are still at the time they were booked for.")
		return
	}
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	for _, section := range []struct {
		title string
		moves []ZoneMove
	}{{"Would move", r.Move}, {"Moved", r.Moved}, {"Cannot move", r.Stay}} {
		if len(section.moves) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s: %d\n  MEETING\tZONE\tROOMS\tFROM\tTO\tREASON\n", section.title, len(section.moves))
		for _, m := range section.moves {
			to := "unknown"
			if m.NewStart != nil {
				to = planTime(*m.NewStart)
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", printable(m.String()), m.Timezone, printable(strings.Join(m.Rooms, ", ")), planTime(m.Start), to, m.Reason)
		}
		w.Flush()
	}
}
