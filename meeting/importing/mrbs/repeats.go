package mrbs

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/importing/moving"
	"punctual/meeting/importing/sqldump"
)

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
