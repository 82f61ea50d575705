package scim

import (
	"encoding/json"
	"strconv"
	"strings"

	filter "github.com/scim2/filter-parser/v2"
)

// maxFilter limits the length of a filter or path, in bytes.
const maxFilter = 1000

// condition is one comparison of a filter: the attribute, in lower case and without a schema, equals the value.
type condition struct {
	Attribute string // such as username or emails.value
	Value     any    // a text or a boolean
}

// parseFilter parses the filters that clients use to find a resource: comparisons with eq, joined by and.
// In a value path, such as emails[type eq "work" and value eq "a@example.org"], it ignores the type, because
// a user has one address. It returns an [*Error] for any other filter.
func parseFilter(text string) ([]condition, error) {
	if len(text) > maxFilter {
		return nil, refuse(invalidFilter, "filter: must be at most %d bytes", maxFilter)
	}
	e, err := filter.ParseFilter([]byte(text))
	if err != nil {
		return nil, refuse(invalidFilter, "filter: must be a filter of RFC 7644 such as userName eq \"ada@example.org\"")
	}
	return conditionsOf(e, "")
}

func conditionsOf(e filter.Expression, within string) ([]condition, error) {
	switch e := e.(type) {
	case *filter.LogicalExpression:
		if e.Operator != filter.AND {
			return nil, refuse(invalidFilter, "filter: must join comparisons by and; %s is not supported", e.Operator)
		}
		left, err := conditionsOf(e.Left, within)
		if err != nil {
			return nil, err
		}
		right, err := conditionsOf(e.Right, within)
		return append(left, right...), err
	case *filter.ValuePath:
		inner, err := conditionsOf(e.ValueFilter, strings.ToLower(e.AttributePath.AttributeName)+".")
		if err != nil {
			return nil, err
		}
		var kept []condition
		for _, c := range inner {
			if !strings.HasSuffix(c.Attribute, ".type") && !strings.HasSuffix(c.Attribute, ".primary") {
				kept = append(kept, c)
			}
		}
		if len(kept) == 0 {
			return nil, refuse(invalidFilter, "filter: must compare a value of %s", e.AttributePath.AttributeName)
		}
		return kept, nil
	case *filter.AttributeExpression:
		if e.Operator != filter.EQ {
			return nil, refuse(invalidFilter, "filter: must compare by eq; %s is not supported", e.Operator)
		}
		value := e.CompareValue
		switch v := value.(type) {
		case bool:
		case string: // as it was written, with escapes of JSON
			var unescaped string
			if err := json.Unmarshal([]byte(`"`+v+`"`), &unescaped); err != nil {
				return nil, refuse(invalidFilter, "filter: %s must be compared with a JSON string", e.AttributePath.AttributeName)
			}
			value = unescaped
		default:
			return nil, refuse(invalidFilter, "filter: %s must be compared with a string or a boolean", e.AttributePath.AttributeName)
		}
		return []condition{{within + nameOf(e.AttributePath), value}}, nil
	}
	return nil, refuse(invalidFilter, "filter: must be comparisons by eq, joined by and")
}

// nameOf returns an attribute in lower case, because names ignore case, without its schema.
func nameOf(p filter.AttributePath) string {
	name := strings.ToLower(p.AttributeName)
	if sub := p.SubAttributeName(); sub != "" {
		name += "." + strings.ToLower(sub)
	}
	return name
}

// text returns a value of a filter as a string, without NUL, which Postgres cannot store.
func (c condition) text() (string, error) {
	s, ok := c.Value.(string)
	if !ok || strings.ContainsRune(s, 0) || strings.ToValidUTF8(s, "") != s {
		return "", refuse(invalidFilter, "filter: %s must be compared with a string", c.Attribute)
	}
	return s, nil
}

// boolean returns a value of a filter as a boolean, which some clients send as a string.
func (c condition) boolean() (bool, error) {
	if b, ok := asBool(c.Value); ok {
		return b, nil
	}
	return false, refuse(invalidFilter, "filter: %s must be compared with true or false", c.Attribute)
}

func asBool(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		b, err := strconv.ParseBool(strings.ToLower(v))
		return b, err == nil
	}
	return false, false
}
