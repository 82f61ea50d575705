package moving

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/account/table"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// ListColumns are the columns of a list of bookings.
var ListColumns = []string{"title", "room", "start", "end", "organizer", "site", "timezone", "description", "attendees", "private", "id"}

// ReadList converts a CSV list of bookings to data for an import with [Options.Existing]. Times are like
// 2027-02-10T09:00 or 2027-02-10 09:00, with an offset or in the time zone of their line, otherwise in zone.
// It returns a [*table.SyntaxError] if the text is not CSV.
func ReadList(text, zone string) (*Data, error) {
	rows, err := table.Read(text, ListColumns)
	if err != nil {
		return nil, err
	}
	data := &Data{Program: "the list"}
	rooms, people := map[string]bool{}, map[string]bool{}
	person := func(email string) string {
		key := fault.FoldEmail(email)
		if key != "" && !people[key] {
			people[key] = true
			data.People = append(data.People, Person{Key: key, Name: email, Email: email, Role: meeting.Member})
		}
		return key
	}
	for i, row := range rows {
		c := row.Cells
		b := Booking{ID: int64(i + 1), Ref: fmt.Sprintf("line %d", row.Line), Zone: zone}
		b.Title, b.Description = c["title"], c["description"]
		if c["timezone"] != "" {
			b.Zone = c["timezone"]
		}
		site := strings.TrimSpace(c["site"])
		room := fold(site) + "/" + fold(c["room"])
		if !rooms[room] {
			rooms[room] = true
			data.Rooms = append(data.Rooms, Room{Key: room, Site: fold(site), Name: c["room"]})
		}
		b.Rooms = []string{room}
		b.Organizer = person(c["organizer"])
		for _, email := range strings.FieldsFunc(c["attendees"], func(r rune) bool { return r == ';' || r == ' ' || r == '|' }) {
			b.Attendees = append(b.Attendees, Attendee{Email: email})
		}
		b.Slot, b.Problem = listSlot(c, b.Zone)
		switch strings.ToLower(c["private"]) {
		case "", "0", "no", "false":
		case "1", "yes", "true", "x":
			b.Private = true
		default:
			b.Problem = fmt.Sprintf("private is %q; it must be yes or no", c["private"])
		}
		if c["title"] == "" {
			b.Problem = "title is required"
		}
		b.UID = listUID(c)
		data.Bookings = append(data.Bookings, b)
	}
	return data, nil
}

// listUID identifies a line by its ID, or else by its room, time and organizer.
func listUID(c map[string]string) string {
	if c["id"] != "" {
		return "list-" + c["id"]
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{fold(c["site"]), fold(c["room"]), c["start"], c["timezone"], fault.FoldEmail(c["organizer"])}, "\x00")))
	return "list-" + hex.EncodeToString(sum[:12])
}

func listSlot(c map[string]string, zone string) (slot clock.Slot, problem string) {
	loc, err := fault.Zone(zone)
	if err != nil {
		return slot, fmt.Sprintf("timezone: %v", err)
	}
	at := func(column string) time.Time {
		text := strings.TrimSpace(c[column])
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t.UTC()
		}
		for _, layout := range []string{"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
			wall, err := time.Parse(layout, text)
			if err != nil {
				continue
			}
			t, err := clock.Instant(wall, loc)
			if err != nil && problem == "" {
				problem = fmt.Sprintf("%s: %v", column, err)
			}
			return t.UTC()
		}
		if problem == "" {
			problem = fmt.Sprintf("%s is %q; it must be like 2027-02-10 09:00", column, text)
		}
		return time.Time{}
	}
	slot = clock.Slot{Start: at("start"), End: at("end")}
	return slot, problem
}
