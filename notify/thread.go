package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
)

// Thread identifies everything that one recipient receives on one channel about one meeting or
// series, or all replies of rooms about one event of another calendar program. Notifications of a thread are sent one at a time, in the order in which they were
// created. "" means no thread.
func (n Notification) Thread() string {
	about := ""
	switch {
	case n.Facts.Reply != nil: // meetings come and go with the versions of an event
		about = "event-" + digest(n.Facts.Reply.Event)
	case n.Facts.SeriesFirst != 0: // the meeting became a series
		about = "meeting-" + strconv.FormatInt(n.Facts.SeriesFirst, 10)
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

const (
	wholeThread = 0
	someDates   = -1
)

// Scope returns what the calendar of n covers: 0 for its whole thread, -1 for some dates of a
// series, or the ID of the single meeting; of a reply, a number for its room and date. Only invitations,
// changes, cancellations and replies cover anything. A newer notification covers an older one if it covers
// the whole thread, or has the same positive scope.
func (n Notification) Scope() int64 {
	s := n.Facts.Series
	switch r := n.Facts.Reply; {
	case r != nil:
		sum := fnv.New64a()
		io.WriteString(sum, strings.ToLower(r.From)+" "+r.Date+r.Method)
		return int64(sum.Sum64()>>1 | 1)
	case s != nil && (len(s.Cancelled) > 0 || s.Part == "added" || n.Posted()):
		return someDates
	case s == nil && n.Facts.SeriesID != 0:
		return cmp.Or(n.MeetingID, someDates)
	}
	return wholeThread
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// Organizer returns the email address, in lower case, of the user on whose behalf n is sent, for
// quotas and fairness. "" means nobody.
func (n Notification) Organizer() string { return strings.ToLower(n.Facts.Organizer.Email) }
