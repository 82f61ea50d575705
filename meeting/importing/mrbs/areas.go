package mrbs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
	"punctual/meeting/policy"
)

type area struct {
	name, zone string
	loc        *time.Location
	periods    bool
	times      []span // of the periods; nil: they have none
	disabled   bool
}

// span is a period of a day, in minutes after midnight.
type span struct{ from, to int }

func (r *reader) readAreas() error {
	var missing, wrong []string
	r.table("area").All(func(row sqldump.Row) {
		a := &area{name: cmp.Or(strings.TrimSpace(row.Text("area_name")), "Area "+row.Text("id")), zone: cmp.Or(row.Text("timezone"), r.Timezone), disabled: row.Bool("disabled")}
		if a.zone == "" {
			missing = append(missing, a.name)
			return
		}
		loc, err := fault.Zone(a.zone)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s (%s is unknown)", a.name, a.zone))
			return
		}
		a.loc = loc
		if row.Bool("enable_periods") {
			a.periods, a.times = true, periodTimes(row.Text("periods"))
			if given, ok := r.Periods[fold(a.name)]; ok {
				if a.times = givenTimes(given); a.times == nil {
					wrong = append(wrong, a.name)
				}
			}
		}
		r.areas[row.Int("id")] = a
		r.data.Sites = append(r.data.Sites, moving.Site{Key: key(row.Int("id")), Name: a.name, Timezone: a.zone})
		r.lostRules(row, a)
	})
	if len(missing) > 0 {
		return fmt.Errorf("the database has no time zone of %s; give --timezone, the $timezone of MRBS's config.inc.php", strings.Join(missing, ", "))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("--periods of %s must be times in order, such as 08:00-08:45,08:50-09:35", strings.Join(wrong, ", "))
	}
	return nil
}

// givenTimes reads 08:00-08:45,08:50-09:35; nil if these are no periods.
func givenTimes(text string) (spans []span) {
	for _, part := range strings.Split(text, ",") {
		first, last, _ := strings.Cut(strings.TrimSpace(part), "-")
		from, ok1 := minutes(first)
		to, ok2 := minutes(last)
		if !ok1 || !ok2 || from >= to || len(spans) > 0 && from < spans[len(spans)-1].to {
			return nil
		}
		spans = append(spans, span{from, to})
	}
	return spans
}

// lostRules notes the rules of an area that cannot be imported.
func (r *reader) lostRules(row sqldump.Row, a *area) {
	about := "area " + a.name
	var quotas []string
	for _, per := range []string{"day", "week", "month", "year", "future"} {
		if row.Bool("max_per_" + per + "_enabled") {
			quotas = append(quotas, fmt.Sprintf("%s bookings per %s", row.Text("max_per_"+per), per))
		}
		if row.Bool("max_secs_per_" + per + "_enabled") {
			quotas = append(quotas, fmt.Sprintf("%s per %s", time.Duration(row.Int("max_secs_per_"+per))*time.Second, per))
		}
	}
	if len(quotas) > 0 {
		r.note(about, "its limits per person are not kept, because they count all its rooms together: %s. A room here can have a quota", strings.Join(quotas, ", "))
	}
	if row.Bool("max_delete_ahead_enabled") || row.Bool("min_delete_ahead_enabled") {
		r.note(about, "its limits on deleting are not kept; see booking.limits.last_change")
	}
	if text := strings.TrimSpace(row.Text("area_admin_email")); text != "" {
		r.note(about, "%s got mails about its bookings; people with role manager or admin decide here, see the approvers of a room", text)
	}
	if row.Bool("private_mandatory") {
		r.note(about, "all its bookings are private there; here each booking says so, also new ones")
	}
	if a.periods && a.times == nil {
		r.note(about, "it has periods without clock times, so its bookings cannot be placed: give --periods '%s=08:00-08:45,08:50-09:35,...', or enter the times in MRBS", a.name)
	}
	if a.periods && a.times != nil {
		r.note(about, "its periods become the clock times that they have")
	}
	if a.disabled {
		r.note(about, "it is disabled, so its rooms are inactive")
	}
}

// periodTimes reads {"Period 1": ["08:00", "08:45"]} in its order; nil if a period has no times.
func periodTimes(text string) (spans []span) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		if _, err := d.Token(); err != nil {
			return nil
		}
		var times []string
		if d.Decode(&times) != nil || len(times) != 2 {
			return nil
		}
		from, ok1 := minutes(times[0])
		to, ok2 := minutes(times[1])
		if !ok1 || !ok2 || from >= to || len(spans) > 0 && from < spans[len(spans)-1].to {
			return nil
		}
		spans = append(spans, span{from, to})
	}
	return spans
}

func minutes(text string) (int, bool) {
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil
}

// slot returns the slot of Unix times, which in an area with periods count minutes after noon.
func (a *area) slot(start, end int64) (clock.Slot, error) {
	s := clock.Slot{Start: time.Unix(start, 0).UTC(), End: time.Unix(end, 0).UTC()}
	if !a.periods {
		return s, nil
	}
	if a.times == nil {
		return s, fmt.Errorf("the periods of area %s have no clock times", a.name)
	}
	from, to := s.Start.In(a.loc), s.End.In(a.loc)
	first, last := from.Hour()*60+from.Minute()-12*60, to.Hour()*60+to.Minute()-12*60-1
	if first < 0 || last < 0 || first >= len(a.times) || last >= len(a.times) {
		return s, fmt.Errorf("area %s has %d periods, the booking is in period %d to %d", a.name, len(a.times), first+1, last+1)
	}
	at := func(day time.Time, minute int) time.Time {
		y, m, d := day.Date()
		return clock.InstantOrShift(time.Date(y, m, d, 0, minute, 0, 0, time.UTC), a.loc).UTC()
	}
	return clock.Slot{Start: at(from, a.times[first].from), End: at(to, a.times[last].to)}, nil
}

func (r *reader) readRooms() {
	rules := map[int64]moving.Room{}
	r.table("area").All(func(row sqldump.Row) { rules[row.Int("id")] = r.rules(row) })
	standard := []string{"id", "disabled", "area_id", "room_name", "sort_key", "description", "capacity", "room_admin_email", "invalid_types", "custom_html"}
	columns := custom(r.table("room"), standard)
	r.table("room").All(func(row sqldump.Row) {
		area := r.areas[row.Int("area_id")]
		name := cmp.Or(strings.TrimSpace(row.Text("room_name")), "Room "+row.Text("id"))
		if area == nil {
			r.note("room "+name, "its area does not exist, so neither the room nor its bookings come over")
			return
		}
		room := rules[row.Int("area_id")]
		room.Key, room.Site, room.Name, room.Capacity = key(row.Int("id")), key(row.Int("area_id")), name, int(row.Int("capacity"))
		room.Inactive = row.Bool("disabled") || area.disabled
		for _, part := range strings.FieldsFunc(row.Text("description"), func(c rune) bool { return c == ';' || c == ',' || c == '\n' }) {
			part = strings.TrimSpace(part)
			if floor, ok := strings.CutPrefix(strings.ToLower(part), "floor "); ok && room.Floor == "" {
				room.Floor = strings.TrimSpace(part[len(part)-len(floor):])
			} else if part != "" {
				room.Features = append(room.Features, part)
			}
		}
		for _, column := range columns {
			label := strings.ReplaceAll(column, "_", " ")
			switch value := strings.TrimSpace(row.Text(column)); value {
			case "", "0":
			case "1":
				room.Features = append(room.Features, label)
			default:
				room.Features = append(room.Features, label+": "+value)
			}
		}
		if text := strings.TrimSpace(row.Text("room_admin_email")); text != "" {
			r.note("room "+name, "%s got mails about its bookings; see the approvers of the room", text)
		}
		if text := strings.TrimSpace(row.Text("invalid_types")); text != "" && text != "[]" {
			r.note("room "+name, "it does not take bookings of the types %s; here a meeting type names the rooms that take it", text)
		}
		r.rooms[row.Int("id")] = area
		r.data.Rooms = append(r.data.Rooms, room)
	})
}

// rules are those that an area gives its rooms.
func (r *reader) rules(row sqldump.Row) moving.Room {
	seconds := func(name string) time.Duration {
		if !row.Bool(name + "_enabled") {
			return 0
		}
		return max(0, time.Duration(row.Int(name+"_secs"))*time.Second)
	}
	room := moving.Room{ApprovalRequired: row.Bool("approval_enabled"), MinNotice: seconds("min_create_ahead"), MaxAdvance: seconds("max_create_ahead")}
	a := r.areas[row.Int("id")]
	if a == nil || a.periods {
		return room
	}
	room.MaxDuration = seconds("max_duration")
	const day = 24 * 60
	step := int(row.Int("resolution") / 60)
	from := int(row.Int("morningstarts")*60 + row.Int("morningstarts_minutes"))
	to := int(row.Int("eveningends")*60+row.Int("eveningends_minutes")) + step // the evening is the start of the last slot
	if step > 0 && day%step == 0 && from%step == 0 {
		room.Step = time.Duration(step) * time.Minute
	}
	switch {
	case to == from, from == 0 && to >= day:
	case to > day || to < from:
		r.note("area "+a.name, "its day goes past midnight; its rooms are open at all times here")
	case from >= 0 && from < to:
		text := func(m int) string { return fmt.Sprintf("%02d:%02d", m/60, m%60) }
		room.OpeningHours = []policy.OpeningHours{{Days: []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, From: text(from), To: text(to)}}
	}
	return room
}
