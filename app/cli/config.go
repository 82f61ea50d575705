package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"punctual/app"
	"punctual/app/config"
)

func (c *cli) configCommand() *cobra.Command {
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Report all errors in a configuration file, with the surrounding lines",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				c.configFile = args[0]
			}
			_, err := c.load()
			if e, ok := errors.AsType[*config.Error](err); ok {
				fmt.Fprint(c.stderr, e.Report())
				return errReported
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(c.stdout, "%s is valid\n", c.configFile)
			return nil
		},
	}
	return group("config", "Look at the configuration", check, c.configPlanCommand())
}

func (c *cli) configPlanCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show the effects of a file on existing bookings, compared with --config; changes nothing",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			old, err := c.load()
			if err != nil {
				return err
			}
			next, err := config.Load(args[0], c.environ) // without its warnings: c.load has printed them
			if e, ok := errors.AsType[*config.Error](err); ok {
				fmt.Fprint(c.stderr, e.Report())
				return errReported
			}
			if err != nil {
				return err
			}
			p, err := app.PlanOffline(cmd.Context(), old, next.Config, time.Now)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(p)
			}
			return writePlan(c.stdout, p)
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func writePlan(to io.Writer, p *app.ConfigPlan) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	section := func(n int, title, head string, row func(i int) string) {
		fmt.Fprintf(w, "%s: %d\n", title, n)
		if n > 0 {
			fmt.Fprintln(w, "  "+head)
		}
		for i := range n {
			fmt.Fprintln(w, "  "+row(i))
		}
		fmt.Fprintln(w)
		w.Flush() // each table has columns of its own
	}
	section(len(p.Settings), "Changed settings", "KEY\tFROM\tTO\tTAKES EFFECT", func(i int) string {
		s := p.Settings[i]
		when := "immediately"
		if s.Restart {
			when = "after a restart"
		}
		return strings.Join([]string{s.Key, settingText(s.From), settingText(s.To), when}, "\t")
	})
	section(len(p.Reminders), "Rescheduled reminders", "MEETING\tSTARTS\tREMINDER\tBY\tIS DUE\tWOULD BE DUE", func(i int) string {
		r := p.Reminders[i]
		from, to := "(new)", "never"
		if r.From != nil {
			from = planTime(*r.From)
		}
		if r.To != nil {
			to = planTime(*r.To)
		}
		if r.TooLate {
			to += " (too late, not sent)"
		}
		channels := make([]string, len(r.Channels))
		for i, c := range r.Channels {
			channels[i] = string(c)
		}
		return strings.Join([]string{r.Meeting.String(), planTime(r.Meeting.Start), "before the " + string(r.Before), strings.Join(channels, ", "), from, to}, "\t")
	})
	section(len(p.Requests), "Pending requests with a new time-out (they keep theirs)", "MEETING\tSTARTS\tDEADLINE\tOUTCOME\tNEW DEADLINE\tNEW OUTCOME", func(i int) string {
		r := p.Requests[i]
		return strings.Join([]string{r.Meeting.String(), planTime(r.Meeting.Start), planTime(r.Deadline), r.OnTimeout, planTime(r.DeadlineAnew), r.OnTimeoutAnew}, "\t")
	})
	section(len(p.Refusals), "Booked meetings that violate new policies (they stay)", "MEETING\tSTARTS\tROOMS\tBECAUSE", func(i int) string {
		r := p.Refusals[i]
		reasons := make([]string, len(r.Reasons))
		for i, why := range r.Reasons {
			reasons[i] = why.Message
		}
		return strings.Join([]string{r.Meeting.String(), planTime(r.Meeting.Start), strings.Join(r.Meeting.Rooms, ", "), strings.Join(reasons, "; ")}, "\t")
	})
	_, err := fmt.Fprintf(to, "%d current and upcoming meetings checked. Nothing was changed.\n", p.Meetings)
	return err
}

func planTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func settingText(v any) string {
	switch v := v.(type) {
	case string:
		if v == "" {
			return `""`
		}
		return v
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = settingText(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, k+": "+settingText(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	default:
		return fmt.Sprint(v)
	}
}
