package meeting

import (
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// Blackout is a time at which a room, or every room of a site, takes no meetings. Those that
// were booked before stay.
type Blackout struct {
	ID        int64
	RoomID    int64      // 0: of a site
	SiteID    int64      // 0: of a room
	Slot      clock.Slot // UTC, to the microsecond
	Reason    string
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// covers reports whether the blackout closes the room.
func (b *Blackout) covers(r *Room) bool {
	return b.RoomID == r.ID || b.SiteID != 0 && b.SiteID == r.SiteID
}

// checkBlackouts adds a fault for each blackout that overlaps what is new in the wish. If only the
// end is later, that is the added time.
func (r *Room) checkBlackouts(w Wish, v *fault.List) {
	location, added := w.added()
	if added.Empty() {
		return
	}
	loc := clock.ZoneOrUTC(r.Zone)
	for _, b := range r.Blackouts {
		if !b.Slot.Overlaps(added) {
			continue
		}
		why := ""
		if b.Reason != "" {
			why = ": " + b.Reason
		}
		figures := Figures{RoomID: r.ID, Span: fault.Span(b.Slot), BlackoutID: b.ID, Reason: b.Reason}
		v.Violate(location, "blackout", figures, "%s is closed from %s to %s%s", r.Name, wallClock(b.Slot.Start, loc), wallClock(b.Slot.End, loc), why)
	}
}

// judgement is the state of a room's blackouts that a meeting was judged by.
type judgement struct{ roomID, closures int64 }

// Judged returns the [Room.Closures] of the room with which the meeting's time and rooms were checked
// since it was read. A store returns [ErrRoomsChanged] if the room has another number when it saves
// them. ok is false if they were not checked.
func (m *Meeting) Judged(roomID int64) (closures int64, ok bool) {
	for _, j := range m.judged {
		if j.roomID == roomID {
			return j.closures, true
		}
	}
	return 0, false
}
