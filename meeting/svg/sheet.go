package svg

import (
	"maps"
	"regexp"
	"strings"
)

// Limits of style sheets, which drawing programs write with one rule per kind of line.
const (
	maxSheet   = 64 << 10 // bytes of all sheets of a drawing; the rest is left out
	maxRules   = 2_000
	maxClasses = 20 // of an element that count
)

// sheet are the rules of the style sheets of a drawing: what names of elements, classes and IDs declare.
// Rules with other selectors are left out.
type sheet struct {
	rules map[string]map[string]string // by selector, such as rect, .wall or #room-1: values by property
	count int                          // of selectors, also of those that are there already
	size  int                          // of all style sheets so far, in bytes
}

var (
	comment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	selector = regexp.MustCompile(`^(?:[a-zA-Z]+|[.#][\p{L}\p{N}_-]+)$`)
)

// add reads the rules of a style sheet. Rules within others, such as those for printing, are left out.
func (s *sheet) add(text string) {
	text = comment.ReplaceAllString(text, " ")
	for text != "" && s.count < maxRules {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			return
		}
		head, depth, end := text[:open], 1, open+1
		for end < len(text) && depth > 0 {
			switch text[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
			end++
		}
		if depth > 0 {
			return
		}
		body := text[open+1 : end-1]
		text = text[end:]
		if i := strings.LastIndexByte(head, ';'); i >= 0 {
			head = head[i+1:] // what precedes is @import or @charset
		}
		if strings.Contains(head, "@") || strings.Contains(body, "{") {
			continue
		}
		declared := declarations(body)
		for name := range strings.SplitSeq(head, ",") {
			name = strings.TrimSpace(name)
			if !selector.MatchString(name) || s.count >= maxRules {
				continue
			}
			if s.rules == nil {
				s.rules = map[string]map[string]string{}
			}
			if s.rules[name] == nil {
				s.rules[name] = map[string]string{}
			}
			maps.Copy(s.rules[name], declared)
			s.count++
		}
	}
}

// declarations reads "fill: red; stroke: none" and keeps the properties that drawings have, each with its
// last value.
func declarations(text string) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(text, ";") {
		property, value, ok := strings.Cut(part, ":")
		if property = strings.ToLower(strings.TrimSpace(property)); ok && properties[property] {
			out[property] = strings.TrimSpace(value)
		}
	}
	return out
}

// apply sets what the rules and the style attribute of an element declare, the most specific last.
func (s *sheet) apply(name string, attrs []attr, style map[string]string) {
	var classes, id, own string
	for _, a := range attrs {
		switch a.name {
		case "class":
			classes = a.value
		case "id":
			id = strings.TrimSpace(a.value)
		case "style":
			own = a.value
		}
	}
	maps.Copy(style, s.rules[name])
	for i, class := range strings.Fields(classes) {
		if i == maxClasses {
			break
		}
		maps.Copy(style, s.rules["."+class])
	}
	if id != "" {
		maps.Copy(style, s.rules["#"+id])
	}
	if own != "" {
		maps.Copy(style, declarations(comment.ReplaceAllString(own, " ")))
	}
}
