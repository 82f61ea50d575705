package fault

import (
	"strings"
	"time"
)

// FormatDuration formats a duration as in messages and in the REST API, without zero units: "15m",
// "1h30m", "24h", "0s".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if d%time.Minute == 0 && d != 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if d%time.Hour == 0 && d != 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// WholeSeconds checks a duration that is stored in whole seconds.
func (l *List) WholeSeconds(location string, d, most time.Duration) {
	switch {
	case d < 0:
		l.Add(location, "negative", "must not be negative")
	case d > most:
		l.Add(location, "too_long", "must be at most %s", FormatDuration(most))
	case d%time.Second != 0:
		l.Add(location, "not_whole_seconds", "must be a whole number of seconds")
	}
}
