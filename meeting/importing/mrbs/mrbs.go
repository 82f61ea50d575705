// Package mrbs reads the database of a Meeting Room Booking System (MRBS).
package mrbs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"punctual/meeting"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
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

func (r *reader) note(about, format string, args ...any) {
	r.data.Notes = append(r.data.Notes, moving.Note{About: about, Message: fmt.Sprintf(format, args...)})
}

func key(id int64) string { return strconv.FormatInt(id, 10) }

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
