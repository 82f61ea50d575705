package itip

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
)

// Limits of what is read. Reading stops as soon as one is exceeded.
type Limits struct {
	Size       int64 // bytes
	Events     int
	Components int // of all kinds, alarms and time zones included
	Depth      int // of components within each other
	Line       int // bytes of an unfolded line that is used; longer attachments are ignored
	Properties int // of one component
}

// DefaultLimits are those of an invitation.
var DefaultLimits = Limits{Size: 1 << 20, Events: 400, Components: 2_000, Depth: 8, Line: 64 << 10, Properties: 2_000}

// ImportLimits are those of a calendar that an administrator imports.
var ImportLimits = Limits{Size: 256 << 20, Events: 200_000, Components: 500_000, Depth: 8, Line: 64 << 10, Properties: 5_000}

// Calendar holds the events of a file. Several calendars in a file are read as one.
type Calendar struct {
	Method  string // in upper case; empty: none
	Objects []*Object
	zone    string // X-WR-TIMEZONE
}

// Object holds the events with one UID.
type Object struct {
	UID       string
	Master    *Event   // nil: only single dates of a series are known
	Overrides []*Event // by RECURRENCE-ID, the newest of each
}

// Line returns where the object begins in its file.
func (o *Object) Line() int { return o.first().Line }

func (o *Object) first() *Event {
	if o.Master != nil {
		return o.Master
	}
	return o.Overrides[0]
}

// Head returns the event that describes the object: the master, or the first date.
func (o *Object) Head() *Event { return o.first() }

// Events returns the master, if it is known, and the overrides.
func (o *Object) Events() []*Event {
	if o.Master == nil {
		return o.Overrides
	}
	return append([]*Event{o.Master}, o.Overrides...)
}

// Newest returns the highest SEQUENCE of the object, and its latest DTSTAMP.
func (o *Object) Newest() (sequence int64, stamp time.Time) {
	for _, e := range append([]*Event{o.first()}, o.Overrides...) {
		sequence = max(sequence, e.Sequence)
		if e.Stamp.After(stamp) {
			stamp = e.Stamp
		}
	}
	return sequence, stamp
}

// Faults returns the faults of all events of the object.
func (o *Object) Faults() []Fault {
	var all []Fault
	if o.Master != nil {
		all = append(all, o.Master.Faults...)
	}
	for _, e := range o.Overrides {
		all = append(all, e.Faults...)
	}
	return all
}

// Read reads all events. It returns a [*SyntaxError] if the input is not iCalendar, ends too early or
// exceeds a limit. All other errors are faults of their event.
func Read(in io.Reader, l Limits) (*Calendar, error) {
	r := &reader{lines: newLineReader(in, l), limits: l, calendar: &Calendar{}, zones: newZones()}
	if err := r.read(); err != nil {
		return nil, err
	}
	for _, d := range r.drafts {
		e := d.event(r.zones)
		e.zone = r.calendar.zone
		if r.calendar.adds(e) {
			e.RecurrenceID = new(e.Start)
		}
		r.file(e)
	}
	return r.calendar, nil
}

// draft is an event as it was read; its times can be resolved when all zones are known.
type draft struct {
	line       int
	properties []*property
}

type reader struct {
	lines      *lineReader
	limits     Limits
	calendar   *Calendar
	zones      *zones
	drafts     []*draft
	components int
	byUID      map[string]*Object
}

func (r *reader) read() error {
	found := false
	for {
		p, err := r.lines.next()
		switch {
		case errors.Is(err, io.EOF) && found:
			return nil
		case errors.Is(err, io.EOF):
			return &SyntaxError{max(1, r.lines.line), "this is not an iCalendar file: BEGIN:VCALENDAR is missing"}
		case err != nil:
			return err
		case p.name == "BEGIN" && isNamed(p.value, "VCALENDAR"):
			found = true
			if err := r.component("VCALENDAR", p.line, 1); err != nil {
				return err
			}
		case !found:
			return &SyntaxError{p.line, "this is not an iCalendar file: it must begin with BEGIN:VCALENDAR"}
		default:
			return &SyntaxError{p.line, "must be BEGIN:VCALENDAR or the end of the file"}
		}
	}
}

// adds reports whether an event adds a date to a series. Such a date has no RECURRENCE-ID of its own
// (RFC 5546, 3.2.4).
func (c *Calendar) adds(e *Event) bool {
	return c.Method == "ADD" && e.RecurrenceID == nil && len(e.Rules) == 0
}

func isNamed(value, name string) bool { return strings.EqualFold(strings.TrimSpace(value), name) }

// component reads up to the END of a component.
func (r *reader) component(name string, line, depth int) error {
	r.components++
	switch {
	case depth > r.limits.Depth:
		return &SyntaxError{line, "components are nested too deeply"}
	case r.components > r.limits.Components:
		return &SyntaxError{line, "there are too many components"}
	}
	var properties []*property
	var observances []observance
	for count := 0; ; {
		p, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return &SyntaxError{r.lines.line, "the file is cut off: END:" + name + " is missing"}
		}
		if err != nil {
			return err
		}
		if count++; count > r.limits.Properties && name != "VCALENDAR" {
			return &SyntaxError{p.line, name + " has too many properties"}
		}
		switch {
		case p.name == "BEGIN":
			inner := strings.ToUpper(strings.TrimSpace(p.value))
			if name == "VTIMEZONE" && (inner == "STANDARD" || inner == "DAYLIGHT") {
				o, err := r.observance(inner, p.line)
				if err != nil {
					return err
				}
				observances = append(observances, o)
				continue
			}
			if err := r.component(inner, p.line, depth+1); err != nil {
				return err
			}
		case p.name == "END" && isNamed(p.value, name):
			return r.end(name, line, properties, observances)
		case p.name == "END":
			return &SyntaxError{p.line, "END:" + cut(p.value) + " does not match BEGIN:" + name}
		case name == "VCALENDAR":
			r.header(p)
		case name == "VEVENT" && used[p.name], name == "VTIMEZONE":
			if p.long {
				return &SyntaxError{p.line, p.name + " is too long"}
			}
			properties = append(properties, p)
		}
	}
}

func (r *reader) end(name string, line int, properties []*property, observances []observance) error {
	switch name {
	case "VEVENT":
		if len(r.drafts) == r.limits.Events {
			return &SyntaxError{line, "there are too many events"}
		}
		r.drafts = append(r.drafts, &draft{line, properties})
	case "VTIMEZONE":
		r.zones.describe(properties, observances)
	}
	return nil
}

// observance reads the rules of standard or summer time.
func (r *reader) observance(name string, line int) (observance, error) {
	r.components++
	if r.components > r.limits.Components {
		return observance{}, &SyntaxError{line, "there are too many components"}
	}
	var properties []*property
	for {
		p, err := r.lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return observance{}, &SyntaxError{r.lines.line, "the file is cut off: END:" + name + " is missing"}
		case err != nil:
			return observance{}, err
		case p.name == "END" && isNamed(p.value, name):
			return newObservance(properties), nil
		case p.name == "BEGIN" || p.name == "END":
			return observance{}, &SyntaxError{p.line, p.name + ":" + cut(p.value) + " does not belong into " + name}
		}
		if properties = append(properties, p); len(properties) > r.limits.Properties {
			return observance{}, &SyntaxError{p.line, name + " has too many properties"}
		}
	}
}

func (r *reader) header(p *property) {
	switch p.name {
	case "METHOD":
		r.calendar.Method = strings.ToUpper(strings.TrimSpace(p.value))
	case "X-WR-TIMEZONE":
		r.calendar.zone = strings.TrimSpace(p.value)
	}
}

// file adds an event to the object of its UID. Of two events for the same date the newer one counts.
func (r *reader) file(e *Event) {
	if r.byUID == nil {
		r.byUID = map[string]*Object{}
	}
	o := r.byUID[e.UID]
	if o == nil {
		o = &Object{UID: e.UID}
		r.byUID[e.UID] = o
		r.calendar.Objects = append(r.calendar.Objects, o)
	}
	if e.RecurrenceID == nil {
		if o.Master == nil || !o.Master.newerThan(e) {
			o.Master = e
		}
		return
	}
	at := slices.IndexFunc(o.Overrides, func(x *Event) bool { return x.RecurrenceID.same(*e.RecurrenceID) })
	switch {
	case at < 0:
		o.Overrides = append(o.Overrides, e)
	case !o.Overrides[at].newerThan(e):
		o.Overrides[at] = e
	}
}

func (e *Event) newerThan(o *Event) bool {
	return cmp.Or(cmp.Compare(e.Sequence, o.Sequence), e.Stamp.Compare(o.Stamp)) > 0
}

// cut shortens what is quoted in a message.
func cut(text string) string {
	if runes := []rune(strings.TrimSpace(text)); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return strings.TrimSpace(text)
}
