package notify

import (
	"cmp"
	"strconv"
	"strings"
)

// Thread names what n is in line with: all that one recipient is to read by one channel about
// one meeting, or one series. Notifications of a thread are sent one after another, in the order
// in which they were recorded. Empty: n is in no line.
func (n Notification) Thread() string {
	about := ""
	switch {
	case n.Facts.SeriesID != 0:
		about = "series-" + strconv.FormatInt(n.Facts.SeriesID, 10)
	case n.MeetingID != 0:
		about = "meeting-" + strconv.FormatInt(n.MeetingID, 10)
	case n.Facts.WaitID != 0:
		about = "wait-" + strconv.FormatInt(n.Facts.WaitID, 10)
	default:
		return ""
	}
	return string(n.Channel) + " " + about + " " + strings.ToLower(n.To.Address)
}

// Scopes of a notification that no single meeting is.
const (
	wholeThread = 0
	someDates   = -1
)

// Scope is what the calendar of n covers: 0 all of its thread, -1 some dates of a series, else
// the ID of the one date. Only invitations, changes and cancellations cover anything. A newer
// one covers an older one if it covers the whole thread, or the same single date.
func (n Notification) Scope() int64 {
	s := n.Facts.Series
	switch {
	case s != nil && (len(s.Cancelled) > 0 || s.Part == "added"):
		return someDates
	case s == nil && n.Facts.SeriesID != 0:
		return cmp.Or(n.MeetingID, someDates)
	}
	return wholeThread
}

// CalendarKinds are the kinds of notifications that a newer one of them may cover.
func CalendarKinds() []Kind { return []Kind{Invitation, Change, Cancellation} }

// Organizer is the e-mail address, in lower case, of the user on whose behalf n is sent: its
// quota counts and its turn comes by this. Empty: nobody's.
func (n Notification) Organizer() string { return strings.ToLower(n.Facts.Organizer.Email) }
