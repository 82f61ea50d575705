package gormstore_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"punctual/meeting"
)

// version is one version of an event, or of one of its dates, and which rooms hear of it.
type version struct {
	sequence, stamp int
	rooms           map[string]string // the method by room; missing: not told
	add             bool              // the method is ADD
	key             dateKey           // of the date; day -1: the whole event
	hour            int               // when the date takes place, or the dates of the event
	excluded        int               // a date that the rule leaves out; -1: none
}

// dateKey identifies a date by the rule: its day, and its hour then. Days after the rule are those of dates that
// were added.
type dateKey struct{ day, hour int }

var whole = dateKey{-1, 0}

func (v version) compare(o version) int {
	return cmp.Or(cmp.Compare(v.sequence, o.sequence), cmp.Compare(v.stamp, o.stamp))
}

// message is a version as one room hears of it.
type message struct {
	version
	room, method string
}

const rapidDays = 4

// ics is the text of the message. The times of the event are shifted by hours, so that histories do not compete.
func (m message) ics(uid string, shift int) string {
	stamp := func(hours int) string {
		return now.Add(time.Duration(shift+hours) * time.Hour).Format("20060102T150405Z")
	}
	hour := m.hour
	var more []string
	switch {
	case m.key == whole:
		if more = append(more, fmt.Sprintf("RRULE:FREQ=DAILY;COUNT=%d", rapidDays)); m.excluded >= 0 {
			more = append(more, "EXDATE:"+stamp(hour+24*m.excluded))
		}
	case m.method != "ADD":
		more = append(more, "RECURRENCE-ID:"+stamp(m.key.hour+24*m.key.day))
		fallthrough
	default:
		hour += 24 * m.key.day
	}
	ics := calendarMessage(m.method, uid, m.sequence, shift+hour, more...)
	return strings.Replace(ics, "DTSTAMP:20270201T000000Z", fmt.Sprintf("DTSTAMP:20270201T00%02d00Z", m.stamp), 1)
}

var rapidRooms = []string{"turing", "hopper"}

// drawHistory returns the versions of an event. Some change only the SEQUENCE or only the DTSTAMP, and each is
// told to any of the rooms.
func drawHistory(t *rapid.T) []version {
	var all []version
	sequence, at := 0, 2
	for n := rapid.IntRange(1, 6).Draw(t, "versions"); len(all) < n; {
		sequence += rapid.IntRange(0, 1).Draw(t, "sequence")
		v := version{sequence: sequence, stamp: len(all), rooms: map[string]string{}, key: whole, excluded: -1}
		kind := rapid.SampledFrom([]string{"series", "date", "date", "add"}).Draw(t, "kind")
		switch {
		case len(all) == 0 || kind == "series":
			at = rapid.SampledFrom([]int{2, 2, 5}).Draw(t, "hour")
			v.hour, v.excluded = at, rapid.IntRange(-1, rapidDays-1).Draw(t, "excluded")
		case kind == "date":
			v.key = dateKey{rapid.IntRange(0, rapidDays-1).Draw(t, "day"), at}
			v.hour = at + rapid.IntRange(-1, 1).Draw(t, "move")
		default:
			v.key, v.add = dateKey{rapidDays + rapid.IntRange(0, 1).Draw(t, "day"), at}, true
			v.hour = at
		}
		for _, room := range rapidRooms {
			told := rapid.SampledFrom([]string{"REQUEST", "REQUEST", "REQUEST", "CANCEL", ""}).Draw(t, room)
			if told == "REQUEST" && v.add {
				told = "ADD"
			}
			if told != "" {
				v.rooms[room] = told
			}
		}
		all = append(all, v)
	}
	return all
}

func messagesOf(versions []version) (all []message) {
	for _, v := range versions {
		for _, room := range rapidRooms {
			if method := v.rooms[room]; method != "" {
				all = append(all, message{v, room, method})
			}
		}
	}
	return all
}

// newestVersions is the model: what is booked follows from the newest version of the event and of each date,
// and from the newest message to each room about either.
func newestVersions(messages []message) string {
	says, told := map[dateKey]version{}, map[string]map[dateKey]message{"turing": {}, "hopper": {}}
	for _, m := range messages {
		if v, known := says[m.key]; m.method != "CANCEL" && (!known || m.compare(v) > 0) {
			says[m.key] = m.version
		}
		if before, known := told[m.room][m.key]; !known || m.compare(before.version) > 0 {
			told[m.room][m.key] = m
		}
	}
	hours := map[dateKey]int{} // when each date takes place
	rule, ruled := says[whole]
	for day := range rapidDays {
		if ruled && day != rule.excluded {
			hours[dateKey{day, rule.hour}] = 24*day + rule.hour
		}
	}
	for key, v := range says {
		if _, there := hours[key]; key != whole && (there || !ruled || v.compare(rule) > 0) {
			hours[key] = 24*key.day + v.hour
		}
	}
	invited := func(room string, key dateKey) bool {
		all, ofAll := told[room][whole]
		one, ofOne := told[room][key]
		switch {
		case !ofOne:
			return ofAll && all.method == "REQUEST"
		case one.method == "CANCEL":
			return false
		default: // a cancellation of everything includes what came before it
			return !ofAll || all.method == "REQUEST" || one.compare(all.version) > 0
		}
	}
	var booked []string
	for key, hour := range hours {
		var rooms []string
		for _, room := range []string{"Hopper", "Turing"} {
			if invited(strings.ToLower(room), key) {
				rooms = append(rooms, room)
			}
		}
		if len(rooms) > 0 {
			booked = append(booked, fmt.Sprintf("%03d %s", hour, strings.Join(rooms, "+")))
		}
	}
	slices.Sort(booked)
	return strings.Join(booked, ", ")
}

// state is what is booked of an event, relative to its shift.
func (r *mailroom) state(t *rapid.T, uid string, shift int) string {
	known, err := r.store.KnownEvent(r.Context(), uid, "anna@example.org")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ms, _, err := r.meetings.Meetings(r.Context(), r.admin, meeting.MeetingQuery{Statuses: []meeting.Status{meeting.Confirmed}}, meeting.Page{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if m.SeriesID != known.SeriesID || m.SeriesID == 0 && m.ID != known.MeetingID {
			t.Errorf("meeting %d belongs to no event", m.ID)
		}
		rooms := slices.Sorted(slices.Values(m.RoomNames))
		all = append(all, fmt.Sprintf("%03g %s", m.Slot.Start.Sub(now).Hours()-float64(shift), strings.Join(rooms, "+")))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// What is booked in the end depends only on the newest versions of an event and of its dates: not on the
// order in which their messages arrive, nor on how often.
func TestScheduling_orderDoesNotMatter(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		if f.db.Dialect != "sqlite" {
			return // the rules are in Go; the statements have tests of their own on both databases
		}
		r := newMailroom(f)
		r.settings.Percent, r.settings.Count = 100, 1000
		over, rounds := time.Now().Add(4*time.Second), 0
		rapid.Check(t, func(t *rapid.T) {
			if time.Now().After(over) && rounds >= 20 {
				return // enough was seen; how much depends on the machine
			}
			rounds++
			uid := fmt.Sprint("history-", rounds)
			messages := messagesOf(drawHistory(t))
			if len(messages) == 0 {
				return
			}
			again := rapid.SliceOfN(rapid.SampledFrom(messages), 0, 3).Draw(t, "again")
			arrived := rapid.Permutation(append(slices.Clone(messages), again...)).Draw(t, "order")
			const shift = 24
			for _, m := range arrived {
				r.receive(m.room, m.ics(uid, shift))
				if rapid.Bool().Draw(t, "settled") {
					r.settle()
				}
			}
			r.settle()
			if got := r.answers(uid); strings.Contains(got, "=DECLINED") { // nothing was taken, and nobody here took a room away
				t.Errorf("answers: %s", got)
			}
			if diff := gocmp.Diff(newestVersions(messages), r.state(t, uid, shift)); diff != "" {
				for _, m := range arrived {
					t.Logf("%d.%d %s %s %v at %d without %d", m.sequence, m.stamp, m.method, m.room, m.key, m.hour, m.excluded)
				}
				t.Error(diff)
			}
			end := message{version: version{sequence: 100, key: whole, hour: 2, excluded: -1}, method: "CANCEL"}
			for _, end.room = range rapidRooms { // the next history has the same times
				r.receive(end.room, end.ics(uid, shift))
			}
			if left := r.state(t, uid, shift); left != "" {
				t.Errorf("cancelled, and yet booked: %s", left)
			}
		})
	})
}
