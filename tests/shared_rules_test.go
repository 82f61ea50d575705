package tests

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestSharedRules sends the same values to every field that takes a value of their kind: each
// field accepts or refuses them alike.
func TestSharedRules(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{YAML: "auth: { login_rate: 10000/m }\n"})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	other := admin.NewUser(t, "Other", "member")
	start := inSeconds(48 * 3600)
	slot := func(fields with) with { return testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, fields) }
	series := func(fields with) with {
		return testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"rrule": "FREQ=DAILY;COUNT=1", "timezone": "UTC"}, fields)
	}
	users := 0
	user := func(fields with) with {
		users++
		u := with{"email": fmt.Sprintf("u%d@example.org", users), "name": "U", "role": "member"}
		maps.Copy(u, fields)
		return u
	}
	attendee := func(fields with) []any {
		a := with{"email": "guest@example.com"}
		maps.Copy(a, fields)
		return []any{a}
	}

	// A field of a request; what the request says besides is in order, or refused elsewhere.
	type field struct {
		method, path, location string
		body                   func(value any) with
	}
	person := func(name string) []field {
		return []field{
			{"POST", "/users", "body." + name, func(v any) with { return user(with{name: v}) }},
			{"PATCH", at("/users/%d", other.User.ID), "body." + name, func(v any) with { return with{name: v} }},
			{"POST", "/series/preview", "body.attendees[0]." + name, func(v any) with { return series(with{"attendees": attendee(with{name: v})}) }},
		}
	}
	profile := func(name string) []field {
		return append(person(name), field{"PATCH", "/me", "body." + name, func(v any) with { return with{name: v} }})
	}
	named := func(path string, fields with) field {
		return field{"POST", path, "body.name", func(v any) with { b := with{"name": v}; maps.Copy(b, fields); return b }}
	}
	names := append(profile("name"),
		named("/sites", nil), named("/rooms", nil), named("/me/tokens", nil), named("/me/feeds", nil), named("/door/pair", with{"code": "000000"}),
		field{"POST", "/series/preview", "body.title", func(v any) with { return series(with{"title": v}) }},
		field{"POST", "/blackouts", "body.reason", func(v any) with {
			return with{"room_id": room.ID, "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T01:00:00Z", "reason": v}
		}},
	)
	zones := append(profile("timezone"),
		field{"POST", "/sites", "body.timezone", func(v any) with { return with{"name": "S", "timezone": v} }},
		field{"POST", "/rooms", "body.timezone", func(v any) with { return with{"name": "R", "timezone": v} }},
		field{"POST", "/meetings", "body.timezone", func(v any) with { return slot(with{"timezone": v, "visibility": "nobody"}) }},
		field{"POST", "/series/preview", "body.timezone", func(v any) with { return series(with{"timezone": v}) }},
		field{"POST", "/blackouts", "body.timezone", func(v any) with {
			return with{"room_id": room.ID, "start": "2026-01-01T00:00:00", "end": "2026-01-01T01:00:00", "timezone": v}
		}},
	)

	for _, kind := range []struct {
		name          string
		fields        []field
		good, refused []string
	}{
		{"names", names,
			[]string{"Ada", "Zoë Müller-Lüdenscheidt", "平假名", "עברית\u200f", "a\u200db", strings.Repeat("é", 200)},
			[]string{"a\u2028b", "a\u2029b", "a\x00b", "a\nb", "a\tb", "a\u0085b", "a\u202eb", "a\u2066b", strings.Repeat("x", 201)}},
		{"addresses", person("email"),
			[]string{"ADA%d@Example.org", "o'hara%d@example.org", "ü%d@müller.example"},
			[]string{"", "nobody", "a@localhost", "a@mailhost", "a@[127.0.0.1]", "a@[IPv6:::1]", "a@127.0.0.1", "Ada <ada@example.org>", "a\u2028b@example.org",
				"a\u200bb@example.org", "a@example.org\nBcc: b@example.org", strings.Repeat("a", 250) + "@b.example", strings.Repeat("a", 65) + "@b.example"}},
		{"numbers", profile("phone"),
			[]string{"", "+4930123", "+49 (30) 123/45-6.7", "+49\u00a030\u2011123"},
			[]string{"030 123", "0049 30 123", "+0123456", "+12345678901234567", "+49 30 12x", "+49\x0030123"}},
		{"locales", profile("locale"),
			[]string{"en", "zh-CN", "zh_CN", "sr_Latn_RS"},
			[]string{"e", "en--US", "en US", "*", "en\n", "en" + strings.Repeat("-x", 20)}},
		{"zones", zones,
			[]string{"UTC", "Europe/Berlin", "Etc/GMT+5"},
			[]string{"Local", "localtime", "posixrules", "Factory", "posix/UTC", "right/Europe/Berlin", "Europe//Berlin", "./UTC", "Mars/Olympus", "../etc/passwd", "+02:00"}},
	} {
		for _, f := range kind.fields {
			for i, v := range slices.Concat(kind.good, kind.refused) {
				wanted := i >= len(kind.good)
				if strings.Contains(v, "%d") {
					users++
					v = fmt.Sprintf(v, users)
				}
				res := admin.Do(t, f.method, f.path, f.body(v))
				if res.Status != http.StatusUnprocessableEntity && res.Status >= 300 {
					t.Fatalf("%s %s with %s %q: %d %s", f.method, f.path, f.location, v, res.Status, res.Body)
				}
				p, _ := res.Problem()
				refused := false
				for _, e := range p.Errors {
					refused = refused || e.Location == f.location
				}
				if refused != wanted {
					t.Errorf("%s %s with %s %.60q: refused %v, want %v (%d %s)", f.method, f.path, f.location, v, refused, wanted, res.Status, res.Body)
				}
			}
		}
	}
}
