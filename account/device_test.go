package account

import (
	"strings"
	"testing"
	"time"

	"punctual/account/signing"
)

func TestDevices(t *testing.T) {
	d, now := devices{signing.NewRing(signing.NewKey(1))}, time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	first := d.renew("", 1, now)
	id := d.known(first, 1, now)
	if id == "" || len(first) > 200 {
		t.Fatalf("%q: %q", first, id)
	}
	for what, known := range map[string]string{
		"another user":   d.known(first, 2, now),
		"another key":    devices{signing.NewRing(signing.NewKey(1))}.known(first, 1, now),
		"forged":         d.known(strings.Replace(first, id, strings.Repeat("A", 26), 1), 1, now),
		"long ago":       d.known(first, 1, now.Add(DeviceTTL)),
		"nothing":        d.known("", 1, now),
		"no mark":        d.known("x.y-1-z."+id, 1, now),
		"after too many": d.known(strings.Repeat("x.", maxMarks)+first, 1, now),
	} {
		if known != "" {
			t.Errorf("%s: known as %s", what, known)
		}
	}
	later := now.Add(DeviceTTL - time.Hour)
	if again := d.renew(first, 1, later); d.known(again, 1, later.AddDate(1, 0, 0)) != id || strings.Contains(again, ".") {
		t.Errorf("renewed as %s", again)
	}

	shared := first // by more users than it is known for
	for user := range int64(maxMarks) {
		shared = d.renew(shared, user+2, now)
	}
	for user := range int64(maxMarks) {
		if d.known(shared, user+2, now) == "" {
			t.Errorf("not known for user %d", user+2)
		}
	}
	if d.known(shared, 1, now) != "" || strings.Count(shared, ".") != maxMarks-1 {
		t.Errorf("still known for the first of them: %s", shared)
	}
}
