package scheduling

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
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/importing"
	"punctual/meeting/itip"
	"punctual/meeting/recurrence"
)

// place is an invited address with what becomes of it.
type place struct {
	seat
	room   *meeting.Room // nil: none
	status Status        // empty: not decided yet
	reason string
	lines  []string // for people
	others []finding.Suggestion
}

// decline refuses the place for a reason.
func (p *place) decline(reason string, lines ...string) {
	p.status, p.reason, p.lines = Declined, reason, lines
}

// name of the place for people.
func (p *place) name() string {
	if p.room != nil {
		return p.room.Name
	}
	return p.address
}

// request books what the newest versions ask for, and answers for the seats of the message.
func (e *event) request(ctx context.Context, current []itip.Component, seats []seat) (State, error) {
	e.stage(current)
	object, err := e.merged()
	if err != nil {
		return "", err
	}
	e.object = object
	e.invite(current, seats)
	places, err := e.places(ctx, seats)
	if err != nil {
		return "", err
	}
	if err := e.findOrganizer(ctx, object.Head()); err != nil {
		return "", err
	}
	declineAll := func(reason, text string) {
		for _, p := range places {
			p.decline(reason, text)
		}
	}
	switch faults := object.Faults(); {
	case e.person.UserID == 0:
		declineAll("unknown_organizer", fmt.Sprintf(e.words.unknownOrganizer, e.organizer))
	case len(faults) > 0:
		declineAll("invalid", fmt.Sprintf(e.words.invalid, faults[0].Message))
		if err := e.vacate(ctx, current); err != nil {
			return "", err
		}
	default:
		if err := e.book(ctx, object, places); err != nil {
			return "", err
		}
	}
	for _, c := range current {
		for _, p := range places {
			if e.asked[asked{recurrenceID(c.Event), p.address}] {
				e.answer(c, p)
				e.answerDates(p, versionOf(c.Event))
			}
		}
	}
	return e.finish(ctx)
}

// stage takes over new versions.
func (e *event) stage(current []itip.Component) {
	e.latest = slices.Clone(e.known.Instances)
	for _, c := range current {
		i := Instance{RecurrenceID: recurrenceID(c.Event), Version: versionOf(c.Event), ICS: c.Text}
		if before := e.known.instance(i.RecurrenceID); before != nil && i.Compare(before.Version) < 0 {
			continue
		}
		e.latest = append(slices.DeleteFunc(e.latest, func(x Instance) bool { return x.RecurrenceID == i.RecurrenceID }), i)
		e.record.Instances = append(e.record.Instances, i)
	}
	slices.SortFunc(e.latest, func(a, b Instance) int { return cmp.Compare(a.RecurrenceID, b.RecurrenceID) })
}

// invite notes what the message asks its seats. A newer message may have taken a seat out of the whole event,
// or moved the event away from a date: then nothing is asked, but the invitation is remembered.
func (e *event) invite(current []itip.Component, seats []seat) {
	e.asked, e.joined = map[asked]bool{}, map[string]bool{}
	for _, c := range current {
		id := recurrenceID(c.Event)
		for _, s := range seats {
			told := Told{RecurrenceID: id, Address: s.address, RoomID: s.roomID, Version: versionOf(c.Event), Status: unanswered}
			before := e.known.told(id, s.address)
			e.joined[s.address] = e.joined[s.address] || id == "" && (before == nil || before.Status == "")
			if before != nil {
				if told.Compare(before.Version) <= 0 {
					continue
				}
				if told.Number = before.Number; before.Status != "" {
					told.RoomID = cmp.Or(before.RoomID, s.roomID)
				}
			}
			e.know(told)
			if e.invited(id, s.address) && !e.fell(id) {
				e.asked[asked{id, s.address}] = true
			} else {
				e.record.Answers = append(e.record.Answers, told)
			}
		}
	}
}

// know takes over what an address was told.
func (e *event) know(told Told) {
	if before := e.known.told(told.RecurrenceID, told.Address); before != nil {
		*before = told
	} else {
		e.known.Answers = append(e.known.Answers, told)
	}
}

// fell reports whether the series has moved away from a date that differs.
func (e *event) fell(id string) bool {
	return id != "" && e.object.Master != nil && !slices.ContainsFunc(e.object.Overrides, func(o *itip.Event) bool { return recurrenceID(o) == id })
}

// merged returns the event as its newest versions say.
func (e *event) merged() (*itip.Object, error) {
	var text strings.Builder
	for _, i := range e.latest {
		text.WriteString(i.ICS)
	}
	calendar, err := itip.Read(strings.NewReader(text.String()), itip.ImportLimits)
	if err != nil {
		return nil, fmt.Errorf("stored versions of event %q: %w", e.object.UID, err)
	}
	object := calendar.Objects[0]
	// A date that could not be read was declined when it came. It does not stand in the way of what comes later.
	object.Overrides = slices.DeleteFunc(object.Overrides, func(o *itip.Event) bool {
		return object.Master != nil && len(o.Faults) > 0 && !slices.ContainsFunc(e.current, func(c itip.Component) bool { return recurrenceID(c.Event) == recurrenceID(o) })
	})
	if object.Master == nil || len(object.Overrides) == 0 {
		return object, nil
	}
	// A date that differs falls when the series moves away from it.
	whole := *e
	whole.object = &itip.Object{UID: object.UID, Master: object.Master}
	dates, err := whole.object.Dates(e.floating(), e.at.AddDate(10, 0, 0))
	if err != nil {
		return object, nil // reported later
	}
	there := map[string]bool{}
	if dates.Set == nil {
		there[whole.dateKey(dates.Slot.Start)] = true
	} else {
		for _, d := range dates.Set.Dates(recurrence.AllDates) {
			there[whole.dateKey(d.Slot.Start)] = true
		}
	}
	object.Overrides = slices.DeleteFunc(object.Overrides, func(o *itip.Event) bool {
		return versionOf(o).Compare(versionOf(object.Master)) < 0 && !there[recurrenceID(o)]
	})
	return object, nil
}

// places are the addresses that are invited to the event or to some of its dates, each once.
func (e *event) places(ctx context.Context, seats []seat) ([]*place, error) {
	var places []*place
	for _, t := range e.known.Answers {
		if !e.invited(t.RecurrenceID, t.Address) || slices.ContainsFunc(places, func(p *place) bool { return p.address == t.Address }) {
			continue
		}
		p := &place{}
		if at := slices.IndexFunc(seats, func(s seat) bool { return s.address == t.Address }); at >= 0 {
			p.seat = seats[at]
		} else {
			var err error
			if p.seat, err = e.seat(ctx, t.Address); err != nil {
				return nil, err
			}
			if p.roomID == 0 && p.siteID == 0 {
				continue
			}
		}
		p.roomID = cmp.Or(p.roomID, t.RoomID) // one of a site keeps its room while it is free
		if places = append(places, p); p.roomID == 0 {
			continue
		}
		var err error
		if p.room, err = e.Meetings.Room(ctx, p.roomID); errors.Is(err, meeting.ErrNotFound) {
			p.roomID, err = 0, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return places, nil
}

// findOrganizer sets who books. An unknown sender of an allowed domain becomes a user if guests are
// welcome.
func (e *event) findOrganizer(ctx context.Context, head *itip.Event) (err error) {
	_, domain, _ := strings.Cut(e.organizer, "@")
	if e.person.UserID == 0 && e.conf.Guests && slices.Contains(e.conf.Domains, domain) && !e.message.DryRun {
		if e.person, err = e.People.Guest(ctx, e.organizer, head.Organizer.Name); err != nil {
			return err
		}
	}
	e.by, err = e.actor(ctx, head)
	return err
}

// actor is the organizer, through their calendar program, or through that of a delegate.
func (e *event) actor(ctx context.Context, head *itip.Event) (meeting.Actor, error) {
	by := meeting.Actor{Kind: meeting.ActorUser, ID: e.person.UserID, Name: e.person.Name, Email: e.person.Email, Role: e.person.Role, Calendar: true}
	if e.message.Via == meeting.OriginCalDAV {
		return by, nil
	}
	// Without a message, later dates of a series are booked: by whoever sent the newest version.
	email := fault.FoldEmail(cmp.Or(e.message.From, head.Organizer.SentBy))
	if email == "" || email == e.organizer {
		return by, nil
	}
	return e.actsFor(ctx, by, email)
}

// actsFor returns the actor through whoever sent a mail for them, whom the mailroom trusts. They know what they
// sent, so private meetings are included. Somebody without an account has the rights of a member.
func (s *Service) actsFor(ctx context.Context, by meeting.Actor, email string) (meeting.Actor, error) {
	found, err := s.People.ByEmail(ctx, []string{email})
	if err != nil {
		return by, err
	}
	sender := meeting.Actor{Kind: meeting.ActorUser, Name: email, Email: email, Role: meeting.Member}
	if p, ok := found[email]; ok {
		if sender, err = s.Meetings.ActorOf(ctx, p); err != nil {
			return by, err
		}
	}
	sender.ActsFor = &[]meeting.ActsFor{{UserID: by.ID, Private: true}}
	by.Delegate = &sender
	return by, nil
}

// book books the event in the rooms of the places, or changes what is booked.
func (e *event) book(ctx context.Context, object *itip.Object, places []*place) error {
	if err := e.chooseRooms(ctx, object, places); err != nil {
		return err
	}
	zone, horizon := time.UTC, e.at.AddDate(1, 0, 0)
	e.roomNames = map[int64]string{}
	for _, p := range places {
		if p.room == nil {
			continue
		}
		if e.roomNames[p.roomID] = p.room.Name; e.zoneName == "" {
			e.zoneName = p.room.Zone
			zone = e.floating()
		}
	}
	dates, err := object.Dates(zone, horizon)
	if err != nil {
		for _, p := range places {
			p.decline("invalid", fmt.Sprintf(e.words.invalid, err))
		}
		return e.release(ctx)
	}
	if dates.Set != nil {
		return e.series(ctx, object.Head(), dates, places)
	}
	if e.record.SeriesID != 0 { // it took place more than once
		if err := e.keepOne(ctx, dates.Slot); err != nil {
			return err
		}
	}
	return e.single(ctx, object.Head(), dates, places)
}

// chooseRooms gives places that stand for any room of a site a room that fits and is free.
func (e *event) chooseRooms(ctx context.Context, object *itip.Object, places []*place) error {
	for _, p := range places {
		if p.siteID != 0 && p.room == nil {
			if err := e.chooseRoom(ctx, object, p, places); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *event) chooseRoom(ctx context.Context, object *itip.Object, p *place, places []*place) error {
	dates, err := object.Dates(time.UTC, e.at.AddDate(1, 0, 0))
	if err != nil {
		return nil // reported later
	}
	if e.person.UserID == 0 {
		return nil
	}
	need := finding.Need{Persons: e.persons(object.Head()), SiteID: p.siteID, Features: p.wants}
	found, err := e.suggest(ctx, need, dates.Slot, dates.Slot, 10)
	if err != nil {
		return err
	}
	p.roomID, p.room = 0, nil
	for _, s := range found {
		if !slices.ContainsFunc(places, func(o *place) bool { return o.roomID == s.Room.ID }) {
			p.roomID, p.room = s.Room.ID, s.Room
			return nil
		}
	}
	p.decline("no_room", e.noRoom(p))
	return nil
}

// noRoom says that no room fits a place that stands for any of them.
func (e *event) noRoom(p *place) string {
	if len(p.wants) > 0 {
		return fmt.Sprintf(e.words.noRoomWith, strings.Join(p.wants, ", "))
	}
	return e.words.noRoom
}

// suggest returns bookable times and rooms; none for a time that cannot be searched.
func (e *event) suggest(ctx context.Context, need finding.Need, slot, span clock.Slot, limit int) ([]finding.Suggestion, error) {
	found, err := e.Finding.Suggestions(ctx, e.by, need, slot.Duration(), span, limit)
	if _, invalid := errors.AsType[*meeting.InvalidError](err); invalid {
		return nil, nil
	}
	return found, err
}

// persons who come, the organizer included.
func (e *event) persons(head *itip.Event) int { return len(*e.fields(head).Attendees) + 1 }

// fields of an event as a meeting has them, without times and rooms.
func (e *event) fields(head *itip.Event) booking.Fields {
	f := importing.FieldsOf(head)
	people := slices.DeleteFunc(*f.Attendees, func(p meeting.Person) bool { _, room := e.local(p.Email); return room })
	f.Attendees = &people
	switch e.conf.Title {
	case OrganizerTitle:
		f.Title = &e.person.Name
	case HideTitle:
		hidden := meeting.Private
		f.Visibility = &hidden
	}
	f.Import = &meeting.Import{
		Organizer: e.person, Responses: importing.Responses(head),
		Origin: meeting.Origin{Kind: e.message.Via, UID: e.object.UID, Organizer: e.organizer, Sequence: head.Sequence, Stamp: head.Stamp},
	}
	return f
}

// single books a meeting.
func (e *event) single(ctx context.Context, head *itip.Event, dates *itip.Dates, places []*place) error {
	f := e.fields(head)
	f.Start, f.End = new(clock.At(dates.Slot.Start)), new(clock.At(dates.Slot.End))
	if dates.Zone != "UTC" {
		f.Timezone = &dates.Zone
	}
	tried := map[int64]bool{}
	for {
		var rooms []int64
		var asked []*place
		for _, p := range places {
			if p.status == "" && p.room != nil && e.invited(recurrenceID(head), p.address) {
				asked, rooms = append(asked, p), append(rooms, p.roomID)
				tried[p.roomID] = true
			}
		}
		if len(asked) == 0 {
			return e.release(ctx)
		}
		f.RoomIDs = &rooms
		m, err := e.put(ctx, f)
		if err == nil {
			for _, p := range asked {
				if p.status = Accepted; m != nil && waits(m) {
					p.status = Tentative
				}
			}
			return nil
		}
		if err := e.refused(ctx, err, f, head, dates.Slot, asked, tried); err != nil {
			return err
		}
	}
}

// waits reports whether somebody must still decide.
func waits(m *meeting.Meeting) bool { return m.Status == meeting.Pending || m.Request != nil }

// put books the meeting of the event, or changes it. In a dry run it returns no meeting.
func (e *event) put(ctx context.Context, f booking.Fields) (*meeting.Meeting, error) {
	if id := e.record.MeetingID; id != 0 {
		m, err := e.Meetings.Meeting(ctx, e.by, id)
		if err != nil && !errors.Is(err, meeting.ErrNotFound) {
			return nil, err
		}
		if err == nil && (!m.Status.Over() || m.Status == meeting.Ended) {
			if e.message.DryRun || m.Status == meeting.Ended {
				return m, nil
			}
			return e.Meetings.Update(ctx, e.by, id, nil, f)
		}
	}
	f.Reminders = &[]meeting.Reminder{}
	if e.message.DryRun {
		inTheWay, err := e.Series.PreviewImport(ctx, e.by, f)
		switch {
		case err != nil || inTheWay == nil:
			return nil, err
		case len(inTheWay.Violations) > 0:
			return nil, &meeting.PolicyError{Violations: inTheWay.Violations}
		default:
			return nil, &meeting.ConflictError{Conflicts: inTheWay.Conflicts}
		}
	}
	m, err := e.Meetings.Book(ctx, e.by, f)
	if err == nil {
		e.record.MeetingID, e.record.SeriesID = m.ID, 0
	}
	return m, err
}

// refused declines the places that an error of a booking is about. It returns errors that say nothing
// about the event.
func (e *event) refused(ctx context.Context, err error, f booking.Fields, head *itip.Event, slot clock.Slot, asked []*place, tried map[int64]bool) error {
	zone := clock.ZoneOrUTC(cmp.Or(e.person.Timezone, asked[0].room.Zone))
	conflict, taken := errors.AsType[*meeting.ConflictError](err)
	rules, broken := errors.AsType[*meeting.PolicyError](err)
	invalid, wrong := errors.AsType[*meeting.InvalidError](err)
	_, over := errors.AsType[*meeting.StateError](err)
	var conflicts []meeting.Occupancy
	var violations []meeting.Fault
	reason := ""
	switch {
	case taken:
		conflicts, reason = conflict.Conflicts, meeting.ReasonTaken
	case broken:
		violations, reason = rules.Violations, rules.Violations[0].Code
		if e.record.MeetingID == 0 { // what else is in the way
			if all, err := e.Series.PreviewImport(ctx, e.by, f); err == nil && all != nil {
				conflicts, violations = all.Conflicts, all.Violations
			}
		}
	case wrong:
		violations, reason = invalid.Faults, invalid.Faults[0].Code
	case over:
		reason = "over"
	default:
		return err
	}
	concerns := func(p *place, room int64) bool { return room == 0 || room == p.roomID }
	var declined []*place
	for _, p := range asked {
		var lines []string
		for _, v := range violations {
			if concerns(p, v.Figures.RoomID) {
				lines = append(lines, e.violations([]meeting.Fault{v})...)
			}
		}
		for _, c := range conflicts {
			if c.RoomID == p.roomID {
				lines = append(lines, e.words.conflict(p.room.Name, c.Slot, zone))
			}
		}
		if over {
			lines = []string{e.words.over}
		}
		if len(lines) > 0 {
			declined = append(declined, p)
			p.decline(reason, lines...)
		}
	}
	if len(declined) == 0 { // it names none of them
		declined = asked
		for _, p := range asked {
			p.decline(reason, fmt.Sprintf(e.words.closed, p.room.Name))
		}
	}
	for _, p := range declined {
		need := finding.Need{Persons: e.persons(head), SiteID: cmp.Or(p.siteID, p.room.SiteID), Features: p.wants}
		if p.siteID != 0 && !over {
			again, err := e.suggest(ctx, need, slot, slot, 10)
			if err != nil {
				return err
			}
			if at := slices.IndexFunc(again, func(s finding.Suggestion) bool { return !tried[s.Room.ID] }); at >= 0 {
				p.roomID, p.room, p.status, p.lines = again[at].Room.ID, again[at].Room, "", nil
				continue
			}
			p.lines = append(p.lines, e.noRoom(p))
		}
		if p.others, err = e.suggest(ctx, need, slot, clock.Slot{Start: clock.Later(slot.Start, e.at), End: clock.Later(slot.Start, e.at).AddDate(0, 0, 7)}, 3); err != nil {
			return err
		}
	}
	return nil
}

// release frees what the event held before: it has moved away.
func (e *event) release(ctx context.Context) error {
	id := e.record.MeetingID
	if id == 0 && e.record.SeriesID == 0 || e.message.DryRun {
		return nil
	}
	var err error
	if id != 0 {
		_, err = e.Meetings.Cancel(ctx, e.by, id, nil, "")
	} else {
		_, err = e.Series.Cancel(ctx, e.by, e.record.SeriesID, nil, meeting.ScopeAll, nil, "")
	}
	if _, over := errors.AsType[*meeting.StateError](err); over || errors.Is(err, meeting.ErrNotFound) {
		return nil
	}
	return err
}

// vacate frees what versions that cannot be read are about: the event, or one of its dates. The organizer has changed
// it, and nobody knows how.
func (e *event) vacate(ctx context.Context, current []itip.Component) error {
	if e.record.SeriesID == 0 || slices.ContainsFunc(current, func(c itip.Component) bool { return c.Event.RecurrenceID == nil }) {
		return e.release(ctx)
	}
	if e.message.DryRun {
		return nil
	}
	booked, err := e.coming(ctx, e.record.SeriesID)
	if err != nil {
		return err
	}
	for _, m := range booked {
		if slices.ContainsFunc(current, func(c itip.Component) bool { return recurrenceID(c.Event) == e.dateKey(m.OriginalStart) }) {
			if err := e.drop(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// answer notes what a place says about a component, and the mail that tells the organizer.
func (e *event) answer(c itip.Component, p *place) {
	if r := e.refusal(recurrenceID(c.Event), p.roomID); r != nil && p.roomID != 0 && p.status != Declined {
		p = &place{seat: p.seat, room: p.room, status: Declined, reason: meeting.ReasonTaken, lines: r.lines[p.roomID]}
	}
	told := Told{
		RecurrenceID: recurrenceID(c.Event), Address: p.address, RoomID: p.roomID, Version: versionOf(c.Event),
		Status: p.status, Reason: p.reason, Text: strings.Join(p.lines, "\n"), Number: 1,
	}
	if before := e.known.told(told.RecurrenceID, p.address); before != nil {
		told.Number = before.Number + 1
	}
	if e.message.Via == meeting.OriginMail {
		told.MessageID, told.Recipient = e.message.MessageID, e.organizer
	}
	a := Answer{
		Address: p.address, RoomID: p.roomID, RecurrenceID: told.RecurrenceID, Status: p.status, Reason: p.reason, Text: told.Text, Alternatives: p.others,
	}
	if told.Recipient != "" {
		a.Mail = e.mail(c, nil, p, told)
		e.record.Replies = append(e.record.Replies, e.notice(a.Mail, told, c.Event))
		e.propose(c, p, told)
	}
	e.record.Answers = append(e.record.Answers, told)
	e.out.Answers = append(e.out.Answers, a)
}
