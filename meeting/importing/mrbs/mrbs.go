// Package mrbs reads the database of a Meeting Room Booking System (MRBS).
package mrbs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
	"punctual/meeting/policy"
)

// Options add what the database does not contain.
type Options struct {
	Prefix    string            // of the tables; empty: found by their names
	Timezone  string            // IANA, of areas that name none: $timezone of config.inc.php
	Types     map[string]string // names of types by letter: $vocab_override of config.inc.php
	Periods   map[string]string // clock times of the periods by area in lower case, such as 08:00-08:45,08:50-09:35
	JoinRooms bool              // bookings of one person with equal title and times become one meeting with several rooms
}

// tables are those that are read, without their prefix.
var tables = []string{"area", "room", "entry", "repeat", "users", "participants"}

// Want reports whether a table may be one of MRBS's.
func Want(name string) bool {
	return slices.ContainsFunc(tables, func(t string) bool { return strings.HasSuffix(name, t) })
}

// letters are the types that MRBS has from the start.
var letters = map[string]string{"I": "Internal", "E": "External"}

// Read converts the tables of MRBS to data.
func Read(all map[string]*sqldump.Table, o Options) (*moving.Data, error) {
	prefix, err := prefixOf(all, o.Prefix)
	if err != nil {
		return nil, err
	}
	r := &reader{
		Options: o, table: func(name string) *sqldump.Table { return all[prefix+name] },
		data: &moving.Data{Program: "MRBS"}, areas: map[int64]*area{}, rooms: map[int64]*area{}, logins: map[string]bool{}, uids: map[string]bool{},
	}
	if err := r.readAreas(); err != nil {
		return nil, err
	}
	r.readRooms()
	r.readPeople()
	r.readFields()
	r.readSeries()
	r.readParticipants()
	r.readEntries()
	r.readTypes()
	return r.data, nil
}

func prefixOf(all map[string]*sqldump.Table, given string) (string, error) {
	var found []string
	for name := range all {
		prefix, ok := strings.CutSuffix(name, "entry")
		if ok && all[prefix+"area"] != nil && all[prefix+"room"] != nil && all[name].Has("create_by") {
			found = append(found, prefix)
		}
	}
	slices.Sort(found)
	switch {
	case given != "" && slices.Contains(found, given):
		return given, nil
	case given != "":
		return "", fmt.Errorf("there are no tables %sarea, %sroom and %sentry", given, given, given)
	case len(found) == 0:
		return "", fmt.Errorf("these are no tables of MRBS: area, room and entry are missing")
	case len(found) > 1:
		return "", fmt.Errorf("there are several installations, with tables %sentry; name one with --prefix", strings.Join(found, "entry, "))
	}
	return found[0], nil
}

type reader struct {
	Options
	table  func(string) *sqldump.Table
	data   *moving.Data
	areas  map[int64]*area
	rooms  map[int64]*area // by room
	logins map[string]bool
	uids   map[string]bool // taken
	used   []string        // types

	fields       map[string]meeting.FieldKind // by column
	series       map[string]*moving.Series
	byUID        map[string]string // series by UID
	participants map[int64][]moving.Attendee
}

type area struct {
	name, zone string
	loc        *time.Location
	periods    bool
	times      []span // of the periods; nil: they have none
	disabled   bool
}

// span is a period of a day, in minutes after midnight.
type span struct{ from, to int }

func (r *reader) note(about, format string, args ...any) {
	r.data.Notes = append(r.data.Notes, moving.Note{About: about, Message: fmt.Sprintf(format, args...)})
}

func key(id int64) string { return strconv.FormatInt(id, 10) }

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

func (r *reader) readPeople() {
	r.table("users").All(func(row sqldump.Row) {
		login := row.Text("name")
		if login == "" || r.logins[fold(login)] {
			return
		}
		r.logins[fold(login)] = true
		p := moving.Person{Key: fold(login), Name: cmp.Or(strings.TrimSpace(row.Text("display_name")), login), Email: strings.TrimSpace(row.Text("email")), Role: meeting.Member}
		if row.Int("level") >= 2 {
			p.Role = meeting.Admin
		}
		if row.Int("level") <= 0 {
			r.note("person "+login, "may only read there; here everyone who signs in may book")
		}
		r.data.People = append(r.data.People, p)
	})
}

// fold makes logins equal that MRBS takes for one.
func fold(login string) string { return strings.ToLower(strings.TrimSpace(login)) }

// person returns the key of a login, whose user may have been deleted.
func (r *reader) person(login string) string {
	login = strings.TrimSpace(login)
	k := cmp.Or(fold(login), "nobody")
	if !r.logins[k] {
		r.logins[k] = true
		p := moving.Person{Key: k, Name: cmp.Or(login, "Nobody"), Role: meeting.Member, Left: true}
		if fault.IsEmail(login) { // some sign in with their address
			p.Email = login
		}
		r.data.People = append(r.data.People, p)
	}
	return k
}

var standardEntry = []string{
	"id", "start_time", "end_time", "entry_type", "repeat_id", "room_id", "timestamp", "create_by", "modified_by", "name", "type", "description", "status",
	"reminded", "info_time", "info_user", "info_text", "ical_uid", "ical_sequence", "ical_recur_id", "allow_registration", "registrant_limit",
	"registrant_limit_enabled", "registration_opens", "registration_opens_enabled", "registration_closes", "registration_closes_enabled",
	"private", // of old versions
}

func custom(t *sqldump.Table, standard []string) (columns []string) {
	if t == nil {
		return nil
	}
	for _, c := range t.Columns {
		if !slices.Contains(standard, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// readFields finds custom fields, and what they hold by their values.
func (r *reader) readFields() {
	r.fields = map[string]meeting.FieldKind{}
	for _, column := range custom(r.table("entry"), standardEntry) {
		yesNo, number, some := true, true, false
		for _, t := range []string{"entry", "repeat"} {
			r.table(t).All(func(row sqldump.Row) {
				value := strings.TrimSpace(row.Text(column))
				if value == "" {
					return
				}
				some = true
				yesNo = yesNo && (value == "0" || value == "1")
				_, err := strconv.ParseFloat(value, 64)
				number = number && err == nil
			})
		}
		if !some {
			continue
		}
		kind := meeting.FieldText
		switch {
		case yesNo:
			kind = meeting.FieldYesNo
		case number:
			kind = meeting.FieldNumber
		}
		r.fields[column] = kind
		label := []rune(strings.ReplaceAll(column, "_", " "))
		r.data.Fields = append(r.data.Fields, moving.Field{Name: fieldName(column), Label: strings.ToUpper(string(label[:1])) + string(label[1:]), Kind: kind})
	}
}

// fieldName makes a column the name of a custom field.
func fieldName(column string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToLower(column))
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "f_" + name
	}
	return name[:min(len(name), 40)]
}

// statuses of MRBS, which are bits.
const (
	private   = 1
	awaiting  = 2
	tentative = 4
)

// content is what entries and series have in common.
func (r *reader) content(row sqldump.Row) moving.Content {
	status := row.Int("status")
	letter := row.Text("type")
	if letter != "" && !slices.Contains(r.used, letter) {
		r.used = append(r.used, letter)
	}
	c := moving.Content{
		Rooms: []string{key(row.Int("room_id"))}, Title: row.Text("name"), Description: row.Text("description"), Organizer: r.person(row.Text("create_by")),
		Private: status&private != 0 || row.Bool("private"), Pending: status&awaiting != 0, Type: letter, Fields: map[string]any{},
	}
	if status&tentative != 0 {
		c.Extra = append(c.Extra, moving.Extra{Label: "Tentative", Value: "yes"})
	}
	if text := strings.TrimSpace(row.Text("info_text")); text != "" {
		c.Extra = append(c.Extra, moving.Extra{Label: "Asked by " + row.Text("info_user"), Value: text})
	}
	for column, kind := range r.fields {
		value := strings.TrimSpace(row.Text(column))
		switch {
		case value == "", kind == meeting.FieldYesNo && value == "0":
		case kind == meeting.FieldYesNo:
			c.Fields[fieldName(column)] = true
		default:
			c.Fields[fieldName(column)] = value
		}
	}
	return c
}

func (r *reader) readSeries() {
	r.series, r.byUID = map[string]*moving.Series{}, map[string]string{}
	r.table("repeat").All(func(row sqldump.Row) {
		a := r.rooms[row.Int("room_id")]
		if a == nil {
			return
		}
		slot, err := a.slot(row.Int("start_time"), row.Int("end_time"))
		if err != nil {
			return // its entries are reported
		}
		id := row.Int("id")
		s := &moving.Series{
			Content: r.content(row), Key: key(id), Ref: "series " + key(id), UID: cmp.Or(row.Text("ical_uid"), "mrbs-repeat-"+key(id)), Zone: a.zone,
			Start: clock.Wall(slot.Start, a.loc), End: clock.Wall(slot.End, a.loc),
		}
		s.Rule = rule(row, s.Start, a.loc)
		if r.uids[s.UID] {
			s.UID += "#repeat-" + key(id)
		}
		r.uids[s.UID] = true
		r.series[s.Key], r.byUID[row.Text("ical_uid")] = s, s.Key
		r.data.Series = append(r.data.Series, *s)
	})
}

// rule returns the rule of a row of repeat; empty if there is none for it.
func rule(row sqldump.Row, start time.Time, loc *time.Location) string {
	var parts []string
	days := []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}
	switch row.Int("rep_type") {
	case 1:
		parts = append(parts, "FREQ=DAILY")
	case 2, 6: // 6: every n weeks, of old versions
		var on []string
		for i, c := range row.Text("rep_opt") {
			if c == '1' && i < len(days) {
				on = append(on, days[i])
			}
		}
		if len(on) == 0 {
			on = []string{days[start.Weekday()]}
		}
		// Weeks count from the weekday of the start.
		parts = append(parts, "FREQ=WEEKLY", "WKST="+days[start.Weekday()], "BYDAY="+strings.Join(on, ","))
	case 3, 5:
		parts = append(parts, "FREQ=MONTHLY")
		relative, day := strings.ToUpper(strings.TrimSpace(row.Text("month_relative"))), row.Int("month_absolute")
		switch {
		case relative != "":
			parts = append(parts, "BYDAY="+relative)
		case row.Int("rep_type") == 5: // the same weekday of the month, of old versions
			parts = append(parts, fmt.Sprintf("BYDAY=%d%s", (start.Day()-1)/7+1, days[start.Weekday()]))
		default:
			if day == 0 {
				day = int64(start.Day())
			}
			parts = append(parts, monthDay(day))
		}
	case 4:
		parts = append(parts, "FREQ=YEARLY")
	default:
		return ""
	}
	if n := max(row.Int("rep_interval"), row.Int("rep_num_weeks")); n > 1 {
		parts = append(parts, fmt.Sprintf("INTERVAL=%d", n))
	}
	if end := row.Int("end_date"); end != 0 { // the last date, at any time of day
		y, m, d := time.Unix(end, 0).In(loc).Date()
		last := clock.InstantOrShift(time.Date(y, m, d, 23, 59, 59, 0, time.UTC), loc)
		parts = append(parts, "UNTIL="+last.UTC().Format("20060102T150405Z"))
	}
	return strings.Join(parts, ";")
}

// monthDay is a day of the month, or the last one of a shorter month.
func monthDay(day int64) string {
	if day <= 28 {
		return fmt.Sprintf("BYMONTHDAY=%d", day)
	}
	var all []string
	for d := int64(28); d <= day; d++ {
		all = append(all, strconv.FormatInt(d, 10))
	}
	return "BYMONTHDAY=" + strings.Join(all, ",") + ";BYSETPOS=-1"
}

func (r *reader) readParticipants() {
	r.participants = map[int64][]moving.Attendee{}
	r.table("participants").All(func(row sqldump.Row) {
		login := row.Text("username")
		if login == "" {
			return
		}
		entry := row.Int("entry_id")
		r.participants[entry] = append(r.participants[entry], moving.Attendee{Key: r.person(login), Response: meeting.Accepted})
	})
}

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

func (r *reader) readTypes() {
	slices.Sort(r.used)
	for _, letter := range r.used {
		r.data.Types = append(r.data.Types, moving.Type{Key: letter, Name: cmp.Or(r.Types[letter], letters[letter], "Type "+letter)})
	}
}
