package mrbs

import (
	"cmp"
	"slices"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
)

func (r *reader) readEntries() {
	limited := 0
	r.table("entry").All(func(row sqldump.Row) {
		id := row.Int("id")
		b := moving.Booking{Content: r.content(row), ID: id, Ref: "entry " + key(id)}
		b.Attendees = r.participants[id]
		if row.Bool("allow_registration") {
			limited++
		}
		a := r.rooms[row.Int("room_id")]
		if a == nil {
			b.Slot = clock.Slot{Start: time.Unix(row.Int("start_time"), 0).UTC(), End: time.Unix(row.Int("end_time"), 0).UTC()}
			b.Zone = cmp.Or(r.Timezone, "UTC")
			r.data.Bookings = append(r.data.Bookings, b) // reported: its room is unknown
			return
		}
		b.Zone = a.zone
		var err error
		if b.Slot, err = a.slot(row.Int("start_time"), row.Int("end_time")); err != nil {
			b.Problem = err.Error()
		}
		r.join(&b, row, a)
		r.data.Bookings = append(r.data.Bookings, b)
	})
	if limited > 0 {
		r.note("registration", "%d bookings allow people to register; who did is invited and has accepted, limits and deadlines are not kept", limited)
	}
	if r.JoinRooms {
		r.joinRooms()
	}
}

// join ties an entry to its series. MRBS 1.11.6 and later cut the tie of an edited date, and leave the
// UID and the original start.
func (r *reader) join(b *moving.Booking, row sqldump.Row, a *area) {
	uid, original := row.Text("ical_uid"), row.Text("ical_recur_id")
	series := ""
	if n := row.Int("repeat_id"); n != 0 {
		series = key(n)
	} else if original != "" {
		series = r.byUID[uid]
	}
	if series != "" && r.series[series] != nil {
		b.Series = series
		if at, err := time.Parse("20060102T150405Z", original); err == nil {
			b.Place = at
			if a.periods {
				if slot, err := a.slot(at.Unix(), at.Unix()+60); err == nil {
					b.Place = slot.Start
				}
			}
		}
	}
	switch {
	case uid == "":
		uid = "mrbs-entry-" + key(b.ID)
	case b.Series != "" || original != "":
		uid += "#" + cmp.Or(original, "entry-"+key(b.ID))
	}
	if r.uids[uid] {
		uid += "#entry-" + key(b.ID)
	}
	r.uids[uid] = true
	b.UID = uid
}

// joinRooms makes one booking of those that one person made for several rooms at once.
func (r *reader) joinRooms() {
	type same struct {
		person, title, description, kind string
		start, end                       time.Time
		private, pending                 bool
	}
	first := map[same]int{}
	var kept []moving.Booking
	for _, b := range r.data.Bookings {
		k := same{b.Organizer, b.Title, b.Description, b.Type, b.Slot.Start, b.Slot.End, b.Private, b.Pending}
		at, found := first[k]
		if !found || b.Series != "" || len(b.Rooms) == 0 || slices.Contains(kept[at].Rooms, b.Rooms[0]) {
			if b.Series == "" && len(b.Rooms) > 0 && !found {
				first[k] = len(kept)
			}
			kept = append(kept, b)
			continue
		}
		kept[at].Rooms = append(kept[at].Rooms, b.Rooms...)
	}
	r.data.Bookings = kept
}
