package itip

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Event is a VEVENT.
type Event struct {
	Line     int
	UID      string // made from the content if the event has none, or one longer than [MaxUID]
	Sequence int64
	Stamp    time.Time // DTSTAMP, or else when it was last changed; zero: unknown

	RecurrenceID *Time // the date of the series that it replaces; nil: none
	Start        Time
	End          Time // calculated from DURATION if there is no DTEND
	Rules        []string
	RDates       []Period
	ExDates      []Time

	Title, Description, Location string
	Comment                      string // of a response
	Organizer                    Person
	Attendees                    []Attendee
	Private                      bool // CLASS is PRIVATE or CONFIDENTIAL
	Cancelled                    bool
	Transparent                  bool // takes no time

	Faults []Fault

	zone string // X-WR-TIMEZONE of the calendar, for floating times
}

// Fault is an error in an event.
type Fault struct {
	Line    int
	Message string
}

// Person is an organizer or attendee.
type Person struct {
	Email  string // empty: none was given
	Name   string
	SentBy string // address of the one acting for the person; empty: nobody
}

// Attendee is a person, room or other resource.
type Attendee struct {
	Person
	Kind      string   // CUTYPE in upper case; empty: INDIVIDUAL
	Status    string   // PARTSTAT in upper case
	Delegates []string // email addresses of those who come instead (DELEGATED-TO)
	Comment   string   // of a response, as Google writes it
}

// IsRoom reports whether the attendee is a room or another resource.
func (a Attendee) IsRoom() bool { return a.Kind == "ROOM" || a.Kind == "RESOURCE" }

// used are the properties of an event that matter.
var used = map[string]bool{
	"UID": true, "SEQUENCE": true, "DTSTAMP": true, "LAST-MODIFIED": true, "CREATED": true, "RECURRENCE-ID": true,
	"DTSTART": true, "DTEND": true, "DURATION": true, "RRULE": true, "RDATE": true, "EXDATE": true, "EXRULE": true,
	"SUMMARY": true, "DESCRIPTION": true, "COMMENT": true, "LOCATION": true, "ORGANIZER": true, "ATTENDEE": true,
	"CLASS": true, "STATUS": true, "TRANSP": true,
}

// event reads the properties. Times are read last: a zone may depend on the year.
func (d *draft) event(z *zones) *Event {
	e := &Event{Line: d.line}
	times := map[string]*property{}
	var changed time.Time
	for _, p := range d.properties {
		value := strings.TrimSpace(p.value)
		switch p.name {
		case "UID":
			e.UID = value
			if len(value) > MaxUID {
				e.UID = "long-uid-" + digest(value)
			}
		case "SEQUENCE":
			e.Sequence, _ = strconv.ParseInt(value, 10, 32)
			e.Sequence = max(e.Sequence, 0)
		case "DTSTAMP":
			e.Stamp = stamp(value)
		case "LAST-MODIFIED", "CREATED":
			if at := stamp(value); at.After(changed) {
				changed = at
			}
		case "DTSTART", "DTEND", "DURATION", "RECURRENCE-ID":
			times[p.name] = p
		case "RRULE":
			e.Rules = append(e.Rules, strings.ToUpper(value))
		case "EXRULE":
			e.fault(p.line, "EXRULE is not supported")
		case "SUMMARY":
			e.Title = strings.TrimSpace(unescape(p.value))
		case "DESCRIPTION":
			e.Description = strings.TrimSpace(unescape(p.value))
		case "COMMENT":
			e.Comment = strings.TrimSpace(e.Comment + "\n" + unescape(p.value))
		case "LOCATION":
			e.Location = strings.TrimSpace(unescape(p.value))
		case "ORGANIZER":
			e.Organizer = person(p)
		case "ATTENDEE":
			e.Attendees = append(e.Attendees, attendee(p))
		case "CLASS":
			e.Private = isNamed(value, "PRIVATE") || isNamed(value, "CONFIDENTIAL")
		case "STATUS":
			e.Cancelled = isNamed(value, "CANCELLED")
		case "TRANSP":
			e.Transparent = isNamed(value, "TRANSPARENT")
		}
	}
	if e.Stamp.IsZero() {
		e.Stamp = changed
	}
	e.times(times, z)
	for _, p := range d.properties {
		switch p.name {
		case "RDATE":
			e.extraDates(p, z)
		case "EXDATE":
			for value := range strings.SplitSeq(p.value, ",") {
				if t, err := z.time(p, value, e.Start); err != nil {
					e.fault(p.line, "EXDATE: %v", err)
				} else {
					e.ExDates = append(e.ExDates, t)
				}
			}
		}
	}
	if e.UID == "" { // some programs give none
		e.UID = "without-uid-" + digest(fmt.Sprint(e.Start.Wall, e.End.Wall, e.Title, e.Location, e.Rules))
	}
	return e
}

// MaxUID is how long UIDs are, in bytes, that are kept as they are. No program writes longer ones.
const MaxUID = 1000

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

func (e *Event) fault(line int, format string, args ...any) {
	e.Faults = append(e.Faults, Fault{line, fmt.Sprintf(format, args...)})
}

// times sets when the event begins and ends, and which date it replaces.
func (e *Event) times(given map[string]*property, z *zones) {
	read := func(name string) (t Time, ok bool) {
		p := given[name]
		t, err := z.time(p, p.value, e.Start)
		if err != nil {
			e.fault(p.line, "%s: %v", name, err)
		}
		return t, err == nil
	}
	var ok bool
	if given["DTSTART"] != nil {
		e.Start, ok = read("DTSTART")
	} else {
		e.fault(e.Line, "DTSTART is missing")
	}
	if p := given["RECURRENCE-ID"]; p != nil {
		if strings.EqualFold(p.param("RANGE"), "THISANDFUTURE") {
			e.fault(p.line, "RECURRENCE-ID: RANGE=THISANDFUTURE is not supported")
		}
		t, _ := read("RECURRENCE-ID")
		e.RecurrenceID = &t
	}
	if !ok {
		return
	}
	switch p := given["DURATION"]; {
	case given["DTEND"] != nil:
		e.End, _ = read("DTEND")
	case p != nil:
		d, err := parseDuration(p.value)
		if err != nil {
			e.fault(p.line, "DURATION: %v", err)
		}
		e.End = e.Start.add(d)
	case e.Start.Day:
		e.End = e.Start.add(duration{days: 1})
	default:
		e.End = e.Start
	}
}

// extraDates reads an RDATE, with dates, times or periods.
func (e *Event) extraDates(p *property, z *zones) {
	for value := range strings.SplitSeq(p.value, ",") {
		from, to, period := strings.Cut(value, "/")
		start, err := z.time(p, from, e.Start)
		if err != nil {
			e.fault(p.line, "RDATE: %v", err)
			continue
		}
		x := Period{Start: start}
		if period {
			var end Time
			if strings.ContainsAny(to, "Pp") {
				var d duration
				d, err = parseDuration(to)
				end = start.add(d)
			} else {
				end, err = z.time(p, to, e.Start)
			}
			if err != nil {
				e.fault(p.line, "RDATE: %v", err)
				continue
			}
			x.End = &end
		}
		e.RDates = append(e.RDates, x)
	}
}

func attendee(p *property) Attendee {
	a := Attendee{
		Person: person(p), Kind: strings.ToUpper(p.param("CUTYPE")), Status: strings.ToUpper(p.param("PARTSTAT")),
		Comment: strings.TrimSpace(unescape(p.param("X-RESPONSE-COMMENT"))),
	}
	for to := range strings.SplitSeq(p.param("DELEGATED-TO"), ",") {
		if to = address(strings.Trim(strings.TrimSpace(to), `"`)); to != "" {
			a.Delegates = append(a.Delegates, to)
		}
	}
	return a
}

// person reads ORGANIZER or ATTENDEE. Apple names people without an address by a path or a UUID, and
// gives the address as a parameter.
func person(p *property) Person {
	value := strings.TrimSpace(p.value)
	who := Person{Name: strings.TrimSpace(p.param("CN"))}
	if isMailto(value) {
		who.Email = address(value)
	} else if email := p.param("EMAIL"); email != "" {
		who.Email = email
	} else if strings.Contains(value, "@") && !strings.Contains(value, ":") { // some programs forget "mailto:"
		who.Email = value
	}
	who.Email = strings.Trim(strings.TrimSpace(who.Email), "<>")
	if strings.EqualFold(who.Name, who.Email) {
		who.Name = ""
	}
	if by := strings.TrimSpace(p.param("SENT-BY")); by != "" {
		who.SentBy = address(by)
	}
	return who
}

func isMailto(value string) bool {
	return len(value) >= len("mailto:") && strings.EqualFold(value[:len("mailto:")], "mailto:")
}

// address returns the email address of a mailto: URL, or of a text without "mailto:".
func address(value string) string {
	if isMailto(value) {
		value = value[len("mailto:"):]
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
	}
	return strings.Trim(strings.TrimSpace(value), "<>")
}
