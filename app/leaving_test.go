package app

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/app/leaving"
	"punctual/delayjob"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// departing is an installation in which Bob, who leaves, organizes meetings and a series.
type departing struct {
	*testing.T
	a         *Application
	s         *httptest.Server
	token     string
	bob, carl int64
	start     time.Time
}

func onBoth(t *testing.T, test func(d *departing)) {
	for _, dialect := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		t.Run(string(dialect), func(t *testing.T) {
			url := testdb.URL(t, dialect)
			a, s := startApplication(t, func(c *config.Config) {
				c.Database.URL = url
				c.Booking.Limits.PersonAhead = 6 * time.Hour
				c.Auth.SCIM = config.SCIM{Meetings: "hand_over", HandOverTo: "carl@example.org"}
			})
			d := &departing{T: t, a: a, s: s, token: signIn(t, a, s), start: time.Now().AddDate(0, 0, 7).UTC().Truncate(24 * time.Hour)}
			d.bob = d.post("/users", `{"email":"bob@example.org","name":"Bob Marker","role":"member","phone":"+4930999888"}`)
			d.carl = d.post("/users", `{"email":"carl@example.org","name":"Carl","role":"member"}`)
			d.post("/rooms", `{"name":"Turing"}`)
			test(d)
		})
	}
}

func (d *departing) do(method, path, body string, want int) string {
	d.Helper()
	res := send(d.T, d.s, method, "/api/v1"+path, body, "Authorization", "Bearer "+d.token)
	if res.status != want {
		d.Fatalf("%s %s: %d, want %d: %s", method, path, res.status, want, res.body)
	}
	return res.body
}

func (d *departing) post(path, body string) int64 {
	d.Helper()
	var made struct{ ID int64 }
	if err := json.Unmarshal([]byte(d.do("POST", path, body, 201)), &made); err != nil {
		d.Fatal(err)
	}
	return made.ID
}

// book books meetings for an organizer, an hour each, on successive days.
func (d *departing) book(organizer int64, day, n int) (ids []int64) {
	d.Helper()
	for i := range n {
		start := d.start.AddDate(0, 0, day+i).Add(9 * time.Hour)
		ids = append(ids, d.post("/meetings", fmt.Sprintf(`{"title":"Review","room_ids":[1],"organizer_id":%d,"start":%q,"end":%q,"attendees":[{"email":"guest@example.org"}],"override":{"reason":"test"}}`,
			organizer, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339))))
	}
	return ids
}

// run executes the messages of a job that are due, until none is left, and at most some times.
func (d *departing) run(name string, times int) {
	d.Helper()
	for _, j := range d.a.jobs {
		if j.Name() != name {
			continue
		}
		for range times {
			loaded := 0
			for m, err := range j.Load(d.Context(), delayjob.Window{To: time.Now()}) {
				if err != nil {
					d.Fatal(err)
				}
				loaded++
				if err := j.Execute(d.Context(), m); err != nil && !strings.HasPrefix(err.Error(), "snoozed") {
					d.Fatal(err)
				}
			}
			if loaded == 0 {
				return
			}
		}
	}
}

func (d *departing) count(query string, args ...any) (n int64) {
	d.Helper()
	if err := d.a.db.Gorm.WithContext(d.Context()).Raw("SELECT count(*) FROM "+query, args...).Row().Scan(&n); err != nil {
		d.Fatal(err)
	}
	return n
}

func (d *departing) want(what string, got, want int64) {
	d.Helper()
	if got != want {
		d.Errorf("%s: %d, want %d", what, got, want)
	}
}

// Whoever takes over organizes all coming meetings, is not limited by quotas, and gets one mail. A
// departure that is interrupted goes on.
func TestLeaving_handOver(t *testing.T) {
	onBoth(t, func(d *departing) {
		d.book(d.carl, 40, 6) // as much as a person may
		d.book(d.bob, 0, 5)
		start := d.start.Add(13 * time.Hour)
		d.do("POST", "/series", fmt.Sprintf(`{"title":"Weekly","room_ids":[1],"organizer_id":%d,"timezone":"UTC","rrule":"FREQ=DAILY;COUNT=4","start":%q,"end":%q,"attendees":[{"email":"guest@example.org"},{"email":"carl@example.org"}],"override":{"reason":"test"}}`,
			d.bob, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)), 201)
		past := d.book(d.bob, 20, 1)[0]
		if err := d.a.db.Gorm.Exec("UPDATE meetings SET starts_at = ?, ends_at = ?, status = 'ended' WHERE id = ?", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour), past).Error; err != nil {
			d.Fatal(err)
		}
		leave := fmt.Sprintf("/users/%d/leave", d.bob)
		to := fmt.Sprintf(`"meetings":"hand_over","to_user_id":%d`, d.carl)
		var preview struct {
			State  string
			Duties struct{ Meetings, Series int64 }
		}
		if err := json.Unmarshal([]byte(d.do("POST", leave, `{`+to+`,"dry_run":true}`, 200)), &preview); err != nil {
			d.Fatal(err)
		}
		if preview.State != "preview" || preview.Duties.Meetings != 9 || preview.Duties.Series != 1 {
			d.Errorf("preview %+v", preview)
		}
		if got := d.do("GET", leave, "", 200); !strings.Contains(got, `"state":"none"`) {
			d.Errorf("before leaving: %s", got)
		}
		d.do("GET", "/users/999/leave", "", 404)
		for _, faulty := range []string{`{"meetings":"burn"}`, `{"meetings":"hand_over"}`, fmt.Sprintf(`{"meetings":"hand_over","to_user_id":%d}`, d.bob), `{"meetings":"keep","to_user_id":1}`} {
			d.do("POST", leave, faulty, 422)
		}
		before := d.count("notifications WHERE address = 'carl@example.org'")
		guest := d.count("notifications WHERE address = 'guest@example.org'")
		d.do("POST", leave, `{`+to+`,"reason":"A new job"}`, 200)
		d.do("POST", leave, `{`+to+`}`, 409)
		d.a.leaving.Page = 2
		d.run(leaving.JobLeave, 2) // the series, and two meetings
		d.want("meetings of Bob after an interruption", d.count("meetings WHERE organizer_id = ? AND id <> ?", d.bob, past), 3)
		if err := d.a.db.Gorm.Exec("UPDATE departures SET after_meeting = 0").Error; err != nil { // killed before it was stored
			d.Fatal(err)
		}
		d.run(leaving.JobLeave, 100)
		d.want("meetings of Bob", d.count("meetings WHERE organizer_id = ?", d.bob), 1)
		d.want("series of Carl", d.count("series WHERE organizer_id = ?", d.carl), 1)
		d.want("mails to Carl", d.count("notifications WHERE address = 'carl@example.org'")-before, 1)
		d.want("mails of the handover", d.count("notifications WHERE kind = 'handover' AND address = 'carl@example.org'"), 1)
		d.want("mails to the guest", d.count("notifications WHERE address = 'guest@example.org'")-guest, 6)
		d.want("entries in the history", d.count("history WHERE action = 'changed' AND CAST(changes AS text) LIKE '%bob@example.org%' AND CAST(changes AS text) LIKE '%carl@example.org%'"), 9)
		if got := d.do("GET", leave, "", 200); !strings.Contains(got, `"state":"done"`) || !strings.Contains(got, `"left":0`) {
			d.Errorf("afterwards %s", got)
		}
		d.want("audit", d.count("audit WHERE action = 'user.left'"), 1)
	})
}

// A handover needs no reason, whether an admin or a directory orders it, and says so if it could not hand
// everything over.
func TestLeaving_withoutReason(t *testing.T) {
	onBoth(t, func(d *departing) {
		d.book(d.carl, 40, 6) // as much as a person may
		d.book(d.bob, 0, 2)
		start := d.start.Add(13 * time.Hour)
		d.do("POST", "/series", fmt.Sprintf(`{"title":"Weekly","room_ids":[1],"organizer_id":%d,"timezone":"UTC","rrule":"FREQ=DAILY;COUNT=2","start":%q,"end":%q}`,
			d.bob, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)), 201)
		handOver := fmt.Sprintf(`{"meetings":"hand_over","to_user_id":%d,"reason":" "}`, d.carl)
		state := func(user int64, want string, left int) {
			d.Helper()
			if got := d.do("GET", fmt.Sprintf("/users/%d/leave", user), "", 200); !strings.Contains(got, `"state":"`+want+`"`) || !strings.Contains(got, fmt.Sprintf(`"left":%d`, left)) {
				d.Errorf("%s, want %s with %d left", got, want, left)
			}
		}
		d.do("POST", fmt.Sprintf("/users/%d/leave", d.bob), handOver, 200)
		d.run(leaving.JobLeave, 100)
		d.want("meetings of Bob", d.count("meetings WHERE organizer_id = ?", d.bob), 0)
		d.want("meetings of Carl", d.count("meetings WHERE organizer_id = ?", d.carl), 10)
		d.want("mails to Carl", d.count("notifications WHERE kind = 'handover' AND address = 'carl@example.org'"), 1)
		state(d.bob, "done", 0)

		dora := d.post("/users", `{"email":"dora@example.org","name":"Dora","role":"member"}`)
		d.book(dora, 10, 2)
		var directory struct{ Token string }
		if err := json.Unmarshal([]byte(d.do("POST", "/me/tokens", `{"name":"directory","scopes":["scim"]}`, 201)), &directory); err != nil {
			d.Fatal(err)
		}
		if res := send(d.T, d.s, "DELETE", fmt.Sprintf("/scim/v2/Users/%d", dora), "", "Authorization", "Bearer "+directory.Token); res.status != 204 {
			d.Fatalf("%d %s", res.status, res.body)
		}
		d.run(leaving.JobLeave, 100)
		d.want("meetings of Dora", d.count("meetings WHERE organizer_id = ?", dora), 0)
		state(dora, "done", 0)

		// Carl is disabled before the job runs.
		erik := d.post("/users", `{"email":"erik@example.org","name":"Erik","role":"member"}`)
		d.book(erik, 15, 2)
		carl := fmt.Sprintf("/users/%d", d.carl)
		d.do("POST", fmt.Sprintf("/users/%d/leave", erik), handOver, 200)
		d.do("PATCH", carl, `{"disabled":true}`, 200)
		d.run(leaving.JobLeave, 100)
		state(erik, "incomplete", 2)
		d.do("PATCH", carl, `{"disabled":false}`, 200)
		d.do("POST", fmt.Sprintf("/users/%d/leave", erik), handOver, 200)
		d.run(leaving.JobLeave, 100)
		state(erik, "done", 0)

		// A user who is back and books again has left nothing.
		d.do("PATCH", fmt.Sprintf("/users/%d", erik), `{"disabled":false}`, 200)
		d.book(erik, 17, 1)
		state(erik, "done", 0)
	})
}

// Meetings that are canceled free their rooms, and guests learn why.
func TestLeaving_cancel(t *testing.T) {
	onBoth(t, func(d *departing) {
		d.book(d.bob, 0, 3)
		start := d.start.Add(13 * time.Hour)
		d.do("POST", "/series", fmt.Sprintf(`{"title":"Weekly","room_ids":[1],"organizer_id":%d,"timezone":"UTC","rrule":"FREQ=DAILY;COUNT=3","start":%q,"end":%q}`,
			d.bob, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)), 201)
		d.do("POST", fmt.Sprintf("/users/%d/leave", d.bob), `{"meetings":"cancel","reason":"A new job"}`, 200)
		d.run(leaving.JobLeave, 100)
		d.want("meetings that are on", d.count("meetings WHERE status <> 'cancelled'"), 0)
		d.want("occupancies", d.count("occupancies"), 0)
		d.want("mails to the guest", d.count("notifications WHERE kind = 'cancellation' AND address = 'guest@example.org' AND CAST(facts AS text) LIKE '%A new job%'"), 3)
	})
}
