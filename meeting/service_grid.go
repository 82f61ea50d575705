package meeting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Grid draws rooms over a span of at most 62 days. Rooms come in pages by name; the text may
// leave a page with less than its limit. What is asked for in rooms that hold more than 20,000
// meetings in that time is refused.
func (s *Service) Grid(ctx context.Context, by Actor, q GridQuery, p Page) (g *Grid, next string, err error) {
	if err := q.check(); err != nil {
		return nil, "", err
	}
	rooms, next, err := s.gridRooms(ctx, q, p)
	if err != nil || len(rooms) == 0 {
		return &Grid{}, "", err
	}
	at, span := s.clock(), q.span(rooms)
	if err := s.withBlackouts(ctx, rooms, span.Start); err != nil {
		return nil, "", err
	}
	ms, more, err := s.store.ListMeetings(ctx,
		MeetingQuery{From: span.Start, To: span.End, RoomIDs: ids(rooms), Statuses: gridStatuses, Now: at, Brief: true}, Page{Limit: maxGridMeetings})
	if err != nil {
		return nil, "", err
	}
	if more != "" {
		return nil, "", invalid("query.to", "too_many", fmt.Sprintf("takes in more than %d meetings: ask for fewer rooms or days", maxGridMeetings))
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
