package tests

import (
	"cmp"
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
	MinLength, MaxLength *int
	MinItems, MaxItems   *int
	Minimum, Maximum     *float64
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

// TestDescription asks a busy program everything that /openapi.json describes, as an admin and as others.
// The answers are checked against the description as all answers in these tests are.
func TestDescription(t *testing.T) {
	t.Parallel()
	on := setup{}
	on.YAML = "topics: { allow_networks: [127.0.0.0/8] }\npublic: { enabled: true }\n" + mailroomYAML
	a := newAffair(t, on)
	d := describe(t, a.server)
	a.furnish(t)
	called := map[string]bool{}
	call := func(c *testenv.Client, op *operation, path string, body any) {
		t.Helper()
		res := c.Do(t, op.method, path, body)
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

// furnish adds what makes answers differ: what is there in one place and not in another.
func (a *affair) furnish(t *testing.T) {
	t.Helper()
	a.admin.NewRoom(t, "Strict", with{
		"approval": with{"required": true, "approver_ids": []int64{a.vera.User.ID}, "second_level": with{"approver_ids": []int64{a.mona.User.ID}}, "timeout": "4h"},
		"policy": with{"quota": with{"per": "week", "count": 3}, "min_duration": "15m", "max_duration": "8h", "step": "15m",
			"opening_hours": []any{with{"days": []string{"MO"}, "from": "08:00", "to": "20:00"}}},
	})
	a.admin.Want(t, http.StatusOK, http.MethodPut, at("/rooms/%d/photo", a.room.ID), with{"image": picture(t, 100, 100)}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/floor-plans", with{"image": picture(t, 100, 100), "rooms": []any{with{"room_id": a.room.ID, "x": 0.5, "y": 0.5}}}, nil)
	a.admin.Want(t, http.StatusOK, http.MethodPatch, "/branding", with{"name": "Acme", "logo": picture(t, 100, 100)}, nil)
	a.alice.Want(t, http.StatusCreated, http.MethodPost, "/fault-reports", with{"room_id": a.room.ID, "category": "temperature"}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/custom-fields", with{"name": "project", "label": "Project", "labels": with{"de": "Projekt"}}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/holidays", with{"name": "Holidays", "ics": calendarOf(dayEvent("a", a.start.AddDate(0, 0, 90), 1, "Holiday"))}, nil)
	a.admin.Want(t, http.StatusOK, http.MethodPut, "/public-access", with{"site_id": a.site, "show": "titles"}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/groups", with{"name": "Facility"}, nil)
	var leaver struct{ ID int64 }
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/users", with{"email": "leaver@example.org", "name": "Leaver", "role": "member"}, &leaver)
	a.admin.Want(t, http.StatusOK, http.MethodPost, at("/users/%d/leave", leaver.ID), with{"meetings": "keep"}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/types", with{"name": "Exam", "names": with{"de": "Prüfung"}}, nil)
	a.vera.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": with{"from": inSeconds(-60), "until": inSeconds(3600), "deputy_id": a.admin.User.ID}}, nil)
	for _, c := range []*testenv.Client{a.admin, a.vera, a.alice} {
		c.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{"room_id": a.room.ID}, nil)
		c.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{}, nil)
		c.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "x", "scopes": []string{"rooms:read"}}, nil)
	}
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/1/jobs", with{"id": "1", "delay_ms": 1, "body": with{"x": 1}}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/1/jobs", with{"id": "2", "delay_ms": 3600_000, "body": with{"x": 1}}, nil)
	var popped struct{ Items []struct{ ID, Lease string } }
	a.admin.Want(t, http.StatusOK, http.MethodPost, "/topics/1/pop", with{"wait_ms": 30_000}, &popped)
	if len(popped.Items) != 1 || popped.Items[0].ID != "1" {
		t.Fatalf("popped %+v", popped)
	}
	a.admin.Want(t, http.StatusNoContent, http.MethodPost, "/topics/1/jobs/1/fail", with{"lease": popped.Items[0].Lease, "error": "no", "dead": true}, nil)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/webhooks", with{"url": "http://127.0.0.1:9/x"}, nil)
	a.admin.Want(t, http.StatusOK, http.MethodPut, "/topics/2/webhook", with{"url": "http://127.0.0.1:9/x", "secret": "a long secret, as it should be"}, nil)
	a.admin.NewRoom(t, "Mailed", with{"address": "mailed"})
	eml := invite{uid: "furnished", from: "alice@example.org", to: "mailed@rooms.example.org", start: inSeconds(86400)}.eml()
	a.admin.Want(t, http.StatusOK, http.MethodPost, "/mailroom/messages", with{"raw": []byte(eml)}, nil)
	a.server.Configure(t, a.server.Config(t)+"\nnonsense: true\n") // which is refused
	eventually(t, time.Now().Add(slack), "the new configuration is refused", func() bool {
		var now struct{ Refused *struct{ At time.Time } }
		a.admin.Want(t, http.StatusOK, http.MethodGet, "/config", nil, &now)
		return now.Refused != nil
	})
}
