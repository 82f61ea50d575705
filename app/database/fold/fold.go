// Package fold makes texts comparable that differ only in case, accents or width. Postgres has the
// same function, search_fold (migration 0360).
package fold

import (
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Text returns a text as searches compare it: Marks in lower case.
func Text(s string) string { return strings.ToLower(Marks(s)) }

// Marks returns a text without accents and with characters of full width narrowed. Each character of
// Chinese, Japanese and other East Asian scripts stands three times, because indexes of three
// characters would not find words of one or two. A text contains another exactly if its Marks contain
// those of the other. Its case is kept.
func Marks(s string) string {
	if ascii(s) {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(s) {
		switch {
		case r >= 0x300 && r <= 0x36f: // accents
		case r >= 0x2e80:
			b.WriteRune(r)
			b.WriteRune(r)
			fallthrough
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
