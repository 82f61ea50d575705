package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the maximum length of names and titles, in characters.
const MaxName = 200

// Line checks a single line, which may be empty: at most limit characters, no control characters,
// no line breaks. For a required text check [Visible] too.
func (l *List) Line(location, s string, limit int) {
	l.text(location, s, limit, forbiddenInLine, "must not contain control characters, line breaks or invalid UTF-8")
}

// Text checks a text of several lines, which may be empty.
func (l *List) Text(location, s string, limit int) {
	l.text(location, s, limit, forbiddenInText, "must not contain control characters or invalid UTF-8")
}

// Name checks a single line that must not be empty.
func (l *List) Name(location, s string, limit int) {
	if !Visible(s) {
		l.Add(location, "too_short", "must not be empty")
		return
	}
	l.Line(location, s, limit)
}

func (l *List) text(location, s string, limit int, forbidden func(rune) bool, message string) {
	switch {
	case utf8.RuneCountInString(s) > limit:
		l.Add(location, "too_long", "must have at most %d characters", limit)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, forbidden):
		l.Add(location, "control_character", "%s", message)
	}
}

// AsLine returns a text as [List.Line] accepts it: what is forbidden becomes a space, spaces are joined, and what is
// too long is cut off. It is empty if nothing visible is left.
func AsLine(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if forbiddenInLine(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)), " ")
	if runes := []rune(s); len(runes) > limit {
		s = strings.TrimSpace(string(runes[:limit]))
	}
	if !Visible(s) {
		return ""
	}
	return s
}

// AsText returns a text as [List.Text] accepts it, without what is forbidden.
func AsText(s string) string {
	return strings.Map(func(r rune) rune {
		if forbiddenInText(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
}

// Visible reports whether a text shows anything. Spaces and zero-width characters do not.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !invisible(r) })
}

// invisible reports whether a character other than a space shows nothing.
func invisible(r rune) bool {
	return r == '\u2800' || // a braille cell without dots
		unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// forbiddenInLine reports control characters, line breaks, and characters that change the text
// direction beyond the line. Direction marks and joiners are harmless.
func forbiddenInLine(r rune) bool {
	mark := r == '\u200e' || r == '\u200f' || r == '\u061c'
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) && !mark
}

func forbiddenInText(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202d' || r == '\u202e' // overrides the direction of letters
}
