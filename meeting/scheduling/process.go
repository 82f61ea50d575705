package scheduling

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/itip"
)

// Process carries out what a message asks for and records the answers of the rooms, which are mails to
// send. An error means that the database failed: then the message may be processed again, which
// completes what was begun. Messages about one UID are processed one at a time.
func (s *Service) Process(ctx context.Context, m Message) (*Outcome, error) {
	out := &Outcome{State: Ignored, Reason: "method"}
	switch m.Calendar.Method {
	case "REQUEST", "ADD", "CANCEL":
	case "REPLY", counter:
		return s.respond(ctx, m)
	case "DECLINECOUNTER":
		return s.proposalDeclined(ctx, m)
	case "":
		if m.Via != meeting.OriginCalDAV {
			return out, nil
		}
	default:
		return out, nil
	}
	if out.Reason = "no_event"; len(m.Calendar.Objects) == 0 {
		return out, nil
	}
	out.Reason = ""
	if m.Calendar.Method == "ADD" && slices.ContainsFunc(m.Calendar.Objects, func(o *itip.Object) bool { return o.Master != nil }) {
		out.State, out.Reason = Refused, "added_rule" // only dates can be added
		return out, nil
	}
	var states []State
	for _, o := range m.Calendar.Objects {
		e := &event{Service: s, message: m, object: o, conf: s.Settings(), at: s.Now().UTC().Truncate(time.Microsecond), out: out}
		act := func(ctx context.Context) (err error) {
			state, err := e.process(ctx)
			states = append(states, state)
			return err
		}
		if err := s.Store.Exclusively(ctx, o.UID, act); err != nil {
			return nil, err
		}
	}
	if slices.Contains(states, Done) { // another event of the message was refused
		out.Reason = ""
	}
	for _, state := range []State{Done, Duplicate, Refused, Outdated, Ignored} {
		if slices.Contains(states, state) {
			out.State = state
			break
		}
	}
	return out, nil
}

// proposalDeclined notes that an organizer does not accept the time that a room proposed. Nothing changes: the room has
// declined, and holds nothing.
func (s *Service) proposalDeclined(ctx context.Context, m Message) (*Outcome, error) {
	for _, o := range m.Calendar.Objects {
		known, err := s.Store.KnownEvent(ctx, o.UID, fault.FoldEmail(o.Head().Organizer.Email))
		if err != nil {
			return nil, err
		}
		if known.ID != 0 {
			return &Outcome{State: Done}, nil
		}
	}
	return &Outcome{State: Ignored, Reason: "no_event"}, nil
}

// event is an event while a message about it is processed.
type event struct {
	*Service
	message   Message
	object    *itip.Object // as the message has it
	conf      Settings
	at        time.Time
	out       *Outcome
	words     *words
	organizer string // email address in lower case
	zoneName  string // IANA, of the first room: times without a zone count there
	person    meeting.Person
	by        meeting.Actor

	known  *Known
	latest []Instance // the newest version of the event and its dates, this message included
	record Record

	first        meeting.ID // that becomes the first date of a series; 0: none
	pending      bool       // dates of the series wait for a decision
	refusedDates []*refusedDate
	roomNames    map[int64]string // of the places

	current []itip.Component // of the message, what is new
	seats   []seat           // of the message
	asked   map[asked]bool   // what the message asks, and nothing newer has answered
	joined  map[string]bool  // addresses that it invites to the whole event, and that were not
}

// asked is a date for which an address is invited; an empty date is the whole event.
type asked struct{ date, address string }

// seat is an invited address.
type seat struct {
	address string
	roomID  int64    // that it stands for; 0: none yet
	siteID  int64    // of an address that stands for any room of a site; else 0
	wants   []string // features, of an address that stands for any room
}

func (e *event) process(ctx context.Context) (State, error) {
	head := e.object.Head()
	e.organizer = fault.FoldEmail(head.Organizer.Email)
	if e.organizer == "" {
		e.organizer = strings.ToLower(e.message.From)
	}
	if !fault.IsEmail(e.organizer) {
		e.out.Reason = "no_organizer"
		return Refused, nil
	}
	seats, err := e.addressed(ctx)
	if err != nil {
		return "", err
	}
	if e.known, err = e.Store.KnownEvent(ctx, e.object.UID, e.organizer); err != nil {
		return "", err
	}
	e.record = Record{UID: e.object.UID, Organizer: e.organizer, Via: e.message.Via, MeetingID: e.known.MeetingID, SeriesID: e.known.SeriesID, ExtendAt: e.known.ExtendAt}
	found, err := e.People.ByEmail(ctx, []string{e.organizer})
	if err != nil {
		return "", err
	}
	e.person = found[e.organizer]
	e.words = wordsFor(e.person.Locale)
	if seats, err = e.visible(ctx, seats); err != nil {
		return "", err
	}
	if len(seats) == 0 && e.message.Via == meeting.OriginMail {
		e.out.Reason = "unknown_room"
		return Refused, nil
	}
	if state, repeats, err := e.repeatsCalDAV(ctx, seats); err != nil || repeats {
		return state, err
	}
	components := e.message.Calendar.Components(e.message.ICS, e.object.UID)
	var current []itip.Component
	state := Outdated
	for _, c := range components {
		order := e.order(c.Event, seats)
		if order == 0 {
			state = Duplicate
		}
		switch {
		case order > 0 || e.newContent(c.Event):
			current = append(current, c)
		case order == 0 && len(components) == 1:
			return e.repeated(c.Event, seats), nil
		}
	}
	if len(current) == 0 {
		return state, nil
	}
	e.current, e.seats = current, seats
	live := slices.ContainsFunc(current, func(c itip.Component) bool { return !c.Event.Cancelled })
	if e.message.Calendar.Method == "CANCEL" || !live && e.message.Via == meeting.OriginMail { // some programs send a request whose STATUS is CANCELLED
		return e.cancel(ctx, current, seats)
	}
	if done, err := e.request(ctx, current, seats); err != nil || len(e.asked) > 0 || len(seats) == 0 {
		return done, err
	}
	return state, nil // what rooms were told since is newer
}

// addressed returns the addresses that the message is for.
func (e *event) addressed(ctx context.Context) ([]seat, error) {
	emails := []string{e.message.Recipient}
	if e.message.Recipient == "" {
		emails = nil
		for _, c := range append([]*itip.Event{e.object.Head()}, e.object.Overrides...) {
			for _, a := range c.Attendees {
				emails = append(emails, a.Email)
			}
		}
	}
	var seats []seat
	for _, email := range emails {
		local, ok := e.local(email)
		if !ok || slices.ContainsFunc(seats, func(s seat) bool { return s.address == local }) {
			continue
		}
		s, err := e.seat(ctx, local)
		if err != nil {
			return nil, err
		}
		if s.roomID != 0 || s.siteID != 0 {
			seats = append(seats, s)
		}
	}
	return seats, nil
}

// visible returns the seats without rooms that the organizer may not see, as if nothing had their addresses. Rooms
// that the event invited before stay, so that it can be changed and canceled.
func (e *event) visible(ctx context.Context, seats []seat) ([]seat, error) {
	by, err := e.actor(ctx, e.object.Head())
	if err != nil {
		return nil, err
	}
	var seen []seat
	for _, s := range seats {
		invited := slices.ContainsFunc(e.known.Answers, func(t Told) bool { return t.Address == s.address })
		if s.roomID != 0 && !invited {
			_, err := e.Meetings.VisibleRoom(ctx, by, s.roomID)
			if errors.Is(err, meeting.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
		}
		seen = append(seen, s)
	}
	return seen, nil
}

// seat returns the seat of an address; without room and site if nothing has it.
func (e *event) seat(ctx context.Context, address string) (s seat, err error) {
	s.address = address
	if s.roomID, s.siteID, err = e.Store.ByAddress(ctx, address); err == nil && s.siteID != 0 {
		s.wants, err = e.Store.FeaturesAsked(ctx, s.siteID, address)
	}
	return s, err
}

func (e *event) local(email string) (string, bool) { return e.conf.local(email) }

// local returns the local part of an address of the mailroom, in lower case.
func (s Settings) local(email string) (string, bool) {
	local, domain, ok := strings.Cut(strings.ToLower(strings.TrimSpace(email)), "@")
	return local, ok && s.Domain != "" && domain == s.Domain
}

func versionOf(c *itip.Event) Version { return Version{c.Sequence, c.Stamp.UTC()} }

func recurrenceID(c *itip.Event) string {
	if c.RecurrenceID == nil {
		return ""
	}
	return c.RecurrenceID.Key()
}

func (k *Known) instance(id string) *Instance {
	if i := slices.IndexFunc(k.Instances, func(x Instance) bool { return x.RecurrenceID == id }); i >= 0 {
		return &k.Instances[i]
	}
	return nil
}

func (k *Known) told(id, address string) *Told {
	if i := slices.IndexFunc(k.Answers, func(x Told) bool { return x.RecurrenceID == id && x.Address == address }); i >= 0 {
		return &k.Answers[i]
	}
	return nil
}

// order reports whether a version is newer than what the seats were told (1), was processed before (0), or is
// outdated (-1). What an event is has its own order: a program may tell rooms of different versions.
func (e *event) order(c *itip.Event, seats []seat) int {
	id, v := recurrenceID(c), versionOf(c)
	order := -1
	for _, s := range seats {
		t := e.known.told(id, s.address)
		if t == nil || v.Compare(t.Version) > 0 {
			return 1
		}
		if v.Compare(t.Version) == 0 {
			order = 0
		}
	}
	if i := e.known.instance(id); len(seats) == 0 && (i == nil || v.Compare(i.Version) >= 0) {
		return 1 // a calendar program took the room out
	}
	return order
}

// newContent reports whether a version says more about an event or date than what is known of it.
func (e *event) newContent(c *itip.Event) bool {
	i := e.known.instance(recurrenceID(c))
	return e.message.Calendar.Method != "CANCEL" && (i == nil || versionOf(c).Compare(i.Version) > 0)
}

// invited reports whether an address is invited to a date of the event, or to the event itself if the date is
// empty, and has not declined. An address may be invited to some dates alone.
func (e *event) invited(id, address string) bool {
	all, one := e.known.told("", address), e.known.told(id, address)
	switch {
	case one == nil:
		one = all
	case all == nil || one.Status == "" || one.Compare(all.Version) >= 0:
	case all.Status == "": // a cancellation of everything includes what came before it
		return false
	case one.Status == Declined: // it is asked again
		one = all
	}
	return one != nil && one.Status != "" && one.Status != Declined
}

// repeated returns the answers that were given before.
func (e *event) repeated(c *itip.Event, seats []seat) State {
	for _, s := range seats {
		if t := e.known.told(recurrenceID(c), s.address); t != nil && t.Status != "" && t.Status != unanswered {
			e.out.Answers = append(e.out.Answers, Answer{Address: s.address, RoomID: t.RoomID, RecurrenceID: t.RecurrenceID, Status: t.Status, Reason: t.Reason, Text: t.Text})
		}
	}
	e.found()
	return Duplicate
}

// found notes which meetings there are.
func (e *event) found() {
	if id := e.record.MeetingID; id != 0 && !slices.Contains(e.out.MeetingIDs, id) {
		e.out.MeetingIDs = append(e.out.MeetingIDs, id)
	}
	if e.record.SeriesID != 0 {
		e.out.SeriesID = e.record.SeriesID
	}
}

// finish records what was done and queues the answers.
func (e *event) finish(ctx context.Context) (State, error) {
	e.found()
	if e.message.DryRun {
		return Done, nil
	}
	notices, err := e.Store.SaveRecord(ctx, &e.record)
	if err != nil {
		return "", err
	}
	e.Scheduler.Schedule(ctx, booking.Deliveries(notices)...)
	return Done, nil
}
