package linkpages

import (
	"strconv"
	"time"

	"punctual/meeting"
)

const arrivalPath = "/check-in"

// Arrival is what a link to check in names: one person's place in a meeting, or whatever takes
// place in a room, which only who stands at its door can know.
type Arrival struct {
	MeetingID meeting.ID // 0: of the room
	Email     string     // of the participant
	RoomID    int64
	Until     time.Time // of the room: then the code at its door is another one
}

// ArrivalURL is the page on which one checks in.
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

// BookURL is the page on which somebody who signs in books the room.
func (l *Links) BookURL(roomID int64) string {
	return l.base + "/?book=" + strconv.FormatInt(roomID, 10)
}
