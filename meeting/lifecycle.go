package meeting

import (
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// Book creates a meeting from checked terms. It is confirmed at once unless one of its rooms needs
// approval by someone other than the user who books.
func Book(t Terms, plan ApprovalPlan, by Actor, at time.Time) *Meeting {
	if t.Organizer.UserID == 0 {
		t.Organizer = by.Person()
	}
	m := &Meeting{
		ScheduleVersion: 1,
		CreatedAt:       at,
	}
	if booker := by.Acting(); t.Organizer.UserID != booker.ID {
		m.bookedBy = booker.Name
		if booker.ID != 0 {
			m.BookedBy = Person{UserID: booker.ID, Name: booker.Name}
		}
	}
	if t.Turn != nil && t.Turn.JoinedBy.UserID != 0 {
		m.BookedBy, m.bookedBy = t.Turn.JoinedBy, t.Turn.JoinedBy.Name
	}
	m.Foreign = t.Import.Foreign()
	m.set(t, at)
	m.NoteClocks(nil)
	created := Entry{At: at, Action: ActionCreated, Actor: by}
	t.Override.note(&created)
	t.Turn.note(&created)
	m.settle(plan, t.Rooms, nil, by, at)
	agreed := m.Approval.Required && m.Status == Confirmed // by making the request
	first := m.Status
	if agreed {
		first = Pending
	}
	created.Changes = turned("", first, created.Changes)
	if m.bookedBy != "" {
		created.Changes["organizer"] = Change{To: m.Organizer.Label()}
	}
	m.Record(created)
	m.takeOverride(t.Override)
	m.imported(t, at)
	if agreed {
		m.Record(Entry{At: at, Action: ActionConfirmed, Actor: by, Changes: turned(Pending, Confirmed, decidedFor(nil, m.Approval.DecidedFor()))})
	}
	if m.Status == Confirmed {
		m.notifyAttendees(NoticeInvitation, m.Attendees, by, at)
		if m.bookedBy != "" && t.Turn == nil || m.Organizer.CalendarMails { // the waiting list notifies the organizer itself
			m.notifyOrganizer(NoticeInvitation, by, at)
		}
	}
	return m
}

// settle sets the status that the rooms require: confirmed, or pending. A request by an approver
// counts as approved. before is the meeting before the change; nil: it is new.
func (m *Meeting) settle(plan ApprovalPlan, rooms []*Room, before *Meeting, by Actor, at time.Time) {
	m.CheckIn = checkInWindow(m.Slot, rooms)
	if !at.Before(m.CheckIn.Until) { // the deadline has passed: an admin booked a meeting that has begun
		m.CheckIn.Until = time.Time{}
	}
	m.withdraw("changed", by, at)
	if v := m.Approval.Decision; v != nil && v.Series { // the meeting is no longer where that move started
		was := *v
		was.Series = false
		m.Approval.Decision = &was
	}
	m.Approval = Approval{Required: plan.levels.Count() > 0, Requested: m.Approval.Requested, Decision: m.Approval.Decision}
	switch {
	case !m.Approval.Required:
		m.Status = Confirmed
	case plan.Own:
		m.Status = Confirmed
		m.Approval.DecidedAt, m.Approval.DecidedBy = at, by.ID
		for level := FirstLevel; level <= plan.levels.Count(); level++ {
			m.Approval.Agreed = append(m.Approval.Agreed, Agreement{
				Level: level, UserID: by.ID, Name: by.Name, At: at,
				For: by.behalf(plan.levels.At(level), atLevel(level, false)),
			})
		}
	default:
		m.Status = Pending
		m.requestApproval(plan, nil, by, at)
		m.Approval.Deadline = m.Request.Deadline
	}
	m.Occupied, m.requested = nil, nil
	if m.Status == Confirmed || plan.Hold {
		m.occupy(rooms, before)
	} else {
		m.requested = m.Occupancies(rooms)
	}
}

// occupy takes the slot in every room, and uses the organizer's quotas. before is the meeting
// before the change; nil: it is new.
func (m *Meeting) occupy(rooms []*Room, before *Meeting) {
	m.Occupied = before.Keeping(m.Occupancies(rooms), m.Slot)
	m.claims = QuotaClaims(m.Organizer.UserID, rooms, m.Slot, before.HeldBy(m.Organizer))
	if r := m.Request; r != nil && r.Change != nil { // it holds only what the meeting does not hold already
		held, c := *r, *r.Change
		c.Held = Uncovered(c.Held, m.Occupied)
		held.Change, m.Request = &c, &held
	}
}

// Occupancies returns the slot in every room, with the room's buffers.
func (m *Meeting) Occupancies(rooms []*Room) []Occupancy {
	os := make([]Occupancy, len(rooms))
	for i, r := range rooms {
		os[i] = Occupancy{RoomID: r.ID, Slot: r.occupied(m.Slot)}
	}
	return os
}

// Keeping applies the meeting's earlier buffers to new occupancies, because the buffers of its
// rooms may have grown over its neighbors since. If the start stays, the buffer before it stays too.
// If the end is no later, the buffer after it does not grow.
func (m *Meeting) Keeping(os []Occupancy, slot clock.Slot) []Occupancy {
	if m == nil || !m.Slot.Start.Equal(slot.Start) {
		return os
	}
	for i, o := range os {
		at := slices.IndexFunc(m.Occupied, func(had Occupancy) bool { return had.RoomID == o.RoomID })
		if at < 0 {
			continue
		}
		had := m.Occupied[at].Slot
		os[i].Slot.Start = had.Start
		if !slot.End.After(m.Slot.End) {
			os[i].Slot.End = clock.Earlier(o.Slot.End, had.End)
		}
	}
	return os
}

// occupied returns what a meeting takes of the room: its slot with the room's buffers.
func (r *Room) occupied(s clock.Slot) clock.Slot {
	return s.Widen(r.Policy.BufferBefore, r.Policy.BufferAfter)
}

// Requested returns the occupancies that a request needs but does not hold. A store that saves the
// request returns a [*ConflictError] if they are taken. Two requests may need the same.
func (m *Meeting) Requested() []Occupancy { return m.requested }

// takeOverride lets the meeting exceed quotas, which are checked when it is saved.
func (m *Meeting) takeOverride(o *Override) {
	if o != nil {
		m.claims = nil
	}
}

// Revise gives the meeting new terms and reports whether anything changed. A new time or room is
// approved like a new booking. If a confirmed meeting needs approval for it, the meeting stays
// where it is and only the move waits. A later move replaces a pending one, and a move back to the
// current slot withdraws it. A meeting in progress can only change its end, and nothing moves into
// the past.
func (m *Meeting) Revise(t Terms, plan ApprovalPlan, by Actor, at time.Time) (changed bool, err error) {
	status := m.EffectiveStatus(at)
	if status.Over() {
		return false, &StateError{State: status, Action: "change"}
	}
	before := *m
	changes := m.compare(t)
	placed := t.Placed || concerns(changes, "start", "end", "room_ids")
	move := m.moveRequest(t, plan, changes, status)
	if move != nil && m.Request != nil && m.Request.Change.same(move) || !placed {
		move, placed = nil, false // a pending move stays pending
	}
	withdrawn := placed && m.Request != nil && m.Request.Change != nil
	if len(changes) == 0 && move == nil && !withdrawn {
		return false, nil
	}
	_, starts := changes["start"]
	_, ends := changes["end"]
	_, moves := changes["room_ids"]
	if status == InProgress && (starts || moves) {
		return false, &StateError{State: status, Action: "change the start or the rooms"}
	}

	m.set(t, at)
	switch {
	case status == InProgress && ends:
		m.occupy(t.Rooms, &before)
	case starts || ends || moves:
		if starts {
			m.CheckedInAt = time.Time{} // it was for the previous time
		}
		m.requestResponses(before.Slot, by, at)
		m.settle(plan, t.Rooms, &before, by, at)
	default:
		m.Slot, m.RoomIDs, m.RoomNames = before.Slot, before.RoomIDs, before.RoomNames
		if !concerns(changes, "timezone") { // it is part of the move
			m.Timezone = before.Timezone
		}
		if withdrawn {
			changes["pending_change"] = Change{From: m.Request.Change.summary()}
			m.withdraw("changed", by, at)
		}
		if move != nil {
			m.requestMove(move, plan, t.Rooms, changes, by, at)
		}
		if concerns(changes, "organizer") {
			m.claimForOrganizer(t.Rooms)
		}
	}
	m.NoteClocks(&before)
	m.takeOverride(t.Override)
	m.recordRevision(changes, before.Status, t.Override, by, at)
	m.NotifyRevision(&before, changes, by, at)
	return true, nil
}

// moveRequest returns the move that these terms request for a confirmed meeting, if someone else
// must decide on it. It removes the move from the changes.
func (m *Meeting) moveRequest(t Terms, plan ApprovalPlan, changes map[string]Change, status Status) *PendingChange {
	if status != Confirmed || !concerns(changes, "start", "end", "room_ids") || !plan.Waits() {
		return nil
	}
	for _, field := range []string{"start", "end", "room_ids", "timezone"} {
		delete(changes, field)
	}
	return &PendingChange{Slot: t.Slot, Timezone: t.Timezone, RoomIDs: RoomIDs(t.Rooms), RoomNames: RoomNames(t.Rooms)}
}

// requestMove turns the move into a request.
func (m *Meeting) requestMove(move *PendingChange, plan ApprovalPlan, rooms []*Room, changes map[string]Change, by Actor, at time.Time) {
	needs := Uncovered(m.Keeping(move.Occupancies(rooms), move.Slot), m.Occupied)
	if plan.Hold {
		move.Held, m.requested = needs, nil
	} else {
		m.requested = needs
	}
	m.claims = QuotaClaims(m.Organizer.UserID, rooms, move.Slot, m)
	m.requestApproval(plan, move, by, at)
	c := changes["pending_change"]
	c.To = move.summary()
	changes["pending_change"] = c
}

// recordRevision records the change, and the confirmation that it caused.
func (m *Meeting) recordRevision(changes map[string]Change, was Status, override *Override, by Actor, at time.Time) {
	changed := Entry{At: at, Action: ActionChanged, Actor: by, Changes: changes}
	override.note(&changed)
	m.Record(changed)
	if was == Pending && m.Status == Confirmed {
		m.Record(Entry{At: at, Action: ActionConfirmed, Actor: by, Changes: turned(Pending, Confirmed, decidedFor(nil, m.Approval.DecidedFor()))})
	}
}

// NotifyRevision notifies the people whom a change concerns.
func (m *Meeting) NotifyRevision(before *Meeting, changes map[string]Change, by Actor, at time.Time) {
	wasOn, isOn := before.Status != Pending, m.Status != Pending
	defer m.noteMove(before, len(m.Notices))
	if concerns(changes, "title", "description", "start", "end", "room_ids") && !concerns(changes, "organizer") {
		m.notifyOrganizer(NoticeChange, by, at)
	}
	handedOver := concerns(changes, "organizer")
	if handedOver {
		m.notifyHandover(before, by, at)
	}
	switch {
	case wasOn && isOn:
		stay, added, removed := SplitAttendees(before.Attendees, m.Attendees)
		if handedOver { // who organizes now, or did, was notified
			stay = slices.DeleteFunc(stay, func(a Attendee) bool { return a.UserID == m.Organizer.UserID || a.UserID == before.Organizer.UserID })
		}
		if handedOver || concerns(changes, "title", "description", "start", "end", "room_ids") {
			m.notifyAttendees(NoticeChange, stay, by, at)
		}
		m.notifyAttendees(NoticeInvitation, added, by, at)
		before.Notices = nil // removed people are notified of the meeting as they knew it
		before.notifyAttendees(NoticeCancellation, removed, by, at)
		m.Notices = append(m.Notices, before.Notices...)
	case isOn:
		m.notifyConfirmed(by, at)
	}
}

// noteMove adds where the meeting was to the notices of a change, from the given one on.
func (m *Meeting) noteMove(before *Meeting, first int) {
	if before.Slot.Equal(m.Slot) {
		return
	}
	for i := range m.Notices[first:] {
		if n := &m.Notices[first+i]; n.Kind == NoticeChange {
			n.Facts.Was = &Placement{Start: before.Slot.Start, End: before.Slot.End, Rooms: slices.Clone(before.RoomNames)}
		}
	}
}

// Cancel cancels the meeting; its slot becomes free.
func (m *Meeting) Cancel(reason string, by Actor, at time.Time) error {
	status := m.EffectiveStatus(at)
	if status != Pending && status != Confirmed {
		return &StateError{State: status, Action: "cancel"}
	}
	m.CallOff(reason, by, at)

	to := []Person{m.Organizer}
	if status == Confirmed {
		to = append(to, Persons(m.Attendees)...) // others were never invited
	}
	f := m.Facts(by)
	f.Reason = reason
	m.notify(Notice{Kind: NoticeCancellation, Channel: Email, Due: at, Expires: m.Slot.End, Facts: f}, to, by)
	return nil
}

// CallOff cancels the meeting without notifying anyone.
func (m *Meeting) CallOff(reason string, by Actor, at time.Time) {
	changes := turned(m.Status, Cancelled, m.Request.givenUp())
	m.Status = Cancelled
	m.withdraw("cancelled", by, at)
	m.UpdatedAt = at
	m.Occupied = nil
	m.Record(Entry{At: at, Action: ActionCancelled, Actor: by, Changes: changes, Reason: reason})
}

// set applies the terms.
func (m *Meeting) set(t Terms, at time.Time) {
	m.Title, m.Description = t.Title, t.Description
	m.Slot, m.Timezone = t.Slot, t.Timezone
	m.RoomIDs, m.RoomNames = RoomIDs(t.Rooms), RoomNames(t.Rooms)
	m.Limits = append(slices.Clip(m.Limits), LimitsOf(t.Rooms)...)
	m.Attendees = t.Attendees
	m.Reminders, m.DefaultReminders = t.Reminders, t.DefaultReminders
	m.Visibility = t.Visibility
	m.Organizer, m.TypeID = t.OrganizerOf(m), t.Type.id()
	m.Custom = t.Custom
	m.UpdatedAt = at
	m.checked = m.checked[:0:0]
	for _, r := range t.Rooms {
		m.checked = append(m.checked, checkedRoom{r.ID, r.Closures})
		m.posted = m.posted || r.Posted
	}
}

// compare returns the changes that the terms would make, by field of the REST resource.
func (m *Meeting) compare(t Terms) map[string]Change {
	changes := map[string]Change{}
	note := func(field string, differs bool, from, to any) {
		if differs {
			changes[field] = Change{From: from, To: to}
		}
	}
	note("title", m.Title != t.Title, m.Title, t.Title)
	note("description", m.Description != t.Description, m.Description, t.Description)
	note("start", !m.Slot.Start.Equal(t.Slot.Start), m.Slot.Start.UTC(), t.Slot.Start.UTC())
	note("end", !m.Slot.End.Equal(t.Slot.End), m.Slot.End.UTC(), t.Slot.End.UTC())
	note("timezone", m.Timezone != t.Timezone, m.Timezone, t.Timezone)
	note("room_ids", !slices.Equal(m.RoomIDs, RoomIDs(t.Rooms)), m.RoomIDs, RoomIDs(t.Rooms))
	note("attendees", !slices.Equal(m.Attendees, t.Attendees), emails(m.Attendees), emails(t.Attendees))
	note("reminders", m.DefaultReminders != t.DefaultReminders || !SameReminders(m.Reminders, t.Reminders),
		reminderTexts(m.Reminders), reminderTexts(t.Reminders))
	note("visibility", m.Visibility != t.Visibility, m.Visibility, t.Visibility)
	note("type_id", m.TypeID != t.Type.id(), typeOrNil(m.TypeID), typeOrNil(t.Type.id()))
	noteFields(changes, m.Custom, t.Custom)
	to := t.OrganizerOf(m)
	note("organizer", m.Organizer.UserID != to.UserID, m.Organizer.Label(), to.Label())
	return changes
}

func concerns(changes map[string]Change, fields ...string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { _, ok := changes[f]; return ok })
}

// SplitAttendees returns the attendees who stay, are added and are removed.
func SplitAttendees(before, after []Attendee) (stay, added, removed []Attendee) {
	for _, a := range after {
		if slices.ContainsFunc(before, a.SameAddress) {
			stay = append(stay, a)
		} else {
			added = append(added, a)
		}
	}
	for _, a := range before {
		if !slices.ContainsFunc(after, a.SameAddress) {
			removed = append(removed, a)
		}
	}
	return stay, added, removed
}

// NoteClocks records the local times of a start or end that differs from before, nil for a new
// meeting.
func (m *Meeting) NoteClocks(before *Meeting) {
	zone, err := fault.StoredZone(m.Timezone)
	if err != nil {
		return
	}
	other := before == nil || before.Timezone != m.Timezone
	if other || !before.Slot.Start.Equal(m.Slot.Start) {
		m.Shown.Start = clock.Wall(m.Slot.Start, zone)
	}
	if other || !before.Slot.End.Equal(m.Slot.End) {
		m.Shown.End = clock.Wall(m.Slot.End, zone)
	}
}

// HeldBy is the meeting if the person organizes it, for [claims]: what somebody else holds does
// not count for their quotas.
func (m *Meeting) HeldBy(p Person) *Meeting {
	if m == nil || m.Organizer.UserID != p.UserID {
		return nil
	}
	return m
}

// claimForOrganizer counts what the meeting holds for its new organizer.
func (m *Meeting) claimForOrganizer(rooms []*Room) {
	holds := func(r *Room) bool {
		return slices.ContainsFunc(m.Occupied, func(o Occupancy) bool { return o.RoomID == r.ID })
	}
	rooms = slices.DeleteFunc(slices.Clone(rooms), func(r *Room) bool { return !holds(r) })
	if len(rooms) > 0 {
		m.claims = append(m.claims, QuotaClaims(m.Organizer.UserID, rooms, m.Slot, nil)...)
	}
}
