package publicpages

import (
	"fmt"
	"strings"
	"time"
)

// words are the texts of a page in one language.
type words struct {
	Lang                          string // BCP 47
	Title, Rooms, Views           string
	Day, Week, Before, After, Now string
	Busy, Free, None, Gone, Later string
	AllRooms, Zone                string
	weekdays                      [7]string
	date                          func(w *words, t time.Time) string
}

var english = &words{
	Lang: "en", Title: "Room calendar", Rooms: "Room", Views: "View", Day: "Day", Week: "Week", Before: "Earlier", After: "Later", Now: "Today",
	Busy: "Busy", Free: "No meetings", None: "No rooms are public.", Gone: "There is no public calendar here.", Later: "Too many requests. Please try again in a minute.",
	AllRooms: "All rooms", Zone: "Times in %s",
	weekdays: [7]string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"},
	date:     func(w *words, t time.Time) string { return w.weekdays[t.Weekday()] + t.Format(", Jan 2, 2006") },
}

var german = &words{
	Lang: "de", Title: "Raumkalender", Rooms: "Raum", Views: "Ansicht", Day: "Tag", Week: "Woche", Before: "Früher", After: "Später", Now: "Heute",
	Busy: "Belegt", Free: "Keine Besprechungen", None: "Kein Raum ist öffentlich.", Gone: "Hier gibt es keinen öffentlichen Kalender.", Later: "Zu viele Anfragen. Bitte versuchen Sie es in einer Minute erneut.",
	AllRooms: "Alle Räume", Zone: "Zeiten in %s",
	weekdays: [7]string{"So.", "Mo.", "Di.", "Mi.", "Do.", "Fr.", "Sa."},
	date:     func(w *words, t time.Time) string { return w.weekdays[t.Weekday()] + t.Format(", 2.1.2006") },
}

var chinese = &words{
	Lang: "zh-CN", Title: "会议室日历", Rooms: "会议室", Views: "视图", Day: "日", Week: "周", Before: "之前", After: "之后", Now: "今天",
	Busy: "占用", Free: "没有会议", None: "没有公开的会议室。", Gone: "此处没有公开日历。", Later: "请求过多，请一分钟后重试。",
	AllRooms: "所有会议室", Zone: "时间以 %s 为准",
	weekdays: [7]string{"周日", "周一", "周二", "周三", "周四", "周五", "周六"},
	date:     func(w *words, t time.Time) string { return t.Format("2006年1月2日 ") + w.weekdays[t.Weekday()] },
}

func (w *words) Date(t time.Time) string { return w.date(w, t) }

func (w *words) InZone(zone string) string { return fmt.Sprintf(w.Zone, zone) }

// wordsFor returns the words of the first supported language of an Accept-Language header, otherwise
// English.
func wordsFor(accepted string) *words {
	for part := range strings.SplitSeq(accepted, ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		language, _, _ := strings.Cut(strings.ToLower(tag), "-")
		switch language {
		case "en":
			return english
		case "de":
			return german
		case "zh":
			return chinese
		}
	}
	return english
}
