package sms

import "testing"

func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number    string
		countries []string
		want      bool
	}{
		{"+4930111", nil, true},
		{"+14155550100", nil, true},
		{"+447400123456", nil, true},
		{"+19005550100", nil, false},
		{"+449012345678", nil, false},
		{"+33899123456", nil, false},
		{"+979123456789", nil, false},
		{"+881612345678", nil, false},
		{"+881612345678", []string{"+49"}, false},
		{"+881612345678", []string{"+881"}, true},
		{"+4930111", []string{"+49", "+43"}, true},
		{"+14155550100", []string{"+49", "+43"}, false},
		{"+499001234567", []string{"+49"}, false},
		{"+499001234567", []string{"+49", "+49900"}, true},
		{"+19005550100", []string{"+1"}, false},
		{"+19005550100", []string{"+1900"}, true},
		{"004930111", []string{"+49"}, false},
	} {
		if got := allowed(c.number, c.countries); got != c.want {
			t.Errorf("%s with %v: %v", c.number, c.countries, got)
		}
	}
}
