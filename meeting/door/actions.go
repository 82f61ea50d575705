package door

import (
	"context"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// MayPair returns the room if the actor may pair devices with its door: an approver of the room
// or an admin.
func (s *Service) MayPair(ctx context.Context, by meeting.Actor, roomID int64) (*meeting.Room, error) {
	by, err := s.booking.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	room, err := s.booking.VisibleRoom(ctx, by, roomID)
	if err != nil {
		return nil, err
	}
	if !by.MayReject([]*meeting.Room{room}) {
		return nil, meeting.ErrForbidden
	}
	return room, nil
}

// Door returns what a device at a room's door shows. by is the device, which books in its own name.
func (s *Service) Door(ctx context.Context, by meeting.Actor, roomID int64) (*Door, error) {
	at := s.booking.Now()
	room, err := s.booking.Room(ctx, roomID)
	if err != nil {
		return nil, err
	}
	loc := clock.ZoneOrUTC(room.Zone)
	y, mo, d := at.In(loc).Date()
	midnight := time.Date(y, mo, d, 0, 0, 0, 0, time.UTC) // a date, not an instant
	today := clock.Slot{Start: clock.InstantOrChange(midnight, loc), End: clock.InstantOrChange(midnight.AddDate(0, 0, 1), loc)}
	ms, err := s.store.Occupants(ctx, roomID, today)
	if err != nil {
		return nil, err
	}
	ms = slices.DeleteFunc(ms, func(m *meeting.Meeting) bool {
		return !m.Slot.Overlaps(today) || !slices.Contains(m.RoomIDs, roomID) // only its buffer overlaps, or a move into this room is pending
	})
	all, err := s.booking.RoomsOf(ctx, ms)
	if err != nil {
		return nil, err
	}
	door := &Door{Room: room, At: at, State: Free, Day: today, Closed: closuresOf(room, today)}
	for _, m := range ms {
		rooms := slices.DeleteFunc(slices.Clone(all), func(r *meeting.Room) bool { return !slices.Contains(m.RoomIDs, r.ID) })
		seen := m.ViewAt(at, meeting.Actor{AtRoom: roomID}, nil)
		if seen.Status == meeting.Released || seen.Status == meeting.Rejected || seen.Status == meeting.Cancelled {
			continue
		}
		shown := Meeting{Meeting: seen, May: mayAtDoor(m, rooms, at)}
		if slices.Contains(shown.May, Extend) {
			if shown.Extend, err = s.extendable(ctx, m, rooms, at); err != nil {
				return nil, err
			}
		}
		door.Today = append(door.Today, shown)
	}
	door.validate()
	if door.Book, err = s.bookable(ctx, by, room, at); err != nil {
		return nil, err
	}
	return door, nil
}

// validate sets the state from today's meetings and closures.
func (d *Door) validate() {
	next := time.Time{}
	for _, m := range d.Today {
		switch {
		case m.Status == meeting.InProgress && d.State != InUse:
			d.State, d.Current, d.Until = InUse, m.Meeting, m.Slot.End
		case m.Status == meeting.Confirmed && d.Current == nil && slices.Contains(m.May, CheckIn):
			d.State, d.Current, d.Until = Expected, m.Meeting, m.Slot.Start
		case (m.Status == meeting.Confirmed || m.Status == meeting.Pending) && next.IsZero() && m.Slot.Start.After(d.At):
			next = m.Slot.Start
		}
	}
	if d.State == InUse {
		return
	}
	if until, closed := d.closedUntil(); closed {
		d.State, d.Until = Closed, until
	} else if d.State == Free {
		d.Until = next
		for _, c := range d.Closed {
			if c.Slot.Start.After(d.At) && c.Slot.Start.Before(d.Day.End) && (d.Until.IsZero() || c.Slot.Start.Before(d.Until)) {
				d.Until = c.Slot.Start
			}
		}
	}
}

// closedUntil reports whether the room is closed now, and when it opens. A zero time means not
// soon.
func (d *Door) closedUntil() (until time.Time, closed bool) {
	until = d.At
	for _, c := range d.Closed {
		if !c.holds(until) {
			continue // sorted by start
		}
		if until, closed = c.Slot.End, true; until.IsZero() {
			break
		}
	}
	return until, closed
}

// bookable returns the lengths for which the room can be booked now.
func (s *Service) bookable(ctx context.Context, by meeting.Actor, r *meeting.Room, at time.Time) ([]Choice, error) {
	if booking.NeedsDecision("minutes", []*meeting.Room{r}) != nil {
		return nil, nil
	}
	longest := doorSlot(r, slices.Max(Lengths), at)
	taken, err := s.store.Busy(ctx, []int64{r.ID}, longest.Widen(booking.MaxBuffer, booking.MaxBuffer), at)
	if err != nil {
		return nil, err
	}
	var choices []Choice
	for _, d := range Lengths {
		slot := doorSlot(r, d, at)
		violations := atDoorAllowed(r.Check(policy.Proposal{Slot: slot, Now: at}, s.booking.Settings().Limits))
		if len(violations) > 0 || slices.ContainsFunc(taken[r.ID], slot.Widen(r.Policy.BufferBefore, r.Policy.BufferAfter).Overlaps) {
			continue
		}
		if violations, err = s.booking.OverQuota(ctx, by.ID, &meeting.Terms{Slot: slot, Rooms: []*meeting.Room{r}}, nil); err != nil {
			return nil, err
		}
		if len(violations) == 0 {
			choices = append(choices, Choice{Length: d, End: slot.End})
		}
	}
	return choices, nil
}

// extendable returns by how much a meeting in progress can be extended: its rooms are free after
// it, and their policies allow it.
func (s *Service) extendable(ctx context.Context, m *meeting.Meeting, rooms []*meeting.Room, at time.Time) ([]Choice, error) {
	longest := clock.Slot{Start: m.Slot.End, End: m.Slot.End.Add(slices.Max(Lengths))}
	taken, err := s.store.Busy(ctx, meeting.RoomIDs(rooms), longest.Widen(booking.MaxBuffer, booking.MaxBuffer), at)
	if err != nil {
		return nil, err
	}
	if err := s.booking.AddBlackouts(ctx, rooms, at); err != nil {
		return nil, err
	}
	var choices []Choice
	for _, d := range Lengths {
		end := m.Slot.End.Add(d)
		more := clock.Slot{Start: m.Slot.End, End: end}
		if !slices.ContainsFunc(rooms, func(r *meeting.Room) bool {
			w := policy.Proposal{Slot: clock.Slot{Start: m.Slot.Start, End: end}, Persons: len(m.Attendees), Now: at, Booked: &policy.Booked{End: m.Slot.End, Persons: len(m.Attendees)}}
			return blocks(r, more, m.Slot, taken[r.ID]) || len(r.Check(w, s.booking.Settings().Limits)) > 0
		}) {
			choices = append(choices, Choice{Length: d, End: end})
		}
	}
	return choices, nil
}

// blocks reports whether another booking prevents an extension. An occupancy that begins no later
// than the meeting is its own.
func blocks(r *meeting.Room, more, meeting clock.Slot, taken []clock.Slot) bool {
	more = more.Widen(0, r.Policy.BufferAfter)
	return slices.ContainsFunc(taken, func(t clock.Slot) bool { return t.Start.After(meeting.Start) && t.Overlaps(more) })
}

// Book books the room from now on in the name of the device, and checks in at once. It takes
// one of [Lengths]. The room's policies apply, except for the grid of starts, but not its access by group.
// If the booking would need approval, it is refused.
func (s *Service) Book(ctx context.Context, by meeting.Actor, roomID int64, length time.Duration, title string) (*meeting.Meeting, error) {
	if err := checkDoorLength(length); err != nil {
		return nil, err
	}
	if title = strings.TrimSpace(title); title == "" {
		title = "Booked at the door"
	}
	var m *meeting.Meeting
	err := s.booking.Revalidate(ctx, func() (err error) {
		m, err = s.tryBookAtDoor(ctx, by, roomID, length, title)
		return err
	})
	return m, err
}

func (s *Service) tryBookAtDoor(ctx context.Context, by meeting.Actor, roomID int64, length time.Duration, title string) (*meeting.Meeting, error) {
	at := s.booking.Now()
	room, err := s.booking.Room(ctx, roomID)
	if err != nil {
		return nil, err
	}
	if err := booking.NeedsDecision("minutes", []*meeting.Room{room}); err != nil {
		return nil, err
	}
	slot := doorSlot(room, length, at)
	f := booking.Fields{
		Title: &title, RoomIDs: &[]int64{roomID}, Start: new(clock.At(slot.Start)), End: new(clock.At(slot.End)),
		Timezone: &room.Zone, Reminders: &[]meeting.Reminder{}, Unasked: true,
	}
	known, err := s.booking.LookUp(ctx, by, &f, nil)
	if err != nil {
		return nil, err
	}
	terms, err := f.Terms(nil, known)
	if err != nil {
		return nil, err
	}
	violations := atDoorAllowed(terms.Violations(nil, by, s.booking.Settings().Limits, at))
	if len(violations) > 0 {
		quotas, err := s.booking.OverQuota(ctx, by.ID, &terms, nil)
		if err != nil {
			return nil, err
		}
		return nil, terms.Accept(append(violations, quotas...), nil)
	}
	plan, err := s.booking.PlanApproval(ctx, by, terms.Rooms)
	if err != nil {
		return nil, err
	}
	by.Name = booking.AtDoorOf(room).Name
	m := s.booking.NewMeeting(terms, plan, by, at)
	if m.Status != meeting.Confirmed {
		return nil, booking.NeedsDecision("minutes", terms.Rooms) // changed since the check
	}
	if _, err := m.Arrive(by, at); err != nil {
		return nil, err
	}
	if err := s.store.CreateMeeting(ctx, m); err != nil {
		return nil, err
	}
	s.booking.AnnounceChange(ctx, nil, m, m.Notices)
	return m.At(at), nil
}

func checkDoorLength(d time.Duration) error {
	if !slices.Contains(Lengths, d) {
		return fault.Invalid("minutes", "unknown_value", "must be 15, 30 or 60")
	}
	return nil
}

// CheckIn checks in to a meeting in the room.
func (s *Service) CheckIn(ctx context.Context, roomID int64, id meeting.ID) error {
	return s.actAtDoor(ctx, roomID, id, nil, func(m *meeting.Meeting, by meeting.Actor, c booking.Preparation) error {
		return booking.Arrive(by)(m, c)
	})
}

// End ends a meeting in progress in the room.
func (s *Service) End(ctx context.Context, roomID int64, id meeting.ID) error {
	return s.actAtDoor(ctx, roomID, id, nil, func(m *meeting.Meeting, by meeting.Actor, c booking.Preparation) error {
		return m.Finish(c.Rooms, by, c.At)
	})
}

// Extend extends a meeting in progress in the room by one of [Lengths]. Its policies
// apply. If the extension would need approval, it is refused.
func (s *Service) Extend(ctx context.Context, roomID int64, id meeting.ID, length time.Duration) error {
	if err := checkDoorLength(length); err != nil {
		return err
	}
	seen, err := s.store.Meeting(ctx, id)
	if err != nil {
		return err
	}
	conf := s.booking.Settings()
	f := booking.Fields{End: new(clock.At(seen.Slot.End.Add(length)))}
	return s.actAtDoor(ctx, roomID, id, &f, func(m *meeting.Meeting, by meeting.Actor, c booking.Preparation) error {
		switch status := m.EffectiveStatus(c.At); {
		case !m.Slot.End.Equal(seen.Slot.End):
			return booking.ErrUnchanged // someone else extended it meanwhile
		case status != meeting.InProgress:
			return &meeting.StateError{State: status, Action: "extend"}
		}
		if err := booking.NeedsDecision("minutes", c.Known.Rooms); err != nil {
			return err
		}
		if err := s.booking.Revise(m, by, nil, f, conf, c); err != nil {
			return err
		}
		_, err := m.Arrive(by, c.At) // the request itself shows that someone is there
		return err
	})
}

// actAtDoor changes a meeting of the room in the name of the device. Meetings of other rooms are
// [meeting.ErrNotFound].
func (s *Service) actAtDoor(ctx context.Context, roomID int64, id meeting.ID, f *booking.Fields, fn func(*meeting.Meeting, meeting.Actor, booking.Preparation) error) error {
	room, err := s.booking.Room(ctx, roomID)
	if err != nil {
		return err
	}
	by := booking.AtDoorOf(room)
	_, err = s.booking.Change(ctx, by, id, f, func(m *meeting.Meeting, c booking.Preparation) error {
		if !slices.Contains(m.RoomIDs, roomID) {
			return meeting.ErrNotFound
		}
		return fn(m, by, c)
	})
	return err
}
