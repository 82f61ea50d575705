package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"punctual/notify"
)

// view is the data for the templates of a language. Strings are single lines without control
// characters. Times are in the recipient's zone.
type view struct {
	Kind       string
	Recipient  string // name
	Title      string
	ShortTitle string
	Where      string
	Organizer  string
	BookedBy   string // who booked it for the organizer; "": the organizer
	Mine       bool   // the recipient is the organizer
	Self       bool   // the recipient organizes the meeting and booked it
	Handover   bool   // the recipient has become the organizer
	By         string // who changed, cancelled or decided
	StartTime  string // 10:00
	EndTime    string
	Starts     string // Feb 10, 10:00
	ShortStart string // Feb 10, 10:00 (UTC+1)
	ShortEnd   string
	Deadline   string // like ShortStart; "": none
	Move       bool   // the request or decision is about a move; the meeting itself takes place
	Approves   bool   // the request is approved on timeout
	Agreed     string // names of approvers of earlier levels
	For        string // names of users whose deputy the reader is
	NoShows    int    // consecutive, of a series
	Count      int    // meetings that the recipient takes over, or those of a digest
	Series     int64  // number of dates of the series; 0: a single meeting
	Some       bool   // only some dates of the series
	Part       string // of a change of a series: ends, goes_on (from Split), added; "": the whole
	Split      string // Wednesday, March 17, 2027
	LastDay    string // last date: Mar 10
	TimedOut   bool
	Waits      bool   // about the waiting list
	Why        string // reason code of a waiting list entry that ended, the category of a fault, or the period of a digest
	Zone       string // of the recipient: Europe/Berlin, UTC+1
	Asked      bool   // the booking needs approval
	Remaining  string // time until what the reminder is about: 15 minutes; "": none
	Past       bool   // what the reminder is about has already happened

	locale     *locale
	variant    string
	meetingID  int64
	facts      notify.Facts
	start, end time.Time // in the recipient's zone
	room       *time.Location
}

const (
	maxSMSTitle    = 40
	maxDescription = 2000
	maxAttendees   = 8
)

func (r *Renderer) view(n notify.Notification, now time.Time) (*view, error) {
	variant, err := variantOf(n)
	if err != nil {
		return nil, err
	}
	f := n.Facts
	room := zone(f.Timezone)
	room = cmp.Or(room, time.UTC)
	mine := cmp.Or(zone(n.To.Timezone), room)
	l := r.locales.of(n.To.Locale)
	v := &view{
		Kind:      string(n.Kind),
		Recipient: line(n.To.Name),
		Title:     line(f.Title),
		Organizer: contact(f.Organizer),
		BookedBy:  line(f.BookedBy),
		Mine:      strings.EqualFold(n.To.Address, f.Organizer.Email),
		Handover:  f.Handover,
		By:        line(f.By),
		NoShows:   f.NoShows,
		Count:     f.Count,
		locale:    l,
		variant:   variant,
		meetingID: cmp.Or(f.MeetingID, n.MeetingID),
		facts:     f,
		start:     f.Start.In(mine),
		end:       f.End.In(mine),
		room:      room,
	}
	v.Self = v.Mine && v.BookedBy == "" && !v.Handover
	if v.Mine && v.By == v.Recipient { // they know who did it
		v.By = ""
	}
	v.ShortTitle = cut(v.Title, maxSMSTitle)
	v.Where = v.names(f.Rooms)
	v.StartTime, v.EndTime = l.must("time", v.start), l.must("time", v.end)
	v.Starts = v.at("date-short", v.start)
	v.ShortStart, v.ShortEnd = v.short(v.start), v.short(v.end)
	if f.Deadline != nil {
		v.Deadline = v.short(f.Deadline.In(mine))
	}
	if s := f.Series; s != nil {
		v.Series, v.Some, v.Part = s.Count, len(s.Cancelled) > 0, string(s.Part)
		v.LastDay = l.must("date-short", s.Last.In(mine))
		if s.Split != nil {
			v.Split = l.must("date", s.Split.In(mine))
		}
	}
	if len(f.ByFor) > 0 {
		v.By = l.must("stands-in", map[string]string{"By": v.By, "For": v.names(f.ByFor)})
	}
	v.Move, v.TimedOut = f.Move != nil, f.Reason == "timeout"
	if q := f.Request; q != nil {
		v.Approves = q.OnTimeout == "confirmed"
		v.Agreed, v.For = v.names(q.Agreed), v.names(q.For)
	}
	switch n.Kind {
	case notify.WaitlistOffer, notify.WaitlistBooked, notify.WaitlistExpired:
		v.Waits, v.Why, v.Asked = true, f.Reason, f.Decision == "pending"
	case notify.SignInAdded:
		v.Why = f.Reason
	case notify.FaultReport:
		v.Why = f.Reason
	case notify.DigestMail:
		v.Why, v.Zone = f.Reason, zoneName(v.start)
	case notify.Reminder:
		v.remind(now)
	case notify.ApprovalReminder:
		if f.Deadline != nil && f.Deadline.After(now) {
			v.Remaining = l.must("duration", parts(f.Deadline.Sub(now).Round(time.Minute)))
		}
	}
	return v, nil
}

func variantOf(n notify.Notification) (string, error) {
	switch n.Kind {
	case notify.Reminder:
		switch n.Facts.Before {
		case "start", "end":
			return "reminder." + string(n.Facts.Before), nil
		}
		return "", fmt.Errorf("unknown reminder before %q", n.Facts.Before)
	case notify.Decision:
		switch {
		case n.Facts.Decision == "confirmed":
			return "decision.confirmed", nil
		case n.Facts.Reason == "timeout":
			return "decision.timeout", nil
		case n.Facts.Decision == "rejected":
			return "decision.rejected", nil
		}
		return "", fmt.Errorf("unknown decision %q", n.Facts.Decision)
	case notify.Invitation, notify.Change, notify.Cancellation, notify.ApprovalRequest, notify.ApprovalReminder, notify.Escalation, notify.Released, notify.Declined,
		notify.WaitlistOffer, notify.WaitlistBooked, notify.WaitlistExpired,
		notify.InviteUser, notify.PasswordReset, notify.TestMail, notify.Handover, notify.FaultReport, notify.DigestMail, notify.SignInAdded, notify.SMSLimit:
		return string(n.Kind), nil
	}
	return "", fmt.Errorf("unknown notification kind %q", n.Kind)
}

func (v *view) needsDecision() bool {
	switch notify.Kind(v.Kind) {
	case notify.ApprovalRequest, notify.ApprovalReminder, notify.Escalation:
		return true
	}
	return false
}

func (v *view) names(ns []string) string {
	out := make([]string, len(ns))
	for i, n := range ns {
		out[i] = line(n)
	}
	return strings.Join(out, v.locale.must("list-separator", nil))
}

// remind sets the time until the start or end. A reminder that is sent about on time shows the
// configured round number, a late one the actual time.
func (v *view) remind(now time.Time) {
	at, offset := v.start, time.Duration(v.facts.Offset)*time.Second
	if v.facts.Before == "end" {
		at = v.end
	}
	left := at.Sub(now)
	if (left - offset).Abs() <= min(90*time.Second, offset/4) {
		left = offset
	} else if left >= time.Minute {
		left = left.Round(time.Minute)
	}
	v.Past = left <= -time.Minute
	if left >= time.Second {
		v.Remaining = v.locale.must("duration", parts(left))
	}
}

type part struct {
	N    int64
	Unit string // day, hour, minute or second
}

func parts(d time.Duration) []part {
	var ps []part
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := d / u.size; n > 0 && len(ps) < 2 {
			ps = append(ps, part{int64(n), u.name})
			d -= n * u.size
		}
	}
	return ps
}

func (v *view) say(name string) (string, error) { return v.locale.say(name, v) }

// agenda lists the meetings of a digest by day.
func (v *view) agenda() (days []field) {
	in := v.start.Location()
	more := v.Count - len(v.facts.Agenda)
	for _, m := range v.facts.Agenda {
		start, end := m.Start.In(in), m.End.In(in)
		day := start
		if day.Before(v.start) {
			day = v.start
		}
		label := v.locale.must("weekday", day) + " " + v.locale.must("date-short", day)
		if len(days) == 0 || days[len(days)-1].Label != label {
			days = append(days, field{Label: label})
		}
		from, until := v.locale.must("time", start), v.locale.must("time", end)
		if start.YearDay() != end.YearDay() || start.Year() != end.Year() {
			from, until = v.at("date-short", start), v.at("date-short", end)
		}
		text := from + "\u2013" + until + " " + line(m.Title)
		if where := v.names(m.Rooms); where != "" {
			text += " · " + where
		}
		if m.Pending {
			text += " (" + v.locale.must("agenda-pending", nil) + ")"
		}
		days[len(days)-1].Lines = append(days[len(days)-1].Lines, text)
	}
	if more > 0 && len(days) > 0 {
		days[len(days)-1].Lines = append(days[len(days)-1].Lines, v.locale.must("agenda-more", more))
	}
	return days
}

func (v *view) fields() []field {
	if v.Kind == string(notify.DigestMail) {
		return v.agenda()
	}
	var fs []field
	add := func(label string, lines ...string) {
		if len(lines) > 0 && lines[0] != "" {
			fs = append(fs, field{v.locale.must("label-"+label, v), lines})
		}
	}
	if !v.facts.Start.IsZero() {
		add("when", v.slot(v.start.Location())...)
	}
	if !v.facts.Start.IsZero() && v.elsewhere() {
		add("at-room", v.slot(v.room)...)
	}
	add("dates", v.dates()...)
	if d := v.facts.CheckInBy; d != nil && v.Kind == string(notify.Reminder) {
		add("check-in-by", v.locale.must("time", d.In(v.start.Location())))
	}
	add("where", v.Where)
	if m := v.facts.Move; m != nil {
		add("move", append(v.slotOf(m.Start.In(v.start.Location()), m.End.In(v.start.Location())), v.names(m.Rooms))...)
	}
	if v.Kind != string(notify.Handover) { // the lead names who organized before
		add("organizer", v.Organizer)
	}
	add("attendees", v.attendees())
	if d := v.facts.Deadline; d != nil && v.needsDecision() {
		at := d.In(v.start.Location())
		add("deadline", v.locale.must("date", at), v.locale.must("time", at)+" ("+zoneName(at)+")")
	}
	if r := v.facts.Reason; r != "timeout" && r != "no_show" && !v.Waits && v.Kind != string(notify.FaultReport) && v.Kind != string(notify.SignInAdded) { // the lead explains these
		add("reason", lines(v.facts.Reason, maxDescription)...)
	}
	add("comment", lines(v.facts.Comment, maxDescription)...)
	switch v.Kind {
	case string(notify.Invitation), string(notify.Change), string(notify.ApprovalRequest), string(notify.Escalation):
		add("description", lines(v.facts.Description, maxDescription)...)
	}
	for _, f := range v.facts.Fields {
		fs = append(fs, field{line(cmp.Or(f.Labels[v.locale.language()], f.Label)), []string{v.value(f.Value)}})
	}
	return fs
}

// value is that of a custom field in words.
func (v *view) value(of any) string {
	switch x := of.(type) {
	case bool:
		if x {
			return v.locale.must("yes", v)
		}
		return v.locale.must("no", v)
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	default:
		return line(fmt.Sprint(x))
	}
}

func (v *view) slot(in *time.Location) []string {
	return v.slotOf(v.start.In(in), v.end.In(in))
}

func (v *view) slotOf(start, end time.Time) []string {
	clock := func(t time.Time) string { return v.locale.must("time", t) }
	if start.YearDay() == end.YearDay() && start.Year() == end.Year() {
		return []string{v.locale.must("date", start), fmt.Sprintf("%s\u2013%s (%s)", clock(start), clock(end), zoneName(start))}
	}
	return []string{
		v.at("date", start) + " \u2013",
		v.at("date", end) + " (" + zoneName(end) + ")",
	}
}

// elsewhere reports whether local time differs between the room and the recipient.
func (v *view) elsewhere() bool {
	differ := func(t time.Time) bool {
		_, a := t.Zone()
		_, b := t.In(v.room).Zone()
		return a != b
	}
	return differ(v.start) || differ(v.end)
}

func (v *view) dates() []string {
	s := v.facts.Series
	if s == nil {
		return nil
	}
	in := v.start.Location()
	ls := []string{v.locale.must("dates-count", map[string]any{"N": s.Count, "Rule": v.rule()})}
	for i, d := range s.Dates {
		l := v.at("date", d.In(in))
		if i < len(s.Places) {
			l += v.locale.must("list-separator", nil) + v.names(s.Places[i])
		}
		ls = append(ls, l)
	}
	if int(s.Count) > len(s.Dates) {
		ls = append(ls, v.locale.must("dates-last", v.locale.must("date", s.Last.In(in))))
	}
	return ls
}

// repetition is a rule simple enough to put into words.
type repetition struct {
	Unit string // day, week, month or year
	N    int    // interval
	Days string // of the week; "": that of the first date
}

// rule describes the rule of a series, or returns "" if it is too complex or falls on other days
// in the reader's zone.
func (v *view) rule() string {
	if v.start.Weekday() != v.start.In(v.room).Weekday() {
		return ""
	}
	r := repetition{N: 1}
	for part := range strings.SplitSeq(v.facts.Series.Rule, ";") {
		name, value, _ := strings.Cut(part, "=")
		var err error
		switch name {
		case "FREQ":
			r.Unit = map[string]string{"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}[value]
		case "INTERVAL":
			r.N, err = strconv.Atoi(value)
		case "BYDAY":
			r.Days, err = v.weekdays(value)
		case "COUNT", "UNTIL", "WKST":
		default:
			return ""
		}
		if err != nil {
			return ""
		}
	}
	if r.Unit == "" || r.Days != "" && r.Unit != "week" {
		return ""
	}
	return v.locale.must("rule", r)
}

func (v *view) weekdays(days string) (string, error) {
	var names []string
	for day := range strings.SplitSeq(days, ",") {
		i := slices.Index([]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}, day)
		if i < 0 {
			return "", fmt.Errorf("%s is not a day of the week", day)
		}
		names = append(names, v.locale.must("weekday", time.Date(2023, 1, 1+i, 0, 0, 0, 0, time.UTC))) // January 2023 began on a Sunday
	}
	return strings.Join(names, v.locale.must("list-separator", nil)), nil
}

func (v *view) attendees() string {
	names := make([]string, 0, maxAttendees)
	for _, a := range v.facts.Attendees {
		if len(names) == maxAttendees {
			break
		}
		names = append(names, contact(a))
	}
	s := strings.Join(names, v.locale.must("list-separator", nil))
	if more := len(v.facts.Attendees) - len(names); more > 0 {
		s += " " + v.locale.must("and-more", more)
	}
	return s
}

func (v *view) short(t time.Time) string {
	return v.at("date-short", t) + " (" + offsetName(t) + ")"
}

// at returns the date of t, in the named format, and its time.
func (v *view) at(date string, t time.Time) string {
	return v.locale.must(date, t) + v.locale.must("date-time-separator", nil) + v.locale.must("time", t)
}

func zoneName(t time.Time) string {
	if name := t.Location().String(); name != "UTC" {
		return name + ", " + offsetName(t)
	}
	return "UTC"
}

func offsetName(t time.Time) string {
	_, s := t.Zone()
	if s == 0 {
		return "UTC"
	}
	sign := '+'
	if s < 0 {
		sign, s = '-', -s
	}
	if m := s % 3600 / 60; m != 0 {
		return fmt.Sprintf("UTC%c%d:%02d", sign, s/3600, m)
	}
	return fmt.Sprintf("UTC%c%d", sign, s/3600)
}

func contact(c notify.Contact) string { return cmp.Or(line(c.Name), line(c.Email)) }

// line makes s a single line without control characters, characters that change the text
// direction, and private-use characters (see [cn]).
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			return ' '
		case hidden(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' || unicode.Is(unicode.Co, r)
}

// lines splits user text into lines and keeps at most n runes.
func lines(s string, n int) []string {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
	if s == "" {
		return nil
	}
	ls := strings.Split(cut(s, n), "\n")
	for i := range ls {
		ls[i] = line(ls[i])
	}
	return ls
}

func cut(s string, n int) string {
	rs := []rune(s)
	if len(rs) <= n {
		return s
	}
	return strings.TrimSpace(string(rs[:n-1])) + "\u2026"
}
