package scheduling

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// violations say in the organizer's language why rooms cannot be booked.
func (e *event) violations(faults []meeting.Fault) []string {
	zone := clock.ZoneOrUTC(cmp.Or(e.person.Timezone, e.zoneName))
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = e.words.violation(f, e.roomNames[f.Figures.RoomID], zone)
	}
	return lines
}

// violation is a broken rule in words. A rule without words is given as the API names it.
func (w *words) violation(f meeting.Fault, room string, zone *time.Location) string {
	text, known := w.reasons.texts[f.Code]
	if general, ok := w.reasons.texts[f.Code+" of all"]; ok && room == "" {
		text = general
	}
	if counted, ok := w.reasons.texts[f.Code+" times"]; ok {
		if _, is := f.Figures.Limit.(int); is {
			text = counted
		}
	}
	if !known || strings.Contains(text, "{room}") && room == "" {
		return f.Message + "."
	}
	span := f.Figures.Span
	line := strings.NewReplacer(
		"{room}", room, "{limit}", w.figure(f.Figures.Limit), "{actual}", w.figure(f.Figures.Actual), "{per}", w.reasons.periods[f.Figures.Per],
		"{from}", w.time(span.Start, zone), "{to}", w.time(span.End, zone),
	).Replace(text)
	if f.Figures.Reason != "" {
		line += " " + f.Figures.Reason
	}
	return line
}

// figure is a limit in words: lengths of time have units.
func (w *words) figure(of any) string {
	text := fmt.Sprint(of)
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || d <= 0:
		return text
	case d%(24*time.Hour) == 0 && d > 24*time.Hour:
		return fmt.Sprintf(w.reasons.days, d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf(w.reasons.hours, d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf(w.reasons.minutes, d/time.Minute)
	default:
		return text
	}
}

// reasons are texts by the code of a violation. Those "of all" are for rules of the installation, those
// "times" for counts.
type reasons struct {
	days, hours, minutes string // with a number
	periods, texts       map[string]string
}

var englishReasons = reasons{
	days: "%d days", hours: "%d h", minutes: "%d min",
	periods: map[string]string{"day": "day", "week": "week", "month": "month"},
	texts: map[string]string{
		"not_allowed":         "You may not book {room}.",
		"room_inactive":       "{room} cannot be booked at the moment.",
		"blackout":            "{room} is closed from {from} to {to}.",
		"capacity":            "{room} seats {limit}, and {actual} are invited.",
		"min_duration":        "{room} must be booked for at least {limit}.",
		"max_duration":        "{room} can be booked for at most {limit}.",
		"max_duration of all": "A meeting can last at most {limit}.",
		"opening_hours":       "{room} must be booked within its opening hours ({limit}).",
		"step":                "{room} must be booked in steps of {limit}.",
		"in_past":             "The time has passed.",
		"min_notice":          "{room} must be booked at least {limit} ahead.",
		"max_advance":         "{room} can be booked at most {limit} ahead.",
		"max_advance of all":  "Rooms cannot be booked that far ahead (at most {limit}).",
		"last_change":         "Meetings in {room} can be moved until {limit} before their start.",
		"last_change of all":  "Meetings can be moved until {limit} before their start.",
		"quota":               "One person can book {room} for at most {limit} per {per}.",
		"quota times":         "One person can book {room} at most {limit} times per {per}.",
		"booked_ahead":        "One person can book at most {limit} of room time ahead.",
		"rooms_at_once":       "One person can book at most {limit} rooms at the same time.",
		"unknown_timezone":    "{room} has a time zone that is unknown here.",
	},
}

var germanReasons = reasons{
	days: "%d Tage", hours: "%d Std.", minutes: "%d Min.",
	periods: map[string]string{"day": "Tag", "week": "Woche", "month": "Monat"},
	texts: map[string]string{
		"not_allowed":         "Sie dürfen {room} nicht buchen.",
		"room_inactive":       "{room} ist zurzeit nicht buchbar.",
		"blackout":            "{room} ist von {from} bis {to} geschlossen.",
		"capacity":            "{room} hat {limit} Plätze, eingeladen sind {actual}.",
		"min_duration":        "{room} muss für mindestens {limit} gebucht werden.",
		"max_duration":        "{room} kann für höchstens {limit} gebucht werden.",
		"max_duration of all": "Eine Besprechung darf höchstens {limit} dauern.",
		"opening_hours":       "{room} kann nur während der Öffnungszeiten gebucht werden ({limit}).",
		"step":                "{room} kann nur in Schritten von {limit} gebucht werden.",
		"in_past":             "Der Zeitpunkt ist vorbei.",
		"min_notice":          "{room} muss mindestens {limit} im Voraus gebucht werden.",
		"max_advance":         "{room} kann höchstens {limit} im Voraus gebucht werden.",
		"max_advance of all":  "So weit im Voraus können Räume nicht gebucht werden (höchstens {limit}).",
		"last_change":         "Besprechungen in {room} lassen sich bis {limit} vor Beginn verschieben.",
		"last_change of all":  "Besprechungen lassen sich bis {limit} vor Beginn verschieben.",
		"quota":               "Eine Person kann {room} höchstens {limit} buchen, je {per}.",
		"quota times":         "Eine Person kann {room} höchstens {limit}-mal buchen, je {per}.",
		"booked_ahead":        "Eine Person kann höchstens {limit} Raumzeit im Voraus buchen.",
		"rooms_at_once":       "Eine Person kann höchstens {limit} Räume gleichzeitig buchen.",
		"unknown_timezone":    "Die Zeitzone von {room} ist hier unbekannt.",
	},
}

var chineseReasons = reasons{
	days: "%d 天", hours: "%d 小时", minutes: "%d 分钟",
	periods: map[string]string{"day": "每天", "week": "每周", "month": "每月"},
	texts: map[string]string{
		"not_allowed":         "您无权预订 {room}。",
		"room_inactive":       "{room} 目前无法预订。",
		"blackout":            "{room} 在 {from} 至 {to} 关闭。",
		"capacity":            "{room} 可容纳 {limit} 人，已邀请 {actual} 人。",
		"min_duration":        "{room} 至少须预订 {limit}。",
		"max_duration":        "{room} 最多可预订 {limit}。",
		"max_duration of all": "会议最长为 {limit}。",
		"opening_hours":       "{room} 只能在开放时间内预订（{limit}）。",
		"step":                "{room} 须按 {limit} 的间隔预订。",
		"in_past":             "该时间已过。",
		"min_notice":          "{room} 至少须提前 {limit} 预订。",
		"max_advance":         "{room} 最多可提前 {limit} 预订。",
		"max_advance of all":  "会议室不能提前这么久预订（最多 {limit}）。",
		"last_change":         "{room} 的会议最迟在开始前 {limit} 可以更改。",
		"last_change of all":  "会议最迟在开始前 {limit} 可以更改。",
		"quota":               "每人{per}最多可预订 {room} {limit}。",
		"quota times":         "每人{per}最多可预订 {room} {limit} 次。",
		"booked_ahead":        "每人最多可提前预订 {limit} 的会议室时间。",
		"rooms_at_once":       "每人同一时间最多可预订 {limit} 间会议室。",
		"unknown_timezone":    "{room} 的时区在此未知。",
	},
}
