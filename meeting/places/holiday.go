package places

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// HolidayFields are the requested fields of a holiday calendar; nil: not requested.
type HolidayFields struct {
	Name    *string
	SiteIDs *[]int64
	Days    *[]meeting.Holiday // replaces all days; those that have ended do not matter

	Faults []meeting.Fault // found while decoding
}

// HolidayEffect is what a holiday calendar changes, or would change.
type HolidayEffect struct {
	Added, Removed []meeting.Holiday // compared with the calendar before
	Affected       Affected          // meetings on its days; none of them is changed
}

const (
	// MaxHolidays limits the days of a calendar.
	MaxHolidays         = 1_000
	maxHolidayCalendars = 100
)

// HolidayCalendars returns all calendars, by name.
func (s *Service) HolidayCalendars(ctx context.Context) ([]*meeting.HolidayCalendar, error) {
	return s.store.HolidayCalendars(ctx)
}

// HolidayCalendar finds a calendar.
func (s *Service) HolidayCalendar(ctx context.Context, id int64) (*meeting.HolidayCalendar, error) {
	return s.store.HolidayCalendar(ctx, id)
}

// PreviewHolidays returns what a new calendar would do, or one that replaces the days of id.
func (s *Service) PreviewHolidays(ctx context.Context, by meeting.Actor, id int64, f HolidayFields) (*meeting.HolidayCalendar, HolidayEffect, error) {
	if !by.MayManageRooms() {
		return nil, HolidayEffect{}, meeting.ErrForbidden
	}
	c := &meeting.HolidayCalendar{Name: "preview"}
	if id != 0 {
		found, err := s.store.HolidayCalendar(ctx, id)
		if errors.Is(err, meeting.ErrNotFound) {
			return nil, HolidayEffect{}, fault.Invalid("calendar_id", "unknown_calendar", "calendar %d does not exist", id)
		}
		if err != nil {
			return nil, HolidayEffect{}, err
		}
		c = found
	}
	all, err := s.premises(ctx)
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	before := *c
	if err := f.apply(c, all); err != nil {
		return nil, HolidayEffect{}, err
	}
	effect := changedDays(&before, c)
	effect.Affected, err = s.affectedByHolidays(ctx, by, c, all)
	return c, effect, err
}

// CreateHolidays closes sites on the days of a new calendar. Meetings that are booked stay booked.
func (s *Service) CreateHolidays(ctx context.Context, by meeting.Actor, f HolidayFields) (*meeting.HolidayCalendar, HolidayEffect, error) {
	if !by.MayManageRooms() {
		return nil, HolidayEffect{}, meeting.ErrForbidden
	}
	c := &meeting.HolidayCalendar{CreatedAt: s.booking.Now()}
	if f.Days == nil {
		f.Faults = append(f.Faults, fault.New("ics", "required", "is required"))
	}
	all, err := s.premises(ctx)
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	if err := f.apply(c, all); err != nil {
		return nil, HolidayEffect{}, err
	}
	calendars, err := s.store.HolidayCalendars(ctx)
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	if len(calendars) >= maxHolidayCalendars {
		return nil, HolidayEffect{}, fault.Invalid("name", "too_many", "must not be more than %d calendars", maxHolidayCalendars)
	}
	c.UpdatedAt = c.CreatedAt
	if err := s.store.CreateHolidays(ctx, c, all.places); err != nil {
		return nil, HolidayEffect{}, err
	}
	effect := changedDays(&meeting.HolidayCalendar{}, c)
	effect.Affected = s.afterwards(s.affectedByHolidays(ctx, by, c, all))
	return c, effect, nil
}

// UpdateHolidays changes a calendar and the blackouts that follow it. ifMatch, unless nil, is the
// expected version.
func (s *Service) UpdateHolidays(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f HolidayFields) (c *meeting.HolidayCalendar, effect HolidayEffect, err error) {
	if !by.MayManageRooms() {
		return nil, HolidayEffect{}, meeting.ErrForbidden
	}
	all, err := s.premises(ctx)
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	var before meeting.HolidayCalendar
	c, err = s.store.UpdateHolidays(ctx, id, all.places, func(c *meeting.HolidayCalendar) error {
		if err := fault.CheckVersion(ifMatch, c.Version); err != nil {
			return err
		}
		before = *c
		c.UpdatedAt = s.booking.Now()
		return f.apply(c, all)
	})
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	effect = changedDays(&before, c)
	effect.Affected = s.afterwards(s.affectedByHolidays(ctx, by, c, all))
	return c, effect, nil
}

// DeleteHolidays deletes a calendar and the blackouts that follow it, unless they are over.
func (s *Service) DeleteHolidays(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteHolidays(ctx, id, s.booking.Now(), func(c *meeting.HolidayCalendar) error { return fault.CheckVersion(ifMatch, c.Version) })
}

// apply sets the fields on the calendar and reports all their faults. It reads nothing, since a transaction
// may be open.
func (f *HolidayFields) apply(c *meeting.HolidayCalendar, all *premises) error {
	var found fault.List
	if f.Name != nil {
		c.Name = strings.TrimSpace(*f.Name)
		found.Name("name", c.Name, fault.MaxName)
	} else if c.Name == "" {
		found.Add("name", "required", "is required")
	}
	if f.SiteIDs != nil {
		c.SiteIDs = slices.Compact(slices.Sorted(slices.Values(*f.SiteIDs)))
		if len(c.SiteIDs) > maxPlaces {
			found.Add("site_ids", "too_many", "must have at most %d sites", maxPlaces)
		} else {
			all.checkSites(c.SiteIDs, &found)
		}
	}
	if f.Days != nil {
		c.Days = nil
		for _, d := range *f.Days {
			d.Name = short(cmp.Or(strings.Join(strings.Fields(d.Name), " "), c.Name), maxReason)
			c.Days = append(c.Days, d)
		}
		switch {
		case len(f.Faults) > 0:
		case len(c.Days) == 0:
			found.Add("ics", "no_days", "must have at least one event of whole days that has not ended")
		case len(c.Days) > MaxHolidays:
			found.Add("ics", "too_many", "must have at most %d events of whole days", MaxHolidays)
		}
	}
	return fault.Merge(f.Faults, found).Err()
}

// short cuts a text to a number of characters.
func short(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most])
	}
	return text
}

// premises are all places that holiday calendars can close.
type premises struct {
	places []meeting.HolidayPlace // sites, and rooms without a site
	ofSite map[int64]int          // index in places
	ofRoom map[int64]int          // index in places of the room's site, or of the room itself
}

func (s *Service) premises(ctx context.Context) (*premises, error) {
	all := &premises{ofSite: map[int64]int{}, ofRoom: map[int64]int{}}
	for p := (meeting.Page{Limit: 500}); ; {
		sites, next, err := s.store.ListSites(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, site := range sites {
			all.ofSite[site.ID] = len(all.places)
			all.places = append(all.places, s.placeOfSite(site))
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	for p := (meeting.Page{Limit: 500}); ; {
		rooms, next, err := s.store.ListRooms(ctx, meeting.RoomQuery{IncludeInactive: true}, p)
		if err != nil {
			return nil, err
		}
		for _, r := range s.booking.Zoned(rooms) {
			if at, known := all.ofSite[r.SiteID]; known {
				all.ofRoom[r.ID] = at
			} else if r.SiteID == 0 {
				all.ofRoom[r.ID] = len(all.places)
				all.places = append(all.places, placeOfRoom(r))
			}
		}
		if p.Cursor = next; next == "" {
			return all, nil
		}
	}
}

func (all *premises) checkSites(ids []int64, found *fault.List) {
	for i, id := range ids {
		if _, known := all.ofSite[id]; !known {
			found.Add(fault.Index("site_ids", i), "unknown_site", "site %d does not exist", id)
		}
	}
}

func (s *Service) placeOfSite(site *meeting.Site) meeting.HolidayPlace {
	loc, err := fault.StoredZone(cmp.Or(site.Timezone, s.booking.Settings().Timezone, "UTC"))
	if err != nil {
		loc = time.UTC
	}
	return meeting.HolidayPlace{SiteID: site.ID, Zone: loc}
}

func placeOfRoom(r *meeting.Room) meeting.HolidayPlace {
	loc, err := fault.StoredZone(r.Zone)
	if err != nil {
		loc = time.UTC
	}
	return meeting.HolidayPlace{RoomID: r.ID, Sited: r.SiteID != 0, Zone: loc}
}

// followHolidays gives places that are new, or whose zone or site changed, the blackouts of the
// calendars.
func (s *Service) followHolidays(ctx context.Context, places ...meeting.HolidayPlace) error {
	if err := s.store.FollowHolidays(ctx, places, s.booking.Now()); err != nil {
		return fmt.Errorf("apply holidays: %w", err)
	}
	return nil
}

// followHolidaysOf is followHolidays for new rooms.
func (s *Service) followHolidaysOf(ctx context.Context, ids ...int64) error {
	rooms, err := s.booking.RoomsByID(ctx, ids)
	if err != nil {
		return err
	}
	var places []meeting.HolidayPlace
	for _, r := range rooms {
		if r.SiteID == 0 {
			places = append(places, placeOfRoom(r))
		}
	}
	if len(places) == 0 {
		return nil
	}
	return s.followHolidays(ctx, places...)
}

// changedDays compares the days of two states of a calendar.
func changedDays(before, after *meeting.HolidayCalendar) HolidayEffect {
	return HolidayEffect{Added: without(after.Days, before.Days), Removed: without(before.Days, after.Days)}
}

// affectedByHolidays returns the meetings on the coming days of a calendar, as the actor may see them. It
// reads once for each day, until it has found as many as it returns.
func (s *Service) affectedByHolidays(ctx context.Context, by meeting.Actor, c *meeting.HolidayCalendar, all *premises) (a Affected, err error) {
	at := s.booking.Now()
	days := all.closedDays(c, at)
	if len(days) == 0 {
		return a, nil
	}
	seen := map[meeting.ID]bool{}
	add := func(ms []*meeting.Meeting) {
		for _, m := range ms {
			if !seen[m.ID] {
				seen[m.ID] = true
				a.Meetings = append(a.Meetings, m)
			}
		}
	}
	moves, err := s.store.WaitingMoves(ctx)
	if err != nil {
		return a, err
	}
	moves = slices.DeleteFunc(moves, func(m *meeting.Meeting) bool {
		return !m.Waits(at) || !slices.ContainsFunc(days, func(d closedDay) bool { return d.closes(m.Request.Change.RoomIDs, m.Request.Change.Slot) })
	})
	coming, err := s.booking.Views(ctx, by, moves, at)
	if err != nil {
		return a, err
	}
	add(coming)
	for _, d := range days {
		q := meeting.MeetingQuery{From: d.whole.Start, To: d.whole.End, SiteIDs: c.SiteIDs, Statuses: unfinished}
		there, next, err := s.booking.Meetings(ctx, by, q, meeting.Page{Limit: maxAffected})
		if err != nil {
			return a, err
		}
		a.More = a.More || next != ""
		add(slices.DeleteFunc(there, func(m *meeting.Meeting) bool { return !d.closes(m.RoomIDs, m.Slot) }))
		if len(a.Meetings) > maxAffected {
			break
		}
	}
	slices.SortStableFunc(a.Meetings, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	a.More = a.More || len(a.Meetings) > maxAffected
	a.Meetings = a.Meetings[:min(len(a.Meetings), maxAffected)]
	return a, nil
}

// closedDay is a day on which a calendar closes places.
type closedDay struct {
	*premises
	calendar *meeting.HolidayCalendar
	inZone   map[string]clock.Slot // by zone of the closed places
	whole    clock.Slot            // around all zones
}

// closedDays returns the days of a calendar that close a place and have not ended, in their order.
func (all *premises) closedDays(c *meeting.HolidayCalendar, at time.Time) (days []closedDay) {
	zones := map[string]*time.Location{}
	for _, p := range all.places {
		if c.Closes(p) {
			zones[p.Zone.String()] = p.Zone
		}
	}
	for _, h := range c.Days {
		d := closedDay{premises: all, calendar: c, inZone: map[string]clock.Slot{}}
		for name, zone := range zones {
			slot := h.Slot(zone)
			d.inZone[name] = slot
			if d.whole.Start.IsZero() || slot.Start.Before(d.whole.Start) {
				d.whole.Start = slot.Start
			}
			if slot.End.After(d.whole.End) {
				d.whole.End = slot.End
			}
		}
		if d.whole.End.After(at) {
			days = append(days, d)
		}
	}
	return days
}

// closes reports whether one of the rooms is closed during a part of the time.
func (d closedDay) closes(rooms []int64, at clock.Slot) bool {
	return at.Overlaps(d.whole) && slices.ContainsFunc(rooms, func(id int64) bool {
		i, known := d.ofRoom[id]
		return known && d.calendar.Closes(d.places[i]) && at.Overlaps(d.inZone[d.places[i].Zone.String()])
	})
}

// without returns the days that another list has not.
func without(days, others []meeting.Holiday) []meeting.Holiday {
	out := []meeting.Holiday{}
	for _, d := range days {
		if !slices.Contains(others, d) {
			out = append(out, d)
		}
	}
	return out
}
