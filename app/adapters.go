package app

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/account"
	accountstore "punctual/account/gormstore"
	"punctual/account/rest"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/events"
	"punctual/meeting/feed"
	meetingstore "punctual/meeting/gormstore"
	meetinghttp "punctual/meeting/httpapi"
	"punctual/notify"
	"punctual/notify/chat"
	ledger "punctual/notify/gormstore"
)

type directoryAdapter struct {
	users    *accountstore.Store
	unknowns limiter // of addresses that belong to no user, by the user who invites them
}

// unknownRate limits how many addresses a user can try to find out which belong to users, because
// the response to a booking shows it. Few people invite as many guests in an hour.
var unknownRate = account.Rate{Count: 1000, Per: time.Hour}

var _ booking.Directory = directoryAdapter{}

func (a directoryAdapter) People(ctx context.Context, ids []int64) ([]meeting.Person, error) {
	return people(a.users.ActiveUsers(ctx, ids))
}

func (a directoryAdapter) Admins(ctx context.Context) ([]meeting.Person, error) {
	return people(a.users.ActiveAdmins(ctx))
}

func (a directoryAdapter) Absences(ctx context.Context, at time.Time) ([]meeting.Absence, error) {
	away, err := a.users.Away(ctx, at)
	absences := make([]meeting.Absence, len(away))
	for i, u := range away {
		absences[i] = meeting.Absence{UserID: u.ID, DeputyID: u.Away.DeputyID, Until: u.Away.Until}
	}
	return absences, err
}

// ByEmail implements [meeting.Directory]. It returns an [*account.RateLimitError] to a user who
// looked up too many addresses that nobody has.
func (a directoryAdapter) ByEmail(ctx context.Context, emails []string) (map[string]meeting.Person, error) {
	found, err := people(a.users.ActiveUsersByEmail(ctx, emails))
	if err != nil {
		return nil, err
	}
	byEmail := make(map[string]meeting.Person, len(found))
	for _, p := range found {
		byEmail[strings.ToLower(p.Email)] = p
	}
	if by, ok := account.FromContext(ctx); ok && by.Role != account.Admin { // an admin can list all users
		if unknown := len(emails) - len(byEmail); unknown > 0 {
			if ok, after := a.unknowns.AllowN(ctx, strconv.FormatInt(by.UserID, 10), unknown); !ok {
				return nil, &account.RateLimitError{RetryAfter: after}
			}
		}
	}
	return byEmail, nil
}

func people(users []*account.User, err error) ([]meeting.Person, error) {
	if err != nil {
		return nil, err
	}
	ps := make([]meeting.Person, len(users))
	for i, u := range users {
		ps[i] = meeting.Person{
			UserID: u.ID, Email: u.Email, Name: u.Name, Phone: u.Phone, Locale: u.Locale, Timezone: u.Timezone, Role: meeting.Role(u.Role), CalendarMails: u.CalendarMails,
		}
	}
	return ps, nil
}

type outboxAdapter struct {
	ledger *ledger.Ledger
	chats  *ledger.Chats
	posts  func() bool // whether there are posts in chat channels
}

// Insert sets the IDs of ns; a notice that was recorded before keeps 0.
func (a outboxAdapter) Insert(tx *gorm.DB, ns []meeting.Notice) error {
	rows := make([]notify.Notification, len(ns))
	for i, n := range ns {
		rows[i] = notification(n)
	}
	if err := a.ledger.Insert(tx, rows); err != nil {
		return err
	}
	for i := range ns {
		ns[i].ID = rows[i].ID
	}
	return nil
}

func (a outboxAdapter) Withdraw(tx *gorm.DB, ids []meeting.ID, kinds ...meeting.NoticeKind) error {
	return a.ledger.Withdraw(tx, ids, kinds...)
}

func (a outboxAdapter) Outdate(tx *gorm.DB, ns []meeting.Notice, reason string) error {
	rows := make([]notify.Notification, len(ns))
	for i, n := range ns {
		rows[i] = notification(n)
	}
	return a.ledger.Outdate(tx, rows, reason)
}

func (a outboxAdapter) Retract(tx *gorm.DB, notices []int64, about []meeting.ID) ([]string, error) {
	threads, err := a.ledger.Retract(tx, notices, about)
	if errors.Is(err, ledger.ErrSent) {
		err = meeting.ErrUndoExpired
	}
	return threads, err
}

func (a outboxAdapter) Revive(tx *gorm.DB, about []meeting.ID, threads []string, since time.Time) ([]meeting.Notice, error) {
	points, err := a.ledger.Revive(tx, about, threads, since)
	ns := make([]meeting.Notice, len(points))
	for i, p := range points {
		ns[i] = meeting.Notice{ID: p.ID, Channel: meeting.Channel(p.Channel), Due: p.Due}
	}
	return ns, err
}

func (a outboxAdapter) Channels(tx *gorm.DB, roomIDs []int64) ([]meeting.ChatChannel, error) {
	if !a.posts() {
		return nil, nil
	}
	found, err := a.chats.Channels(tx, roomIDs)
	channels := make([]meeting.ChatChannel, len(found))
	for i, c := range found {
		channels[i] = meeting.ChatChannel{ID: c.String(), Name: c.Name, RoomID: c.RoomID, RoomIDs: c.About, Kinds: c.Kinds, Locale: c.Locale}
	}
	return channels, err
}

func notification(n meeting.Notice) notify.Notification {
	address, state := n.To.Email, notify.Pending
	switch n.Channel {
	case meeting.SMS:
		address = n.To.Phone
	case meeting.Chat:
		address = notify.ChannelAddress(n.Chat)
	}
	if n.Late {
		state = notify.SkippedLate
	}
	return notify.Notification{
		DedupeKey: n.DedupeKey,
		Kind:      n.Kind,
		Channel:   notify.Channel(n.Channel),
		MeetingID: n.MeetingID,
		To: notify.Recipient{
			UserID: n.To.UserID, Name: n.To.Name, Address: address, Locale: n.To.Locale, Timezone: n.To.Timezone,
		},
		Facts:   n.Facts,
		Due:     n.Due,
		Expires: n.Expires,
		State:   state,
		Version: 1,
	}
}

// noticeScreen rejects notifications that are outdated, whose recipient's account is disabled, whose address
// bounces, or that the recipient does not want, now or at all. Recipients without an account get theirs.
type noticeScreen struct {
	meetings *meetingstore.Store
	disabled func(ctx context.Context, ids []int64, emails []string) (byID map[int64]bool, byEmail map[string]bool, err error)
	bounces  func(ctx context.Context, addresses []string) (map[string]notify.Bounce, error)
	wishes   func(ctx context.Context, users []int64, addresses []string) (byUser map[int64]notify.Wishes, byAddress map[string]notify.Wishes, err error)
	policy   func() notify.Policy
	copies   func(ctx context.Context, ns []notify.Notification) error // records them
	now      func() time.Time
}

func (s noticeScreen) objections(ctx context.Context, ns []notify.Notification) (map[int64]notify.Objection, error) {
	var meetings []meeting.ID
	var users []int64
	var emails []string
	for _, n := range ns {
		if n.MeetingID != 0 {
			meetings = append(meetings, n.MeetingID)
		}
		if n.Posted() {
			meetings = append(meetings, n.Facts.Posted()...)
		}
		if n.To.UserID != 0 {
			users = append(users, n.To.UserID)
		} else {
			emails = append(emails, n.To.Address)
		}
	}
	states, err := s.meetings.NoticeStates(ctx, meetings)
	if err != nil {
		return nil, err
	}
	disabledID, disabledEmail, err := s.disabled(ctx, users, emails)
	if err != nil {
		return nil, err
	}
	objections := map[int64]notify.Objection{}
	var sendable []notify.Notification
	for _, n := range ns {
		if state, ok := states[n.MeetingID]; ok {
			reason := state.Obsolete(n.Kind, n.Facts)
			if n.Posted() && n.Facts.Series != nil {
				var dates []meeting.NoticeState
				for _, id := range n.Facts.Posted() {
					if date, ok := states[id]; ok {
						dates = append(dates, date)
					}
				}
				reason = meeting.ObsoletePost(n.Kind, dates)
			}
			if reason != "" {
				objections[n.ID] = notify.Objection{State: notify.Superseded, Reason: reason}
				continue
			}
		}
		if disabledID[n.To.UserID] || n.To.UserID == 0 && disabledEmail[strings.ToLower(n.To.Address)] {
			objections[n.ID] = notify.Objection{State: notify.Skipped, Reason: "not sent: the account is disabled"}
			continue
		}
		sendable = append(sendable, n)
	}
	if err := s.applyPosts(ctx, sendable, objections); err != nil {
		return nil, err
	}
	if err := s.applyWishes(ctx, sendable, objections); err != nil {
		return nil, err
	}
	return objections, s.applyBounces(ctx, sendable, objections)
}

// applyPosts has posts sent as far as the readers of their channels may know of meetings and rooms now.
func (s noticeScreen) applyPosts(ctx context.Context, ns []notify.Notification, objections map[int64]notify.Objection) error {
	ns = slices.DeleteFunc(slices.Clone(ns), func(n notify.Notification) bool { return !n.Posted() })
	if len(ns) == 0 {
		return nil
	}
	var about []meeting.ID
	var named []int64
	for _, n := range ns {
		about, named = append(about, n.Facts.Posted()...), append(named, n.Facts.RoomIDs...)
	}
	meetings, err := s.meetings.MeetingsByID(ctx, slices.Compact(slices.Sorted(slices.Values(about))))
	if err != nil {
		return err
	}
	rooms, err := s.meetings.Rooms(ctx, slices.Compact(slices.Sorted(slices.Values(named))))
	if err != nil {
		return err
	}
	for _, n := range ns {
		of, _ := chat.OwnerOf(n.To.Address)
		about, named := n.Facts.Posted(), n.Facts.RoomIDs
		facts, ok := meeting.ChatChannel{RoomID: of.RoomID}.Current(n.Facts,
			slices.DeleteFunc(slices.Clone(meetings), func(m *meeting.Meeting) bool { return !slices.Contains(about, m.ID) }),
			slices.DeleteFunc(slices.Clone(rooms), func(r *meeting.Room) bool { return !slices.Contains(named, r.ID) }))
		if ok {
			objections[n.ID] = notify.Objection{Facts: &facts}
		} else {
			objections[n.ID] = notify.Objection{State: notify.Skipped, Reason: "not sent: readers of the channel may not see the room"}
		}
	}
	return nil
}

// applyBounces adds the objections to mails whose addresses are marked, unless there are others. If only one of
// them is, the others get the mail. What recipients want on other channels is recorded by then.
func (s noticeScreen) applyBounces(ctx context.Context, ns []notify.Notification, objections map[int64]notify.Objection) error {
	var mails []notify.Notification
	var addresses []string
	for _, n := range ns {
		if n.Channel == notify.Email && !notify.IgnoresBounces(n.Kind) && objections[n.ID].State == "" {
			mails, addresses = append(mails, n), append(addresses, n.Addresses()...)
		}
	}
	if len(mails) == 0 {
		return nil
	}
	bounces, err := s.bounces(ctx, addresses)
	if err != nil {
		return err
	}
	for _, n := range mails {
		reaches := func(address string) bool { _, marked := bounces[strings.ToLower(address)]; return !marked }
		for _, address := range n.Addresses() {
			switch {
			case reaches(address):
			case slices.ContainsFunc(n.Addresses(), reaches):
				objections[n.ID] = notify.Objection{Except: address}
			default:
				objections[n.ID] = bounces[strings.ToLower(address)].Objection()
			}
		}
	}
	return nil
}

// applyWishes adds the objections that follow from what recipients chose, and records what they want on
// other channels. After a crash it does so again: the ledger ignores what it has.
func (s noticeScreen) applyWishes(ctx context.Context, ns []notify.Notification, objections map[int64]notify.Objection) error {
	var users []int64
	var addresses []string
	for _, n := range ns {
		switch _, ok := n.Choice(); {
		case !ok:
		case n.To.UserID != 0:
			users = append(users, n.To.UserID)
		default:
			addresses = append(addresses, strings.ToLower(n.To.Address))
		}
	}
	byUser, byAddress, err := s.wishes(ctx, users, addresses)
	if err != nil {
		return err
	}
	policy, now := s.policy(), s.now()
	var copies []notify.Notification
	for _, n := range ns {
		w := byUser[n.To.UserID]
		if n.To.UserID == 0 {
			w = byAddress[strings.ToLower(n.To.Address)]
		}
		v := policy.Decide(n, w, now)
		switch {
		case v.Skip != "":
			objections[n.ID] = notify.Objection{State: notify.Skipped, Reason: v.Skip}
		case !v.Until.IsZero():
			objections[n.ID] = notify.Objection{State: notify.Pending, Until: v.Until, Reason: notify.QuietReason}
		}
		for _, c := range v.Also {
			n.Kind = v.As
			copies = append(copies, n.On(c, w.Address(c)))
		}
	}
	if len(copies) == 0 {
		return nil
	}
	return s.copies(ctx, copies)
}

// copyNotices records copies of notifications for other channels and adds them to the queue.
func (a *Application) copyNotices(ctx context.Context, ns []notify.Notification) error {
	if err := a.ledger.Copy(ctx, ns); err != nil {
		return err
	}
	for _, n := range ns {
		if n.ID != 0 {
			a.scheduler.Schedule(ctx, n.Message())
		}
	}
	return nil
}

// agenda implements [notify.Agenda].
func (a *Application) agenda(ctx context.Context, userID int64, email string, from, to time.Time) ([]notify.AgendaItem, error) {
	by := meeting.Actor{Kind: meeting.ActorUser, ID: userID, Email: email, Role: meeting.Member}
	ms, err := feed.NewService(a.meetings, time.Now).Agenda(ctx, by, clock.Slot{Start: from, End: to})
	items := make([]notify.AgendaItem, len(ms))
	for i, m := range ms {
		items[i] = notify.AgendaItem{MeetingID: m.ID, Title: m.Title, Start: m.Slot.Start, End: m.Slot.End, Rooms: m.RoomNames, Pending: m.Status == meeting.Pending}
	}
	return items, err
}

type eventBodies struct{ stream *events.Stream }

func (b eventBodies) Bodies(ctx context.Context, events []int64) (map[int64][]byte, error) {
	updates, err := b.stream.Updates(ctx, events)
	if err != nil {
		return nil, err
	}
	bodies := make(map[int64][]byte, len(updates))
	for id, u := range updates {
		bodies[id] = meetinghttp.EventBody(u, meeting.Actor{Everywhere: true}, time.Now())
	}
	return bodies, nil
}

type noticesAdapter struct{ notifications *notify.Service }

func (a noticesAdapter) OfMeeting(ctx context.Context, id meeting.ID, p meeting.Page) ([]meetinghttp.MeetingNotification, string, error) {
	cursor, err := notify.ParseCursor(p.Cursor)
	if err != nil {
		return nil, "", errCursor()
	}
	page, err := a.notifications.List(ctx, notify.Filter{MeetingID: id, OldestFirst: true, Cursor: cursor, Limit: p.Limit})
	if err != nil {
		return nil, "", err
	}
	items := make([]meetinghttp.MeetingNotification, len(page.Items))
	for i, n := range page.Items {
		items[i] = meetingNotification(n)
	}
	return items, page.Next.String(), nil
}

func meetingNotification(n notify.Notification) meetinghttp.MeetingNotification {
	return meetinghttp.MeetingNotification{
		ID: n.ID, MeetingID: n.MeetingID, Kind: string(n.Kind), Channel: string(n.Channel),
		UserID: rest.OrNull(n.To.UserID), Name: n.To.Name, Address: n.To.Address,
		State: string(n.State), Due: n.Due, Attempts: n.Attempts,
		MessageID: rest.OrNull(n.MessageID), LastError: rest.OrNull(n.LastError), SentAt: rest.OrNull(n.SentAt),
		CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt,
	}
}
