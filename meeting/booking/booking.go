package booking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

// Book creates a meeting. It is confirmed, or pending if a room needs approval by someone else. It
// takes all its rooms or none.
func (s *Service) Book(ctx context.Context, by meeting.Actor, f Fields) (*meeting.Meeting, error) {
	by, err := Importer(by, f.Import)
	if err != nil {
		return nil, err
	}
	var m *meeting.Meeting
	err = s.Revalidate(ctx, func() (err error) {
		m, err = s.tryBook(ctx, by, f)
		return err
	})
	return m, err
}

// Revalidate runs act again if a blackout or a setting of a room changed before act saved, or if
// lapsed occupancies were in the way.
func (s *Service) Revalidate(ctx context.Context, act func() error) error {
	for {
		err := s.settling(ctx, act)
		if errors.Is(err, meeting.ErrRoomsChanged) && ctx.Err() == nil {
			continue
		}
		return err
	}
}

func (s *Service) tryBook(ctx context.Context, by meeting.Actor, f Fields) (*meeting.Meeting, error) {
	at := s.Now()
	by, err := s.ForDecision(ctx, by)
	if err != nil {
		return nil, err
	}
	known, err := s.LookUp(ctx, by, &f, nil)
	if err != nil {
		return nil, err
	}
	if acting, err := f.Booker(by, known, known.Rooms); err != nil {
		return nil, err
	} else if acting.Delegate != nil {
		if by, err = s.ForDecision(ctx, acting); err != nil {
			return nil, err
		}
	}
	if f.Override != nil && !by.MayOverride(known.Rooms) {
		return nil, meeting.ErrForbidden
	}
	terms, err := f.Terms(nil, known)
	if err != nil {
		return nil, err
	}
	if err := s.Validate(ctx, by, &terms, f.Override, at); err != nil {
		return nil, err
	}
	if f.Adjust != nil {
		if err := f.Adjust(ctx, by, &terms); err != nil {
			return nil, err
		}
	}
	plan, err := s.PlanApproval(ctx, by, terms.Rooms)
	if err != nil {
		return nil, err
	}
	if f.Import.Once() {
		plan = meeting.ApprovalPlan{}
	}
	m := s.NewMeeting(terms, plan, by, at)
	m.MakeUndoable(by, s.Settings().Undo, at)
	if err := s.store.CreateMeeting(ctx, m); err != nil {
		return nil, err
	}
	s.AnnounceChange(ctx, nil, m, m.Notices)
	return s.show(ctx, by, m)
}

// NewMeeting is [meeting.Book] with what the settings say about new meetings.
func (s *Service) NewMeeting(t meeting.Terms, plan meeting.ApprovalPlan, by meeting.Actor, at time.Time) *meeting.Meeting {
	m := meeting.Book(t, plan, by, at)
	if m.Foreign == "" {
		m.ReplyDomain = s.Settings().ReplyDomain
	}
	return m
}

// Known returns a meeting. It returns [meeting.ErrNotFound] also if the actor may not know of it.
func (s *Service) Known(ctx context.Context, by meeting.Actor, id meeting.ID) (*meeting.Meeting, error) {
	m, err := s.store.Meeting(ctx, id)
	if err != nil {
		return nil, err
	}
	return m, s.MayKnow(ctx, by, m)
}

// MayKnow returns [meeting.ErrNotFound] if the actor may not know of the meeting.
func (s *Service) MayKnow(ctx context.Context, by meeting.Actor, m *meeting.Meeting) error {
	if by.Kind != meeting.ActorUser || len(m.Limits) == 0 {
		return nil
	}
	by, rooms, err := s.RoomsForView(ctx, by, m)
	if err == nil && !by.MayKnow(m, rooms) {
		err = fmt.Errorf("meeting %d: %w", m.ID, meeting.ErrNotFound)
	}
	return err
}

// Meeting finds a meeting.
func (s *Service) Meeting(ctx context.Context, by meeting.Actor, id meeting.ID) (*meeting.Meeting, error) {
	m, err := s.Known(ctx, by, id)
	if err != nil {
		return nil, err
	}
	shown, err := s.show(ctx, by, m)
	if err != nil {
		return nil, err
	}
	if err := s.limitChanges(ctx, by, shown); err != nil {
		return nil, err
	}
	shown.Origin, err = s.origin(ctx, by, m)
	return shown, err
}

// Meetings lists meetings; the viewer and the instant of the query are set here.
func (s *Service) Meetings(ctx context.Context, by meeting.Actor, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	if q.Awaiting {
		by, err = s.withRepresented(ctx, by) // admins can be deputies too
	}
	if err == nil {
		by, err = s.WithDeputies(ctx, by)
	}
	if err != nil {
		return nil, "", err
	}
	q.Viewer, q.Now = &by, s.Now()
	ms, next, err = s.store.ListMeetings(ctx, q, p)
	if err != nil {
		return nil, "", err
	}
	if ms, err = s.Views(ctx, by, ms, q.Now); err != nil || q.Brief {
		return ms, next, err
	}
	return ms, next, s.nameAwaited(ctx, ms, q.Now)
}

// Update changes a meeting. A new time or room is checked and approved like a new booking; see
// [meeting.Meeting.Revise]. If nothing differs, no version is raised. ifMatch, unless nil, is the expected
// version.
func (s *Service) Update(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, f Fields) (*meeting.Meeting, error) {
	conf := s.Settings()
	by, err := s.actingOn(ctx, by, id)
	if err == nil {
		by, err = s.WithDeputies(ctx, by)
	}
	if err != nil {
		return nil, err
	}
	return s.Change(ctx, by, id, &f, func(m *meeting.Meeting, c Preparation) error {
		if err := s.Revise(m, by, ifMatch, f, conf, c); err != nil {
			return err
		}
		m.MakeUndoable(by, conf.Undo, c.At)
		return nil
	})
}

// Revise applies the fields to a meeting, or returns [ErrUnchanged].
func (s *Service) Revise(m *meeting.Meeting, by meeting.Actor, ifMatch *int64, f Fields, conf meeting.Settings, c Preparation) error {
	if !by.MayEdit(m) && !f.NamesOnlyOrganizer() || f.Override != nil && !by.MayOverride(c.Known.Rooms) {
		return meeting.ErrForbidden
	}
	if err := cmp.Or(f.MayChange(m, by), f.CheckDelegate(by)); err != nil {
		return err
	}
	if err := f.AuthorizeOrganizer(by, m.Organizer, c.Known, c.Known.Rooms); err != nil {
		return err
	}
	if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
		return err
	}
	status := m.EffectiveStatus(c.At)
	if status.Over() {
		return &meeting.StateError{State: status, Action: "change"}
	}
	terms, err := f.Terms(m, c.Known)
	if err != nil {
		return err
	}
	violations := terms.Violations(m, by, conf.Limits, c.At)
	if terms.Moves(m, c.At) {
		late := m.LateChange(by, c.Rooms, conf.Limits, c.At)
		if f.Override != nil && !by.MayOverride(c.Rooms) { // it counts in the rooms that the meeting has
			for i := range late {
				late[i].Firm = true
			}
		}
		violations = append(violations, late...)
	}
	if len(violations) > 0 || f.Override != nil {
		violations = append(violations, c.overQuota...)
	}
	if err := terms.Accept(violations, f.Override); err != nil {
		return err
	}
	if status == meeting.InProgress && terms.Slot.End.After(m.Slot.End) && !c.Plan.Own {
		if err := NeedsDecision("end", terms.Rooms); err != nil {
			return err
		}
	}
	changed, err := m.Revise(terms, c.Plan, by, c.At)
	if err == nil && !changed {
		return ErrUnchanged
	}
	return err
}

// Cancel cancels a meeting. The attendees are notified of the reason.
func (s *Service) Cancel(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, reason string) (*meeting.Meeting, error) {
	if err := CheckComment("reason", &reason); err != nil {
		return nil, err
	}
	by, err := s.actingOn(ctx, by, id)
	if err != nil {
		return nil, err
	}
	return s.Change(ctx, by, id, nil, func(m *meeting.Meeting, c Preparation) error {
		if !by.MayEdit(m) {
			return meeting.ErrForbidden
		}
		if err := fault.CheckVersion(ifMatch, m.Version); err != nil {
			return err
		}
		if err := (&meeting.Terms{}).Accept(m.LateChange(by, c.Rooms, s.Settings().Limits, c.At), nil); err != nil {
			return err
		}
		if err := m.Cancel(reason, by, c.At); err != nil {
			return err
		}
		m.MakeUndoable(by, s.Settings().Undo, c.At)
		return nil
	})
}

// History returns the entries of a meeting, oldest first, to users who may see it. Entries from a
// time when the meeting was private, or in a room that hides details from the actor, are reduced for users
// who could not see it then: they get what strangers could see.
func (s *Service) History(ctx context.Context, by meeting.Actor, id meeting.ID, p meeting.Page) (entries []meeting.Entry, next string, err error) {
	m, err := s.Known(ctx, by, id)
	if err != nil {
		return nil, "", err
	}
	private := *m
	private.Visibility = meeting.Private
	by, rooms, err := s.RoomsForView(ctx, by, &private)
	if err != nil {
		return nil, "", err
	}
	if !by.MaySee(m, rooms) {
		return nil, "", meeting.ErrForbidden
	}
	if entries, next, err = s.store.History(ctx, id, p); err != nil {
		return nil, "", err
	}
	if by.Blind || !by.Manages(m) {
		for i, e := range entries {
			entries[i] = e.WithoutHidden()
		}
	}
	if by.MaySee(&private, rooms) {
		return entries, next, nil
	}
	opened, err := s.store.OpenedBy(ctx, by, id)
	if err != nil {
		return nil, "", err
	}
	var placed []int64
	for i, e := range entries {
		if e.ID <= opened {
			entries[i] = e.Veiled()
		}
		placed = append(placed, entries[i].RoomIDs()...)
	}
	slices.Sort(placed)
	all, err := s.RoomsByID(ctx, slices.Compact(placed))
	if err != nil {
		return nil, "", err
	}
	hidden := meeting.RoomIDs(slices.DeleteFunc(all, by.MaySeeRoom))
	for i, e := range entries {
		entries[i] = e.WithoutRooms(hidden)
	}
	return entries, next, nil
}

// AuthorizeNotices returns [meeting.ErrForbidden] unless the actor may see the notifications of a meeting.
func (s *Service) AuthorizeNotices(ctx context.Context, by meeting.Actor, id meeting.ID) (phone func(userID int64) bool, err error) {
	m, err := s.Known(ctx, by, id)
	if err != nil {
		return nil, err
	}
	if by, err = s.WithDeputies(ctx, by); err != nil {
		return nil, err
	}
	rooms, err := s.RoomsByID(ctx, m.RequestedRooms())
	if err != nil {
		return nil, err
	}
	if !by.MaySeeNotices(m, rooms) {
		return nil, meeting.ErrForbidden
	}
	return func(userID int64) bool {
		return by.MaySeePhone(m, meeting.Attendee{Person: meeting.Person{UserID: userID}})
	}, nil
}

// Announce schedules the messages of a meeting again. A job calls it if an outdated message started
// it, because the message of the current schedule may have been lost.
func (s *Service) Announce(ctx context.Context, id meeting.ID) error {
	m, err := s.store.Meeting(ctx, id)
	if errors.Is(err, meeting.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s.AnnounceChange(ctx, nil, m, nil)
	return nil
}

// errRoomsMoved is returned if the meeting no longer has the rooms that were looked up.
var errRoomsMoved = errors.New("the meeting has other rooms now")

// Change looks up what a change refers to, then changes the meeting. The lookup comes first,
// because the store's transaction allows no other reads. If another change moves the meeting to
// other rooms in between, change does both again. Only the request's context ends this loop: each
// round means that another change succeeded.
func (s *Service) Change(ctx context.Context, by meeting.Actor, id meeting.ID, f *Fields, fn func(*meeting.Meeting, Preparation) error) (*meeting.Meeting, error) {
	return s.ChangeWith(ctx, by, id, s.preparing(by, f), f != nil && f.RoomIDs != nil, fn)
}

// Prepare looks up what a change of the meeting refers to.
type Prepare func(context.Context, *meeting.Meeting) (Preparation, error)

// ChangeWith is [Service.Change] with another lookup. newRooms means that the meeting's own rooms do
// not matter.
func (s *Service) ChangeWith(ctx context.Context, by meeting.Actor, id meeting.ID, look Prepare, newRooms bool, fn func(*meeting.Meeting, Preparation) error) (*meeting.Meeting, error) {
	var m *meeting.Meeting
	for {
		err := s.Revalidate(ctx, func() (err error) {
			m, err = s.tryChange(ctx, by, id, look, newRooms, fn)
			return err
		})
		if errors.Is(err, errRoomsMoved) && ctx.Err() == nil {
			continue
		}
		return m, err
	}
}

func (s *Service) tryChange(ctx context.Context, by meeting.Actor, id meeting.ID, look Prepare, newRooms bool, fn func(*meeting.Meeting, Preparation) error) (*meeting.Meeting, error) {
	seen, read, err := s.Settled(ctx, id)
	if err == nil {
		err = s.MayKnow(ctx, by, seen)
	}
	if err != nil {
		return nil, err
	}
	c, err := look(ctx, seen)
	if err != nil {
		return nil, err
	}
	var before, unchanged *meeting.Meeting
	m, notices, err := s.store.UpdateMeeting(ctx, id, func(m *meeting.Meeting) error {
		if !newRooms && (!slices.Equal(m.RoomIDs, seen.RoomIDs) || !slices.Equal(m.RequestedRooms(), seen.RequestedRooms())) {
			return errRoomsMoved
		}
		before, unchanged = new(*m), m
		if current := m.Version; current == seen.Version { // readers saw the same content under the previous version
			m.Version = read
			defer func() { m.Version = current }()
		}
		return fn(m, c)
	})
	if errors.Is(err, ErrUnchanged) {
		return s.show(ctx, by, unchanged)
	}
	if err != nil {
		return nil, err
	}
	s.AnnounceChange(ctx, before, m, notices)
	return s.show(ctx, by, m)
}

// preparing looks up what the fields refer to; without fields, only the rooms.
func (s *Service) preparing(by meeting.Actor, f *Fields) Prepare {
	return func(ctx context.Context, m *meeting.Meeting) (Preparation, error) {
		c := Preparation{At: s.Now()}
		var err error
		if f == nil {
			c.Rooms, err = s.RoomsByID(ctx, m.RoomIDs)
			return c, err
		}
		if c.Known, err = s.LookUp(ctx, by, f, m); err != nil {
			return c, err
		}
		if f.RoomIDs == nil && f.Start == nil && f.End == nil { // no other field needs another approval
			return c, nil
		}
		if !by.MayChangeLate() {
			if c.Rooms, err = s.RoomsByID(ctx, m.RoomIDs); err != nil {
				return c, err
			}
		}
		if c.Plan, err = s.PlanApproval(ctx, by, meeting.PickRooms(c.Known.Rooms, f.roomIDs(m))); err != nil {
			return c, err
		}
		c.overQuota, err = s.quotasOfChange(ctx, by, f, m, c.Known, c.At)
		return c, err
	}
}

// visible returns the rooms that the actor may see, those that an organizer for whom they may act sees, and those
// of base.
func (s *Service) visible(ctx context.Context, by meeting.Actor, rooms []*meeting.Room, organizer meeting.Person, base *meeting.Meeting) ([]*meeting.Room, error) {
	by, err := s.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	acting, ok := by.For(organizer, false)
	if ok {
		if acting, err = s.WithDeputies(ctx, acting); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(rooms, func(r *meeting.Room) bool {
		return !by.MaySeeRoom(r) && !(ok && acting.MaySeeRoom(r)) &&
			(base == nil || !slices.Contains(base.RoomIDs, r.ID) && !slices.Contains(base.RequestedRooms(), r.ID))
	}), nil
}

// LookUp finds the rooms and users that the fields name. Rooms that neither the actor nor the organizer for whom
// they act may see are unknown, except those of base.
func (s *Service) LookUp(ctx context.Context, by meeting.Actor, f *Fields, base *meeting.Meeting) (Known, error) {
	conf := s.Settings()
	k := Known{Timezone: conf.Timezone, Reminders: conf.Reminders}
	var err error
	if k.organizer, err = s.lookUpOrganizer(ctx, f); err != nil {
		return k, err
	}
	if want := f.roomIDs(base); len(want) <= MaxRooms {
		rooms := s.RoomsByID
		if f.Import != nil && f.Import.Rooms != nil {
			rooms = f.Import.Rooms
		}
		if k.Rooms, err = rooms(ctx, want); err != nil {
			return k, fmt.Errorf("look up rooms: %w", err)
		}
		if k.Rooms, err = s.visible(ctx, by, k.Rooms, k.organizer, base); err != nil {
			return k, err
		}
		if err = s.AddBlackouts(ctx, k.Rooms, s.Now()); err != nil {
			return k, err
		}
	}
	if k.Type, err = s.LookUpType(ctx, f, base); err != nil {
		return k, err
	}
	if base == nil || f.Custom != nil || f.RoomIDs != nil {
		if k.Custom, err = s.KnownCustomFields(ctx); err != nil {
			return k, err
		}
	}
	if f.Attendees == nil || len(*f.Attendees) == 0 || len(*f.Attendees) > maxAttendees {
		return k, nil
	}
	if f.Preview {
		k.People = invitedBefore(base)
		return k, nil
	}
	if f.Import != nil && f.Import.People != nil {
		k.People = f.Import.People
		return k, nil
	}
	emails := make([]string, 0, len(*f.Attendees))
	for _, p := range *f.Attendees {
		if email := fault.FoldEmail(p.Email); fault.IsEmail(email) { // else a fault, reported by terms
			emails = append(emails, email)
		}
	}
	if k.People, err = s.directory.ByEmail(ctx, emails); err != nil {
		return k, fmt.Errorf("look up attendees: %w", err)
	}
	return k, nil
}

// invitedBefore returns the attendees of a meeting by lower-case address. The meeting may be nil.
func invitedBefore(m *meeting.Meeting) map[string]meeting.Person {
	people := map[string]meeting.Person{}
	if m != nil {
		for _, a := range m.Attendees {
			people[a.Key()] = a.Person
		}
	}
	return people
}

// show returns the meeting as the actor may see it now.
func (s *Service) show(ctx context.Context, by meeting.Actor, m *meeting.Meeting) (*meeting.Meeting, error) {
	at := s.Now()
	by, rooms, err := s.RoomsForView(ctx, by, m)
	if err != nil {
		return nil, err
	}
	m = m.ViewAt(at, by, rooms)
	if by.Kind == meeting.ActorUser {
		err = s.nameAwaited(ctx, []*meeting.Meeting{m}, at)
	}
	return m, err
}

// Views returns meetings at an instant as the actor may see them. It leaves out those that they may not know.
func (s *Service) Views(ctx context.Context, by meeting.Actor, ms []*meeting.Meeting, at time.Time) ([]*meeting.Meeting, error) {
	by, rooms, err := s.RoomsForView(ctx, by, ms...)
	if err != nil {
		return nil, err
	}
	shown := make([]*meeting.Meeting, 0, len(ms))
	for _, m := range ms {
		if by.MayKnow(m, rooms) {
			shown = append(shown, m.ViewAt(at, by, rooms))
		}
	}
	return shown, nil
}
