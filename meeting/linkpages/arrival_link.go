package linkpages

import (
	"strconv"
	"time"

	"punctual/meeting"
)

const arrivalPath = "/check-in"

// Arrival identifies a check-in link: one person's participation in a meeting, or the current
// meeting of a room, known only at its door.
type Arrival struct {
	MeetingID meeting.ID // 0: of the room
	Email     string     // of the participant
	RoomID    int64
	Until     time.Time // of the room: expiry of the code at its door
}

// ArrivalURL returns the address of the check-in page.
func (l *Links) ArrivalURL(a Arrival) string {
	return l.base + arrivalPath + "?token=" + l.arrivalToken(a)
}

func (l *Links) arrivalToken(a Arrival) string {
	b := appendInts(a.MeetingID, a.RoomID, max(0, a.Until.Unix()))
	return l.seal(forArrival, append(b, a.Email...))
}

func (l *Links) readArrival(token string) (a Arrival, ok bool) {
	b, ok := l.open(forArrival, token)
	if !ok {
		return a, false
	}
	var until int64
	b, ok = readInts(b, &a.MeetingID, &a.RoomID, &until)
	a.Until, a.Email = time.Unix(until, 0), string(b)
	return a, ok
}

// BookURL returns the address of the page on which a signed-in user books the room.
func (l *Links) BookURL(roomID int64) string {
	return l.base + "/?book=" + strconv.FormatInt(roomID, 10)
}
