package booking_test

import (
	"testing"

	"punctual/account/fault"
)

func TestFaults_line(t *testing.T) {
	for s, want := range map[string]string{
		"Review": "", "الاجتماع": "", "👩\u200d👩\u200d👧": "", "نمی\u200cخواهم": "",
		"\u200b\u200d":              "too_short",
		"\u2060\ufeff \u3164\u2800": "too_short",
		"abc\u202etxt":              "control_character",
		"\u2067abc":                 "control_character",
		"a\nb":                      "control_character",
	} {
		var found fault.List
		found.Name("title", s, 200)
		got := ""
		if len(found) > 0 {
			got = found[0].Code
		}
		if got != want {
			t.Errorf("%+q: got %q, want %q", s, got, want)
		}
	}
}
