package meeting

import (
	"slices"
	"strconv"
	"time"

	"punctual/meeting/clock"
)

// ChatChannel is a channel of a chat service in which notices about rooms are posted. Anyone may read it.
type ChatChannel struct {
	ID      int64
	Name    string       // of its room or site
	RoomID  int64        // of the room whose channel it is; 0: it is that of a site
	RoomIDs []int64      // that it is about, of those in question
	Kinds   []NoticeKind // that are posted
	Locale  string
}

// A MeetingChange is a meeting before and after a change, with the history entries of the change.
type MeetingChange struct {
	Before *Meeting // nil: it is new
	Now    *Meeting
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
		MeetingID: m.ID, Start: m.Slot.Start, End: m.Slot.End, Timezone: m.Timezone, Rooms: slices.Clone(seen.RoomNames), Sequence: m.Revision(),
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
	n := Notice{
		Channel: Chat, ChatID: c.ID, To: c.person(), Due: m.History[0].At, Expires: m.Slot.End,
		Facts: c.facts(m), occasion: strconv.FormatInt(m.Revision(), 10),
	}
	var posts []post
	include := func(kind, choice NoticeKind, rooms []int64) {
		if n.Kind = kind; c.wants(choice, rooms, all) {
			posts = append(posts, post{n, m})
		}
	}
	had, has := c.rooms(before, before.RoomIDs), c.rooms(m, m.RoomIDs)
	was, is := before.takesPlace() && len(had) > 0, m.takesPlace() && len(has) > 0
	switch {
	case was && m.takesPlace():
		old := c.facts(before)
		if placed := sameInstant(old.Start, n.Facts.Start) && sameInstant(old.End, n.Facts.End) && slices.Equal(old.Rooms, n.Facts.Rooms); !placed {
			n.Facts.Was = &Placement{Start: old.Start, End: old.End, Rooms: old.Rooms}
		} else if old.Title == n.Facts.Title {
			break
		}
		include(NoticeChange, NoticeChange, Union(had, has))
	case is:
		include(NoticeInvitation, NoticeInvitation, has)
	case was && m.Status == Cancelled:
		include(NoticeCancellation, NoticeCancellation, had)
	case was && m.Status == Released && m.EndedAt.Before(m.Slot.End): // later it frees only buffers
		n.Expires = time.Time{}
		include(NoticeReleased, NoticeReleased, had)
	case before.Status == Pending && m.Status == Cancelled:
		include(NoticeCancellation, NoticeApprovalRequest, had)
	case before.Status == Pending && m.Status == Rejected:
		n.Facts.Decision, n.Facts.Reason, n.Expires = Rejected, m.Approval.Reason, time.Time{}
		include(NoticeDecision, NoticeApprovalRequest, had)
	}
	if r := m.Request; r != nil && r.Number == r.First && (before.Request == nil || before.Request.Number != r.Number) {
		n.Facts = c.facts(m)
		n.Facts.Deadline, n.Facts.Request = new(r.Deadline), &Requested{Number: r.Number, OnTimeout: m.Approval.OnTimeout}
		if n.Facts.Title != "" {
			n.Facts.Move = m.View(c.reader(), nil).Request.placement()
		}
		n.Expires, n.occasion = r.Deadline, "request-"+strconv.FormatInt(r.Number, 10)
		include(NoticeApprovalRequest, NoticeApprovalRequest, c.rooms(m, m.RequestedRooms()))
	}
	return posts
}

// placement of a requested move; nil if there is none.
func (r *Request) placement() *Placement {
	if r == nil {
		return nil
	}
	return r.Change.placement()
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
		all.Facts.Rooms = Union(all.Facts.Rooms, d.Facts.Rooms)
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
		n.Channel, n.ChatID, n.To, n.Facts = Chat, c.ID, c.person(), f
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
			ns = append(ns, Notice{Kind: NoticeFaultReport, Channel: Chat, ChatID: c.ID, To: c.person(), Due: at, Facts: f})
		}
	}
	return ns
}
