package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestMutations puts odd values in every place of valid requests. Whatever the answer is, it
// is none that only a mistake of ours explains, and the program goes on.
func TestMutations(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		strict := admin.NewRoom(t, "Strict", with{"approval": with{"required": true}})
		start := inSeconds(3600)
		m := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
		pending := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{strict.ID}))

		odd := []any{nil, true, 5, -1, 0.5, 1e300, json.Number(strings.Repeat("9", 40)), "", " ", "\x00", "a\x00b", "\u2028", "😀", "\U0010FFFF", "''; --", "%s%n", "../..",
			strings.Repeat("long", 5_000), []any{}, []any{nil}, []any{"\x00"}, with{}, with{"": 1},
			"9999999h", "-1ns", "1e9h", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2027-02-10T24:00:00Z", "2027-02-10T10:00:00+99:99"}
		for _, request := range []struct {
			method, path string
			body         with
		}{
			{"POST", "/meetings", testenv.Booking(start.Add(time.Hour), start.Add(2*time.Hour), []int64{room.ID}, with{
				"description": "d", "timezone": "UTC", "visibility": "public",
				"attendees": []any{with{"email": "a@example.org", "name": "A", "phone": "+4930123", "locale": "en", "timezone": "UTC"}},
				"reminders": []any{reminder("start", time.Minute, "email")},
			})},
			{"PATCH", at("/meetings/%d", m.ID), with{"title": "t", "start": start.Format(time.RFC3339), "room_ids": []any{room.ID}}},
			{"POST", at("/meetings/%d/approve", pending.ID), with{"comment": "c"}},
			{"POST", at("/meetings/%d/cancel", m.ID), with{"reason": "r"}},
			{"POST", "/rooms", with{"name": "n", "floor": "f", "capacity": 1, "features": []any{"video"}, "timezone": "UTC", "active": true,
				"approval": with{"required": true, "approver_ids": []any{admin.User.ID}, "timeout": "1h"},
				"policy": with{"opening_hours": []any{with{"days": []any{"MO"}, "from": "08:00", "to": "20:00"}}, "min_duration": "1m", "max_duration": "1h", "min_notice": "0s",
					"max_advance": "1h", "buffer_before": "0s", "buffer_after": "0s", "quota": with{"per": "week", "count": 1, "duration": "1h"}},
				"check_in": with{"required": false, "opens": "15m", "grace": "10m"}}},
			{"POST", "/sites", with{"name": "n", "timezone": "UTC"}},
			{"POST", "/users", with{"email": "u@example.org", "name": "U", "role": "member", "phone": "+4930123", "locale": "en", "timezone": "UTC"}},
			{"POST", "/users", with{"password": "a good long password"}}, // apart: hashing is slow by design
			{"POST", "/me/tokens", with{"name": "n", "scopes": []any{"meetings:read"}, "expires_at": start.Format(time.RFC3339)}},
			{"POST", "/door/pair", with{"code": "000000000000", "name": "n"}},
			{"POST", "/auth/login", with{"email": "u@example.org", "password": "p"}},
			{"POST", "/setup", with{"token": "pq_x", "email": "u@example.org", "name": "U", "password": "a good long password"}},
		} {
			for _, place := range places(request.body) {
				for _, value := range odd {
					body := mutated(request.body, place, value)
					if res := admin.Do(t, request.method, request.path, body); res.Status >= 500 {
						t.Errorf("%s %s with %.40q at %v: %d %s", request.method, request.path, fmt.Sprint(value), place, res.Status, res.Body)
					}
				}
			}
		}
		for _, path := range []string{"/meetings", "/rooms", "/sites", "/users", "/notifications", "/jobs", "/jobs/dead", at("/meetings/%d/history", m.ID), at("/rooms/%d/free-busy", room.ID)} {
			names := []string{"cursor"}
			switch path {
			case "/meetings":
				names = []string{"limit", "cursor", "q", "from", "to", "status", "organizer", "attendee", "room_id", "site_id", "series_id"}
			case "/rooms":
				names = []string{"cursor", "q", "site_id", "features", "min_capacity"}
			case "/notifications":
				names = []string{"cursor", "meeting_id", "state"}
			}
			for _, name := range names {
				for _, value := range []string{"", "0", "-1", "9223372036854775807", "99999999999999999999", "\x00", "\xff", "%", "_", `\`, "'", "me", "😀",
					"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "bnVsbA", "eyJpZCI6MX0", strings.Repeat("A", 5000)} {
					if res := admin.Do(t, http.MethodGet, path+"?"+url.Values{name: {value}}.Encode(), nil); res.Status >= 500 {
						t.Errorf("GET %s with %s=%.40q: %d %s", path, name, value, res.Status, res.Body)
					}
				}
			}
		}
		for _, path := range []string{"/meetings/%00", "/meetings/-1", "/meetings/0", "/users/%ff", "/jobs/%00/pause", "/jobs/%2e%2e/resume", "/jobs/dead/%00/requeue", "/jobs/dead/a%3Ab/requeue", "//", "/%"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
				if res, err := admin.Try(method, path, with{}); err == nil && res.Status >= 500 {
					t.Errorf("%s %s: %d %s", method, path, res.Status, res.Body)
				}
			}
		}
		for _, header := range []string{"If-Match", "If-None-Match", "Idempotency-Key", "Authorization", "Cookie", "Content-Type", "Accept", "Accept-Language", "X-Forwarded-For", "X-Request-Id", "Last-Event-ID"} {
			for _, value := range []string{"", " ", "\xff", `"`, `"99999999999999999999"`, "W/", "*", "Bearer ", "punctual_session=\xff", "text/plain", ",,,", strings.Repeat("x", 10_000)} {
				if res := admin.Do(t, http.MethodPost, "/sites", with{"name": ""}, testenv.Header(header, value)); res.Status >= 500 {
					t.Errorf("%s: %.40q: %d %s", header, value, res.Status, res.Body)
				}
			}
		}
		if res := admin.Do(t, http.MethodGet, "/me", nil); res.Status != http.StatusOK {
			t.Errorf("afterwards: %d %s", res.Status, res.Body)
		}
	})
}

// places are the paths of all values in a body.
func places(v any) (all [][]any) {
	below := func(key, v any) {
		all = append(all, []any{key})
		for _, p := range places(v) {
			all = append(all, append([]any{key}, p...))
		}
	}
	switch v := v.(type) {
	case with:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			below(k, v[k])
		}
	case []any:
		for i := range v {
			below(i, v[i])
		}
	}
	return all
}

// mutated is a copy of v with a value at a place.
func mutated(v any, place []any, value any) any {
	if len(place) == 0 {
		return value
	}
	switch v := v.(type) {
	case with:
		m, k := maps.Clone(v), place[0].(string)
		m[k] = mutated(m[k], place[1:], value)
		return m
	case []any:
		s, i := slices.Clone(v), place[0].(int)
		s[i] = mutated(s[i], place[1:], value)
		return s
	}
	return v
}
