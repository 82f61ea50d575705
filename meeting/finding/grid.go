package finding

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// GridQuery selects rooms and a span for a grid; a zero field does not filter.
type GridQuery struct {
	Span    clock.Slot
	Dates   bool    // of the span only the dates count, by each room's own calendar; both ends are in UTC
	RoomIDs []int64 // these alone, if they are active
	Rooms   meeting.RoomQuery
	Text    string // in name, floor or features of the room, or in the title of a meeting that the actor sees there
}

// Grid is the data to draw a day, a week or a month of rooms.
type Grid struct {
	Rooms    []GridRoom
	Sites    []*meeting.Site    // of the rooms
	Meetings []*meeting.Meeting // that hold or held the rooms, as the actor may see them; by start
	Until    time.Time          // from when on it can differ although nothing was saved
}

// GridRoom is a room with the times at which it takes no meetings.
type GridRoom struct {
	*meeting.Room
	Closed        []clock.Slot // outside of its opening hours; within the span
	Barred        bool         // the actor may not book it
	NeedsApproval bool         // somebody else must approve a booking of the actor
}

const (
	maxGridSpan     = 62 * 24 * time.Hour
	maxGridMeetings = 20_000
	maxGridPage     = 5_000       // meetings of one page of rooms, some 2 MB
	maxGridAge      = time.Minute // absences, and the rights of deputies, begin and end meanwhile
)

// gridStatuses are the statuses of meetings that hold their rooms, or did.
var gridStatuses = []meeting.Status{meeting.Pending, meeting.Confirmed, meeting.InProgress, meeting.Ended}

// matches reports whether a room with a requested ID matches the filters of q.
func matches(r *meeting.Room, q *meeting.RoomQuery) bool {
	return r.Active && (q.SiteID == 0 || r.SiteID == q.SiteID) && r.Capacity >= q.MinCapacity &&
		!slices.ContainsFunc(q.Features, func(f string) bool { return !slices.Contains(r.Features, f) })
}

func (q *GridQuery) check() error {
	if q.Span.Start.IsZero() || q.Span.End.IsZero() {
		return fault.Invalid("from", "required", "is required, together with to")
	}
	if !q.Span.Start.Before(q.Span.End) || q.Span.Duration() > maxGridSpan {
		return fault.Invalid("to", "invalid_span", "must be after from and at most 62 days later")
	}
	return nil
}

// span returns the span of the grid for these rooms.
func (q *GridQuery) span(rooms []*meeting.Room) clock.Slot {
	if !q.Dates {
		return q.Span
	}
	_, span := calendars(rooms, q.Span.Start, int(q.Span.Duration()/(24*time.Hour)))
	return span
}

func (q *GridQuery) draw(rooms []*meeting.Room, meetings []*meeting.Meeting) *Grid {
	g := &Grid{Meetings: meetings}
	if q.Text != "" {
		rooms = q.matching(rooms, meetings)
		g.Meetings = within(rooms, meetings)
	}
	var open policy.OpenSpans
	for _, r := range rooms {
		span := q.span([]*meeting.Room{r})
		r.Blackouts = slices.DeleteFunc(r.Blackouts, func(b policy.Blackout) bool { return !b.Slot.Overlaps(span) })
		g.Rooms = append(g.Rooms, GridRoom{Room: r, Closed: span.Without(open.Of(&r.Room, span))})
	}
	return g
}

// matching returns the rooms with the text, or with a meeting that has it.
func (q *GridQuery) matching(rooms []*meeting.Room, meetings []*meeting.Meeting) []*meeting.Room {
	text := strings.ToLower(q.Text)
	found := map[int64]bool{}
	for _, m := range meetings {
		if strings.Contains(strings.ToLower(m.Title), text) {
			for _, id := range m.RoomIDs {
				found[id] = true
			}
		}
	}
	return slices.DeleteFunc(rooms, func(r *meeting.Room) bool {
		words := strings.ToLower(r.Name + "\n" + r.Floor + "\n" + strings.Join(r.Features, "\n"))
		return !found[r.ID] && !strings.Contains(words, text)
	})
}

// within returns the meetings in any of the rooms.
func within(rooms []*meeting.Room, meetings []*meeting.Meeting) []*meeting.Meeting {
	here := map[int64]bool{}
	for _, r := range rooms {
		here[r.ID] = true
	}
	return slices.DeleteFunc(meetings, func(m *meeting.Meeting) bool {
		return !slices.ContainsFunc(m.RoomIDs, func(id int64) bool { return here[id] })
	})
}

// Grid draws rooms over a span of at most 62 days. Rooms come in pages by name; a text, many meetings,
// or more than a day may leave a page with less than its limit. Rooms that were named have one page: if
// they hold more than 20,000 meetings in that time, the query is refused.
func (s *Service) Grid(ctx context.Context, by meeting.Actor, q GridQuery, p meeting.Page) (g *Grid, next string, err error) {
	if err := q.check(); err != nil {
		return nil, "", err
	}
	var rooms []*meeting.Room
	var ms []*meeting.Meeting
	at, most := s.clock(), maxGridPage
	if q.Span.Duration() > longSpan {
		p.Limit = min(p.Limit, longSpanPage)
	}
	for more := "more"; more != ""; {
		rooms, next, err = s.gridRooms(ctx, q, p)
		if err != nil || len(rooms) == 0 {
			return &Grid{Until: at.Add(maxGridAge)}, "", err
		}
		if err := s.meetings.PrepareRooms(ctx, rooms, around(q.Span.Start, q.Span.End)); err != nil {
			return nil, "", err
		}
		if len(q.RoomIDs) > 0 || len(rooms) == 1 {
			most = maxGridMeetings
		}
		span := q.span(rooms)
		ms, more, err = s.store.ListMeetings(ctx,
			meeting.MeetingQuery{From: span.Start, To: span.End, RoomIDs: idsOf(rooms), Statuses: gridStatuses, Viewer: &by, Now: at, Brief: true}, meeting.Page{Limit: most})
		if err != nil {
			return nil, "", err
		}
		if more != "" && most == maxGridMeetings {
			return nil, "", fault.Invalid("to", "too_many", "must cover at most %d meetings: request fewer rooms or days", maxGridMeetings)
		}
		p.Limit = max(1, len(rooms)/4) // of rooms with so many meetings
	}
	until := at.Add(maxGridAge)
	for _, m := range ms {
		until = clock.Earlier(until, m.ChangesAt(at, until))
	}
	if ms, err = s.meetings.Views(ctx, by, ms, at); err != nil {
		return nil, "", err
	}
	g = q.draw(rooms, ms)
	g.Until = until
	if err := s.rate(ctx, by, g.Rooms); err != nil {
		return nil, "", err
	}
	g.Sites, err = s.sitesOf(ctx, g.Rooms)
	return g, next, err
}

// rate marks the rooms that the actor may not book, or not without approval.
func (s *Service) rate(ctx context.Context, by meeting.Actor, rooms []GridRoom) error {
	if !slices.ContainsFunc(rooms, func(r GridRoom) bool { return len(r.Access.Book) > 0 || r.Approval.Required }) {
		return nil
	}
	by, err := s.meetings.WithDeputies(ctx, by)
	a := searcher{Actor: by}
	for i := range rooms {
		rooms[i].Barred, rooms[i].NeedsApproval = !by.MayBook(rooms[i].Room), a.needsApproval(rooms[i].Room)
	}
	return err
}

func (s *Service) gridRooms(ctx context.Context, q GridQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error) {
	if len(q.RoomIDs) == 0 {
		return s.store.ListRooms(ctx, q.Rooms, p)
	}
	rooms, err = s.store.Rooms(ctx, slices.Compact(slices.Sorted(slices.Values(q.RoomIDs))))
	rooms = slices.DeleteFunc(rooms, func(r *meeting.Room) bool { return !matches(r, &q.Rooms) })
	slices.SortStableFunc(rooms, func(a, b *meeting.Room) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return rooms, "", err
}

// sitesOf returns the sites of the rooms, by name.
func (s *Service) sitesOf(ctx context.Context, rooms []GridRoom) ([]*meeting.Site, error) {
	want := map[int64]bool{}
	for _, r := range rooms {
		if r.SiteID != 0 {
			want[r.SiteID] = true
		}
	}
	var found []*meeting.Site
	for p := (meeting.Page{Limit: 500}); len(found) < len(want); {
		sites, next, err := s.store.ListSites(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, site := range sites {
			if want[site.ID] {
				found = append(found, site)
			}
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	return found, nil
}
