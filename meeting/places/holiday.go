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
	"punctual/meeting/policy"
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
	before := *c
	if err := s.applyHolidays(ctx, c, f); err != nil {
		return nil, HolidayEffect{}, err
	}
	effect, err := s.holidayEffect(ctx, by, &before, c)
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
	if err := s.applyHolidays(ctx, c, f); err != nil {
		return nil, HolidayEffect{}, err
	}
	all, err := s.store.HolidayCalendars(ctx)
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	if len(all) >= maxHolidayCalendars {
		return nil, HolidayEffect{}, fault.Invalid("name", "too_many", "must not be more than %d calendars", maxHolidayCalendars)
	}
	c.UpdatedAt = c.CreatedAt
	places, err := s.holidayPlaces(ctx)
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	if err := s.store.CreateHolidays(ctx, c, places); err != nil {
		return nil, HolidayEffect{}, err
	}
	effect, err := s.holidayEffect(ctx, by, &meeting.HolidayCalendar{}, c)
	return c, effect, err
}

// UpdateHolidays changes a calendar and the blackouts that follow it. ifMatch, unless nil, is the
// expected version.
func (s *Service) UpdateHolidays(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, f HolidayFields) (c *meeting.HolidayCalendar, effect HolidayEffect, err error) {
	if !by.MayManageRooms() {
		return nil, HolidayEffect{}, meeting.ErrForbidden
	}
	places, err := s.holidayPlaces(ctx)
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	var before meeting.HolidayCalendar
	c, err = s.store.UpdateHolidays(ctx, id, places, func(c *meeting.HolidayCalendar) error {
		if err := fault.CheckVersion(ifMatch, c.Version); err != nil {
			return err
		}
		before = *c
		c.UpdatedAt = s.booking.Now()
		return s.applyHolidays(ctx, c, f)
	})
	if err != nil {
		return nil, HolidayEffect{}, err
	}
	effect, err = s.holidayEffect(ctx, by, &before, c)
	return c, effect, err
}

// DeleteHolidays deletes a calendar and the blackouts that follow it, unless they are over.
func (s *Service) DeleteHolidays(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	return s.store.DeleteHolidays(ctx, id, s.booking.Now(), func(c *meeting.HolidayCalendar) error { return fault.CheckVersion(ifMatch, c.Version) })
}

func (s *Service) applyHolidays(ctx context.Context, c *meeting.HolidayCalendar, f HolidayFields) error {
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
		} else if err := s.checkSites(ctx, c.SiteIDs, &found); err != nil {
			return err
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

func (s *Service) checkSites(ctx context.Context, ids []int64, found *fault.List) error {
	for i, id := range ids {
		switch _, err := s.store.Site(ctx, id); {
		case errors.Is(err, meeting.ErrNotFound):
			found.Add(fault.Index("site_ids", i), "unknown_site", "site %d does not exist", id)
		case err != nil:
			return fmt.Errorf("look up site: %w", err)
		}
	}
	return nil
}

// holidayPlaces returns all sites, and all rooms without a site.
func (s *Service) holidayPlaces(ctx context.Context) (places []meeting.HolidayPlace, err error) {
	for p := (meeting.Page{Limit: 500}); ; {
		sites, next, err := s.store.ListSites(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, site := range sites {
			places = append(places, s.placeOfSite(site))
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
			if r.SiteID == 0 {
				places = append(places, placeOfRoom(r))
			}
		}
		if p.Cursor = next; next == "" {
			return places, nil
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

// holidayEffect compares two states of a calendar and lists the meetings on the days of the second.
func (s *Service) holidayEffect(ctx context.Context, by meeting.Actor, before, after *meeting.HolidayCalendar) (HolidayEffect, error) {
	e := HolidayEffect{Added: without(after.Days, before.Days), Removed: without(before.Days, after.Days)}
	places, err := s.holidayPlaces(ctx)
	if err != nil {
		return e, err
	}
	places = slices.DeleteFunc(places, func(p meeting.HolidayPlace) bool { return !after.Closes(p) })
	if len(places) == 0 {
		return e, nil
	}
	seen := map[meeting.ID]bool{}
	add := func(ms []*meeting.Meeting) {
		for _, m := range ms {
			if !seen[m.ID] {
				seen[m.ID] = true
				e.Affected.Meetings = append(e.Affected.Meetings, m)
			}
		}
	}
	for _, day := range after.Days {
		if day.Slot(time.UTC).End.Before(s.booking.Now().AddDate(0, 0, -1)) {
			continue
		}
		if len(after.SiteIDs) > 0 {
			for _, p := range places {
				a, err := s.affected(ctx, by, &policy.Blackout{SiteID: p.SiteID, Slot: day.Slot(p.Zone)})
				if err != nil {
					return e, err
				}
				add(a.Meetings)
				e.Affected.More = e.Affected.More || a.More
			}
		} else if err := s.affectedAnywhere(ctx, by, day, places, add); err != nil {
			return e, err
		}
		if len(e.Affected.Meetings) > maxAffected {
			break
		}
	}
	slices.SortStableFunc(e.Affected.Meetings, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	e.Affected.More = e.Affected.More || len(e.Affected.Meetings) > maxAffected
	e.Affected.Meetings = e.Affected.Meetings[:min(len(e.Affected.Meetings), maxAffected)]
	return e, nil
}

// affectedAnywhere lists the meetings on a day of all places: those of all rooms around it, without
// those on other days of their zone.
func (s *Service) affectedAnywhere(ctx context.Context, by meeting.Actor, day meeting.Holiday, places []meeting.HolidayPlace, add func([]*meeting.Meeting)) error {
	slots := map[[2]int64]clock.Slot{}
	whole := day.Slot(places[0].Zone)
	for _, p := range places {
		slot := day.Slot(p.Zone)
		slots[[2]int64{p.SiteID, p.RoomID}] = slot
		if slot.Start.Before(whole.Start) {
			whole.Start = slot.Start
		}
		if slot.End.After(whole.End) {
			whole.End = slot.End
		}
	}
	a, err := s.affected(ctx, by, &policy.Blackout{Slot: whole})
	if err != nil {
		return err
	}
	rooms, err := s.booking.RoomsOf(ctx, a.Meetings)
	if err != nil {
		return err
	}
	add(slices.DeleteFunc(a.Meetings, func(m *meeting.Meeting) bool {
		return !slices.ContainsFunc(rooms, func(r *meeting.Room) bool {
			place := [2]int64{r.SiteID, 0}
			if r.SiteID == 0 {
				place = [2]int64{0, r.ID}
			}
			slot, closed := slots[place]
			return closed && slices.Contains(m.RoomIDs, r.ID) && m.Slot.Overlaps(slot)
		})
	}))
	return nil
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
