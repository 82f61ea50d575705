package meeting

import (
	"slices"
	"strconv"
	"time"

	"punctual/meeting/clock"
)

// ChatChannel is a channel of a chat service in which notices about rooms are posted. Anyone may read it.
type ChatChannel struct {
	ID      string       // names its room or site
	Name    string       // of its room or site
	RoomID  int64        // of the room whose channel it is; 0: it is that of a site
	RoomIDs []int64      // that it is about, of those in question
	Kinds   []NoticeKind // that are posted
	Locale  string
}

// A MeetingChange is a meeting before and after a change.
type MeetingChange struct {
	Before *Meeting // nil: it is new
	Now    *Meeting // with the history entries of the change; none: nothing is posted
}

// Post records the notices about changes for chat channels: one for each meeting, channel and kind of event. Dates of
// a series share theirs. Imports are not posted. series is that of new dates; nil: there are none. u says until when
// the changes can be undone.
func Post(changes []MeetingChange, channels []ChatChannel, series *Series, u *Undoable) {
	for _, c := range channels {
		var posts []post
		for _, change := range changes {
			posts = append(posts, c.posts(change, channels)...)
		}
		for _, p := range together(posts, series) {
			ns := []Notice{p.Notice}
			u.postpone(ns)
			p.of.Notices = append(slices.Clip(p.of.Notices), ns...)
		}
	}
}

// post is a notice about a meeting.
type post struct {
	Notice
	of *Meeting
}

// person is the channel as the recipient of notices.
func (c ChatChannel) person() Person { return Person{Name: c.Name, Locale: c.Locale} }

// reader may see what every reader of the channel may: that of a room like anyone at its door, that of a site like
// anyone at all.
func (c ChatChannel) reader() Actor { return Actor{AtRoom: c.RoomID} }

// rooms returns those of a meeting that the channel is about and may know of.
func (c ChatChannel) rooms(m *Meeting, ids []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
		return !slices.Contains(c.RoomIDs, id) || !c.reader().maySeeRoomOf(m, id, nil)
	})
}

// wants reports whether a kind of notice about some rooms is posted. A room's own channel gets it instead of that of
// the site.
func (c ChatChannel) wants(kind NoticeKind, rooms []int64, all []ChatChannel) bool {
	own := func(id int64) bool {
		return slices.ContainsFunc(all, func(o ChatChannel) bool { return o.RoomID == id && slices.Contains(o.Kinds, kind) })
	}
	return slices.Contains(c.Kinds, kind) && slices.ContainsFunc(rooms, func(id int64) bool { return c.RoomID == id || !own(id) })
}

// facts are what the channel may know of a meeting: without title and people, unless everyone may see them.
func (c ChatChannel) facts(m *Meeting) Facts {
	by := c.reader()
	seen := m.View(by, nil)
	f := Facts{
		MeetingID: m.ID, Start: m.Slot.Start, End: m.Slot.End, Timezone: m.Timezone, Sequence: m.Revision(),
		Rooms: slices.Clone(seen.RoomNames), RoomIDs: slices.Clone(seen.RoomIDs),
		Organizer: Contact{Name: seen.Organizer.Name, Email: seen.Organizer.Email},
	}
	if by.MaySee(m, nil) {
		f.Title = m.Title
	}
	return f
}

// takesPlace reports whether the meeting has its rooms, as far as is stored.
func (m *Meeting) takesPlace() bool { return m.Status == Confirmed || m.Status == InProgress }

// posts returns the notices about a change.
func (c ChatChannel) posts(change MeetingChange, all []ChatChannel) []post {
	m, before := change.Now, change.Before
	if len(m.History) == 0 || slices.ContainsFunc(m.History, func(e Entry) bool { return e.Actor.Quiet }) {
		return nil
	}
	if before == nil {
		before = &Meeting{}
	}
	had, has := c.rooms(before, before.RoomIDs), c.rooms(m, m.RoomIDs)
	var requested []int64
	if r := m.Request; r != nil && r.Number == r.First && (before.Request == nil || before.Request.Number != r.Number) {
		requested = c.rooms(m, m.RequestedRooms())
	}
	if len(had)+len(has)+len(requested) == 0 {
		return nil
	}
	n := Notice{
		Channel: Chat, Chat: c.ID, To: c.person(), Due: m.History[0].At, Expires: m.Slot.End,
		occasion: strconv.FormatInt(m.Revision(), 10),
	}
	var posts []post
	include := func(kind, choice NoticeKind, rooms []int64, f Facts) {
		if n.Kind, n.Facts = kind, f; c.wants(choice, rooms, all) {
			posts = append(posts, post{n, m})
		}
	}
	was, is := before.takesPlace() && len(had) > 0, m.takesPlace() && len(has) > 0
	switch {
	case was && m.takesPlace() && !c.reader().MayKnow(m, nil): // to its readers it is gone
		n.Expires = before.Slot.End
		include(NoticeCancellation, NoticeCancellation, had, c.facts(before))
	case was && m.takesPlace():
		if f, differs := c.changed(before, m); differs {
			include(NoticeChange, NoticeChange, Union(had, has), f)
		}
	case is:
		include(NoticeInvitation, NoticeInvitation, has, c.facts(m))
	case was && m.Status == Cancelled:
		include(NoticeCancellation, NoticeCancellation, had, c.facts(m))
	case was && m.Status == Released && m.EndedAt.Before(m.Slot.End): // later it frees only buffers
		n.Expires = time.Time{}
		include(NoticeReleased, NoticeReleased, had, c.facts(m))
	case before.Status == Pending && m.Status == Cancelled:
		include(NoticeCancellation, NoticeApprovalRequest, had, c.facts(m))
	case before.Status == Pending && m.Status == Rejected:
		n.Expires = time.Time{}
		f := c.facts(m)
		f.Decision, f.Reason = Rejected, m.Approval.Reason
		include(NoticeDecision, NoticeApprovalRequest, had, f)
	}
	if len(requested) > 0 {
		n.Expires, n.occasion = m.Request.Deadline, "request-"+strconv.FormatInt(m.Request.Number, 10)
		include(NoticeApprovalRequest, NoticeApprovalRequest, requested, c.request(m, requested))
	}
	return posts
}

// changed returns the facts of a change, and whether the channel may know of any.
func (c ChatChannel) changed(before, m *Meeting) (f Facts, differs bool) {
	old, f := c.facts(before), c.facts(m)
	if sameInstant(old.Start, f.Start) && sameInstant(old.End, f.End) && slices.Equal(old.Rooms, f.Rooms) {
		return f, old.Title != f.Title
	}
	f.Was, f.RoomIDs = &Placement{Start: old.Start, End: old.End, Rooms: old.Rooms}, Union(f.RoomIDs, old.RoomIDs)
	return f, true
}

// request returns the facts of a request for rooms that the channel is about. If the channel may not know everything
// about a move, it appears as a request for these rooms alone.
func (c ChatChannel) request(m *Meeting, rooms []int64) Facts {
	f, r := c.facts(m), m.Request
	f.Deadline, f.Request = new(r.Deadline), &Requested{Number: r.Number, OnTimeout: m.Approval.OnTimeout}
	if r.Change == nil {
		return f
	}
	if f.Title != "" && m.View(c.reader(), nil).Request != nil {
		f.Move, f.RoomIDs = r.Change.placement(), Union(f.RoomIDs, r.Change.RoomIDs)
		return f
	}
	f.Title, f.Organizer = "", Contact{}
	f.Start, f.End, f.RoomIDs, f.Rooms = r.Change.Slot.Start, r.Change.Slot.End, rooms, nil
	for i, id := range r.Change.RoomIDs {
		if slices.Contains(rooms, id) {
			f.Rooms = append(f.Rooms, r.Change.RoomNames[i])
		}
	}
	return f
}

// Posted returns the meetings that a post is about.
func (f Facts) Posted() []ID {
	switch {
	case f.Series != nil:
		return f.Series.Meetings
	case f.MeetingID != 0:
		return []ID{f.MeetingID}
	}
	return nil
}

// Current returns the facts of a recorded post as far as the channel may know them now. about are the meetings that the
// post is about, and rooms those that it names, as far as they exist. ok is false if it may know of no room.
func (c ChatChannel) Current(f Facts, about []*Meeting, rooms []*Room) (now Facts, ok bool) {
	by := c.reader()
	seen := by.VisibleRooms(rooms)
	if len(seen) < len(rooms) {
		if len(seen) == 0 {
			return f, false
		}
		f = f.withRooms(RoomNames(seen))
	}
	named := &Meeting{RoomIDs: f.RoomIDs, Limits: LimitsOf(rooms)}
	if slices.ContainsFunc(append([]*Meeting{named}, about...), func(m *Meeting) bool { return !by.MaySee(m, nil) }) {
		f.Title, f.Organizer = "", Contact{}
	}
	return f, true
}

// withRooms returns the facts of a post without the other rooms.
func (f Facts) withRooms(names []string) Facts {
	keep := func(rooms []string) []string {
		return slices.DeleteFunc(slices.Clone(rooms), func(name string) bool { return !slices.Contains(names, name) })
	}
	placed := func(p *Placement) *Placement {
		if p == nil {
			return nil
		}
		return &Placement{Start: p.Start, End: p.End, Rooms: keep(p.Rooms)}
	}
	f.Rooms, f.Was, f.Move = keep(f.Rooms), placed(f.Was), placed(f.Move)
	if f.Series != nil {
		s := *f.Series
		s.Places = nil
		for _, rooms := range f.Series.Places {
			s.Places = append(s.Places, keep(rooms))
		}
		f.Series = &s
	}
	return f
}

// together joins the notices of a channel about dates of a series: one of each kind, about all of them, filed under the
// first. series is that of new dates.
func together(posts []post, series *Series) []post {
	type group struct {
		of     *Meeting // nil: dates of a series
		series int64
		kind   NoticeKind
		title  string // of what the channel may know
		reason string
	}
	parts := map[group][]post{}
	var groups []group
	for _, p := range posts {
		g := group{p.of, 0, p.Kind, "", ""}
		if p.of.SeriesID != 0 {
			g = group{nil, p.of.SeriesID, p.Kind, p.Facts.Title, p.Facts.Reason}
		}
		if parts[g] = append(parts[g], p); len(parts[g]) == 1 {
			groups = append(groups, g)
		}
	}
	joined := make([]post, len(groups))
	for i, g := range groups {
		joined[i] = join(parts[g], series)
	}
	return joined
}

func join(dates []post, series *Series) post {
	slices.SortStableFunc(dates, func(a, b post) int { return a.Facts.Start.Compare(b.Facts.Start) })
	all := dates[0]
	if len(dates) == 1 {
		return all
	}
	f := &SeriesFacts{Count: int64(len(dates)), Last: dates[len(dates)-1].Facts.Start}
	if series != nil {
		f.Rule = series.Rule.InUTC(clock.ZoneOrUTC(series.Timezone))
	}
	sameRooms := true
	for i, d := range dates {
		if !d.Expires.IsZero() {
			all.Expires = clock.Later(all.Expires, d.Expires)
		}
		all.Facts.Rooms, all.Facts.RoomIDs = Union(all.Facts.Rooms, d.Facts.Rooms), Union(all.Facts.RoomIDs, d.Facts.RoomIDs)
		f.Meetings = append(f.Meetings, d.of.ID)
		sameRooms = sameRooms && slices.Equal(d.Facts.Rooms, dates[0].Facts.Rooms)
		if i < shownDates {
			f.Dates, f.Places = append(f.Dates, d.Facts.Start), append(f.Places, d.Facts.Rooms)
		}
	}
	if sameRooms {
		f.Places = nil
	}
	all.Facts.Series, all.Facts.Was, all.Facts.Move = f, nil, nil
	return all
}

// RemindChannels returns the notices of a due reminder for chat channels, if it is the last before the start.
func (m *Meeting) RemindChannels(r Reminder, channels []ChatChannel, at time.Time) []Notice {
	later := func(o Reminder) bool { return o.Before == BeforeStart && o.Offset < r.Offset }
	if r.Before != BeforeStart || slices.ContainsFunc(m.Reminders, later) {
		return nil
	}
	var ns []Notice
	for _, c := range channels {
		if !c.wants(NoticeReminder, c.rooms(m, m.RoomIDs), channels) {
			continue
		}
		n, f := m.remindNotice(r, at), c.facts(m)
		f.Before, f.Offset, f.CheckInBy = n.Facts.Before, n.Facts.Offset, n.Facts.CheckInBy
		n.Channel, n.Chat, n.To, n.Facts = Chat, c.ID, c.person(), f
		n.complete(m.ID)
		ns = append(ns, n)
	}
	return ns
}

// PostFault returns the notices of a fault report on a room for chat channels. They do not name the user who reported it.
func PostFault(room *Room, channels []ChatChannel, f Facts, at time.Time) []Notice {
	f.By = ""
	var ns []Notice
	for _, c := range channels {
		if c.reader().MaySeeRoom(room) && c.wants(NoticeFaultReport, c.RoomIDs, channels) {
			f.RoomIDs = []int64{room.ID}
			ns = append(ns, Notice{Kind: NoticeFaultReport, Channel: Chat, Chat: c.ID, To: c.person(), Due: at, Facts: f})
		}
	}
	return ns
}
