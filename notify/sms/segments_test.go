package sms

import (
	"strings"
	"testing"
)

func TestSegments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"empty":                              {"", 1},
		"160 of GSM":                         {strings.Repeat("ä", 160), 1},
		"161 of GSM":                         {strings.Repeat("a", 161), 2},
		"two full parts":                     {strings.Repeat("a", 306), 2},
		"one more":                           {strings.Repeat("a", 307), 3},
		"80 of the extension":                {strings.Repeat("€", 80), 1},
		"81 of the extension":                {strings.Repeat("{", 81), 2},
		"no part ends within the extension":  {strings.Repeat("a", 152) + "€" + strings.Repeat("a", 152), 3},
		"70 of UCS-2":                        {strings.Repeat("会", 70), 1},
		"71 of UCS-2":                        {strings.Repeat("会", 71), 2},
		"134 of UCS-2":                       {strings.Repeat("会", 134), 2},
		"135 of UCS-2":                       {strings.Repeat("会", 135), 3},
		"one character outside of GSM":       {strings.Repeat("a", 70) + "ç", 2},
		"35 surrogate pairs":                 {strings.Repeat("😀", 35), 1},
		"36 surrogate pairs":                 {strings.Repeat("😀", 36), 2},
		"no part ends within surrogate pair": {strings.Repeat("会", 66) + "😀" + strings.Repeat("会", 66), 3},
	} {
		if got := Segments(c.text); got != c.want {
			t.Errorf("%s: %d segments, want %d", name, got, c.want)
		}
	}
}
