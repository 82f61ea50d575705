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
		{"+15550100", nil, true},
		{"15550100", nil, true},
		{"+19005550100", nil, false},
		{"0019005550100", nil, false},
		{"19005550100", nil, false},
		{"+449012345678", nil, false},
		{"+447700900123", nil, true},
		{"+97912345678", nil, false},
		{"+88161234567", nil, false},
		{"+4930111", []string{"+49", "+43"}, true},
		{"004930111", []string{"+49"}, true},
		{"030111", []string{"+49"}, false},
		{"+15550100", []string{"+49", "+43"}, false},
		{"+49900123456", []string{"+49"}, false},
		{"+49900123456", []string{"+49", "+49900"}, true},
		{"+19005550100", []string{"+1"}, false},
	} {
		if got := allowed(c.number, c.countries); got != c.want {
			t.Errorf("%s with %v: %v", c.number, c.countries, got)
		}
	}
}
