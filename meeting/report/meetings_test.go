package report

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// endless lists n meetings on each page, and always has one more.
type endless struct {
	n     int
	pages int
}

func (e *endless) Meetings(_ context.Context, _ meeting.Actor, _ meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	e.pages++
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	for i := range e.n {
		ms = append(ms, &meeting.Meeting{ID: int64(e.pages*e.n + i), RoomIDs: []int64{1}, Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}})
	}
	return ms, strconv.Itoa(e.pages), nil
}

// rooms implements what a report of meetings reads besides them.
type rooms struct{ Store }

func (rooms) ReportedRooms(context.Context, int64, bool) ([]Room, error) { return []Room{{ID: 1}}, nil }

func (rooms) Types(context.Context) ([]*meeting.Type, error) { return nil, nil }

func (rooms) CustomFields(context.Context) ([]*meeting.CustomField, error) {
	return []*meeting.CustomField{{Name: "color"}}, nil
}

// A report ends with a fault once it has read too much, whether or not it matches.
func TestMeetingSums_bounded(t *testing.T) {
	for _, row := range []struct {
		name  string
		n     int
		query MeetingQuery
		pages int
	}{
		{"many meetings", 5_000, MeetingQuery{Group: ByRoom}, maxMeetings/5_000 + 1},
		{"many pages without a match", 2, MeetingQuery{Group: ByRoom, Fields: []FieldFilter{{"color", "red"}}}, maxPages},
	} {
		list := &endless{n: row.n}
		s := NewService(rooms{}, list, func() string { return "UTC" }, func() time.Time { return time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC) })
		_, _, _, err := s.MeetingSums(t.Context(), meeting.Actor{}, row.query)
		e, ok := errors.AsType[*meeting.InvalidError](err)
		if !ok || len(e.Faults) != 1 || e.Faults[0].Location != "to" || e.Faults[0].Code != "too_many" || list.pages != row.pages {
			t.Errorf("%s: %v after %d pages, want a fault after %d", row.name, err, list.pages, row.pages)
		}
	}
}

func TestHas(t *testing.T) {
	m := &meeting.Meeting{Custom: []meeting.FieldValue{{Name: "center", Value: "Köln 4711"}, {Name: "budget", Value: 12.5}, {Name: "remote", Value: true}}}
	for _, row := range []struct {
		name, value string
		want        bool
	}{
		{"center", "KÖLN", true},
		{"center", "Bonn", false},
		{"budget", "12.5", true},
		{"budget", "12", false},
		{"remote", "TRUE", true},
		{"remote", "false", false},
		{"color", "", false},
	} {
		if got := has(m, []FieldFilter{{row.name, row.value}}); got != row.want {
			t.Errorf("%s %q: %t", row.name, row.value, got)
		}
	}
	if has(m, []FieldFilter{{"center", "Köln"}, {"budget", "1"}}) {
		t.Error("one of two filters matches")
	}
	if !has(m, nil) {
		t.Error("no filter refuses")
	}
}
