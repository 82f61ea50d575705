package booking_test

import (
	"testing"

	"punctual/meeting/booking"
)

func TestZone_refuses(t *testing.T) {
	for _, name := range []string{"", "Local", "Mars/Olympus", "../etc/passwd", "europe/berlin/", "+02:00"} {
		if _, err := booking.ZoneOf(&name, ""); err == nil {
			t.Errorf("%q was taken for a zone", name)
		}
	}
}
