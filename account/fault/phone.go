package fault

import (
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
)

// Phone returns a number in E.164 form, without spaces and separators. It adds a fault if the number is not
// an international one. An empty number is valid.
func (l *List) Phone(location, s string) string {
	s = compact(s)
	if s == "" {
		return ""
	}
	if number, ok := E164(s); ok {
		return number
	}
	l.Add(location, "invalid_phone", "must be an international number such as +4930123")
	return s
}

// E164 returns an international number, which begins with a plus, in E.164 form. ok is false if no number of the
// country has as many digits, or no country has the number.
func E164(s string) (number string, ok bool) {
	s = compact(s)
	if !strings.HasPrefix(s, "+") || strings.ContainsFunc(s[1:], func(r rune) bool { return r < '0' || r > '9' }) {
		return "", false // the library also reads letters and extensions
	}
	n, err := phonenumbers.Parse(s, "")
	if err != nil || phonenumbers.IsPossibleNumberWithReason(n) != phonenumbers.IS_POSSIBLE {
		return "", false
	}
	return phonenumbers.Format(n, phonenumbers.E164), true
}

// compact removes what people write between digits.
func compact(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Dash, r) || strings.ContainsRune("()./", r) {
			return -1
		}
		return r
	}, s)
}
