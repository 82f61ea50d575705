package cli

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"punctual/account/fault"
	"punctual/app"
	"punctual/meeting"
	"punctual/meeting/importing/librebooking"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/mrbs"
	"punctual/meeting/importing/sqldump"
)

const movingHelp = `
SOURCE is the address of the running database (mysql://user:password@host/database or
postgres://user:password@host/database), a dump file (.sql or .sql.gz of mysqldump, mariadb-dump or
pg_dump), or - for a dump on standard input. The source is only read.

Nobody is notified. Run it again at any time, also after an interruption: what was imported before is
left alone, and updated if it changed there. See docs/moving.md.`

// movingImport are the flags that imports of other programs share.
type movingImport struct {
	onConflict, from, mailDomain, report string
	people                               []string
	dryRun, json                         bool
}

func (m *movingImport) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&m.onConflict, "on-conflict", string(moving.Keep), "if a room is taken: keep (as a rejected meeting), skip (only report it), other_room, or fail (import nothing)")
	f.StringVar(&m.from, "from", "", "date such as 2027-01-01; bookings that end before are left out")
	f.StringVar(&m.mailDomain, "mail-domain", "", "domain for people without an email address: LOGIN@domain. Default: an address that gets no mails")
	f.StringArrayVar(&m.people, "person", nil, "email address of a person, such as dave=dave@example.org; may be repeated")
	f.StringVar(&m.report, "report", "", "file for the whole report: .html or .json")
	f.BoolVar(&m.dryRun, "dry-run", false, "report what would happen, and write nothing")
	f.BoolVar(&m.json, "json", false, "print the report as JSON")
}

func (m *movingImport) options() (o moving.Options, err error) {
	o = moving.Options{OnConflict: moving.OnConflict(m.onConflict), DryRun: m.dryRun, MailDomain: strings.ToLower(m.mailDomain)}
	if !slices.Contains(moving.OnConflicts, o.OnConflict) {
		return o, usageError{fmt.Errorf("--on-conflict is %q; it must be keep, skip, other_room or fail", m.onConflict)}
	}
	if ext := strings.ToLower(filepath.Ext(m.report)); m.report != "" && ext != ".html" && ext != ".json" {
		return o, usageError{fmt.Errorf("--report is %q; it must end in .html or .json", m.report)}
	}
	if m.mailDomain != "" && !fault.IsEmail("x@"+m.mailDomain) {
		return o, usageError{fmt.Errorf("--mail-domain is %q; it must be a domain such as example.org", m.mailDomain)}
	}
	if o.Addresses, err = pairs("person", m.people); err != nil {
		return o, err
	}
	for login, email := range o.Addresses {
		if !fault.IsEmail(email) {
			return o, usageError{fmt.Errorf("--person %s: %q must be an email address", login, email)}
		}
	}
	o.From, err = dateFlag("from", m.from, o.From)
	return o, err
}

// pairs reads flags such as dave=dave@example.org. The keys are in lower case.
func pairs(flag string, texts []string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range texts {
		k, v, ok := strings.Cut(text, "=")
		if k, v = strings.TrimSpace(k), strings.TrimSpace(v); !ok || k == "" || v == "" {
			return nil, usageError{fmt.Errorf("--%s is %q; it must be like KEY=VALUE", flag, text)}
		}
		all[strings.ToLower(k)] = v
	}
	return all, nil
}

func (c *cli) importMRBSCommand() *cobra.Command {
	var flags movingImport
	var o mrbs.Options
	var types, periods []string
	cmd := &cobra.Command{
		Use: "mrbs SOURCE", Short: "Move from MRBS: rooms, people and bookings", Args: cobra.ExactArgs(1),
		Long: "Move from MRBS (Meeting Room Booking System): areas become sites, rooms, people, bookings and series." + movingHelp,
		Example: `  punctual import mrbs mrbs.sql --dry-run --report report.html
  punctual import mrbs mysql://mrbs:secret@127.0.0.1/mrbs --mail-domain example.org`,
		RunE: func(cmd *cobra.Command, args []string) error {
			byLetter, err := pairs("type", types)
			if err != nil {
				return err
			}
			o.Types = map[string]string{}
			for letter, name := range byLetter {
				o.Types[strings.ToUpper(letter)] = name
			}
			if o.Periods, err = pairs("periods", periods); err != nil {
				return err
			}
			if o.Timezone != "" {
				if _, err := fault.Zone(o.Timezone); err != nil {
					return usageError{fmt.Errorf("--timezone is %q; it must be an IANA zone such as Europe/Berlin", o.Timezone)}
				}
			}
			return c.move(cmd.Context(), args[0], flags, mrbs.Want, func(tables map[string]*sqldump.Table) (*moving.Data, error) { return mrbs.Read(tables, o) })
		},
	}
	flags.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Prefix, "prefix", "", "prefix of the tables, if the database holds several installations")
	f.StringVar(&o.Timezone, "timezone", "", "IANA zone of areas that name none: the $timezone of MRBS's config.inc.php")
	f.StringArrayVar(&types, "type", nil, "name of a type by its letter, such as I=Internal; may be repeated")
	f.StringArrayVar(&periods, "periods", nil, "clock times of the periods of an area, such as 'School=08:00-08:45,08:50-09:35'; may be repeated")
	f.BoolVar(&o.JoinRooms, "join-rooms", false, "merge bookings of one person with the same title and time into one meeting with several rooms")
	return cmd
}

// move reads a source and imports it.
func (c *cli) move(ctx context.Context, source string, flags movingImport, want func(string) bool, read func(map[string]*sqldump.Table) (*moving.Data, error)) error {
	if _, err := flags.options(); err != nil {
		return err
	}
	tables, err := c.tablesOf(ctx, source, want)
	if err != nil {
		return err
	}
	data, err := read(tables)
	if err != nil {
		return err
	}
	return c.moveData(ctx, data, flags, func(*moving.Options) {})
}

func (c *cli) moveData(ctx context.Context, data *moving.Data, flags movingImport, adjust func(*moving.Options)) error {
	o, err := flags.options()
	if err != nil {
		return err
	}
	adjust(&o)
	return c.withApplication(ctx, func(a *app.Application) error {
		bar := c.newProgress()
		o.Progress = bar.show
		report, err := a.Moving().Move(ctx, meeting.Actor{Kind: meeting.ActorSystem, Name: "import"}, data, o)
		bar.end()
		if errors.Is(err, context.Canceled) {
			return errors.New("interrupted; run the command again to continue")
		}
		if conflicts, ok := errors.AsType[*moving.ConflictsError](err); ok {
			return fmt.Errorf("%w; see them with --dry-run and --on-conflict keep", conflicts)
		}
		if err != nil {
			return err
		}
		return c.writeMovingReport(report, flags)
	})
}

func (c *cli) tablesOf(ctx context.Context, source string, want func(string) bool) (map[string]*sqldump.Table, error) {
	if sqldump.IsURL(source) {
		return sqldump.Query(ctx, source, sqldump.Limits{}, want)
	}
	in, name := c.stdin, "standard input"
	if source != "-" {
		file, err := os.Open(source)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, source
	}
	tables, err := sqldump.Read(in, sqldump.Limits{}, want)
	if syntax, ok := errors.AsType[*sqldump.SyntaxError](err); ok {
		return nil, fmt.Errorf("%s:%d:%d: %s", name, syntax.Line, syntax.Column, syntax.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return tables, nil
}

//go:embed moving_report.html
var movingReportPage string

var movingReport = template.Must(template.New("report").Funcs(template.FuncMap{
	"sections": func() []string { return moving.Sections },
	"results":  func() []moving.Result { return movingResults },
	"join":     strings.Join,
}).Parse(movingReportPage))

// movingResults are in the order of reports.
var movingResults = []moving.Result{moving.Created, moving.Updated, moving.Unchanged, moving.Taken, moving.Failed}

func (c *cli) writeMovingReport(r *moving.Report, flags movingImport) (err error) {
	if flags.report != "" {
		write := func(w io.Writer) error { return movingReport.Execute(w, r) }
		if strings.EqualFold(filepath.Ext(flags.report), ".json") {
			write = func(w io.Writer) error { return encodeReport(w, r) }
		}
		file, err := os.OpenFile(flags.report, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(write(file), file.Close()); err != nil {
			return err
		}
	}
	if flags.json {
		err = encodeReport(c.stdout, r)
	} else {
		c.printMovingReport(r)
	}
	if err == nil && r.Failures() > 0 {
		err = errReported
	}
	return err
}

func encodeReport(w io.Writer, r *moving.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func (c *cli) printMovingReport(r *moving.Report) {
	for _, n := range r.Notes {
		fmt.Fprintf(c.stdout, "note: %s: %s\n", n.About, n.Message)
	}
	for _, p := range r.Problems {
		b := p.Booking
		fmt.Fprintf(c.stdout, "%s: %s: %q (%s) in %s on %s to %s: %s%s\n", p.Result, b.Ref, b.Title, b.Organizer, cmp.Or(strings.Join(b.Rooms, ", "), "no room"),
			b.Start.Format("2006-01-02 15:04"), b.End.Format("2006-01-02 15:04"), p.Message, kept(p))
	}
	if r.DryRun {
		fmt.Fprintln(c.stdout, "Dry run, nothing was written.")
	}
	for _, section := range moving.Sections {
		var counts []string
		for _, result := range movingResults {
			if n := r.Counts[section][result]; n > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", n, result))
			}
		}
		if len(counts) > 0 {
			fmt.Fprintf(c.stdout, "%s: %s\n", section, strings.Join(counts, ", "))
		}
	}
}

// kept says what became of a booking that lost its room.
func kept(p moving.Problem) string {
	id := ""
	if p.MeetingID != 0 {
		id = fmt.Sprintf(" %d", p.MeetingID)
	}
	switch p.Kept {
	case "rejected":
		return fmt.Sprintf("; kept as rejected meeting%s", id)
	case "other_room":
		return fmt.Sprintf("; booked in %s as meeting%s", p.Room, id)
	}
	return "; only in this report"
}

func (c *cli) importLibreBookingCommand() *cobra.Command {
	var flags movingImport
	cmd := &cobra.Command{
		Use: "librebooking SOURCE", Short: "Move from LibreBooking: resources, people and reservations", Args: cobra.ExactArgs(1),
		Long: "Move from LibreBooking or Booked Scheduler: schedules become sites, resources become rooms; people, reservations and series come with them." + movingHelp,
		Example: `  punctual import librebooking librebooking.sql.gz --dry-run --report report.html
  punctual import librebooking mysql://booked:secret@127.0.0.1/librebooking`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.move(cmd.Context(), args[0], flags, librebooking.Want, librebooking.Read)
		},
	}
	flags.add(cmd)
	return cmd
}
