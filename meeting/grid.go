package meeting

import (
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// GridQuery asks for a picture of rooms over a span; a zero field does not filter.
type GridQuery struct {
	Span    clock.Slot
	Dates   bool    // of the span only the dates count, by each room's own calendar; both ends are in UTC
	RoomIDs []int64 // these alone, if they are active
	Rooms   RoomQuery
	Text    string // in name, floor or features of the room, or in the title of a meeting that the actor sees there
}

// Grid is what a day, a week or a month of rooms is drawn from.
type Grid struct {
	Rooms    []GridRoom
	Sites    []*Site    // of the rooms
	Meetings []*Meeting // that hold the rooms, or held them, as the actor may see them; by start
}

// GridRoom is a room with the times at which it takes no meetings.
type GridRoom struct {
	*Room
	Closed []clock.Slot // outside of its opening hours; within the span
}

// Bounds of a grid, so that nobody asks for more than one answer may hold.
const (
	maxGridSpan     = 62 * 24 * time.Hour
	maxGridMeetings = 20_000
	maxGridPage     = 5_000 // meetings of one page of rooms, some 2 MB
)

// gridStatuses are those of meetings that take up their rooms, or did.
var gridStatuses = []Status{Pending, Confirmed, InProgress, Ended}

// takes reports whether a room that was named is one that is asked for.
func (q *RoomQuery) takes(r *Room) bool {
	return r.Active && (q.SiteID == 0 || r.SiteID == q.SiteID) && r.Capacity >= q.MinCapacity &&
		!slices.ContainsFunc(q.Features, func(f string) bool { return !slices.Contains(r.Features, f) })
}

func (q *GridQuery) check() error {
	if q.Span.Start.IsZero() || q.Span.End.IsZero() {
		return invalid("from", "required", "is required, together with to")
	}
	if !q.Span.Start.Before(q.Span.End) || q.Span.Duration() > maxGridSpan {
		return invalid("to", "invalid_span", "must be after from, by at most 62 days")
	}
	return nil
}

// span is from when to when the grid is, for these rooms.
func (q *GridQuery) span(rooms []*Room) clock.Slot {
	if !q.Dates {
		return q.Span
	}
	_, span := calendars(rooms, q.Span.Start, int(q.Span.Duration()/(24*time.Hour)))
	return span
}

// draw puts rooms and meetings into a grid.
func (q *GridQuery) draw(rooms []*Room, meetings []*Meeting) *Grid {
	g := &Grid{Meetings: meetings}
	if q.Text != "" {
		rooms = q.matching(rooms, meetings)
		g.Meetings = within(rooms, meetings)
	}
	var open policy.OpenSpans
	for _, r := range rooms {
		span := q.span([]*Room{r})
		r.Blackouts = slices.DeleteFunc(r.Blackouts, func(b policy.Blackout) bool { return !b.Slot.Overlaps(span) })
		g.Rooms = append(g.Rooms, GridRoom{r, span.Without(open.Of(&r.Room, span))})
	}
	return g
}

// matching are the rooms that the text is said of.
func (q *GridQuery) matching(rooms []*Room, meetings []*Meeting) []*Room {
	text := strings.ToLower(q.Text)
	found := map[int64]bool{}
	for _, m := range meetings {
		if strings.Contains(strings.ToLower(m.Title), text) {
			for _, id := range m.RoomIDs {
				found[id] = true
			}
		}
	}
	return slices.DeleteFunc(rooms, func(r *Room) bool {
		said := strings.ToLower(r.Name + "\n" + r.Floor + "\n" + strings.Join(r.Features, "\n"))
		return !found[r.ID] && !strings.Contains(said, text)
	})
}

// within are the meetings in any of the rooms.
func within(rooms []*Room, meetings []*Meeting) []*Meeting {
	here := map[int64]bool{}
	for _, r := range rooms {
		here[r.ID] = true
	}
	return slices.DeleteFunc(meetings, func(m *Meeting) bool {
		return !slices.ContainsFunc(m.RoomIDs, func(id int64) bool { return here[id] })
	})
}
