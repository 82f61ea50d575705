package gormstore_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/report"
)

// reportedRow is a meeting in one of its rooms, as tables have it.
type reportedRow struct {
	RoomID, SiteID, Capacity, Persons     int64
	Zone                                  string
	Status                                meeting.Status
	Visibility                            string
	StartsAt, EndsAt                      time.Time
	ApprovalDeadline, NoShowAt, CheckedIn *time.Time
	EndedAt                               *time.Time
}

func (f *fixture) reportedRows() []reportedRow {
	f.Helper()
	var rows []reportedRow
	err := f.db.Gorm.WithContext(f.Context()).Raw(`SELECT r.id AS room_id, COALESCE(r.site_id, 0) AS site_id, r.capacity,
			1 + (SELECT count(*) FROM attendees a WHERE a.meeting_id = m.id) AS persons,
			CASE WHEN r.timezone <> '' THEN r.timezone ELSE COALESCE(s.timezone, '') END AS zone,
			m.status, m.visibility, m.starts_at, m.ends_at, m.approval_deadline, m.no_show_at, m.checked_in_at AS checked_in, m.ended_at
		FROM meetings m JOIN meeting_rooms mr ON mr.meeting_id = m.id JOIN rooms r ON r.id = mr.room_id LEFT JOIN sites s ON s.id = r.site_id`).Find(&rows).Error
	if err != nil {
		f.Fatal(err)
	}
	return rows
}

// reference adds up a report meeting by meeting and hour by hour.
func reference(rows []reportedRow, q report.Query, at time.Time) []report.RoomUse {
	found := map[int64]map[string]*report.RoomUse{}
	for _, r := range rows {
		status, freed, usedUntil := r.Status, r.EndsAt, clock.Earlier(r.EndsAt, at)
		if r.EndedAt != nil {
			freed = clock.Earlier(freed, *r.EndedAt)
			usedUntil = clock.Earlier(usedUntil, *r.EndedAt)
		}
		if status == meeting.Pending && !r.ApprovalDeadline.After(at) {
			status = meeting.Rejected
		}
		missed := r.NoShowAt != nil && r.CheckedIn == nil && r.NoShowAt.Before(r.EndsAt)
		if (status == meeting.Confirmed || status == meeting.InProgress) && missed && !r.NoShowAt.After(at) {
			status = meeting.Released
		}
		if status == meeting.Released && missed {
			freed = clock.Earlier(freed, *r.NoShowAt)
		}
		if status == meeting.Released || r.NoShowAt != nil && r.CheckedIn == nil {
			usedUntil = r.StartsAt
		}
		freed = clock.Later(freed, r.StartsAt)
		span, ok := clock.Slot{Start: r.StartsAt, End: r.EndsAt}.Intersect(q.Span)
		if !ok || status == meeting.Pending || q.SiteID != 0 && r.SiteID != q.SiteID {
			continue
		}
		loc := clock.ZoneOrUTC(cmp.Or(r.Zone, q.Zone))
		for i, hour := range report.LocalHours(span, loc) {
			id, day := r.RoomID, ""
			switch local := hour.Start.In(loc); q.Group {
			case report.BySite:
				id = r.SiteID
			case report.ByDay:
				id, day = 0, local.Format(time.DateOnly)
			case report.ByHour:
				id, day = 0, report.HourOfWeek(local)
			}
			if found[id] == nil {
				found[id] = map[string]*report.RoomUse{}
			}
			u := found[id][day]
			if u == nil {
				u = &report.RoomUse{ID: id, Day: day}
				found[id][day] = u
			}
			isBooked := status != meeting.Cancelled && status != meeting.Rejected
			if isBooked {
				u.Booked += hour.Duration()
				if part, ok := hour.Intersect(clock.Slot{Start: r.StartsAt, End: usedUntil}); ok {
					u.Used += part.Duration()
				}
				if part, ok := hour.Intersect(clock.Slot{Start: freed, End: r.EndsAt}); ok {
					u.Freed += part.Duration()
				}
			}
			if i > 0 {
				continue
			}
			switch status {
			case meeting.Cancelled:
				u.Cancelled++
			case meeting.Rejected:
				u.Rejected++
			case meeting.Released:
				u.NoShows++
			}
			if isBooked {
				u.Meetings++
			}
			if isBooked && (q.Private || r.Visibility == "public") {
				u.Counted++
				u.Persons += int(r.Persons)
				if r.Capacity > 0 {
					u.Seats += int(r.Capacity)
					u.SeatedMeetings++
					u.Seated += int(r.Persons)
				}
			}
		}
	}
	all := []report.RoomUse{}
	for _, of := range found {
		for _, u := range of {
			all = append(all, *u)
		}
	}
	return all
}

func sortUse(all []report.RoomUse) []report.RoomUse {
	slices.SortFunc(all, func(a, b report.RoomUse) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Day, b.Day)) })
	return all
}

// Whatever changes, whenever days are added up, and however the clock moves on, a report is the sum of
// the meetings as they are.
func TestReports_agreeWithReference(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		zones := []string{"", "UTC", "Asia/Kathmandu", "Europe/Berlin", "America/New_York"}
		var sites []int64
		for _, zone := range zones[:3] {
			s := &meeting.Site{Name: "Site " + zone, Timezone: zone, CreatedAt: now, UpdatedAt: now}
			if err := f.store.CreateSite(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			sites = append(sites, s.ID)
		}
		var ids []meeting.ID
		var rooms, spare []int64
		for i := range 6 {
			r := f.room("Room "+string(rune('A'+i)), func(r *meeting.Room) { r.Capacity = i; r.SiteID = sites[i%3] })
			m := f.book(clock.Slot{Start: now.Add(time.Hour), End: now.Add(2 * time.Hour)}, r)
			second := f.room("Second room "+string(rune('A'+i)), func(r *meeting.Room) { r.SiteID = sites[i%2] })
			ids, rooms, spare = append(ids, m.ID), append(rooms, r.ID), append(spare, second.ID)
		}
		at, inForce := now, "Europe/Berlin"
		over := time.Now().Add(1500 * time.Millisecond)
		compared, kept := 0, 0
		rapid.Check(t, func(rt *rapid.T) {
			if time.Now().After(over) && kept > 0 {
				return // enough was seen; how much depends on the machine
			}
			pick := func(name string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, name) }
			instant := func(name string) time.Time {
				little := rapid.SampledFrom([]time.Duration{0, 0, 15 * time.Minute, time.Microsecond}).Draw(rt, name+" little")
				return at.Truncate(time.Hour).Add(time.Duration(pick(name, -100, 100)) * time.Hour).Add(little)
			}
			perhaps := func(name string, t time.Time) any {
				if rapid.Bool().Draw(rt, name) {
					return nil
				}
				return t
			}
			for range pick("steps", 3, 10) {
				i := pick("meeting", 0, len(ids)-1)
				id, room := ids[i], rooms[i]
				switch pick("what", 0, 10) {
				case 0:
					start := instant("start")
					end := start.Add(rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, 3 * time.Hour, 50 * time.Hour}).Draw(rt, "length"))
					f.sql("DELETE FROM occupancies WHERE meeting_id = ?", id)
					f.sql("UPDATE meetings SET starts_at = ?, ends_at = ? WHERE id = ?", start, end, id)
					f.sql("INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at, held) SELECT meeting_id, room_id, ?, ?, false FROM meeting_rooms WHERE meeting_id = ?", start, end, id)
				case 1:
					status := rapid.SampledFrom(meeting.Statuses).Draw(rt, "status")
					f.sql("UPDATE meetings SET status = ?, approval_deadline = ? WHERE id = ?", status, instant("deadline"), id)
				case 2:
					f.sql("UPDATE meetings SET ended_at = ? WHERE id = ?", perhaps("not ended", instant("ended")), id)
				case 3:
					f.sql("UPDATE meetings SET no_show_at = ?, checked_in_at = ? WHERE id = ?", perhaps("no check-in", instant("no show")), perhaps("nobody came", at), id)
				case 4:
					f.sql("UPDATE meetings SET visibility = ? WHERE id = ?", rapid.SampledFrom([]string{"public", "private"}).Draw(rt, "visibility"), id)
				case 5:
					f.sql("DELETE FROM attendees WHERE meeting_id = ?", id)
					for p := range pick("attendees", 0, 2) {
						f.sql("INSERT INTO attendees (meeting_id, position, email, response) VALUES (?, ?, 'a@example.org', 'accepted')", id, p)
					}
				case 6:
					f.sql("UPDATE rooms SET capacity = ? WHERE id = ?", pick("capacity", 0, 9), room)
				case 7:
					f.sql("UPDATE rooms SET timezone = ?, site_id = ? WHERE id = ?", rapid.SampledFrom(zones).Draw(rt, "zone of the room"),
						rapid.SampledFrom([]any{nil, sites[0], sites[1]}).Draw(rt, "site of the room"), room)
				case 8:
					f.sql("UPDATE sites SET timezone = ? WHERE id = ?", rapid.SampledFrom(zones).Draw(rt, "zone of the site"), rapid.SampledFrom(sites).Draw(rt, "changed site"))
				case 9:
					inForce = rapid.SampledFrom(zones[1:]).Draw(rt, "zone in force")
				case 10: // a second room
					f.sql("DELETE FROM meeting_rooms WHERE meeting_id = ? AND room_id = ?", id, spare[i])
					f.sql("DELETE FROM occupancies WHERE meeting_id = ? AND room_id = ?", id, spare[i])
					if rapid.Bool().Draw(rt, "two rooms") {
						f.sql("INSERT INTO meeting_rooms (meeting_id, room_id, position) VALUES (?, ?, 1)", id, spare[i])
						f.sql("INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at, held) SELECT id, CAST(? AS bigint), starts_at, ends_at, false FROM meetings WHERE id = ?", spare[i], id)
					}
				}
				if pick("minutes", 0, 3) == 0 {
					at = at.Add(rapid.SampledFrom([]time.Duration{time.Microsecond, 17 * time.Minute, time.Hour, 20 * time.Hour}).Draw(rt, "later"))
				}
				if rapid.Bool().Draw(rt, "adds up") {
					f.addUpDays(inForce, at)
				}
				q := report.Query{
					Group: rapid.SampledFrom([]report.Grouping{report.ByRoom, report.BySite, report.ByDay, report.ByHour}).Draw(rt, "group"),
					Zone:  inForce, Private: rapid.Bool().Draw(rt, "private"),
					SiteID: rapid.SampledFrom([]int64{0, 0, sites[0]}).Draw(rt, "of site"),
				}
				q.Span.Start = instant("from")
				q.Span.End = q.Span.Start.Add(time.Duration(pick("hours", 1, 150)) * time.Hour)
				if rapid.Bool().Draw(rt, "from midnight") {
					q.Span.Start = q.Span.Start.Truncate(24 * time.Hour).Add(-time.Duration(pick("zone", 0, 2)) * time.Hour)
				}
				got, err := f.store.RoomUse(f.Context(), q, at)
				if err != nil {
					rt.Fatal(err)
				}
				if diff := gocmp.Diff(sortUse(reference(f.reportedRows(), q, at)), sortUse(got)); diff != "" {
					rt.Fatalf("%+v at %s: -want +got\n%s", q, at, diff)
				}
				compared++
				kept += int(f.count("report_days"))
			}
		})
		if kept == 0 {
			t.Error("no days were added up")
		}
		t.Logf("%d reports", compared)
	})
}

// addUpDays adds up all days.
func (f *fixture) addUpDays(zone string, at time.Time) {
	f.Helper()
	for more := true; more; {
		var err error
		if more, err = f.store.AddUpDays(f.Context(), zone, at, true); err != nil {
			f.Fatal(err)
		}
	}
}

// Days that are over, and those to come, are read from sums; today is not. A mark is gone once its day is
// added up again.
func TestReports_readSums(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		day := now.Truncate(24 * time.Hour)
		at := func(days, hour int) clock.Slot {
			start := day.AddDate(0, 0, days).Add(time.Duration(hour) * time.Hour)
			return clock.Slot{Start: start, End: start.Add(time.Hour)}
		}
		for _, days := range []int{-1, 0, 1} {
			f.book(at(days, 10), f.turing)
		}
		f.addUpDays("UTC", now)
		if n := f.count("report_marks"); n != 0 {
			t.Errorf("%d marks are left", n)
		}
		f.sql("UPDATE report_days SET hours = ?, rooms = ?", []byte{}, []byte{})
		span := clock.Slot{Start: day.AddDate(0, 0, -2), End: day.AddDate(0, 0, 3)}
		meetings := func(group report.Grouping) (n int) {
			t.Helper()
			uses, err := f.store.RoomUse(t.Context(), report.Query{Group: group, Span: span, Zone: "UTC"}, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range uses {
				n += u.Meetings
			}
			return n
		}
		for _, group := range []report.Grouping{report.ByRoom, report.BySite, report.ByDay, report.ByHour} {
			f.want("without sums, by "+string(group), meetings(group), 1)
		}
		f.book(at(1, 15), f.hopper)
		f.want("with a mark", meetings(report.BySite), 3)
		f.addUpDays("UTC", now)
		f.want("added up again", meetings(report.ByRoom), 3)
	})
}

// However changes and AddUpDays of several processes overlap, sums are those of the meetings.
func TestReports_whileMeetingsChange(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		var ms []*meeting.Meeting
		for i := range 4 {
			ms = append(ms, f.book(clock.Slot{Start: now.Add(time.Duration(i-30) * time.Hour), End: now.Add(time.Duration(i-29) * time.Hour)}, f.turing))
		}
		errs := together(6, func(i int) error {
			for n := range 12 {
				if i >= len(ms) {
					if _, err := f.store.AddUpDays(t.Context(), "UTC", now, true); err != nil {
						return err
					}
					continue
				}
				if err := f.db.Gorm.WithContext(t.Context()).Exec("UPDATE meetings SET ends_at = ? WHERE id = ?", ms[i].Slot.End.Add(-time.Duration(n)*time.Minute), ms[i].ID).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		f.addUpDays("UTC", now)
		q := report.Query{Group: report.ByRoom, Zone: "UTC", Span: clock.Slot{Start: now.Add(-72 * time.Hour), End: now.Add(48 * time.Hour)}}
		got, err := f.store.RoomUse(t.Context(), q, now)
		if err != nil {
			t.Fatal(err)
		}
		f.want("use", sortUse(got), sortUse(reference(f.reportedRows(), q, now)))
	})
}
