package booking

import (
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
	by, err := importing(by, f.Import)
	if err != nil {
		return nil, err
	}
	var m *meeting.Meeting
	err = s.revalidating(ctx, func() (err error) {
		m, err = s.tryBook(ctx, by, f)
		return err
	})
	return m, err
}

// revalidating runs act again if a blackout or a setting of a room changed before act saved, or if
// lapsed occupancies were in the way.
func (s *Service) revalidating(ctx context.Context, act func() error) error {
	for {
		err := s.settling(ctx, act)
		if errors.Is(err, meeting.ErrRoomsChanged) && ctx.Err() == nil {
			continue
		}
		return err
	}
}

func (s *Service) tryBook(ctx context.Context, by meeting.Actor, f Fields) (*meeting.Meeting, error) {
	at := s.clock()
	by, err := s.deciding(ctx, by)
	if err != nil {
		return nil, err
	}
	known, err := s.lookUp(ctx, &f, nil)
	if err != nil {
		return nil, err
	}
	if err := f.authorizeOrganizer(by, by.Person(), known, known.rooms); err != nil {
		return nil, err
	}
	if f.Override != nil && !by.MayOverride(known.rooms) {
		return nil, meeting.ErrForbidden
	}
	terms, err := f.terms(nil, known)
	if err != nil {
		return nil, err
	}
	if err := s.validate(ctx, by, &terms, f.Override, at); err != nil {
		return nil, err
	}
	if f.Import != nil && f.Import.OtherRoom {
		if _, err := s.checkImport(ctx, by, &terms, f); err != nil {
			return nil, err
		}
	}
	plan, err := s.planApproval(ctx, by, terms.Rooms)
	if err != nil {
		return nil, err
	}
	if f.Import.Once() {
		plan = meeting.ApprovalPlan{}
	}
	m := s.book(terms, plan, by, at)
	m.MakeUndoable(by, s.conf().Undo, at)
	notices := m.Notices // the store gives them their IDs
	if err := s.store.CreateMeeting(ctx, m); err != nil {
		return nil, err
	}
	s.announce(ctx, nil, m, notices)
	return s.show(ctx, by, m)
}

// book is [Book] with what the settings say about new meetings.
func (s *Service) book(t meeting.Terms, plan meeting.ApprovalPlan, by meeting.Actor, at time.Time) *meeting.Meeting {
	m := meeting.Book(t, plan, by, at)
	if m.Foreign == "" {
		m.ReplyDomain = s.conf().ReplyDomain
	}
	return m
}

// Meeting finds a meeting.
func (s *Service) Meeting(ctx context.Context, by meeting.Actor, id meeting.ID) (*meeting.Meeting, error) {
	m, err := s.store.Meeting(ctx, id)
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
	} else if q.Reveals() {
		by, err = s.WithDeputies(ctx, by)
	}
	if err != nil {
		return nil, "", err
	}
	q.Viewer, q.Now = &by, s.clock()
	ms, next, err = s.store.ListMeetings(ctx, q, p)
	if err != nil {
		return nil, "", err
	}
	if ms, err = s.Views(ctx, by, ms, q.Now); err != nil {
		return nil, "", err
	}
	return ms, next, s.nameAwaited(ctx, ms, q.Now)
}

// Update changes a meeting. A new time or room is checked and approved like a new booking; see
// [Meeting.Revise]. If nothing differs, no version is raised. ifMatch, unless nil, is the expected
// version.
func (s *Service) Update(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, f Fields) (*meeting.Meeting, error) {
	conf := s.conf()
	by, err := s.WithDeputies(ctx, by)
	if err != nil {
		return nil, err
	}
	return s.change(ctx, by, id, &f, func(m *meeting.Meeting, c changing) error {
		if err := s.revise(m, by, ifMatch, f, conf, c); err != nil {
			return err
		}
		m.MakeUndoable(by, conf.Undo, c.at)
		return nil
	})
}

// revise applies the fields to a meeting, or returns errUnchanged.
func (s *Service) revise(m *meeting.Meeting, by meeting.Actor, ifMatch *int64, f Fields, conf meeting.Settings, c changing) error {
	if !by.MayEdit(m) && !f.namesOnlyOrganizer() || f.Override != nil && !by.MayOverride(c.known.rooms) {
		return meeting.ErrForbidden
	}
	if err := f.mayChange(m, by); err != nil {
		return err
	}
	if err := f.authorizeOrganizer(by, m.Organizer, c.known, c.known.rooms); err != nil {
		return err
	}
	if err := checkVersion(ifMatch, m.Version); err != nil {
		return err
	}
	status := m.EffectiveStatus(c.at)
	if status.Over() {
		return &meeting.StateError{State: status, Action: "change"}
	}
	terms, err := f.terms(m, c.known)
	if err != nil {
		return err
	}
	violations := terms.Violations(m, by, conf.Limits, c.at)
	if terms.Moves(m, c.at) {
		violations = append(violations, m.LateChange(by, c.rooms, conf.Limits, c.at)...)
	}
	if len(violations) > 0 || f.Override != nil {
		violations = append(violations, c.overQuota...)
	}
	if err := terms.Accept(violations, f.Override); err != nil {
		return err
	}
	if status == meeting.InProgress && terms.Slot.End.After(m.Slot.End) && !c.plan.Own {
		if err := needsDecision("end", terms.Rooms); err != nil {
			return err
		}
	}
	changed, err := m.Revise(terms, c.plan, by, c.at)
	if err == nil && !changed {
		return errUnchanged
	}
	return err
}

// Cancel cancels a meeting. The attendees are notified of the reason.
func (s *Service) Cancel(ctx context.Context, by meeting.Actor, id meeting.ID, ifMatch *int64, reason string) (*meeting.Meeting, error) {
	if err := checkComment("reason", &reason); err != nil {
		return nil, err
	}
	return s.change(ctx, by, id, nil, func(m *meeting.Meeting, c changing) error {
		if !by.MayEdit(m) {
			return meeting.ErrForbidden
		}
		if err := checkVersion(ifMatch, m.Version); err != nil {
			return err
		}
		if err := (&meeting.Terms{}).Accept(m.LateChange(by, c.rooms, s.conf().Limits, c.at), nil); err != nil {
			return err
		}
		if err := m.Cancel(reason, by, c.at); err != nil {
			return err
		}
		m.MakeUndoable(by, s.conf().Undo, c.at)
		return nil
	})
}

// History returns the entries of a meeting, oldest first, to users who may see it. Entries from a
// time when the meeting was private are reduced for users who could not see it then: they get what
// strangers could see.
func (s *Service) History(ctx context.Context, by meeting.Actor, id meeting.ID, p meeting.Page) (entries []meeting.Entry, next string, err error) {
	m, err := s.store.Meeting(ctx, id)
	if err != nil {
		return nil, "", err
	}
	private := *m
	private.Visibility = meeting.Private
	by, rooms, err := s.roomsForView(ctx, by, &private)
	if err != nil {
		return nil, "", err
	}
	if !by.MaySee(m, rooms) {
		return nil, "", meeting.ErrForbidden
	}
	if entries, next, err = s.store.History(ctx, id, p); err != nil {
		return nil, "", err
	}
	if by.Blind || !by.MayEdit(m) {
		for i, e := range entries {
			entries[i] = e.WithoutHidden()
		}
	}
	if by.MaySee(&private, rooms) {
		return entries, next, nil
	}
	opened, err := s.store.OpenedBy(ctx, id)
	for i, e := range entries {
		if e.ID <= opened {
			entries[i] = e.Veiled()
		}
	}
	return entries, next, err
}

// AuthorizeNotices returns [ErrForbidden] unless the actor may see the notifications of a meeting.
func (s *Service) AuthorizeNotices(ctx context.Context, by meeting.Actor, id meeting.ID) (phone func(userID int64) bool, err error) {
	m, err := s.store.Meeting(ctx, id)
	if err != nil {
		return nil, err
	}
	if by, err = s.WithDeputies(ctx, by); err != nil {
		return nil, err
	}
	rooms, err := s.rooms(ctx, m.RequestedRooms())
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
	s.announce(ctx, nil, m, nil)
	return nil
}

// changing holds what a change of one meeting may refer to.
type changing struct {
	known known
	rooms []*meeting.Room // of the decision, otherwise of the meeting; unknown ones are left out
	plan  meeting.ApprovalPlan
	at    time.Time

	overQuota []meeting.Fault // by the new time or rooms, set if other rules are violated or overridden
}

// errRoomsMoved is returned if the meeting no longer has the rooms that were looked up.
var errRoomsMoved = errors.New("the meeting has other rooms now")

// change looks up what a change refers to, then changes the meeting. The lookup comes first,
// because the store's transaction allows no other reads. If another change moves the meeting to
// other rooms in between, change does both again. Only the request's context ends this loop: each
// round means that another change succeeded.
func (s *Service) change(ctx context.Context, by meeting.Actor, id meeting.ID, f *Fields, fn func(*meeting.Meeting, changing) error) (*meeting.Meeting, error) {
	return s.changing(ctx, by, id, s.preparing(by, f), f != nil && f.RoomIDs != nil, fn)
}

// prepare looks up what a change of the meeting refers to.
type prepare func(context.Context, *meeting.Meeting) (changing, error)

// changing is [Service.change] with another lookup. newRooms means that the meeting's own rooms do
// not matter.
func (s *Service) changing(ctx context.Context, by meeting.Actor, id meeting.ID, look prepare, newRooms bool, fn func(*meeting.Meeting, changing) error) (*meeting.Meeting, error) {
	var m *meeting.Meeting
	for {
		err := s.revalidating(ctx, func() (err error) {
			m, err = s.tryChange(ctx, by, id, look, newRooms, fn)
			return err
		})
		if errors.Is(err, errRoomsMoved) && ctx.Err() == nil {
			continue
		}
		return m, err
	}
}

func (s *Service) tryChange(ctx context.Context, by meeting.Actor, id meeting.ID, look prepare, newRooms bool, fn func(*meeting.Meeting, changing) error) (*meeting.Meeting, error) {
	seen, read, err := s.settled(ctx, id)
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
	if errors.Is(err, errUnchanged) {
		return s.show(ctx, by, unchanged)
	}
	if err != nil {
		return nil, err
	}
	s.announce(ctx, before, m, notices)
	return s.show(ctx, by, m)
}

// preparing looks up what the fields refer to; without fields, only the rooms.
func (s *Service) preparing(by meeting.Actor, f *Fields) prepare {
	return func(ctx context.Context, m *meeting.Meeting) (changing, error) {
		c := changing{at: s.clock()}
		var err error
		if f == nil {
			c.rooms, err = s.rooms(ctx, m.RoomIDs)
			return c, err
		}
		if c.known, err = s.lookUp(ctx, f, m); err != nil {
			return c, err
		}
		if f.RoomIDs == nil && f.Start == nil && f.End == nil { // no other field needs another approval
			return c, nil
		}
		if !by.MayChangeLate() {
			if c.rooms, err = s.rooms(ctx, m.RoomIDs); err != nil {
				return c, err
			}
		}
		if c.plan, err = s.planApproval(ctx, by, meeting.PickRooms(c.known.rooms, f.roomIDs(m))); err != nil {
			return c, err
		}
		c.overQuota, err = s.quotasOfChange(ctx, by, f, m, c.known, c.at)
		return c, err
	}
}

// lookUp finds the rooms and users that the fields name.
func (s *Service) lookUp(ctx context.Context, f *Fields, base *meeting.Meeting) (known, error) {
	conf := s.conf()
	k := known{timezone: conf.Timezone, reminders: conf.Reminders}
	var err error
	if want := f.roomIDs(base); len(want) <= maxRooms {
		if k.rooms, err = s.rooms(ctx, want); err != nil {
			return k, fmt.Errorf("look up rooms: %w", err)
		}
		if err = s.withBlackouts(ctx, k.rooms, s.clock()); err != nil {
			return k, err
		}
	}
	if k.organizer, err = s.lookUpOrganizer(ctx, f); err != nil {
		return k, err
	}
	if k.kind, err = s.lookUpType(ctx, f, base); err != nil {
		return k, err
	}
	if base == nil || f.Custom != nil || f.RoomIDs != nil {
		if k.custom, err = s.knownCustomFields(ctx); err != nil {
			return k, err
		}
	}
	if f.Attendees == nil || len(*f.Attendees) == 0 || len(*f.Attendees) > maxAttendees {
		return k, nil
	}
	if f.preview {
		k.people = invitedBefore(base)
		return k, nil
	}
	if f.Import != nil && f.Import.People != nil {
		k.people = f.Import.People
		return k, nil
	}
	emails := make([]string, 0, len(*f.Attendees))
	for _, p := range *f.Attendees {
		if email := fault.FoldEmail(p.Email); fault.IsEmail(email) { // else a fault, reported by terms
			emails = append(emails, email)
		}
	}
	if k.people, err = s.directory.ByEmail(ctx, emails); err != nil {
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
	at := s.clock()
	ms, err := s.Views(ctx, by, []*meeting.Meeting{m}, at)
	if err == nil && by.Kind == meeting.ActorUser {
		err = s.nameAwaited(ctx, ms, at)
	}
	if err != nil {
		return nil, err
	}
	return ms[0], nil
}

// Views returns meetings at an instant as the actor may see them.
func (s *Service) Views(ctx context.Context, by meeting.Actor, ms []*meeting.Meeting, at time.Time) ([]*meeting.Meeting, error) {
	by, rooms, err := s.roomsForView(ctx, by, ms...)
	if err != nil {
		return nil, err
	}
	shown := make([]*meeting.Meeting, len(ms))
	for i, m := range ms {
		shown[i] = m.At(at).View(by, rooms)
	}
	return shown, nil
}

// roomsForView returns the rooms needed to check who may see the meetings: those of private
// meetings, for a manager, who may approve for them or represent an approver.
func (s *Service) roomsForView(ctx context.Context, by meeting.Actor, ms ...*meeting.Meeting) (meeting.Actor, []*meeting.Room, error) {
	if by.Role != meeting.Manager {
		return by, nil, nil
	}
	var want []int64
	for _, m := range ms {
		if m.Visibility == meeting.Private {
			want = append(append(want, m.RoomIDs...), m.RequestedRooms()...)
		}
	}
	if len(want) == 0 {
		return by, nil, nil
	}
	by, err := s.WithDeputies(ctx, by)
	if err != nil {
		return by, nil, err
	}
	slices.Sort(want)
	rooms, err := s.rooms(ctx, slices.Compact(want))
	return by, rooms, err
}
