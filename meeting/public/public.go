package public

import (
	"context"
	"errors"
	"slices"
	"strings"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

const maxMeetings = 5_000 // of one view of the public calendar

// Enabled reports whether the public calendar is on.
func (s *Service) Enabled() bool { return s.booking.Settings().Public }

// Access returns what admins chose for the public calendar, even if it is off.
func (s *Service) Access(ctx context.Context, by meeting.Actor) ([]meeting.PublicAccess, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	return s.store.PublicAccess(ctx)
}

// SetAccess chooses what the public calendar shows of a site or a room.
func (s *Service) SetAccess(ctx context.Context, by meeting.Actor, a meeting.PublicAccess, faults []meeting.Fault) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	var found fault.List
	switch {
	case a.SiteID == 0 && a.RoomID == 0:
		found.Add("site_id", "required", "is required unless room_id is set")
	case a.SiteID != 0 && a.RoomID != 0:
		found.Add("room_id", "contradiction", "must not be set together with site_id")
	}
	if a.Show != "" && !slices.Contains(meeting.PublicShows, a.Show) {
		found.Add("show", "unknown_value", "must be off, busy or titles")
	}
	if err := fault.Merge(faults, found).Err(); err != nil {
		return err
	}
	if a.SiteID != 0 && a.Show == meeting.PublicOff {
		a.Show = ""
	}
	err := s.store.SetPublicAccess(ctx, a)
	switch {
	case errors.Is(err, meeting.ErrNotFound) && a.SiteID != 0:
		return fault.Invalid("site_id", "unknown_site", "site %d does not exist", a.SiteID)
	case errors.Is(err, meeting.ErrNotFound):
		return fault.Invalid("room_id", "unknown_room", "room %d does not exist", a.RoomID)
	}
	return err
}

// Rooms returns the rooms of the public calendar by site and name, at most [meeting.MaxPublicRooms]; of one
// site or one room, unless it is 0. It returns [meeting.ErrNotFound] if the calendar is off, or the site or room
// is not part of it.
func (s *Service) Rooms(ctx context.Context, siteID, roomID int64) ([]meeting.PublicRoom, error) {
	if !s.Enabled() {
		return nil, meeting.ErrNotFound
	}
	chosen, err := s.store.PublicAccess(ctx)
	if err != nil {
		return nil, err
	}
	ofSite, ofRoom := map[int64]meeting.PublicShow{}, map[int64]meeting.PublicShow{}
	for _, a := range chosen {
		if a.SiteID != 0 {
			ofSite[a.SiteID] = a.Show
		} else {
			ofRoom[a.RoomID] = a.Show
		}
	}
	names := map[int64]string{}
	var out []meeting.PublicRoom
	add := func(rooms []*meeting.Room) error {
		for _, r := range s.booking.Zoned(rooms) {
			show, own := ofRoom[r.ID]
			if !own {
				show = ofSite[r.SiteID].Within(r)
			}
			if show == "" || show == meeting.PublicOff || !r.Active || roomID != 0 && r.ID != roomID || siteID != 0 && r.SiteID != siteID ||
				slices.ContainsFunc(out, func(o meeting.PublicRoom) bool { return o.ID == r.ID }) {
				continue
			}
			if _, known := names[r.SiteID]; !known && r.SiteID != 0 {
				site, err := s.store.Site(ctx, r.SiteID)
				if err != nil {
					return err
				}
				names[r.SiteID] = site.Name
			}
			out = append(out, meeting.PublicRoom{Chosen: own, ID: r.ID, SiteID: r.SiteID, Name: r.Name, Site: names[r.SiteID], Zone: r.Zone, Show: show})
		}
		return nil
	}
	for id := range ofSite {
		if siteID != 0 && id != siteID {
			continue
		}
		for p := (meeting.Page{Limit: meeting.MaxPublicRooms}); ; {
			rooms, next, err := s.store.ListRooms(ctx, meeting.RoomQuery{SiteID: id}, p)
			if err == nil {
				err = add(rooms)
			}
			if err != nil {
				return nil, err
			}
			if p.Cursor = next; next == "" || len(out) >= meeting.MaxPublicRooms {
				break
			}
		}
	}
	var single []int64
	for id, show := range ofRoom {
		if show != meeting.PublicOff {
			single = append(single, id)
		}
	}
	slices.Sort(single)
	for part := range slices.Chunk(single, meeting.MaxPublicRooms) {
		rooms, err := s.store.Rooms(ctx, part)
		if err == nil {
			err = add(rooms)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 && (siteID != 0 || roomID != 0) {
		return nil, meeting.ErrNotFound
	}
	slices.SortStableFunc(out, func(a, b meeting.PublicRoom) int {
		if c := strings.Compare(a.Site, b.Site); c != 0 {
			return c
		}
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return out[:min(len(out), meeting.MaxPublicRooms)], nil
}

// Meetings returns what takes these rooms within a span, by start. Requests that wait for approval,
// and meetings that were canceled or released, are not part of the public calendar.
func (s *Service) Meetings(ctx context.Context, rooms []meeting.PublicRoom, span clock.Slot) ([]meeting.PublicMeeting, error) {
	out := []meeting.PublicMeeting{}
	if len(rooms) == 0 {
		return out, nil
	}
	shows, chosen := map[int64]meeting.PublicShow{}, map[int64]bool{}
	var ids []int64
	for _, r := range rooms {
		shows[r.ID], chosen[r.ID] = r.Show, r.Chosen
		ids = append(ids, r.ID)
	}
	hides := func(l meeting.Limit) bool { return !chosen[l.RoomID] || shows[l.RoomID] != meeting.PublicTitles }
	at := s.booking.Now()
	q := meeting.MeetingQuery{RoomIDs: ids, From: span.Start, To: span.End, Statuses: []meeting.Status{meeting.Confirmed, meeting.InProgress, meeting.Ended}, Now: at, Brief: true}
	for p := (meeting.Page{Limit: 500}); ; {
		ms, next, err := s.store.ListMeetings(ctx, q, p)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			slot := m.Slot
			if !m.EndedAt.IsZero() && m.EndedAt.Before(slot.End) {
				slot.End = m.EndedAt
			}
			if !slot.Overlaps(span) {
				continue
			}
			for _, id := range m.RoomIDs {
				show, public := shows[id]
				if !public {
					continue
				}
				item := meeting.PublicMeeting{RoomID: id, Slot: slot}
				if show == meeting.PublicTitles && m.Visibility == meeting.Public && !slices.ContainsFunc(m.Limits, hides) {
					item.Title = m.Title
				}
				out = append(out, item)
			}
		}
		if p.Cursor = next; next == "" || len(out) >= maxMeetings {
			return out, nil
		}
	}
}
