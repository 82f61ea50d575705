package leaving

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// erasedName stands for the name of a person who was erased.
const erasedName = "Erased person"

// terms are what identifies a person in texts.
type terms struct {
	ID        int64    `json:"id"` // of the user; 0: a guest
	Erasure   int64    `json:"erasure"`
	Addresses []string `json:"addresses"` // the present one first
	Phones    []string `json:"phones"`
	Names     []string `json:"names"`
	Unique    []string `json:"unique"` // of the names, those that nobody else has and that are long enough to be searched for
}

// neutral replaces the i-th address. Each has its own, so that what was unique stays so.
func (t *terms) neutral(i int) string {
	if i == 0 {
		return fmt.Sprintf("erased-%d@erased.invalid", t.Erasure)
	}
	return fmt.Sprintf("erased-%d-%d@erased.invalid", t.Erasure, i+1)
}

// searched are the texts by which rows are found.
func (t *terms) searched() []string {
	var all []string
	for _, of := range [][]string{t.Addresses, t.Phones, t.Unique} {
		for _, s := range of {
			all = append(all, s)
			if e := escaped(s); e != s {
				all = append(all, e)
			}
		}
	}
	return all
}

// erase replaces what identifies the person. In rows that belong to the person, names that others have
// too are replaced where they are a value of their own.
func (t *terms) erase(text string, ofPerson bool) string {
	for i, a := range t.Addresses {
		text = replaceFold(text, a, t.neutral(i))
	}
	for _, p := range t.Phones {
		text = strings.ReplaceAll(text, p, "")
	}
	for _, n := range t.Unique {
		text = replaceWord(text, n, erasedName)
		text = replaceWord(text, escaped(n), erasedName)
	}
	if !ofPerson {
		return text
	}
	for _, n := range t.Names {
		if text == n {
			return erasedName
		}
		text = strings.ReplaceAll(text, `"`+escaped(n)+`"`, `"`+erasedName+`"`)
	}
	return text
}

// mentions reports whether the person is identified in the text.
func (t *terms) mentions(text string) bool { return t.erase(text, false) != text }

// escaped is the text as it is within JSON.
func escaped(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b[1 : len(b)-1])
}

// replaceFold replaces whole addresses in either case of ASCII letters: not the end of a longer one.
func replaceFold(text, old, by string) string {
	lower, old := strings.ToLower(text), strings.ToLower(old)
	if len(lower) != len(text) || !strings.Contains(lower, old) {
		if !strings.Contains(lower, old) {
			return text
		}
		return strings.ReplaceAll(text, old, by) // letters that change their length
	}
	var b strings.Builder
	for {
		i := strings.Index(lower, old)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(old)
		part := by
		if inWord(text, i, end, ".-_+@") {
			part = text[i:end]
		}
		b.WriteString(text[:i] + part)
		text, lower = text[end:], lower[end:]
	}
}

// replaceWord replaces what is not part of a longer word.
func replaceWord(text, old, by string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, old)
		if i < 0 {
			return b.String() + text
		}
		end := i + len(old)
		part := by
		if inWord(text, i, end, "") {
			part = old
		}
		b.WriteString(text[:i] + part)
		text = text[end:]
	}
}

// escape ends with what stands for one character in JSON, which is no letter.
var escape = regexp.MustCompile(`\\(u[0-9a-f]{4}|[nrtbf])$`)

// inWord reports whether a letter, a digit or one of more precedes text[from:to], or a letter or a
// digit follows it, also after a dot or a hyphen if more is not empty.
func inWord(text string, from, to int, more string) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	if from > 0 && (part(before) || strings.ContainsRune(more, before)) && !escape.MatchString(text[max(0, from-6):from]) {
		return true
	}
	after, n := utf8.DecodeRuneInString(text[to:])
	if more != "" && (after == '.' || after == '-') {
		after, _ = utf8.DecodeRuneInString(text[to+n:])
	}
	return part(after) && to < len(text)
}
