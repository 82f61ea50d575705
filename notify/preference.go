package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/meeting/clock"
)

// OwnMeeting is the kind under which people choose how they learn about changes of meetings that
// they organize: the invitations, changes and cancellations that an organizer receives. No
// [Notification] has this kind.
const OwnMeeting Kind = "own_meeting"

// Choosable are the kinds for which people choose channels, in the order in which they are listed.
// All other kinds are always sent, such as password links.
func Choosable() []Kind {
	return []Kind{
		Invitation, Change, Cancellation, OwnMeeting, Reminder, Declined, Released,
		Decision, ApprovalRequest, ApprovalReminder, Escalation, WaitlistOffer, WaitlistBooked, WaitlistExpired,
	}
}

// GuestChoosable are the kinds that people without an account may switch off.
func GuestChoosable() []Kind { return []Kind{Invitation, Change, Cancellation, Reminder, Released} }

// Postable are the kinds that can be posted in the channel of a room or a site, in the order in which they are listed.
// An invitation is the news that a meeting is booked. A rejected request is posted where requests are.
func Postable() []Kind {
	return []Kind{Invitation, Change, Cancellation, Released, Reminder, ApprovalRequest, FaultReport}
}

// PostedByDefault are the [Postable] kinds of a channel for which none were chosen.
func PostedByDefault() []Kind { return []Kind{Invitation, Change, Cancellation, Released} }

// Channels returns all channels.
func Channels() []Channel { return []Channel{Email, SMS, Chat} }

// Choice returns the kind under which the recipient chooses channels for n. ok is false if n is
// always sent, or if its recipient is a channel. It knows an organizer only by the email address in n.To.
func (n Notification) Choice() (kind Kind, ok bool) {
	kind = n.Kind
	if n.changesCalendars() && n.Facts.Organizer.Email != "" && strings.EqualFold(n.To.Address, n.Facts.Organizer.Email) {
		kind = OwnMeeting
	}
	return kind, slices.Contains(Choosable(), kind) && !n.Posted()
}

// changesCalendars reports whether n carries an event for the recipient's calendar.
func (n Notification) changesCalendars() bool {
	return n.Kind == Invitation || n.Kind == Change || n.Kind == Cancellation
}

// Choices are the channels that a person chose, by kind. A kind that is missing has the default of
// the installation. A kind without channels is switched off.
type Choices map[Kind][]Channel

// NotEmail is the only element of a choice by the link of a mail, if neither the person nor an admin chose channels:
// no mails of a kind, but what is recorded for other channels. It is no channel.
const NotEmail Channel = "not_email"

// Wishes are what [Policy.Decide] needs to know of a person.
type Wishes struct {
	Choices  Choices
	Quiet    QuietHours // zero: none
	Timezone string     // of the quiet hours; unknown: UTC
	Email    string     // "": not known
	Phone    string     // "": not known
	Chat     string     // [ChatAddress]; "": none
}

// Address returns the address of the person on a channel; "" means none.
func (w Wishes) Address(c Channel) string {
	switch c {
	case SMS:
		return w.Phone
	case Chat:
		return w.Chat
	}
	return w.Email
}

// Policy is what admins decide about notifications.
type Policy struct {
	Defaults Choices   // for people who did not choose; a kind that is missing is sent on the channel on which it was recorded
	Required []Kind    // that nobody can switch off
	Choices  []Channel // that people may choose
	Off      []Channel // channels that the installation does not offer
}

// Requires reports whether a kind cannot be switched off.
func (p Policy) Requires(k Kind) bool { return slices.Contains(p.Required, k) }

// Open returns the channels that people may choose.
func (p Policy) Open() []Channel {
	return slices.DeleteFunc(slices.Clone(p.Choices), func(c Channel) bool { return slices.Contains(p.Off, c) })
}

// Default returns the channels of a kind for people who did not choose. set is false if the channel
// is that on which a notification was recorded.
func (p Policy) Default(k Kind) (cs []Channel, set bool) {
	cs, set = p.Defaults[k]
	if set && len(cs) == 0 && p.Requires(k) {
		return nil, false
	}
	return cs, set
}

// chosen returns the channels of a kind for one person. set is false if nobody chose any.
func (p Policy) chosen(k Kind, w Wishes) (cs []Channel, own, set bool) {
	cs, ok := w.Choices[k]
	if none := len(cs) == 0 || slices.Contains(cs, NotEmail); ok && !(none && p.Requires(k)) {
		return cs, true, true
	}
	cs, set = p.Default(k)
	return cs, false, set
}

// off reports whether a person receives no notifications of a kind.
func (p Policy) off(k Kind, w Wishes) bool {
	cs, _, set := p.chosen(k, w)
	return set && (len(cs) == 0 || slices.Contains(cs, NotEmail))
}

// QuietReason is the LastError of notifications that wait for the end of quiet hours.
const QuietReason = "waits for the end of the recipient's quiet hours"

// Verdict says what happens to a notification.
type Verdict struct {
	Skip  string    // why it is not sent; "": it is sent
	Until time.Time // when it is sent; zero: now
	Also  []Channel // channels on which the recipient is notified too, or instead
	As    Kind      // of the notifications on these channels
}

// Decide returns what happens at now to a notification for a person. The rules, in this order:
//
//   - Kinds that are not [Choosable] are sent.
//   - A person's choice of no channels skips the notification, unless the kind is required.
//   - A person's choice of channels replaces the channel of the notification. If the person has an
//     address on none of them, or they are switched off or may no longer be chosen, the channel stays.
//   - Without a choice, the defaults of the installation apply in the same way.
//   - A change that replaces an unsent invitation counts as an invitation, unless the person wants only changes.
//   - What is sent waits for the end of the person's quiet hours, unless it is urgent.
//
// A resent notification does not wait, and adds no other channels.
func (p Policy) Decide(n Notification, w Wishes, now time.Time) Verdict {
	mail := n
	if n.Channel != Email && w.Email != "" { // organizers are known by their email address
		mail.To.Address = w.Email
	}
	kind, ok := mail.Choice()
	if !ok {
		return Verdict{}
	}
	v := Verdict{As: n.Kind}
	if kind == Change && n.Uninvited && !p.off(Invitation, w) {
		kind, v.As = Invitation, Invitation
	}
	first := n.State == Pending && n.Attempts == 0 && n.Version <= 1
	chosen, own, set := p.chosen(kind, w)
	if slices.Contains(chosen, NotEmail) {
		if n.Channel == Email {
			return Verdict{Skip: fmt.Sprintf("not sent: the recipient chose no mails of this kind (%s)", kind)}
		}
		set = false
	}
	if set {
		who := "the recipient chose"
		if !own {
			who = "notifications.defaults has"
		}
		if len(chosen) == 0 {
			return Verdict{Skip: fmt.Sprintf("not sent: %s no notifications of this kind (%s)", who, kind)}
		}
		reachable := slices.DeleteFunc(slices.Clone(chosen), func(c Channel) bool {
			return c != n.Channel && (w.Address(c) == "" || slices.Contains(p.Off, c) || own && !slices.Contains(p.Choices, c))
		})
		if len(reachable) > 0 {
			if first {
				v.Also = slices.DeleteFunc(slices.Clone(reachable), func(c Channel) bool { return c == n.Channel })
			}
			if !slices.Contains(reachable, n.Channel) {
				v.Skip = fmt.Sprintf("not sent: %s %s for this kind (%s)", who, list(reachable), kind)
				return v
			}
		}
	}
	if first {
		if until := w.Quiet.Ends(now, zoneOf(w.Timezone)); !until.IsZero() && !n.urgent(now, until) {
			v.Until = until
		}
	}
	return v
}

func list(cs []Channel) string {
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// soon is how long after the end of quiet hours a meeting must start for its notifications to wait.
const soon = 2 * time.Hour

// urgent reports whether n cannot wait until the end of quiet hours. Reminders, offers of the waiting
// list, and whatever expires or asks for a decision before the end or soon after it cannot.
// Neither can notifications of a meeting that starts, or would have started, by then and is not over.
func (n Notification) urgent(now, until time.Time) bool {
	if n.Kind == Reminder || n.Kind == WaitlistOffer || n.Kind == ApprovalReminder {
		return true
	}
	f, limit := n.Facts, until.Add(soon)
	if !n.Expires.IsZero() && !n.Expires.After(until) || f.Deadline != nil && f.Deadline.Before(limit) {
		return true
	}
	comes := func(start, end time.Time) bool { return start.Before(limit) && end.After(now) }
	if comes(f.Start, f.End) || f.Was != nil && comes(f.Was.Start, f.Was.End) {
		return true
	}
	if s := f.Series; s != nil {
		length := f.End.Sub(f.Start)
		for _, d := range s.Dates {
			if comes(d, d.Add(length)) {
				return true
			}
		}
		for _, o := range s.Cancelled {
			if comes(o.Start, o.End) {
				return true
			}
		}
	}
	return false
}

// QuietHours are a daily span of local time, in minutes after midnight. It may cross midnight. The
// zero value is no span.
type QuietHours struct{ From, Until int }

// None reports whether there are no quiet hours.
func (q QuietHours) None() bool { return q.From == q.Until }

// Ends returns when the quiet hours end that contain now, or zero outside of them. If clocks skip the
// end, they end at the change. If clocks show it twice, they end at the first pass.
func (q QuietHours) Ends(now time.Time, zone *time.Location) time.Time {
	if q.None() {
		return time.Time{}
	}
	today := midnight(now.In(zone))
	for _, day := range []time.Time{today.AddDate(0, 0, -1), today} {
		last := day
		if q.Until < q.From {
			last = day.AddDate(0, 0, 1)
		}
		from, until := onClock(day, q.From, zone), onClock(last, q.Until, zone)
		if !now.Before(from) && now.Before(until) {
			return until.UTC()
		}
	}
	return time.Time{}
}

// midnight returns the date of t as wall-clock time.
func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// onClock returns when clocks in a zone show a time of a day, given as its midnight.
func onClock(day time.Time, minute int, zone *time.Location) time.Time {
	return clock.InstantOrChange(day.Add(time.Duration(minute)*time.Minute), zone)
}

// On returns a copy of n for another channel of the same person. Its key is that of a notification
// which was recorded for this channel, so that the person is notified once on each.
func (n Notification) On(c Channel, address string) Notification {
	key, own := strings.CutSuffix(n.DedupeKey, ":"+string(n.Channel)+":"+strings.ToLower(n.To.Address))
	if !own {
		key = n.DedupeKey
	}
	copied := Notification{
		DedupeKey: key + ":" + string(c) + ":" + strings.ToLower(address),
		Kind:      n.Kind, Channel: c, MeetingID: n.MeetingID, To: n.To, Facts: n.Facts,
		Due: n.Due, Expires: n.Expires, State: Pending, Version: 1,
	}
	copied.To.Address = address
	return copied
}
