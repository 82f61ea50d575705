package fault

import (
	"testing"
	"time"
)

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Second: "1s", 90 * time.Second: "1m30s", 15 * time.Minute: "15m", time.Hour: "1h", 24 * time.Hour: "24h",
		90 * time.Minute: "1h30m", time.Hour + time.Second: "1h0m1s", 10 * time.Second: "10s", 10 * time.Minute: "10m", 100 * time.Hour: "100h",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%d: got %q, want %q", d, got, want)
		}
	}
}
