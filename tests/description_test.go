package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// description is /openapi.json, as far as tests need it.
type description struct {
	Paths      map[string]map[string]*operation
	Components struct{ Schemas map[string]*schema }
}

// operation of the description, with its method and path.
type operation struct {
	ID         string `json:"operationId"`
	Parameters []struct {
		Name, In string
		Required bool
		Schema   *schema
	}
	RequestBody *struct {
		Content map[string]struct{ Schema *schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}

	method, path string
}

// schema is what the description uses of JSON Schema.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any    // a name or a list of them
	Format               string
	Enum                 []any
	Properties           map[string]*schema
	Required             []string
	AdditionalProperties any
	Items                *schema
	AnyOf, OneOf, AllOf  []*schema
}

func describe(t *testing.T, server *testenv.ServerInstance) *description {
	t.Helper()
	var d description
	server.Anonymous().Want(t, http.StatusOK, http.MethodGet, server.URL+"/openapi.json", nil, &d)
	for path, operations := range d.Paths {
		for method, op := range operations {
			op.method, op.path = strings.ToUpper(method), path
		}
	}
	return &d
}

// operations are those of the description, GETs first, in an order that stays.
func (d *description) operations() []*operation {
	var all []*operation
	for _, operations := range d.Paths {
		for _, op := range operations {
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b *operation) int { return strings.Compare(a.method+a.path, b.method+b.path) })
	return all
}

// streams tells whether the answer does not end by itself.
func (o *operation) streams() bool {
	_, ok := o.Responses["200"].Content["text/event-stream"]
	return ok
}

func (o *operation) takes(parameter string) bool {
	for _, p := range o.Parameters {
		if p.In == "query" && p.Name == parameter {
			return true
		}
	}
	return false
}

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// at is the path with an id in place of every parameter.
func (o *operation) at(id any) string {
	return pathParameter.ReplaceAllString(o.path, fmt.Sprint(id))
}

// answer describes the body of a success, nil where none is described.
func (o *operation) answer(status int) *schema {
	return o.Responses[fmt.Sprint(status)].Content["application/json"].Schema
}

func (d *description) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// faults tells where a value is not as the schema says. Nothing may be there that it does not name.
func (d *description) faults(s *schema, v any, place string) []string {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		return d.faults(d.resolve(s), v, place)
	}
	var found []string
	fault := func(format string, args ...any) { found = append(found, place+": "+fmt.Sprintf(format, args...)) }
	if any := append(slices.Clone(s.AnyOf), s.OneOf...); len(any) > 0 {
		var why []string
		for _, one := range any {
			fs := d.faults(one, v, place)
			if len(fs) == 0 {
				return nil
			}
			why = append(why, fs...)
		}
		return why
	}
	for _, one := range s.AllOf {
		found = append(found, d.faults(one, v, place)...)
	}
	if is := kindOf(v); !s.allows(is) {
		fault("is %s, not %v", is, s.Type)
		return found
	}
	if v != nil && len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		fault("is %v, none of %v", v, s.Enum)
	}
	switch v := v.(type) {
	case string:
		if s.Format == "date-time" {
			if _, err := time.Parse(time.RFC3339, v); err != nil {
				fault("%v", err)
			}
		}
	case []any:
		for i, e := range v {
			found = append(found, d.faults(s.Items, e, fmt.Sprintf("%s[%d]", place, i))...)
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				fault("lacks %s", name)
			}
		}
		for name, e := range v {
			within := place + "." + name
			if p := s.Properties[name]; p != nil {
				found = append(found, d.faults(p, e, within)...)
				continue
			}
			switch others := s.AdditionalProperties.(type) {
			case bool:
				if !others {
					fault("has %s, of which nothing is said", name)
				}
			case map[string]any:
				found = append(found, d.faults(schemaOf(others), e, within)...)
			}
		}
	}
	return found
}

// allows tells whether a value may be of the kind; no type allows all.
func (s *schema) allows(kind string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == kind || t == "number" && kind == "integer"
	case []any:
		return slices.ContainsFunc(t, func(one any) bool { return (&schema{Type: one}).allows(kind) })
	}
	return true
}

func schemaOf(v map[string]any) *schema {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err)
	}
	return &s
}

// kindOf is JSON Schema's name for the type of a decoded value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
