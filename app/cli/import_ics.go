package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"punctual/account"
	"punctual/app"
	"punctual/meeting"
	meetinghttp "punctual/meeting/httpapi"
	"punctual/meeting/importing"
	"punctual/meeting/itip"
)

const importICSHelp = `Book the meetings of iCalendar files (.ics): a file, a folder of files, an https:// address, or - for
standard input.

Rooms are found by the invited rooms and the location of an event, organizers by their email address.
Nobody is notified. Run it again at any time: events that were imported before are updated if they are
newer, and left alone otherwise.`

// icsImport are the flags of punctual import ics.
type icsImport struct {
	onConflict, room, organizer, from, override string
	names                                       []string
	dryRun, json                                bool
}

func (c *cli) importICSCommand() *cobra.Command {
	var flags icsImport
	cmd := &cobra.Command{
		Use: "ics SOURCE", Short: "Book the meetings of iCalendar files", Long: importICSHelp, Args: cobra.ExactArgs(1),
		Example: `  punctual import ics turing.ics --room Turing --organizer office@example.org --dry-run
  punctual import ics exported/ --map "Conf A=Turing" --from 2027-01-01 --on-conflict skip`,
		RunE: func(cmd *cobra.Command, args []string) error {
			conflicts := []meeting.OnConflict{meeting.FailOnConflict, meeting.SkipOnConflict, meeting.OtherRoom}
			if !slices.Contains(conflicts, meeting.OnConflict(flags.onConflict)) {
				return usageError{fmt.Errorf("--on-conflict is %q; it must be fail, skip or other_room", flags.onConflict)}
			}
			sources, err := c.calendars(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.withApplication(cmd.Context(), func(a *app.Application) error {
				return c.importICS(cmd.Context(), a, sources, flags)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.onConflict, "on-conflict", string(meeting.FailOnConflict), "if a room is taken: fail (report the event), skip (leave out the date) or other_room")
	f.StringVar(&flags.room, "room", "", "name or ID of the room of events that name no known room")
	f.StringArrayVar(&flags.names, "map", nil, `room by what the calendar calls it, such as "Conf A=Turing"; may be repeated`)
	f.StringVar(&flags.organizer, "organizer", "", "email address of the user who organizes events of unknown organizers")
	f.StringVar(&flags.from, "from", "", "date such as 2027-01-01; earlier dates are left out. Default: past meetings become history")
	f.StringVar(&flags.override, "override", "", "reason for booking against the policies of the rooms")
	f.BoolVar(&flags.dryRun, "dry-run", false, "report what would happen, and write nothing")
	f.BoolVar(&flags.json, "json", false, "print the report as JSON")
	return cmd
}

// calendars reads a file, all .ics files of a folder, an address, or standard input.
func (c *cli) calendars(ctx context.Context, from string) ([]importing.Source, error) {
	switch {
	case from == "-":
		return c.calendar(c.stdin, "standard input")
	case strings.HasPrefix(from, "https://"), strings.HasPrefix(from, "http://"), strings.HasPrefix(from, "webcal://"):
		return c.download(ctx, from)
	}
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	files := []string{from}
	if info.IsDir() {
		files = nil
		err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.EqualFold(filepath.Ext(path), ".ics") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no .ics files", from)
		}
	}
	var all []importing.Source
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		found, err := c.calendar(f, name)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (c *cli) calendar(in io.Reader, name string) ([]importing.Source, error) {
	calendar, err := itip.Read(in, itip.ImportLimits)
	if syntax, ok := errors.AsType[*itip.SyntaxError](err); ok {
		return nil, fmt.Errorf("%s:%d: %s", name, syntax.Line, syntax.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return []importing.Source{{Name: name, Calendar: calendar}}, nil
}

func (c *cli) download(ctx context.Context, address string) ([]importing.Source, error) {
	if rest, ok := strings.CutPrefix(address, "webcal://"); ok {
		address = "https://" + rest
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", address, res.Status)
	}
	return c.calendar(res.Body, address)
}

func (c *cli) importICS(ctx context.Context, a *app.Application, sources []importing.Source, flags icsImport) error {
	o, err := c.importOptions(ctx, a, flags)
	if err != nil {
		return err
	}
	bar := c.newProgress()
	o.Progress = bar.show
	by := meeting.Actor{Kind: meeting.ActorSystem, Name: "import"}
	report, err := a.Imports().Import(ctx, by, sources, o)
	bar.end()
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; run the command again to continue")
	}
	if err != nil {
		return err
	}
	if flags.json {
		err = c.printJSON(meetinghttp.NewImportReport(report))
	} else {
		c.printReport(report, flags.dryRun)
	}
	if err == nil && report.Count(importing.Failed) > 0 {
		err = errReported
	}
	return err
}

func (c *cli) importOptions(ctx context.Context, a *app.Application, flags icsImport) (o importing.Options, err error) {
	o = importing.Options{OnConflict: meeting.OnConflict(flags.onConflict), DryRun: flags.dryRun, Override: flags.override, OrganizerEmail: flags.organizer, Rooms: map[string]int64{}}
	if o.From, err = dateFlag("from", flags.from, time.Time{}); err != nil {
		return o, err
	}
	if flags.room != "" {
		room, err := roomNamed(ctx, a, flags.room)
		if err != nil {
			return o, err
		}
		o.RoomID = room.ID
	}
	for _, text := range flags.names {
		name, target, ok := strings.Cut(text, "=")
		if !ok {
			return o, usageError{fmt.Errorf(`--map is %q; it must be like "Conf A=Turing"`, text)}
		}
		room, err := roomNamed(ctx, a, strings.TrimSpace(target))
		if err != nil {
			return o, err
		}
		o.Rooms[strings.TrimSpace(name)] = room.ID
	}
	return o, nil
}

func userNamed(ctx context.Context, a *app.Application, email string) (*account.User, error) {
	u, err := a.Accounts().UserByEmail(ctx, email)
	if errors.Is(err, account.ErrNotFound) {
		return nil, fmt.Errorf("no user has the address %s", email)
	}
	return u, err
}

// roomNamed finds a room by its name or ID.
func roomNamed(ctx context.Context, a *app.Application, name string) (*meeting.Room, error) {
	var found []*meeting.Room
	number, _ := strconv.ParseInt(name, 10, 64)
	for page := (meeting.Page{Limit: 500}); ; {
		rooms, next, err := a.Meetings().Rooms(ctx, meeting.RoomQuery{IncludeInactive: true}, page)
		if err != nil {
			return nil, err
		}
		for _, r := range rooms {
			if strings.EqualFold(r.Name, name) {
				found = append(found, r)
			}
			if r.ID == number {
				return r, nil
			}
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no room is named %q", name)
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("several rooms are named %q; use an ID", name)
	}
}

// progress shows on a terminal how far an import is.
type progress struct {
	to    io.Writer // nil: there is no terminal
	shown int       // percent
}

func (c *cli) newProgress() *progress {
	if tty, ok := c.stderr.(*os.File); ok && term.IsTerminal(int(tty.Fd())) {
		return &progress{to: c.stderr, shown: -1}
	}
	return &progress{}
}

func (p *progress) show(done, total int) {
	percent := 100 * done / max(total, 1)
	if p.to == nil || percent == p.shown {
		return
	}
	p.shown = percent
	fmt.Fprintf(p.to, "\r[%-40s] %3d%%  %d of %d", strings.Repeat("=", percent*40/100), percent, done, total)
}

func (p *progress) end() {
	if p.to != nil && p.shown >= 0 {
		fmt.Fprintln(p.to)
	}
}

// printReport prints what was not imported, line by line, and how many events were.
func (c *cli) printReport(r *importing.Report, dryRun bool) {
	for _, i := range r.Items {
		if i.Result == importing.Failed || i.Result == importing.Skipped && i.Reason != importing.ReasonBefore {
			fmt.Fprintf(c.stdout, "%s: %s: %s\n", itemPlace(i), i.Result, reason(r, i))
		}
		if i.Result == importing.Failed || i.Result == importing.Created {
			for _, d := range i.Dates {
				fmt.Fprintf(c.stdout, "  not on %s: %s\n", d.OriginalStart.Format("2006-01-02 15:04Z"), dateReason(r, d))
			}
		}
	}
	var counts []string
	for _, result := range importing.Results {
		if n := r.Count(result); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, result))
		}
	}
	if len(counts) == 0 {
		counts = []string{"no events"}
	}
	line := strings.Join(counts, ", ") + "."
	if dryRun {
		line = "Dry run, nothing was written: " + line
	}
	fmt.Fprintln(c.stdout, line)
}

func itemPlace(i importing.Item) string {
	start := ""
	if !i.Start.IsZero() {
		start = " on " + i.Start.UTC().Format("2006-01-02 15:04Z")
	}
	return fmt.Sprintf("%s:%d: %q%s", i.File, i.Line, i.Title, start)
}

func reason(r *importing.Report, i importing.Item) string {
	switch {
	case len(i.Conflicts) > 0:
		return taken(r, i.Conflicts)
	case len(i.Dates) > 0:
		return fmt.Sprintf("%d dates of the series cannot be booked", len(i.Dates))
	default:
		return cmp.Or(i.Message, i.Reason)
	}
}

func dateReason(r *importing.Report, d meeting.Skipped) string {
	if len(d.Conflicts) > 0 {
		return taken(r, d.Conflicts)
	}
	var texts []string
	for _, v := range d.Violations {
		texts = append(texts, v.Message)
	}
	return cmp.Or(strings.Join(texts, "; "), d.Reason)
}

func taken(r *importing.Report, os []meeting.Occupancy) string {
	texts := make([]string, len(os))
	for i, o := range os {
		texts[i] = fmt.Sprintf("%s is taken from %s to %s", cmp.Or(r.Rooms[o.RoomID], fmt.Sprint("room ", o.RoomID)), instantText(o.Slot.Start), instantText(o.Slot.End))
	}
	return strings.Join(texts, ", ")
}

func instantText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }
