package booking

import (
	"testing"
)

func TestZone_refuses(t *testing.T) {
	for _, name := range []string{"", "Local", "Mars/Olympus", "../etc/passwd", "europe/berlin/", "+02:00"} {
		if _, err := zoneOf(&name, ""); err == nil {
			t.Errorf("%q was taken for a zone", name)
		}
	}
}
