package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the maximum length of names and titles, in characters.
const MaxName = 200

// Line checks a text of one line, which may be empty: at most most characters, no control
// characters, no line breaks. A caller that requires a text also asks [Visible].
func (l *List) Line(location, s string, most int) {
	l.text(location, s, most, disturbsLine, "must not contain control characters, line breaks or invalid UTF-8")
}

// Text checks a text of several lines, which may be empty.
func (l *List) Text(location, s string, most int) {
	l.text(location, s, most, disturbsText, "must not contain control characters or invalid UTF-8")
}

func (l *List) text(location, s string, most int, disturbs func(rune) bool, message string) {
	switch {
	case utf8.RuneCountInString(s) > most:
		l.Add(location, "too_long", "must have at most %d characters", most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, disturbs):
		l.Add(location, "control_character", "%s", message)
	}
}

// Visible reports whether a text shows anything at all: blanks and zero-width characters alone
// do not.
func Visible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !blank(r) })
}

// blank reports whether a character that is no space leaves no mark on the screen.
func blank(r rune) bool {
	return r == '\u2800' || // a braille cell without dots
		unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// disturbsLine reports whether a character has no place in a line: control characters, line
// breaks, and characters that change the direction of the text beyond the line. Direction marks
// and joiners are harmless.
func disturbsLine(r rune) bool {
	mark := r == '\u200e' || r == '\u200f' || r == '\u061c'
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) && !mark
}

func disturbsText(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202d' || r == '\u202e' // force a direction upon letters
}
