package fault

import (
	"net/mail"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxEmail  = 254 // bytes: RFC 5321 4.5.3.1.3, without the angle brackets
	maxLocal  = 64  // bytes: RFC 5321 4.5.3.1.1
	maxLabel  = 63  // characters: RFC 1035 2.3.4
	maxLocale = 35  // RFC 5646 4.4.1
)

var localePattern = regexp.MustCompile(`^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

// Email returns an address without surrounding spaces, in Unicode's composed form. It adds a fault
// if the address is missing or malformed. See [IsEmail].
func (l *List) Email(location, s string) string {
	s = norm.NFC.String(strings.TrimSpace(s))
	switch {
	case s == "":
		l.Add(location, "required", "is required")
	case len(s) > maxEmail:
		l.Add(location, "too_long", "must have at most %d bytes", maxEmail)
	case !IsEmail(s):
		l.Add(location, "invalid_email", "must be an email address such as name@example.org")
	}
	return s
}

// FoldEmail returns the form in which addresses are compared: without surrounding spaces, in lower
// case. The local part may depend on case, but no provider uses that and people get it wrong.
func FoldEmail(s string) string { return strings.ToLower(norm.NFC.String(strings.TrimSpace(s))) }

// IsEmail reports whether s is a bare address at a full domain name. It rejects hosts without a
// domain and IP addresses, because their mail could reach our own machines.
func IsEmail(s string) bool {
	parsed, err := mail.ParseAddress(s)
	if err != nil || parsed.Address != s || len(s) > maxEmail || !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
		return false
	}
	at := strings.LastIndexByte(s, '@')
	return at <= maxLocal && isDomain(s[at+1:])
}

// hidden reports whether a character of an address is invisible.
func hidden(r rune) bool { return r == ' ' || !unicode.IsPrint(r) || invisible(r) }

// isDomain reports whether s is a full domain name: two labels or more, the last not a number.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	top := strings.ToLower(labels[len(labels)-1])
	if len(labels) < 2 || top == "localhost" || !strings.ContainsFunc(top, unicode.IsLetter) {
		return false
	}
	for _, label := range labels {
		n := utf8.RuneCountInString(label)
		if n == 0 || n > maxLabel || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, invalidInLabel) {
			return false
		}
	}
	return true
}

func invalidInLabel(r rune) bool {
	return r != '-' && !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r)
}

// Locale returns a language tag with hyphens ("zh_CN" becomes "zh-CN"). It adds a fault if the tag
// is malformed or empty.
func (l *List) Locale(location, s string) string {
	s = strings.ReplaceAll(s, "_", "-")
	if len(s) > maxLocale || !localePattern.MatchString(s) {
		l.Add(location, "invalid_locale", "must be a language tag such as en or zh-CN")
	}
	return s
}
