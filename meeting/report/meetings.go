package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// Further groupings, of reports of meetings.
const (
	ByType      Grouping = "type"
	ByOrganizer Grouping = "organizer"
	ByTitle     Grouping = "title"
	ByField     Grouping = "field" // a value of a custom field
)

// What a report of meetings reads: at most so many meetings, in so many pages, which end early where few
// of the meetings match. A second or two of work.
const (
	maxMeetings = 50_000
	maxPages    = 200
	briefPage   = 5_000
	fullPage    = 500
)

// Meetings lists meetings as a user may see them, as [booking.Service.Meetings] does.
type Meetings interface {
	Meetings(ctx context.Context, by meeting.Actor, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
}

// FieldFilter selects meetings by a custom field: texts that contain Value, ignoring case, and numbers and
// booleans that equal it.
type FieldFilter struct{ Name, Value string }

// MeetingQuery selects the meetings of a report. Without statuses these are booked ones, past or not.
type MeetingQuery struct {
	meeting.MeetingQuery
	Fields []FieldFilter
	Group  Grouping
	Field  string // name of the custom field of ByField
}

var booked = []meeting.Status{meeting.Confirmed, meeting.InProgress, meeting.Ended, meeting.Released}

// Sum is how many meetings a group has, and for how long they book its rooms within the span. A meeting in
// two rooms books each of them, so its time counts twice.
type Sum struct {
	ID       int64  // of the room, site, type or organizer; 0: none, or hidden
	Name     string // of these; otherwise the title or the value
	SiteID   int64  // of a room; 0: none
	SiteName string
	Meetings int
	Seconds  float64 // more than the years that a [time.Duration] holds
}

// MeetingSums groups the meetings that a user may list, by time booked. A private meeting that they may not
// see counts for its rooms and sites, and otherwise as one without type, organizer and fields. A zero end of
// the span is now, and a zero start is thirty days before the end. total counts each meeting once.
func (s *Service) MeetingSums(ctx context.Context, by meeting.Actor, q MeetingQuery) (sums []*Sum, total Sum, span clock.Slot, err error) {
	span, err = s.prepare(ctx, &q)
	if err != nil {
		return nil, Sum{}, span, err
	}
	known, err := s.places(ctx)
	if err != nil {
		return nil, Sum{}, span, err
	}
	g := grouper{q: &q, span: span, known: known, sums: map[sumKey]*Sum{}}
	q.Brief = q.Field == "" && len(q.Fields) == 0
	if err := s.each(ctx, by, q, func(m *meeting.Meeting) error { g.add(m); return nil }); err != nil {
		return nil, Sum{}, span, err
	}
	for _, sum := range g.sums {
		sums = append(sums, sum)
	}
	slices.SortFunc(sums, func(a, b *Sum) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return sums, g.total, span, nil
}

// Line is a meeting in a list, with what [meeting.Meeting] does not name.
type Line struct {
	*meeting.Meeting
	Sites    []string // of its rooms
	TypeName string
	Seconds  float64 // of all its rooms, within the span
}

// MeetingList calls fn for each of the meetings, by start, with its rooms that q selects, until fn returns an
// error. begin is called before, with the span and all custom fields.
func (s *Service) MeetingList(ctx context.Context, by meeting.Actor, q MeetingQuery, begin func(clock.Slot, []*meeting.CustomField) error, fn func(Line) error) error {
	span, err := s.prepare(ctx, &q)
	if err != nil {
		return err
	}
	known, err := s.places(ctx)
	if err != nil {
		return err
	}
	fields, err := s.store.CustomFields(ctx)
	if err != nil {
		return err
	}
	if err := begin(span, fields); err != nil {
		return err
	}
	return s.each(ctx, by, q, func(m *meeting.Meeting) error {
		rooms := known.of(m, &q)
		line := Line{Meeting: m, TypeName: known.types[m.TypeID], Seconds: secondsWithin(m, span) * float64(len(rooms))}
		for _, r := range rooms {
			if r.SiteName != "" && !slices.Contains(line.Sites, r.SiteName) {
				line.Sites = append(line.Sites, r.SiteName)
			}
		}
		return fn(line)
	})
}

// prepare sets the defaults of a query, and checks it.
func (s *Service) prepare(ctx context.Context, q *MeetingQuery) (clock.Slot, error) {
	span, err := spanOf(clock.Slot{Start: q.From, End: q.To}, s.now().UTC().Truncate(time.Microsecond))
	if err != nil {
		return span, err
	}
	q.From, q.To = span.Start, span.End
	if len(q.Statuses) == 0 {
		q.Statuses = booked
	}
	if q.Group == ByField && q.Field == "" {
		return span, fault.Invalid("group_field", "required", "must name a custom field, since group is field")
	}
	if q.Group != ByField && q.Field != "" {
		return span, fault.Invalid("group_field", "contradiction", "must only be set if group is field")
	}
	if q.Field == "" && len(q.Fields) == 0 {
		return span, nil
	}
	fields, err := s.store.CustomFields(ctx)
	if err != nil {
		return span, err
	}
	known := func(name string) bool {
		return slices.ContainsFunc(fields, func(f *meeting.CustomField) bool { return f.Name == name })
	}
	if q.Field != "" && !known(q.Field) {
		return span, fault.Invalid("group_field", "unknown_field", "must be the name of a custom field")
	}
	for i, f := range q.Fields {
		if !known(f.Name) {
			return span, fault.Invalid(fault.Index("field", i), "unknown_field", "must begin with the name of a custom field")
		}
	}
	return span, nil
}

// each reads all meetings of a query. It returns a fault if they are too many.
func (s *Service) each(ctx context.Context, by meeting.Actor, q MeetingQuery, fn func(*meeting.Meeting) error) error {
	page := meeting.Page{Limit: fullPage}
	if q.Brief {
		page.Limit = briefPage
	}
	for pages, n := 0, 0; ; pages++ {
		if pages == maxPages {
			return fault.Invalid("to", "too_many", "must leave fewer meetings to search: choose a shorter time, a room or an organizer")
		}
		ms, next, err := s.meetings.Meetings(ctx, by, q.MeetingQuery, page)
		if err != nil {
			return fmt.Errorf("report of meetings: %w", err)
		}
		for _, m := range ms {
			if !has(m, q.Fields) {
				continue
			}
			if n++; n > maxMeetings {
				return fault.Invalid("to", "too_many", "must leave at most %d meetings: choose a shorter time, or other filters", maxMeetings)
			}
			if err := fn(m); err != nil {
				return err
			}
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
}

func has(m *meeting.Meeting, filters []FieldFilter) bool {
	return !slices.ContainsFunc(filters, func(f FieldFilter) bool {
		return !slices.ContainsFunc(m.Custom, func(v meeting.FieldValue) bool {
			if v.Name != f.Name {
				return false
			}
			if text, ok := v.Value.(string); ok {
				return strings.Contains(strings.ToLower(text), strings.ToLower(f.Value))
			}
			return strings.EqualFold(FieldText(v.Value), f.Value)
		})
	})
}

// FieldText is the value of a custom field as text: a number with a point and without an exponent, and true
// or false.
func FieldText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// places are the rooms and types that meetings have or had.
type places struct {
	rooms map[int64]*Room
	types map[int64]string
}

func (s *Service) places(ctx context.Context) (*places, error) {
	rooms, err := s.store.ReportedRooms(ctx, 0, true)
	if err != nil {
		return nil, fmt.Errorf("report of meetings: %w", err)
	}
	types, err := s.store.Types(ctx)
	if err != nil {
		return nil, fmt.Errorf("report of meetings: %w", err)
	}
	known := &places{rooms: make(map[int64]*Room, len(rooms)), types: make(map[int64]string, len(types))}
	for i := range rooms {
		known.rooms[rooms[i].ID] = &rooms[i]
	}
	for _, t := range types {
		known.types[t.ID] = t.Name
	}
	return known, nil
}

// of returns the rooms of a meeting that a query selects.
func (p *places) of(m *meeting.Meeting, q *MeetingQuery) []*Room {
	rooms := make([]*Room, 0, len(m.RoomIDs))
	for _, id := range m.RoomIDs {
		r := p.rooms[id]
		if r == nil || len(q.RoomIDs) > 0 && !slices.Contains(q.RoomIDs, id) || len(q.SiteIDs) > 0 && !slices.Contains(q.SiteIDs, r.SiteID) {
			continue
		}
		rooms = append(rooms, r)
	}
	return rooms
}

func secondsWithin(m *meeting.Meeting, span clock.Slot) float64 {
	part, _ := m.Slot.Intersect(span)
	return part.Duration().Seconds()
}

type sumKey struct {
	id   int64
	name string
}

// grouper adds meetings up.
type grouper struct {
	q     *MeetingQuery
	span  clock.Slot
	known *places
	sums  map[sumKey]*Sum
	total Sum
}

func (g *grouper) add(m *meeting.Meeting) {
	long := secondsWithin(m, g.span)
	rooms := g.known.of(m, g.q)
	g.total.Meetings++
	g.total.Seconds += long * float64(len(rooms))
	switch g.q.Group {
	case ByRoom, BySite:
		var counted []*Sum // once, also with two rooms of a site
		for _, r := range rooms {
			group := Sum{ID: r.ID, Name: r.Name, SiteID: r.SiteID, SiteName: r.SiteName}
			if g.q.Group == BySite {
				group = Sum{ID: r.SiteID, Name: r.SiteName}
			}
			sum := g.sum(group)
			sum.Seconds += long
			if !slices.Contains(counted, sum) {
				counted = append(counted, sum)
				sum.Meetings++
			}
		}
	default:
		sum := g.sum(g.groupOf(m))
		sum.Meetings++
		sum.Seconds += long * float64(len(rooms))
	}
}

func (g *grouper) groupOf(m *meeting.Meeting) Sum {
	switch g.q.Group {
	case ByType:
		return Sum{ID: m.TypeID, Name: g.known.types[m.TypeID]}
	case ByOrganizer:
		return Sum{ID: m.Organizer.UserID, Name: m.Organizer.Name}
	case ByTitle:
		return Sum{Name: m.Title}
	}
	for _, v := range m.Custom {
		if v.Name == g.q.Field {
			return Sum{Name: FieldText(v.Value)}
		}
	}
	return Sum{}
}

// sum returns the one of a group.
func (g *grouper) sum(group Sum) *Sum {
	key := sumKey{group.ID, group.Name}
	if g.sums[key] == nil {
		g.sums[key] = &group
	}
	return g.sums[key]
}
