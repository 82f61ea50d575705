package rest

import (
	"testing"
	"time"
)

func TestIfMatch(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int64{`"3"`: 3, "3": 3, ` W/"3" `: 3, `"x"`: -1, `""`: -1} {
		if got := IfMatch(header); got == nil || *got != want {
			t.Errorf("%s: %v, want %d", header, got, want)
		}
	}
	for _, header := range []string{"", " ", "*"} {
		if got := IfMatch(header); got != nil {
			t.Errorf("%q: %d, want any version", header, *got)
		}
	}
	if got := IfMatch(ETag(7)); got == nil || *got != 7 {
		t.Errorf("the ETag of 7: %v", got)
	}
}

func TestOrNull(t *testing.T) {
	t.Parallel()
	if OrNull("") != nil || OrNull(0) != nil || InstantOrNull(time.Time{}) != nil {
		t.Error("a zero value is not null")
	}
	at := time.Date(2027, 3, 25, 10, 0, 0, 0, time.FixedZone("", 3600))
	if got := InstantOrNull(at); got == nil || !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("%v, want %v in UTC", got, at)
	}
	if got := OrNull("a"); got == nil || *got != "a" {
		t.Errorf("%v, want a", got)
	}
}
