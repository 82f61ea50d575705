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
