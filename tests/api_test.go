package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestIdempotencyKey: the same key and body give the same answer, whatever happened since.
func TestIdempotencyKey(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Turing")
		booking := testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID})
		key := testenv.Header("Idempotency-Key", "4711")

		var m testenv.Meeting
		first := alice.Want(t, http.StatusCreated, http.MethodPost, "/meetings", booking, &m, key)
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"title": "renamed"}, nil)
		for range 2 {
			again := alice.Want(t, http.StatusCreated, http.MethodPost, "/meetings", booking, nil, key)
			if !bytes.Equal(again.Body, first.Body) || again.Header.Get("ETag") != first.Header.Get("ETag") {
				t.Errorf("the second answer differs:\n%s\n%s", first.Body, again.Body)
			}
		}
		// It belongs to its user, and to its path.
		admin.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", booking, key)
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, at("/meetings/%d/cancel", m.ID), booking, key)
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings",
			testenv.Booking(inSeconds(90000), inSeconds(93600), []int64{room.ID}), key)
		if n := len(testenv.All[testenv.Meeting](t, alice, "/meetings")); n != 1 {
			t.Errorf("%d meetings, want 1", n)
		}

		// Ten at once: one books, the others get its answer, or are told to wait for it.
		booking = testenv.Booking(inSeconds(90000), inSeconds(93600), []int64{room.ID})
		ids := map[int64]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				res, err := alice.Try(http.MethodPost, "/meetings", booking, testenv.Header("Idempotency-Key", "4712"))
				if err != nil {
					t.Error(err)
					return
				}
				var m testenv.Meeting
				switch {
				case res.Status == http.StatusCreated:
					if err := json.Unmarshal(res.Body, &m); err != nil {
						t.Error(err)
					}
				case res.Status != http.StatusConflict:
					t.Errorf("answer %d: %s", res.Status, res.Body)
				default:
					if p, _ := res.Problem(); p.Code == "room_conflict" {
						t.Errorf("a repeated request met itself: %s", res.Body)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				ids[m.ID]++
			})
		}
		wg.Wait()
		delete(ids, 0)
		if len(ids) != 1 {
			t.Errorf("meetings %v, want one", ids)
		}
	})
}

// TestETag: a change based on an old version is refused.
func TestETag(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		m := admin.Book(t, testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID}))
		for _, path := range []string{at("/meetings/%d", m.ID), at("/rooms/%d", room.ID), at("/users/%d", admin.User.ID)} {
			field := map[bool]string{true: "title", false: "name"}[path == at("/meetings/%d", m.ID)]
			var version struct {
				Version int64 `json:"version"`
			}
			res := admin.Want(t, http.StatusOK, http.MethodGet, path, nil, &version)
			tag := res.Header.Get("ETag")
			if want := strconv.Quote(strconv.FormatInt(version.Version, 10)); tag != want {
				t.Errorf("%s: ETag %s, want %s", path, tag, want)
			}
			res = admin.Want(t, http.StatusOK, http.MethodPatch, path, with{field: "first"}, nil, testenv.Header("If-Match", tag))
			if res.Header.Get("ETag") == tag {
				t.Errorf("%s: the ETag is still %s after a change", path, tag)
			}
			admin.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPatch, path, with{field: "second"}, testenv.Header("If-Match", tag))
			admin.Want(t, http.StatusOK, http.MethodPatch, path, with{field: "third"}, nil, testenv.Header("If-Match", "*"))
			var body map[string]any
			admin.Want(t, http.StatusOK, http.MethodGet, path, nil, &body)
			if body[field] != "third" {
				t.Errorf("%s: %s is %v", path, field, body[field])
			}
		}
		tag := admin.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", m.ID), nil, nil).Header.Get("ETag")
		admin.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPost, at("/meetings/%d/cancel", m.ID), with{}, testenv.Header("If-Match", `"1"`))
		admin.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", m.ID), with{}, nil, testenv.Header("If-Match", tag))
	})
}

// TestLists: pages follow one another without gap or repetition, also while something is added.
func TestLists(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		a, b := admin.NewRoom(t, "A"), admin.NewRoom(t, "B")
		base := inSeconds(3600)
		slot := func(hour int) (time.Time, time.Time) {
			return base.Add(time.Duration(hour) * time.Hour), base.Add(time.Duration(hour+1) * time.Hour)
		}
		want := map[int64]bool{}
		for i := range 7 { // two at each time: the order needs more than the start
			start, end := slot(i)
			want[alice.Book(t, testenv.Booking(start, end, []int64{a.ID})).ID] = true
			want[admin.Book(t, testenv.Booking(start, end, []int64{b.ID})).ID] = true
		}
		var got []testenv.Meeting
		for cursor := ""; ; {
			page := testenv.ReadPage[testenv.Meeting](t, alice, "/meetings?limit=3", cursor)
			if len(page.Items) > 3 {
				t.Fatalf("%d items, want at most 3", len(page.Items))
			}
			got = append(got, page.Items...)
			if len(got) == 3 { // before what was read
				admin.Book(t, testenv.Booking(base.Add(-30*time.Minute), base, []int64{a.ID}))
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		seen := map[int64]bool{}
		for i, m := range got {
			if seen[m.ID] {
				t.Errorf("meeting %d came twice", m.ID)
			}
			seen[m.ID] = true
			if i > 0 && m.Start.Before(got[i-1].Start) {
				t.Errorf("meeting %d at %v came after %v", m.ID, m.Start, got[i-1].Start)
			}
		}
		for id := range want {
			if !seen[id] {
				t.Errorf("meeting %d is missing", id)
			}
		}

		count := func(query string, want int) {
			t.Helper()
			if n := len(testenv.All[testenv.Meeting](t, alice, "/meetings?"+query)); n != want {
				t.Errorf("%s: %d meetings, want %d", query, n, want)
			}
		}
		from, to := slot(2)
		window := fmt.Sprintf("from=%s&to=%s", from.Format(time.RFC3339), to.Format(time.RFC3339))
		count(window, 2) // half-open: neither what ends at from nor what starts at to
		count(window+"&room_id="+strconv.FormatInt(a.ID, 10), 1)
		count("organizer=me", 7)
		count("organizer="+strconv.FormatInt(admin.User.ID, 10), 8)
		count("status=confirmed", 15)
		count("status=cancelled", 0)
		count("q=DESIGN", 15)
		count("q=other", 0)
		count("attendee=me", 0)
	})
}

// TestTimeZones: times with an offset are instants; local ones are read in the zone given, or
// the room's, and an ambiguous one is its first pass.
func TestTimeZones(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = "booking: { timezone: Asia/Shanghai }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		var site struct {
			ID int64 `json:"id"`
		}
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "New York", "timezone": "America/New_York"}, &site)
		berlin := admin.NewRoom(t, "Berlin", with{"timezone": "Europe/Berlin"})
		newYork := admin.NewRoom(t, "New York", with{"site_id": site.ID})
		shanghai := admin.NewRoom(t, "Shanghai")
		day := time.Now().UTC().AddDate(0, 0, 10).Truncate(24 * time.Hour)
		noon := func(zone string) time.Time {
			loc, err := time.LoadLocation(zone)
			if err != nil {
				t.Fatal(err)
			}
			return time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, loc)
		}
		clock := day.Format("2006-01-02") + "T12:00:00"
		end := day.Format("2006-01-02") + "T13:30:00"
		for _, row := range []struct {
			room   testenv.Room
			fields with
			want   time.Time
		}{
			{berlin, with{}, noon("Europe/Berlin")},
			{newYork, with{}, noon("America/New_York")},
			{shanghai, with{}, noon("Asia/Shanghai")},
			{shanghai, with{"timezone": "America/New_York"}, noon("America/New_York")},
			{newYork, with{"start": clock + "+05:45", "end": end + "+05:45"}, noon("Asia/Kathmandu")},
		} {
			m := admin.Book(t, testenv.Booking(day, day, []int64{row.room.ID}, with{"start": clock, "end": end}, row.fields))
			if !m.Start.Equal(row.want) || m.End.Sub(m.Start) != 90*time.Minute || m.Start.Location() != time.UTC {
				t.Errorf("%s %v: %v to %v, want %v in UTC", row.room.Name, row.fields, m.Start, m.End, row.want.UTC())
			}
		}

		// The clock is set back at shift: the hour before it is the first pass.
		shift := nextShift(t, "Europe/Berlin", -1)
		m := admin.Book(t, testenv.Booking(shift, shift, []int64{berlin.ID}, with{"start": local(shift, -30*time.Minute), "end": local(shift, 90*time.Minute)}))
		if want := shift.Add(-30 * time.Minute); !m.Start.Equal(want) {
			t.Errorf("the ambiguous %s is %v, want its first pass %v", local(shift, -30*time.Minute), m.Start, want.UTC())
		}
		if want := shift.Add(150 * time.Minute); !m.End.Equal(want) { // ninety minutes after the shift by a clock that was not set back
			t.Errorf("%s is %v, want %v", local(shift, 90*time.Minute), m.End, want.UTC())
		}
	})
}

// TestOutside covers what is served beside the API.
func TestOutside(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		nobody := server.Anonymous()
		for path, contentType := range map[string]string{
			"/healthz": "", "/readyz": "", "/metrics": "text/plain", "/openapi.json": "application/", "/docs": "text/html", "/": "text/html",
		} {
			res := nobody.Do(t, http.MethodGet, server.URL+path, nil)
			if got := res.Header.Get("Content-Type"); res.Status != http.StatusOK || !bytes.HasPrefix([]byte(got), []byte(contentType)) {
				t.Errorf("%s: %d %s", path, res.Status, got)
			}
		}
		var description struct {
			OpenAPI string                    `json:"openapi"`
			Paths   map[string]map[string]any `json:"paths"`
		}
		nobody.Want(t, http.StatusOK, http.MethodGet, server.URL+"/openapi.json", nil, &description)
		if description.OpenAPI < "3.1" || len(description.Paths) < 15 {
			t.Errorf("OpenAPI %s with %d paths", description.OpenAPI, len(description.Paths))
		}
		for _, family := range []string{"delayjob_waiting", "delayjob_load_age_seconds", "go_goroutines"} {
			if res := nobody.Do(t, http.MethodGet, server.URL+"/metrics", nil); !bytes.Contains(res.Body, []byte(family)) {
				t.Errorf("/metrics does not tell %s", family)
			}
		}
	})
}
