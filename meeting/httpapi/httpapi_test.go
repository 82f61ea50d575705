package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/humatest"
	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"punctual/account"
	_ "punctual/app" // its map from errors to problems
	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/branding"
	"punctual/meeting/finding"
	"punctual/meeting/gormstore"
	"punctual/meeting/httpapi"
	"punctual/meeting/places"
	"punctual/meeting/public"
	"punctual/meeting/series"
	"punctual/meeting/waitlist"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// now is when the tests take place.
var now = time.Date(2027, 2, 10, 8, 0, 0, 0, time.UTC)

const (
	ann, bob, mona, root = 1, 2, 3, 4
)

var users = map[int]meeting.Person{
	ann:  {UserID: ann, Name: "Ann", Email: "ann@example.org", Role: meeting.Member},
	bob:  {UserID: bob, Name: "Bob", Email: "bob@example.org", Role: meeting.Member},
	mona: {UserID: mona, Name: "Mona", Email: "mona@example.org", Role: meeting.Manager},
	root: {UserID: root, Name: "Root", Email: "root@example.org", Role: meeting.Admin},
}

type directory struct{}

func (directory) People(_ context.Context, ids []int64) (ps []meeting.Person, _ error) {
	for _, id := range ids {
		if p, ok := users[int(id)]; ok {
			ps = append(ps, p)
		}
	}
	return ps, nil
}

func (directory) Admins(context.Context) ([]meeting.Person, error) {
	return []meeting.Person{users[root]}, nil
}

func (directory) Absences(context.Context, time.Time) ([]meeting.Absence, error) { return nil, nil }

func (directory) ByEmail(_ context.Context, emails []string) (map[string]meeting.Person, error) {
	found := map[string]meeting.Person{}
	for _, p := range users {
		if slices.Contains(emails, p.Email) {
			found[p.Email] = p
		}
	}
	return found, nil
}

type nobody struct{}

func (nobody) Schedule(context.Context, ...delayjob.Message)                {}
func (nobody) Forget(context.Context, ...string)                            {}
func (nobody) Insert(_ *gorm.DB, ns []meeting.Notice) error                 { return nil }
func (nobody) Withdraw(*gorm.DB, []meeting.ID, ...meeting.NoticeKind) error { return nil }
func (nobody) Outdate(*gorm.DB, []meeting.Notice, string) error             { return nil }
func (nobody) Retract(*gorm.DB, []int64, []meeting.ID) ([]string, error)    { return nil, nil }
func (nobody) Revive(*gorm.DB, []meeting.ID, []string, time.Time) ([]meeting.Notice, error) {
	return nil, nil
}
func (nobody) Channels(*gorm.DB, []int64) ([]meeting.ChatChannel, error) { return nil, nil }
func (nobody) OfMeeting(_ context.Context, id meeting.ID, _ meeting.Page) ([]httpapi.MeetingNotification, string, error) {
	text := func(n, user int64) httpapi.MeetingNotification {
		number := fmt.Sprintf("+4930%d", n)
		return httpapi.MeetingNotification{ID: n, MeetingID: id, Kind: "reminder", Channel: "sms", UserID: &user, Address: number, LastError: new(number + " is not in use")}
	}
	guest := text(4, 0)
	guest.UserID = nil
	mail := httpapi.MeetingNotification{ID: 1, MeetingID: id, Kind: "invitation", Channel: "email", Address: "bob@example.org"}
	return []httpapi.MeetingNotification{mail, text(2, bob), text(3, mona), guest}, "more", nil
}

// client sends requests as one of the users, who is named by a header.
type client struct {
	testing.TB
	api humatest.TestAPI
}

func newClient(t *testing.T) *client {
	t.Helper()
	db := testdb.Open(t, migrations.SQLite)
	for id, p := range users {
		err := db.Gorm.WithContext(t.Context()).Exec(`INSERT INTO users (id, email, name, role, phone, locale, timezone, version, created_at, updated_at)
			VALUES (?, ?, ?, ?, '', '', '', 1, ?, ?)`, id, p.Email, p.Name, p.Role, now, now).Error
		if err != nil {
			t.Fatal(err)
		}
	}
	settings := func() meeting.Settings {
		return meeting.Settings{
			Timezone: "Europe/Berlin", HoldPending: true, ApprovalTimeout: 24 * time.Hour,
			Reminders: []meeting.Reminder{{Before: meeting.BeforeStart, Offset: 15 * time.Minute, Channels: []meeting.Channel{meeting.Email}}},
			CheckIn:   meeting.CheckIn{Opens: 15 * time.Minute, Grace: 10 * time.Minute},
		}
	}
	clock := func() time.Time { return now }
	store := gormstore.New(db.Gorm, nobody{})
	svc := booking.NewService(store, directory{}, nobody{}, settings, clock, slog.New(slog.DiscardHandler))
	cfg := huma.DefaultConfig("test", "1")
	cfg.CreateHooks = nil
	cfg.Servers = []*huma.Server{{URL: "/api/v1"}}
	_, api := humatest.New(t, cfg)
	api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		if id, err := strconv.Atoi(ctx.Header("X-User")); err == nil {
			p := users[id]
			principal := &account.Principal{UserID: p.UserID, Name: p.Name, Email: p.Email, Role: account.Role(p.Role)}
			ctx = huma.WithContext(ctx, account.WithPrincipal(ctx.Context(), principal))
		}
		next(ctx)
	})
	httpapi.Register(api, httpapi.Deps{
		Meetings: svc, Approval: approval.NewService(svc, store), Series: series.NewService(svc, store),
		Waitlist: waitlist.NewService(svc, store, directory{}, nobody{}), Places: places.NewService(svc, store, directory{}, nobody{}, slog.New(slog.DiscardHandler)),
		Branding: branding.NewService(svc, store), Public: public.NewService(svc, store), Finding: finding.NewService(store, svc, settings, clock), Notices: nobody{},
		State:   func(ctx context.Context) (any, error) { return db.State(ctx) },
		Lookups: account.NewMemoryLimiter(httpapi.PeopleRate), Faults: account.NewMemoryLimiter(httpapi.FaultRate),
	})
	return &client{t, api}
}

// do sends a request; header lines are "Name: value".
func (c *client) do(as int, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	c.Helper()
	args := []any{fmt.Sprintf("X-User: %d", as)}
	for _, h := range headers {
		args = append(args, h)
	}
	if body != "" {
		args = append(args, strings.NewReader(body))
	}
	return c.api.Do(method, path, args...)
}

// want sends a request, asserts the status and decodes the answer.
func want[T any](c *client, status, as int, method, path, body string, headers ...string) T {
	c.Helper()
	resp := c.do(as, method, path, body, headers...)
	if resp.Code != status {
		c.Fatalf("%s %s: %d, want %d\n%s", method, path, resp.Code, status, resp.Body)
	}
	var v T
	if resp.Body.Len() > 0 {
		if err := json.Unmarshal(resp.Body.Bytes(), &v); err != nil {
			c.Fatal(err)
		}
	}
	return v
}

type object = map[string]any

type problem struct {
	Code, State string
	Errors      []struct{ Location, Code string }
	Conflicts   []object
}

func (p problem) faults() []string {
	var out []string
	for _, e := range p.Errors {
		out = append(out, e.Location+" "+e.Code)
	}
	return out
}

func (c *client) room(body string) string {
	c.Helper()
	return fmt.Sprint(want[object](c, http.StatusCreated, root, "POST", "/rooms", body)["id"])
}

const hour = `"start":"2027-02-10T09:00:00Z","end":"2027-02-10T10:00:00Z"`

func TestRooms(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	resp := c.do(root, "POST", "/rooms", `{"name":"Turing"}`)
	if resp.Code != http.StatusCreated || resp.Header().Get("Location") != "/api/v1/rooms/1" || resp.Header().Get("ETag") != `"1"` {
		t.Fatalf("%d %v %s", resp.Code, resp.Header(), resp.Body)
	}
	got := want[object](c, 200, ann, "GET", "/rooms/1", "")
	delete(got, "created_at")
	delete(got, "updated_at")
	plain := object{
		"id": 1., "name": "Turing", "site_id": nil, "floor": "", "capacity": 0., "features": []any{}, "photo": nil, "timezone": "Europe/Berlin", "own_timezone": nil, "active": true, "address": nil, "facility_email": nil,
		"approval": object{"required": false, "approver_ids": []any{}, "timeout": nil, "second_level": nil, "on_timeout": nil, "escalate_after": nil, "escalate_to": []any{}},
		"policy": object{
			"opening_hours": []any{}, "min_duration": "0s", "max_duration": nil, "step": nil, "min_notice": "0s", "max_advance": nil,
			"buffer_before": "0s", "buffer_after": "0s", "quota": nil, "last_change": nil,
		},
		"access": nil, "check_in": object{"required": false, "opens": "15m", "grace": "10m", "inherited": true}, "blackouts": []any{}, "blackouts_until": nil, "version": 1.,
	}
	if diff := cmp.Diff(plain, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	want[object](c, 200, root, "PATCH", "/rooms/1", `{"approval":{"required":true,"approver_ids":[3],"timeout":"24h"},
		"policy":{"opening_hours":[{"days":["MO"],"from":"08:00","to":"24:00"}],"max_duration":"8h","quota":{"per":"week","count":3,"duration":null}}}`)
	got = want[object](c, 200, root, "PATCH", "/rooms/1", `{"approval":{"required":false},"policy":{"max_duration":null}}`, `If-Match: "2"`)
	if diff := cmp.Diff(object{"required": false, "approver_ids": []any{3.}, "timeout": "24h", "second_level": nil, "on_timeout": nil, "escalate_after": nil, "escalate_to": []any{}}, got["approval"]); diff != "" {
		t.Errorf("what a patch leaves out stays (-want +got):\n%s", diff)
	}
	policy := got["policy"].(object)
	if policy["max_duration"] != nil || len(policy["opening_hours"].([]any)) != 1 || policy["quota"].(object)["count"] != 3. {
		t.Errorf("policy %v", policy)
	}
	got = want[object](c, 200, root, "PATCH", "/rooms/1", `{"policy":null}`)
	if diff := cmp.Diff(plain["policy"], got["policy"]); diff != "" {
		t.Errorf("null clears (-want +got):\n%s", diff)
	}
	if p := want[problem](c, 412, root, "PATCH", "/rooms/1", `{"name":"X"}`, `If-Match: "1"`); p.Code != "version_mismatch" {
		t.Errorf("%+v", p)
	}
	if p := want[problem](c, 403, mona, "PATCH", "/rooms/1", `{"name":"X"}`); p.Code != "forbidden" {
		t.Errorf("%+v", p)
	}
	want[object](c, 412, root, "DELETE", "/rooms/1", "", `If-Match: "1"`)
	want[object](c, 204, root, "DELETE", "/rooms/1", "")
	want[object](c, 404, root, "GET", "/rooms/1", "")
}

// A room lists at most 20 blackouts, and says up to when.
func TestRooms_manyBlackouts(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	room := c.room(`{"name":"Turing"}`)
	at := func(day int) string { return now.AddDate(0, 0, day).UTC().Format(time.RFC3339) }
	for day := range 22 {
		want[object](c, 201, root, "POST", "/blackouts", fmt.Sprintf(`{"room_id":%s,"start":%q,"end":%q}`, room, at(day+1), at(day+2)))
	}
	for _, path := range []string{"/rooms", "/rooms/" + room} {
		got := want[object](c, 200, ann, "GET", path, "")
		if items, ok := got["items"].([]any); ok {
			got = items[0].(object)
		}
		if n := len(got["blackouts"].([]any)); n != 20 || got["blackouts_until"] != at(21) {
			t.Errorf("%s: %d blackouts until %v, want 20 until %s", path, n, got["blackouts_until"], at(21))
		}
	}
}

func TestRooms_allFaultsAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	p := want[problem](c, 422, root, "POST", "/rooms", `{"colour":"red","capacity":"many","policy":{"min_duration":"soon","opening_hours":[{"days":["XX"],"from":"8"}]},"approval":{"approver_ids":[1]}}`)
	got := p.faults()
	slices.Sort(got)
	expected := []string{
		"body.approval.approver_ids[0] not_a_manager", "body.capacity invalid_type", "body.colour unknown_field", "body.name required",
		"body.policy.min_duration invalid_duration", "body.policy.opening_hours[0].days[0] unknown_value",
		"body.policy.opening_hours[0].from invalid_time", "body.policy.opening_hours[0].to invalid_time",
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeetings(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.room(`{"name":"Turing"}`)
	resp := c.do(ann, "POST", "/meetings", `{"room_ids":[1],"title":"Design review",`+hour+`,"attendees":[{"email":"BOB@example.org"}],
		"reminders":[{"before":"start","offset":"15m","channels":["email","sms"]}]}`)
	if resp.Code != 201 || resp.Header().Get("Location") != "/api/v1/meetings/1" || resp.Header().Get("ETag") != `"1"` {
		t.Fatalf("%d %v %s", resp.Code, resp.Header(), resp.Body)
	}
	expected := object{
		"id": 1., "room_ids": []any{1.}, "rooms": []any{object{"id": 1., "name": "Turing"}}, "title": "Design review", "description": "",
		"start": "2027-02-10T09:00:00Z", "end": "2027-02-10T10:00:00Z", "timezone": "Europe/Berlin",
		"organizer": object{"id": 1., "name": "Ann", "email": "ann@example.org"}, "booked_by": nil,
		"attendees": []any{object{"user_id": 2., "email": "BOB@example.org", "name": "Bob", "phone": "", "locale": "", "timezone": "", "response": "needs_action", "comment": nil}},
		"reminders": []any{object{"before": "start", "offset": "15m", "channels": []any{"email", "sms"}}}, "default_reminders": false,
		"visibility": "public", "status": "confirmed",
		"approval": object{"required": false, "deadline": nil, "decided_at": nil, "decided_by": nil, "comment": nil, "reason": nil,
			"level": nil, "approvers": nil, "agreed": []any{}, "escalated_at": nil, "on_timeout": nil, "decided_for": []any{}},
		"pending_change": nil,
		"check_in":       object{"required": false, "opens_at": "2027-02-10T08:45:00Z", "until": nil},
		"type_id":        nil, "fields": object{},
		"series_id": nil, "original_start": nil, "checked_in_at": nil, "started_at": nil, "ended_at": nil,
		"schedule_version": 1., "version": 1., "created_at": "2027-02-10T08:00:00Z", "updated_at": "2027-02-10T08:00:00Z",
	}
	for _, as := range []int{ann, bob} {
		if diff := cmp.Diff(expected, want[object](c, 200, as, "GET", "/meetings/1", "")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}

	p := want[problem](c, 409, bob, "POST", "/meetings", `{"room_ids":[1],"title":"Mine","start":"2027-02-10T10:30:00+01:00","end":"2027-02-10T13:00:00+01:00"}`)
	if diff := cmp.Diff([]object{{"room_id": 1., "start": "2027-02-10T09:00:00Z", "end": "2027-02-10T10:00:00Z"}}, p.Conflicts); p.Code != "room_conflict" || diff != "" {
		t.Errorf("%s (-want +got):\n%s", p.Code, diff)
	}

	got := want[object](c, 200, ann, "PATCH", "/meetings/1", `{"start":"2027-02-10T11:00:00.25","end":"2027-02-10T12:00:00","reminders":null}`, `If-Match: "1"`)
	if got["start"] != "2027-02-10T10:00:00.25Z" || got["version"] != 2. || got["default_reminders"] != true || got["title"] != "Design review" {
		t.Errorf("%v", got)
	}
	want[object](c, 412, ann, "PATCH", "/meetings/1", `{"title":"X"}`, `If-Match: "1"`)
	want[object](c, 403, bob, "POST", "/meetings/1/cancel", "")
	got = want[object](c, 200, ann, "POST", "/meetings/1/cancel", `{"reason":"ill"}`)
	if got["status"] != "cancelled" {
		t.Errorf("%v", got)
	}
	if p := want[problem](c, 409, ann, "POST", "/meetings/1/cancel", ""); p.Code != "state_conflict" || p.State != "cancelled" {
		t.Errorf("%+v", p)
	}
	history := want[struct{ Items []object }](c, 200, bob, "GET", "/meetings/1/history", "").Items
	if len(history) != 3 || history[0]["action"] != "created" || history[2]["reason"] != "ill" ||
		history[1]["changes"].(object)["start"].(object)["to"] != "2027-02-10T10:00:00.25Z" {
		t.Errorf("%v", history)
	}
	want[object](c, 403, bob, "GET", "/meetings/1/notifications", "")
	if l := want[object](c, 200, ann, "GET", "/meetings/1/notifications", ""); l["next_cursor"] != "more" {
		t.Errorf("%v", l)
	}
	want[object](c, 404, ann, "GET", "/meetings/9", "")
}

// Users' numbers are shown to them and to admins, those of guests to the organizer, too.
func TestNotifications_telephoneNumbers(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.room(`{"name":"Board","approval":{"required":true,"approver_ids":[3]}}`)
	want[object](c, 201, ann, "POST", "/meetings", `{"room_ids":[1],"title":"Review",`+hour+`}`)
	all := []string{"bob@example.org", "+49302 +49302 is not in use", "+49303 +49303 is not in use", "+49304 +49304 is not in use"}
	for as, notified := range map[int][]string{
		root: all, ann: {"bob@example.org", "", "", "+49304 +49304 is not in use"}, mona: {"bob@example.org", "", "+49303 +49303 is not in use", ""},
	} {
		type item struct {
			Address   string
			LastError string `json:"last_error"`
		}
		var got []string
		for _, n := range want[struct{ Items []item }](c, 200, as, "GET", "/meetings/1/notifications", "").Items {
			got = append(got, strings.TrimSpace(n.Address+" "+n.LastError))
		}
		if !slices.Equal(got, notified) {
			t.Errorf("%s is told %q, want %q", users[as].Name, got, notified)
		}
	}
}

func TestMeetings_allFaultsAtOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.room(`{"name":"Turing","policy":{"min_duration":"2h","min_notice":"3h"}}`)
	tests := []struct {
		name, body, code string
		want             []string
	}{
		{"nothing", `{}`, "invalid", []string{"body.end required", "body.room_ids required", "body.start required", "body.title required"}},
		{"form and content", `{"title":5,"room_ids":[7],"start":"2027-02-10T09:00:00Z","end":"2027-02-10T08:00:00Z","attendees":[{"email":"bob@example.org"},{},{"email":"x"}],"reminders":[{"before":"start","offset":"later","channels":["email"]}],"colour":1}`,
			"invalid", []string{
				"body.attendees[1].email required", "body.attendees[2].email invalid_email", "body.colour unknown_field", "body.end not_after_start",
				"body.reminders[0].offset invalid_duration", "body.room_ids[0] unknown_room", "body.title invalid_type",
			}},
		{"no object", `[]`, "invalid", []string{"body invalid_type", "body.end required", "body.room_ids required", "body.start required", "body.title required"}},
		{"no JSON", `{"title"`, "invalid", []string{"body invalid"}},
		{"the room's rules", `{"title":"X","room_ids":[1],` + hour + `}`, "policy_violation", []string{"body.end min_duration", "body.start min_notice"}},
	}
	for _, tt := range tests {
		p := want[problem](c, 422, ann, "POST", "/meetings", tt.body)
		got := p.faults()
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" || p.Code != tt.code {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, p.Code, diff)
		}
	}
	if l := want[struct{ Items []object }](c, 200, root, "GET", "/meetings", ""); len(l.Items) > 0 {
		t.Errorf("something was written: %v", l.Items)
	}
}

func TestMeetings_approval(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.room(`{"name":"Board","approval":{"required":true,"approver_ids":[3]}}`)
	got := want[object](c, 201, ann, "POST", "/meetings", `{"room_ids":[1],"title":"X",`+hour+`}`)
	if got["status"] != "pending" || got["approval"].(object)["deadline"] != "2027-02-10T09:00:00Z" {
		t.Fatalf("%v", got)
	}
	want[object](c, 403, ann, "POST", "/meetings/1/approve", "")
	want[problem](c, 422, mona, "POST", "/meetings/1/approve", `{"reason":"x"}`)
	got = want[object](c, 200, mona, "POST", "/meetings/1/approve", `{"comment":"fine"}`)
	approval := got["approval"].(object)
	if got["status"] != "confirmed" || approval["decided_by"] != 3. || approval["comment"] != "fine" || approval["decided_at"] != "2027-02-10T08:00:00Z" {
		t.Errorf("%v", got)
	}
	if p := want[problem](c, 409, root, "POST", "/meetings/1/reject", ""); p.State != "confirmed" {
		t.Errorf("%+v", p)
	}
}

func TestMeetings_list(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.room(`{"name":"Turing"}`)
	for i := range 5 {
		body := fmt.Sprintf(`{"room_ids":[1],"title":"M%d","visibility":"private","start":"2027-02-1%dT09:00:00Z","end":"2027-02-1%dT10:00:00Z"}`, i, i, i)
		want[object](c, 201, 1+i%2, "POST", "/meetings", body)
	}
	titles := func(as int, query string) (all []string) {
		for cursor := ""; ; {
			page := want[struct {
				Items []struct{ Title string }
				Next  *string `json:"next_cursor"`
			}](c, 200, as, "GET", "/meetings?limit=2&"+query+cursor, "")
			for _, m := range page.Items {
				all = append(all, m.Title)
			}
			if page.Next == nil {
				return all
			}
			cursor = "&cursor=" + *page.Next
		}
	}
	for query, expected := range map[string][]string{
		"":             {"M0", "Busy", "M2", "Busy", "M4"},
		"organizer=me": {"M0", "M2", "M4"},
		"organizer=2":  nil, // whose a private meeting is, is private as well
		"attendee=me":  nil,
		"q=m4":         {"M4"},
		"q=m1":         nil, // Bob's, and private
		"status=ended": nil,
		"status=pending&status=confirmed&from=2027-02-11T10:00:00Z&to=2027-02-13T09:00:00Z": {"M2"},
		"from=2027-02-14T10:30:00%2B01:00&room_id=1":                                        {"M4"},
	} {
		if got := titles(ann, query); !slices.Equal(got, expected) {
			t.Errorf("%q: got %q, want %q", query, got, expected)
		}
	}
	p := want[problem](c, 422, ann, "GET", "/meetings?from=now&organizer=x&attendee=2&status=lost", "")
	if got := p.faults(); len(got) != 4 {
		t.Errorf("got %q", got)
	}
	days := want[struct{ Items []object }](c, 200, ann, "GET", "/occupancy?from=2027-02-09&to=2027-02-12&room_id=1", "").Items
	if len(days) != 1 || fmt.Sprint(days[0]["busy_minutes"], days[0]["meetings"], days[0]["open_minutes"]) != "[0 60 60] [0 1 1] [1440 1440 1440]" {
		t.Errorf("%v", days)
	}
	if got := want[struct{ Items []object }](c, 200, ann, "GET", "/occupancy?from=2027-02-10", "").Items; len(got) == 0 || fmt.Sprint(got[0]["meetings"]) != "[1]" {
		t.Errorf("%v", got)
	}
	for query, code := range map[string]string{"": "required", "?from=soon": "invalid_date", "?from=2027-02-10&to=2027-02-10": "invalid_span", "?from=2027-02-10&to=2027-12-10": "invalid_span"} {
		if p := want[problem](c, 422, ann, "GET", "/occupancy"+query, ""); len(p.Errors) != 1 || p.Errors[0].Code != code {
			t.Errorf("%q: %v, want %s", query, p.Errors, code)
		}
	}
	busy := want[struct{ Items []object }](c, 200, ann, "GET", "/rooms/1/free-busy?from=2027-02-10T00:00:00Z&to=2027-02-12T00:00:00Z", "").Items
	if len(busy) != 2 || busy[0]["title"] != "M0" || busy[1]["title"] != "Busy" || busy[1]["start"] != "2027-02-11T09:00:00Z" {
		t.Errorf("%v", busy)
	}
}
