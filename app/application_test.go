package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/account"
	"punctual/app/config"
	"punctual/delayjob/admin"
	jobhttp "punctual/delayjob/httpapi"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// startApplication wires everything on a database of its own; loader and consumer do not run.
func startApplication(t *testing.T, change func(*config.Config)) (*Application, *httptest.Server) {
	t.Helper()
	t.Chdir(t.TempDir()) // for the outbox
	c := config.Default()
	c.Database.URL = testdb.URL(t, migrations.SQLite)
	if change != nil {
		change(c)
	}
	level := new(slog.LevelVar)
	a, err := New(t.Context(), c, RoleAll, NewLogger(t.Output(), "text", level), level)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	h, err := newRouter(a)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return a, s
}

// signIn makes the first admin and returns their token.
func signIn(t *testing.T, a *Application, s *httptest.Server) string {
	t.Helper()
	if _, err := a.firstAdmin(t.Context(), "root@example.org", "a long password"); err != nil {
		t.Fatal(err)
	}
	res := send(t, s, "POST", "/api/v1/auth/login", `{"email":"root@example.org","password":"a long password"}`)
	var body struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal([]byte(res.body), &body); err != nil || res.status != 200 {
		t.Fatalf("sign in: %d %s", res.status, res.body)
	}
	return body.Token
}

func TestApplication_jobTypesAreThoseThatCanBeConfigured(t *testing.T) {
	a, _ := startApplication(t, nil)
	var names []string
	for _, j := range a.jobs {
		names = append(names, j.Name())
	}
	slices.Sort(names)
	if d := cmp.Diff(slices.Sorted(slices.Values(config.JobNames)), names); d != "" {
		t.Error(d)
	}
}

// config.yaml names every job type, and its figures are their defaults.
func TestApplication_jobTypesInShippedFile(t *testing.T) {
	src, err := os.ReadFile("../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := config.Parse("config.yaml", src, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range config.JobNames {
		if !strings.Contains(string(src), name) {
			t.Errorf("config.yaml does not name %s", name)
		}
	}
	a, _ := startApplication(t, nil)
	own, shown := admin.Settings(a.jobs, nil), admin.Settings(a.jobs, shipped.Config.Queue.Options())
	if len(shipped.Config.Queue.Jobs) == 0 {
		t.Error("config.yaml shows no job type")
	}
	if d := cmp.Diff(own, shown); d != "" {
		t.Error(d)
	}
}

func TestApplication_isReadyAfterTheFirstLoad(t *testing.T) {
	_, s := startApplication(t, nil)
	for _, method := range []string{"GET", "HEAD"} {
		if a := send(t, s, method, "/healthz", ""); a.status != 200 {
			t.Errorf("%s healthz: %d", method, a.status)
		}
	}
	if a := send(t, s, "GET", "/readyz", ""); a.status != 503 || a.Code != "unavailable" {
		t.Errorf("readyz: %d %s", a.status, a.body)
	}
}

func TestApplication_setUpLink(t *testing.T) {
	a, _ := startApplication(t, nil)
	link, err := a.firstAdmin(t.Context(), "", "")
	if err != nil || !strings.HasPrefix(link, "http://localhost:8080/setup?token=pq_") {
		t.Errorf("%q %v", link, err)
	}
	if _, err := a.firstAdmin(t.Context(), "root@example.org", "short"); err == nil || !strings.Contains(err.Error(), config.EnvAdminPassword) {
		t.Errorf("a bad password: %v", err)
	}
	if link, err := a.firstAdmin(t.Context(), "root@example.org", "a long password"); err != nil || link != "" {
		t.Errorf("%q %v", link, err)
	}
	if link, err := a.firstAdmin(t.Context(), "", ""); err != nil || link != "" {
		t.Errorf("there is an admin, and yet %q %v", link, err)
	}
}

func TestApplication_showsNoSecrets(t *testing.T) {
	a, s := startApplication(t, func(c *config.Config) {
		c.Email.SMTP.Username, c.Email.SMTP.Password = "u", "hunter2"
		c.SMS.HTTP.Headers = map[string]string{"Authorization": "hunter2"}
		c.SMS.HTTP.URL = "https://gateway.example/?key=hunter2"
	})
	token := signIn(t, a, s)
	res := send(t, s, "GET", "/api/v1/config", "", "Authorization", "Bearer "+token)
	if res.status != 200 || strings.Contains(res.body, "hunter2") || !strings.Contains(res.body, `"load_every":"15s"`) {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := send(t, s, "GET", "/api/v1/config", ""); res.status != 401 {
		t.Errorf("nobody: %d", res.status)
	}
}

func TestApplication_jobs(t *testing.T) {
	a, s := startApplication(t, func(c *config.Config) {
		c.Queue.Jobs = map[string]config.Job{"notify.email": {Concurrency: 3, Rate: 1.5}}
	})
	token := signIn(t, a, s)
	ask := func(method, path string) answer {
		t.Helper()
		return send(t, s, method, "/api/v1"+path, "", "Authorization", "Bearer "+token)
	}
	var list struct{ Items []jobhttp.JobView }
	if err := json.Unmarshal([]byte(ask("GET", "/jobs").body), &list); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Items, func(j jobhttp.JobView) bool { return j.Name == "notify.email" })
	if len(list.Items) != len(config.JobNames) || i < 0 {
		t.Fatalf("%+v", list)
	}
	want := jobhttp.JobSettings{Concurrency: 3, Batch: 1, Lease: "1m", MaxRuntime: "2m", MaxAttempts: 12, Rate: 1.5}
	if d := cmp.Diff(want, list.Items[i].Settings); d != "" {
		t.Error(d)
	}
	for _, step := range []struct {
		path   string
		status int
		body   string
	}{
		{"/jobs/notify.email/pause", 200, `"paused":true`},
		{"/jobs/notify.email/resume", 200, `"paused":false`},
		{"/jobs/nothing/pause", 404, "not_found"},
		{"/jobs/dead/notify.email:7/requeue", 404, "not_found"},
	} {
		if res := ask("POST", step.path); res.status != step.status || !strings.Contains(res.body, step.body) {
			t.Errorf("%s: %d %s", step.path, res.status, res.body)
		}
	}
	for _, path := range []string{"/jobs/dead?cursor=x", "/jobs/notify.email/messages?cursor=x", "/audit?cursor=x"} {
		if res := ask("GET", path); res.status != 422 || res.Errors[0].Location != "query.cursor" {
			t.Errorf("%s: %d %s", path, res.status, res.body)
		}
	}
}

func TestApplication_deadLettersComeBack(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	ask := func(method, path string) answer {
		t.Helper()
		return send(t, s, method, "/api/v1"+path, "", "Authorization", "Bearer "+token)
	}
	bury(t, a, "notify.email", "7")
	if res := ask("GET", "/jobs/dead"); !strings.Contains(res.body, `"id":"notify.email:7"`) || !strings.Contains(res.body, `"error":"boom"`) {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := ask("POST", "/jobs/dead/notify.email:7/requeue"); res.status != 204 {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := ask("GET", "/jobs/dead"); !strings.Contains(res.body, `"items":[]`) {
		t.Errorf("%d %s", res.status, res.body)
	}
	stats, err := a.queue.Stats(t.Context(), "notify.email")
	if err != nil || stats.Dead != 0 || stats.Ready != 1 {
		t.Errorf("%+v %v", stats, err)
	}
}

// follow runs what gives changed default reminders to the meetings until the test ends.
func follow(t *testing.T, a *Application) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = a.followDefaults(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
}

func TestApplication_changedDefaultsReachTheMeetings(t *testing.T) {
	a, _ := startApplication(t, nil)
	u, err := a.accounts.CreateUser(t.Context(), account.NewUser{Email: "root@example.org", Name: "Root", Role: account.Admin})
	if err != nil {
		t.Fatal(err)
	}
	root := meeting.Actor{Kind: meeting.ActorUser, ID: u.ID, Name: u.Name, Email: u.Email, Role: meeting.Admin}
	room, err := a.places.CreateRoom(t.Context(), root, places.RoomFields{Name: new("Turing")})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	m, err := a.meetings.Book(t.Context(), root, booking.Fields{
		Title: new("Review"), RoomIDs: &[]int64{room.ID},
		Start: new(clock.At(start)), End: new(clock.At(start.Add(time.Hour))),
	})
	if err != nil {
		t.Fatal(err)
	}
	now := *a.config
	now.Log.Level = "error"
	now.Booking.Limits.MaxDuration = time.Minute
	now.Booking.Reminders = []config.Reminder{{Before: "start", Offset: 7 * time.Minute, Channels: []string{"email", "sms"}}}
	follow(t, a)
	if err := a.apply(t.Context(), a.config, &now); err != nil {
		t.Fatal(err)
	}
	want := []meeting.Reminder{{Before: meeting.BeforeStart, Offset: 7 * time.Minute, Channels: []meeting.Channel{meeting.Email, meeting.SMS}}}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if m, err = a.meetings.Meeting(t.Context(), root, m.ID); err != nil {
			t.Fatal(err)
		}
		d := cmp.Diff(want, m.Reminders)
		if d == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(d)
		}
	}
	if a.level.Level() != slog.LevelError {
		t.Errorf("level %v", a.level.Level())
	}
	_, err = a.meetings.Book(t.Context(), root, booking.Fields{
		Title: new("Too long now"), RoomIDs: &[]int64{room.ID},
		Start: new(clock.At(start.Add(2 * time.Hour))), End: new(clock.At(start.Add(3 * time.Hour))),
	})
	if _, ok := errors.AsType[*meeting.PolicyError](err); !ok {
		t.Errorf("the new limit does not hold: %v", err)
	}
}

func TestApplication_aChangeThatCannotBeAppliedChangesNothing(t *testing.T) {
	a, _ := startApplication(t, nil)
	now := *a.config
	now.Log.Level = "error"
	now.SMS = config.SMS{Driver: "http", HTTP: config.SMSGateway{URL: "{{"}}
	if err := a.apply(t.Context(), a.config, &now); err == nil {
		t.Fatal("applied")
	}
	if a.level.Level() != slog.LevelInfo {
		t.Errorf("level %v", a.level.Level())
	}
}
