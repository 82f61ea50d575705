package meeting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Grid draws rooms over a span of at most 62 days. Rooms come in pages by name; a text, or many
// meetings, may leave a page with less than its limit. Rooms that were named have one page: if
// they hold more than 20,000 meetings in that time, the query is refused.
func (s *Service) Grid(ctx context.Context, by Actor, q GridQuery, p Page) (g *Grid, next string, err error) {
	if err := q.check(); err != nil {
		return nil, "", err
	}
	var rooms []*Room
	var ms []*Meeting
	at, most := s.clock(), maxGridPage
	for more := "more"; more != ""; {
		rooms, next, err = s.gridRooms(ctx, q, p)
		if err != nil || len(rooms) == 0 {
			return &Grid{}, "", err
		}
		if len(q.RoomIDs) > 0 || len(rooms) == 1 {
			most = maxGridMeetings
		}
		span := q.span(rooms)
		ms, more, err = s.store.ListMeetings(ctx,
			MeetingQuery{From: span.Start, To: span.End, RoomIDs: ids(rooms), Statuses: gridStatuses, Viewer: &by, Now: at, Brief: true}, Page{Limit: most})
		if err != nil {
			return nil, "", err
		}
		if more != "" && most == maxGridMeetings {
			return nil, "", invalid("to", "too_many", fmt.Sprintf("must cover at most %d meetings: request fewer rooms or days", maxGridMeetings))
		}
		p.Limit = max(1, len(rooms)/4) // of rooms with so many meetings
	}
	if err := s.withBlackouts(ctx, rooms, q.span(rooms).Start); err != nil {
		return nil, "", err
	}
	if ms, err = s.showAll(ctx, by, ms, at); err != nil {
		return nil, "", err
	}
	g = q.draw(rooms, ms)
	g.Sites, err = s.sitesOf(ctx, g.Rooms)
	return g, next, err
}

func (s *Service) gridRooms(ctx context.Context, q GridQuery, p Page) (rooms []*Room, next string, err error) {
	if len(q.RoomIDs) > 0 {
		rooms, err = s.rooms(ctx, slices.Compact(slices.Sorted(slices.Values(q.RoomIDs))))
		rooms = slices.DeleteFunc(rooms, func(r *Room) bool { return !q.Rooms.takes(r) })
		slices.SortStableFunc(rooms, func(a, b *Room) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	} else if rooms, next, err = s.store.ListRooms(ctx, q.Rooms, p); err == nil {
		rooms = s.zoned(rooms)
	}
	return rooms, next, err
}

// sitesOf are the sites of the rooms, by name.
func (s *Service) sitesOf(ctx context.Context, rooms []GridRoom) ([]*Site, error) {
	want := map[int64]bool{}
	for _, r := range rooms {
		if r.SiteID != 0 {
			want[r.SiteID] = true
		}
	}
	var found []*Site
	for p := (Page{Limit: 500}); len(found) < len(want); {
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
