package tests

import (
	"cmp"
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

// operations are those of the description: GETs, then what adds and changes, then what deletes.
func (d *description) operations() []*operation {
	var all []*operation
	for _, operations := range d.Paths {
		for _, op := range operations {
			all = append(all, op)
		}
	}
	order := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	slices.SortFunc(all, func(a, b *operation) int {
		return cmp.Or(slices.Index(order, a.method)-slices.Index(order, b.method), strings.Compare(a.path, b.path))
	})
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

// at is the path with an id in place of every parameter, but for names of jobs.
func (o *operation) at(id any) string {
	if strings.HasPrefix(o.path, "/jobs/{name}/") {
		id = "meeting.start"
	}
	return pathParameter.ReplaceAllString(o.path, fmt.Sprint(id))
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

// TestDescription: what a busy program answers, to an admin and to others, is as /openapi.json says.
func TestDescription(t *testing.T) {
	t.Parallel()
	on := setup{}
	on.YAML = "topics: { allow_networks: [127.0.0.0/8] }\n"
	a := newAffair(t, on)
	d := describe(t, a.server)
	a.furnish(t)
	called := map[string]bool{}
	told := map[string]bool{}
	call := func(c *testenv.Client, op *operation, path string, body any) {
		t.Helper()
		res := c.Do(t, op.method, path, body)
		for _, f := range d.check(op, res) {
			if f = op.method + " " + op.path + ": " + f; !told[f] {
				told[f] = true
				t.Error(f)
			}
		}
		if res.Status < 300 {
			called[op.ID] = true
		}
	}
	for _, op := range d.operations() { // GETs come before what changes and deletes
		if op.streams() {
			continue
		}
		for id := 1; id == 1 || id <= 12 && strings.Contains(op.path, "{"); id++ {
			for _, c := range []*testenv.Client{a.admin, a.vera, a.alice, a.door} {
				if op.method == http.MethodGet {
					for _, query := range a.queries(op) {
						call(c, op, op.at(id)+query, nil)
					}
				} else if op.ID != "logout" {
					call(c, op, op.at(id), a.body(d, op))
				}
			}
		}
	}
	var missing []string
	for _, op := range d.operations() {
		if !called[op.ID] && op.method == http.MethodGet && !op.streams() {
			missing = append(missing, op.ID)
		}
	}
	// Calendars take a token of their own, no job is dead, and no mail is kept under a number.
	slices.Sort(missing)
	if want := []string{"get-dead-job", "get-outbox-message", "my-calendar", "room-calendar"}; !slices.Equal(missing, want) {
		t.Errorf("GETs that were never answered: %v, want %v alone", missing, want)
	}
	t.Logf("%d of %d operations answered", len(called), len(d.operations()))
}

// check tells where an answer is not as the operation says.
func (d *description) check(op *operation, res *testenv.Response) []string {
	content, described := op.Responses[fmt.Sprint(res.Status)]
	if !described {
		content, described = op.Responses["default"]
	}
	if !described {
		return []string{fmt.Sprintf("answers %d, of which nothing is said", res.Status)}
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if len(res.Body) == 0 && len(content.Content) == 0 {
		return nil
	}
	body, described := content.Content[kind]
	if !described {
		return []string{fmt.Sprintf("answers %d as %q, of which nothing is said", res.Status, kind)}
	}
	if !strings.HasSuffix(kind, "json") {
		return nil
	}
	var v any
	if err := res.Decode(&v); err != nil {
		return []string{err.Error()}
	}
	return d.faults(body.Schema, v, fmt.Sprint(res.Status))
}

// furnish adds what makes answers differ: what is there in one place and not in another.
func (a *affair) furnish(t *testing.T) {
	t.Helper()
	a.admin.NewRoom(t, "Strict", with{
		"approval": with{"required": true, "approver_ids": []int64{a.vera.User.ID}, "second_level": with{"approver_ids": []int64{a.mona.User.ID}}, "timeout": "4h"},
		"policy": with{"quota": with{"per": "week", "count": 3}, "min_duration": "15m", "max_duration": "8h", "step": "15m",
			"opening_hours": []any{with{"days": []string{"MO"}, "from": "08:00", "to": "20:00"}}},
	})
	a.vera.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": with{"from": inSeconds(-60), "until": inSeconds(3600), "deputy_id": a.admin.User.ID}}, nil)
	for _, c := range []*testenv.Client{a.admin, a.vera, a.alice} {
		c.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{"room_id": a.room.ID}, nil)
		c.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{}, nil)
		c.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "x", "scopes": []string{"rooms:read"}}, nil)
	}
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/1/jobs", with{"id": "1", "delay_ms": 1, "body": with{"x": 1}}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/1/jobs", with{"id": "2", "delay_ms": 3600_000, "body": with{"x": 1}}, nil)
	var popped struct{ Items []struct{ ID, Lease string } }
	a.admin.Want(t, http.StatusOK, http.MethodPost, "/topics/1/pop", with{"wait_ms": 5000}, &popped)
	a.admin.Want(t, http.StatusNoContent, http.MethodPost, "/topics/1/jobs/1/fail", with{"lease": popped.Items[0].Lease, "error": "no", "dead": true}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": "http://127.0.0.1:9/x"}, nil)
	a.admin.Want(t, http.StatusOK, http.MethodPut, "/topics/2/webhook", with{"url": "http://127.0.0.1:9/x", "secret": "a long secret, as it should be"}, nil)
	a.server.Configure(t, a.server.Config(t)+"\nnonsense: true\n") // which is refused
	eventually(t, time.Now().Add(slack), "the new configuration is refused", func() bool {
		var now struct{ Refused *struct{ At time.Time } }
		a.admin.Want(t, http.StatusOK, http.MethodGet, "/config", nil, &now)
		return now.Refused != nil
	})
}
