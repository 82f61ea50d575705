// Package librebooking reads the database of LibreBooking, and of its predecessor Booked Scheduler.
package librebooking

import (
	"cmp"
	"fmt"
	"html"
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

// tables are those that are read.
var tables = []string{
	"resources", "schedules", "layouts", "time_blocks", "users", "user_groups", "group_roles", "roles", "reservation_series", "reservation_instances",
	"reservation_resources", "reservation_users", "reservation_guests", "custom_attributes", "custom_attribute_values", "resource_types",
	"blackout_instances", "quotas", "reservation_accessories", "accessories", "reservation_files",
}

// Want reports whether a table is one that [Read] uses.
func Want(name string) bool { return slices.Contains(tables, name) }

// Numbers that LibreBooking uses.
const (
	seriesDeleted = 2
	seriesPending = 3

	levelOwner       = 1
	levelParticipant = 2

	categoryReservation = 1
	categoryResource    = 4

	displayCheckbox = 4
	displaySelect   = 3

	roleApplicationAdmin = 2
	roleResourceAdmin    = 3
	roleScheduleAdmin    = 4

	blockReservable = 1

	statusInactive      = 3 // of users
	resourceUnavailable = 0
	resourceHidden      = 2
)

// Read converts the tables of LibreBooking to data.
func Read(all map[string]*sqldump.Table) (*moving.Data, error) {
	for _, name := range []string{"resources", "schedules", "users", "reservation_series", "reservation_instances"} {
		if all[name] == nil {
			return nil, fmt.Errorf("these are no tables of LibreBooking: %s is missing", name)
		}
	}
	r := &reader{all: all, data: &moving.Data{Program: "LibreBooking"}, zones: map[int64]string{}, people: map[int64]bool{}}
	r.readSchedules()
	r.readAttributes()
	r.readResources()
	r.readPeople()
	if err := r.readReservations(); err != nil {
		return nil, err
	}
	r.lost()
	return r.data, nil
}

type reader struct {
	all    map[string]*sqldump.Table
	data   *moving.Data
	zones  map[int64]string // by schedule
	hours  map[int64][]policy.OpeningHours
	people map[int64]bool

	attributes map[int64]*attribute
	values     map[valueOf]map[int64]string // by attribute
	inRoom     map[int64]string             // zone by resource
}

type attribute struct {
	label, name       string
	category, display int64
}

type valueOf struct{ category, entity int64 }

func (r *reader) note(about, format string, args ...any) {
	r.data.Notes = append(r.data.Notes, moving.Note{About: about, Message: fmt.Sprintf(format, args...)})
}

func key(id int64) string { return strconv.FormatInt(id, 10) }

// plain undoes the escapes in which LibreBooking stores texts.
func plain(text string) string { return strings.TrimSpace(html.UnescapeString(text)) }

func (r *reader) readSchedules() {
	layouts := map[int64]string{}
	r.all["layouts"].All(func(row sqldump.Row) { layouts[row.Int("layout_id")] = row.Text("timezone") })
	hours := r.layoutHours()
	r.hours = map[int64][]policy.OpeningHours{}
	r.all["schedules"].All(func(row sqldump.Row) {
		id, name := row.Int("schedule_id"), cmp.Or(plain(row.Text("name")), "Schedule "+row.Text("schedule_id"))
		zone := cmp.Or(layouts[row.Int("layout_id")], row.Text("timezone")) // the latter in old versions
		if _, err := fault.Zone(zone); err != nil {
			r.note("schedule "+name, "its time zone %q is unknown, so UTC applies", zone)
			zone = "UTC"
		}
		r.zones[id], r.hours[id] = zone, hours[row.Int("layout_id")]
		r.data.Sites = append(r.data.Sites, moving.Site{Key: key(id), Name: name, Timezone: zone})
		if row.Bool("allow_concurrent_bookings") || row.Int("total_concurrent_reservations") > 1 {
			r.note("schedule "+name, "its resources can be booked several times at once there; here a room has one meeting at a time, so these are conflicts")
		}
	})
}

// layoutHours are the hours between the first and last bookable block of each layout.
func (r *reader) layoutHours() map[int64][]policy.OpeningHours {
	type span struct{ from, to string }
	days := map[int64]map[string]span{}
	names := []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}
	r.all["time_blocks"].All(func(row sqldump.Row) {
		if row.Int("availability_code") != blockReservable {
			return
		}
		from, to := first5(row.Text("start_time")), first5(row.Text("end_time"))
		if to == "00:00" {
			to = "24:00"
		}
		on := names
		if !row.Null("day_of_week") && row.Int("day_of_week") < 7 && row.Int("day_of_week") >= 0 {
			on = names[row.Int("day_of_week") : row.Int("day_of_week")+1]
		}
		layout := row.Int("layout_id")
		if days[layout] == nil {
			days[layout] = map[string]span{}
		}
		for _, day := range on {
			s, known := days[layout][day]
			if !known || from < s.from {
				s.from = from
			}
			if to > s.to {
				s.to = to
			}
			days[layout][day] = s
		}
	})
	all := map[int64][]policy.OpeningHours{}
	for layout, spans := range days {
		var hours []policy.OpeningHours
		whole := len(spans) == 7
		for _, day := range append(names[1:], names[0]) {
			s, open := spans[day]
			if !open {
				continue
			}
			whole = whole && s.from == "00:00" && s.to == "24:00"
			i := slices.IndexFunc(hours, func(h policy.OpeningHours) bool { return h.From == s.from && h.To == s.to })
			if i >= 0 {
				hours[i].Days = append(hours[i].Days, day)
			} else {
				hours = append(hours, policy.OpeningHours{Days: []string{day}, From: s.from, To: s.to})
			}
		}
		if !whole {
			all[layout] = hours
		}
	}
	return all
}

func first5(text string) string { return text[:min(5, len(text))] }

// readAttributes finds custom attributes and their values. Those of reservations become custom fields.
func (r *reader) readAttributes() {
	r.attributes, r.values = map[int64]*attribute{}, map[valueOf]map[int64]string{}
	used := map[string]bool{}
	r.all["custom_attributes"].All(func(row sqldump.Row) {
		id := row.Int("custom_attribute_id")
		a := &attribute{label: cmp.Or(plain(row.Text("display_label")), "Attribute "+key(id)), category: row.Int("attribute_category"), display: row.Int("display_type")}
		r.attributes[id] = a
		if a.category != categoryReservation {
			return
		}
		a.name = fieldName(a.label, id)
		for used[a.name] {
			a.name = fmt.Sprintf("attribute_%d", id)
		}
		used[a.name] = true
		field := moving.Field{Name: a.name, Label: a.label, Kind: meeting.FieldText}
		switch a.display {
		case displayCheckbox:
			field.Kind = meeting.FieldYesNo
		case displaySelect:
			for _, choice := range strings.Split(row.Text("possible_values"), ",") {
				if choice = fault.AsLine(plain(choice), fault.MaxName); choice != "" && !slices.Contains(field.Choices, choice) {
					field.Choices = append(field.Choices, choice)
				}
			}
			if len(field.Choices) > 0 && len(field.Choices) <= 200 {
				field.Kind = meeting.FieldChoice
			}
		}
		r.data.Fields = append(r.data.Fields, field)
	})
	r.all["custom_attribute_values"].All(func(row sqldump.Row) {
		of := valueOf{row.Int("attribute_category"), row.Int("entity_id")}
		if r.values[of] == nil {
			r.values[of] = map[int64]string{}
		}
		r.values[of][row.Int("custom_attribute_id")] = plain(row.Text("attribute_value"))
	})
}

// fieldName makes a label the name of a custom field.
func fieldName(label string, id int64) string {
	var b strings.Builder
	for _, c := range strings.ToLower(label) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.Trim(b.String(), "_")
	if name == "" {
		return fmt.Sprintf("attribute_%d", id)
	}
	return strings.Trim(name[:min(len(name), 40)], "_")
}

func (r *reader) readResources() {
	kinds := map[int64]string{}
	r.all["resource_types"].All(func(row sqldump.Row) { kinds[row.Int("resource_type_id")] = plain(row.Text("resource_type_name")) })
	r.inRoom = map[int64]string{}
	r.all["resources"].All(func(row sqldump.Row) {
		id, schedule := row.Int("resource_id"), row.Int("schedule_id")
		if _, ok := r.zones[schedule]; !ok {
			r.note("resource "+plain(row.Text("name")), "its schedule does not exist, so neither it nor its bookings come over")
			return
		}
		seconds := func(column string) time.Duration { return max(0, time.Duration(row.Int(column))*time.Second) }
		room := moving.Room{
			Key: key(id), Site: key(schedule), Name: cmp.Or(plain(row.Text("name")), "Resource "+key(id)), Floor: plain(row.Text("location")),
			Capacity: int(row.Int("max_participants")), ApprovalRequired: row.Bool("requires_approval"),
			MinDuration: seconds("min_duration"), MaxDuration: seconds("max_duration"), MinNotice: seconds("min_notice_time_add"), MaxAdvance: seconds("max_notice_time"),
			BufferAfter: seconds("buffer_time"), OpeningHours: r.hours[schedule],
		}
		if room.MinNotice == 0 {
			room.MinNotice = seconds("min_notice_time") // of old versions
		}
		switch {
		case !row.Null("status_id"):
			room.Inactive = row.Int("status_id") == resourceUnavailable || row.Int("status_id") == resourceHidden
		case !row.Null("isactive"):
			room.Inactive = !row.Bool("isactive")
		}
		if kind := kinds[row.Int("resource_type_id")]; kind != "" {
			room.Features = append(room.Features, kind)
		}
		for _, attributeID := range sorted(r.values[valueOf{categoryResource, id}]) {
			a, value := r.attributes[attributeID], r.values[valueOf{categoryResource, id}][attributeID]
			switch {
			case a == nil, value == "", value == "0" && a.display == displayCheckbox:
			case a.display == displayCheckbox:
				room.Features = append(room.Features, a.label)
			default:
				room.Features = append(room.Features, a.label+": "+value)
			}
		}
		for _, column := range []string{"description", "notes", "contact_info"} {
			if text := plain(row.Text(column)); text != "" {
				r.note("resource "+room.Name, "rooms here have no %s; it is: %s", strings.ReplaceAll(column, "_", " "), fault.AsLine(text, 500))
			}
		}
		if room.BufferAfter > 0 {
			r.note("resource "+room.Name, "its buffer of %s is kept after each meeting", fault.FormatDuration(room.BufferAfter))
		}
		r.inRoom[id] = r.zones[schedule]
		r.data.Rooms = append(r.data.Rooms, room)
	})
}

func sorted(m map[int64]string) []int64 {
	ids := make([]int64, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (r *reader) readPeople() {
	levels := map[int64]int64{} // of roles
	r.all["roles"].All(func(row sqldump.Row) { levels[row.Int("role_id")] = row.Int("role_level") })
	groups := map[int64][]int64{} // levels of groups
	r.all["group_roles"].All(func(row sqldump.Row) {
		groups[row.Int("group_id")] = append(groups[row.Int("group_id")], levels[row.Int("role_id")])
	})
	of := map[int64][]int64{} // levels of users
	r.all["user_groups"].All(func(row sqldump.Row) {
		of[row.Int("user_id")] = append(of[row.Int("user_id")], groups[row.Int("group_id")]...)
	})
	r.all["users"].All(func(row sqldump.Row) {
		id := row.Int("user_id")
		p := moving.Person{
			Key: key(id), Name: cmp.Or(strings.TrimSpace(plain(row.Text("fname"))+" "+plain(row.Text("lname"))), row.Text("username")), Email: strings.TrimSpace(row.Text("email")),
			Phone: plain(row.Text("phone")), Timezone: row.Text("timezone"), Role: meeting.Member, Disabled: row.Int("status_id") == statusInactive,
		}
		switch {
		case slices.Contains(of[id], roleApplicationAdmin):
			p.Role = meeting.Admin
		case slices.Contains(of[id], roleResourceAdmin), slices.Contains(of[id], roleScheduleAdmin):
			p.Role = meeting.Manager
			r.note("person "+p.Name, "administers resources there and is a manager here; name them as approver of rooms")
		}
		r.people[id] = true
		r.data.People = append(r.data.People, p)
	})
}

func (r *reader) person(id int64) string {
	if !r.people[id] {
		r.people[id] = true
		r.data.People = append(r.data.People, moving.Person{Key: key(id), Name: "User " + key(id), Role: meeting.Member, Left: true})
	}
	return key(id)
}

type instance struct {
	id        int64
	slot      clock.Slot
	reference string
	attendees []moving.Attendee
}

func (r *reader) readReservations() error {
	rooms := map[int64][]string{}
	zone := map[int64]string{}
	r.all["reservation_resources"].All(func(row sqldump.Row) {
		series, resource := row.Int("series_id"), row.Int("resource_id")
		room := key(resource)
		if row.Int("resource_level_id") == 1 { // the first of several
			rooms[series] = slices.Insert(rooms[series], 0, room)
			zone[series] = r.inRoom[resource]
		} else {
			rooms[series] = append(rooms[series], room)
		}
		if zone[series] == "" {
			zone[series] = r.inRoom[resource]
		}
	})
	attendees := r.attendees()
	accessories := r.accessories()
	instances := map[int64][]instance{}
	r.all["reservation_instances"].All(func(row sqldump.Row) {
		i := instance{
			id: row.Int("reservation_instance_id"), slot: clock.Slot{Start: row.Time("start_date"), End: row.Time("end_date")}, reference: row.Text("reference_number"),
			attendees: attendees[row.Int("reservation_instance_id")],
		}
		instances[row.Int("series_id")] = append(instances[row.Int("series_id")], i)
	})
	deleted := 0
	r.all["reservation_series"].All(func(row sqldump.Row) {
		id := row.Int("series_id")
		is := instances[id]
		if row.Int("status_id") == seriesDeleted || row.Int("type_id") == 2 {
			deleted += len(is)
			return
		}
		slices.SortFunc(is, func(a, b instance) int { return a.slot.Start.Compare(b.slot.Start) })
		c := moving.Content{
			Rooms: rooms[id], Title: plain(row.Text("title")), Description: plain(row.Text("description")), Organizer: r.person(row.Int("owner_id")),
			Pending: row.Int("status_id") == seriesPending, Fields: map[string]any{}, Extra: accessories[id],
		}
		r.customValues(&c, id)
		if len(is) == 0 {
			return
		}
		z := cmp.Or(zone[id], "UTC")
		rule := ""
		if kind := row.Text("repeat_type"); kind != "" && kind != "none" && len(is) > 1 {
			rule = ruleOf(kind, row.Text("repeat_options"), is[0].slot.Start, clock.ZoneOrUTC(z))
			s := moving.Series{Content: c, Key: key(id), Ref: "series " + key(id), UID: "librebooking-series-" + is[0].reference, Rule: rule, Zone: z}
			s.Attendees = is[0].attendees
			// The first instance may be one that was moved: the rule begins with the first it fits.
			s.Start, s.End = clock.Wall(is[0].slot.Start, clock.ZoneOrUTC(z)), clock.Wall(is[0].slot.End, clock.ZoneOrUTC(z))
			r.data.Series = append(r.data.Series, s)
		}
		for _, i := range is {
			b := moving.Booking{Content: c, ID: i.id, Ref: "reservation " + cmp.Or(i.reference, key(i.id)), UID: "librebooking-" + cmp.Or(i.reference, key(i.id)), Slot: i.slot, Zone: z}
			b.Attendees = i.attendees
			if len(is) > 1 {
				b.Series = key(id)
			}
			r.data.Bookings = append(r.data.Bookings, b)
		}
	})
	if deleted > 0 {
		r.note("reservations", "%d deleted reservations are left out", deleted)
	}
	return nil
}

func (r *reader) attendees() map[int64][]moving.Attendee {
	all := map[int64][]moving.Attendee{}
	response := func(level int64) meeting.Response {
		if level == levelParticipant {
			return meeting.Accepted
		}
		return meeting.NeedsAction
	}
	r.all["reservation_users"].All(func(row sqldump.Row) {
		if level := row.Int("reservation_user_level"); level != levelOwner {
			i := row.Int("reservation_instance_id")
			all[i] = append(all[i], moving.Attendee{Key: r.person(row.Int("user_id")), Response: response(level)})
		}
	})
	r.all["reservation_guests"].All(func(row sqldump.Row) {
		i := row.Int("reservation_instance_id")
		all[i] = append(all[i], moving.Attendee{Email: strings.TrimSpace(row.Text("email")), Response: response(row.Int("reservation_user_level"))})
	})
	return all
}

func (r *reader) accessories() map[int64][]moving.Extra {
	names := map[int64]string{}
	r.all["accessories"].All(func(row sqldump.Row) { names[row.Int("accessory_id")] = plain(row.Text("accessory_name")) })
	all := map[int64][]moving.Extra{}
	r.all["reservation_accessories"].All(func(row sqldump.Row) {
		value := names[row.Int("accessory_id")]
		if n := row.Int("quantity"); n > 1 {
			value = fmt.Sprintf("%d × %s", n, value)
		}
		all[row.Int("series_id")] = append(all[row.Int("series_id")], moving.Extra{Label: "Accessory", Value: value})
	})
	return all
}

func (r *reader) customValues(c *moving.Content, series int64) {
	values := r.values[valueOf{categoryReservation, series}]
	for _, id := range sorted(values) {
		a, value := r.attributes[id], values[id]
		switch {
		case a == nil || value == "", a.display == displayCheckbox && value == "0":
		case a.display == displayCheckbox:
			c.Fields[a.name] = true
		default:
			c.Fields[a.name] = value
		}
	}
}

// ruleOf returns the rule of repeat_type and repeat_options, such as
// interval=1|termination=2027-06-30 22:00:00|days=1,3; empty if there is none for it.
func ruleOf(kind, options string, start time.Time, loc *time.Location) string {
	o := map[string]string{}
	for _, part := range strings.Split(options, "|") {
		k, v, _ := strings.Cut(part, "=")
		o[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	days := []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}
	local := start.In(loc)
	var parts []string
	switch kind {
	case "daily":
		parts = append(parts, "FREQ=DAILY")
	case "weekly":
		parts = append(parts, "FREQ=WEEKLY", "WKST=SU")
		var on []string
		for _, d := range strings.Split(o["days"], ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(d)); err == nil && n >= 0 && n < 7 {
				on = append(on, days[n])
			}
		}
		if len(on) == 0 {
			on = []string{days[local.Weekday()]}
		}
		parts = append(parts, "BYDAY="+strings.Join(on, ","))
	case "monthly":
		parts = append(parts, "FREQ=MONTHLY")
		if o["monthlyType"] == "dayOfWeek" || o["type"] == "dayOfWeek" {
			parts = append(parts, fmt.Sprintf("BYDAY=%d%s", (local.Day()-1)/7+1, days[local.Weekday()]))
		} else {
			parts = append(parts, fmt.Sprintf("BYMONTHDAY=%d", local.Day()))
		}
	case "yearly":
		parts = append(parts, "FREQ=YEARLY")
	default:
		return ""
	}
	if n, err := strconv.Atoi(o["interval"]); err == nil && n > 1 {
		parts = append(parts, fmt.Sprintf("INTERVAL=%d", n))
	}
	until, err := time.Parse("2006-01-02 15:04:05", o["termination"])
	if err != nil {
		return ""
	}
	y, m, d := until.In(loc).Date() // the last day
	last := clock.InstantOrShift(time.Date(y, m, d, 23, 59, 59, 0, time.UTC), loc)
	return strings.Join(append(parts, "UNTIL="+last.UTC().Format("20060102T150405Z")), ";")
}

// lost notes what cannot be imported.
func (r *reader) lost() {
	for table, text := range map[string]string{
		"blackout_instances": "blackout times do not come over; enter them as blackouts",
		"quotas":             "quotas do not come over; rooms here can have one per person",
		"reservation_files":  "attachments do not come over",
	} {
		if t := r.all[table]; t != nil && len(t.Rows) > 0 {
			r.note(strings.ReplaceAll(table, "_", " "), "%d rows: %s", len(t.Rows), text)
		}
	}
	slices.SortStableFunc(r.data.Notes, func(a, b moving.Note) int { return cmp.Compare(a.About, b.About) })
}
