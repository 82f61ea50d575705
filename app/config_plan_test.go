package app

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// plannedWorld is an installation with three meetings: one as configured, one with reminders
// of its own, and a request.
func plannedWorld(t *testing.T, dialect migrations.Dialect) (a *Application, s *httptest.Server, token, url string) {
	t.Helper()
	url = testdb.URL(t, dialect)
	a, s = startApplication(t, func(c *config.Config) { c.Database.URL = url })
	a.source.Accept("config.yaml", nil)
	token = signIn(t, a, s)
	post := func(path, body string) int64 {
		t.Helper()
		res := send(t, s, "POST", "/api/v1"+path, body, "Authorization", "Bearer "+token)
		var made struct{ ID int64 }
		if err := json.Unmarshal([]byte(res.body), &made); err != nil || res.status != 201 {
			t.Fatalf("%s: %d %s", path, res.status, res.body)
		}
		return made.ID
	}
	room, asked := post("/rooms", `{"name":"Turing"}`), post("/rooms", `{"name":"Hopper","approval":{"required":true}}`)
	booking := func(room int64, title string, in, long time.Duration, more string) {
		start := time.Now().Add(in).UTC().Truncate(time.Second)
		post("/meetings", `{"title":"`+title+`","room_ids":[`+strconv.FormatInt(room, 10)+`],"start":"`+start.Format(time.RFC3339)+
			`","end":"`+start.Add(long).Format(time.RFC3339)+`"`+more+`}`)
	}
	booking(room, "As configured", 48*time.Hour, 2*time.Hour, "")
	booking(room, "Its own", 72*time.Hour, 30*time.Minute, `,"reminders":[{"before":"start","offset":"1h","channels":["email"]}]`)
	post("/users", `{"email":"m@example.org","name":"M","role":"member","password":"a long password"}`)
	res := send(t, s, "POST", "/api/v1/auth/login", `{"email":"m@example.org","password":"a long password"}`)
	var in struct{ Token string }
	if err := json.Unmarshal([]byte(res.body), &in); err != nil {
		t.Fatal(err)
	}
	admin := token
	token = in.Token
	booking(asked, "Asked for", 96*time.Hour, 30*time.Minute, "")
	return a, s, admin, url
}

const plannedFile = `
queue: { prefix: other }
booking:
  reminders:
    - { before: start, offset: 30m, channels: [email] }
  approval: { timeout: 2h }
  limits: { max_duration: 1h }
`

func checkPlan(t *testing.T, p ConfigPlan) {
	t.Helper()
	var keys []string
	for _, s := range p.Settings {
		keys = append(keys, s.Key)
		if s.Restart != (s.Key == "queue.prefix") {
			t.Errorf("%s: restart %v", s.Key, s.Restart)
		}
	}
	if want := []string{"queue.prefix", "booking.reminders", "booking.approval.timeout", "booking.limits.max_duration"}; !slices.Equal(keys, want) {
		t.Errorf("settings %v, want %v", keys, want)
	}
	var moves []string
	for _, r := range p.Reminders {
		text := r.Meeting.Title + " " + string(r.Before)
		if r.From != nil && r.To != nil {
			text += " " + r.From.Sub(*r.To).String()
		}
		moves = append(moves, text)
	}
	if want := []string{"As configured start 15m0s", "As configured end", "Asked for start 15m0s", "Asked for end"}; !slices.Equal(moves, want) {
		t.Errorf("reminders %q, want %q", moves, want)
	}
	if len(p.Requests) != 1 || p.Requests[0].Meeting.Title != "Asked for" || p.Requests[0].Deadline.Sub(p.Requests[0].DeadlineAnew) != 22*time.Hour {
		t.Errorf("requests %+v", p.Requests)
	}
	if len(p.Refusals) != 1 || p.Refusals[0].Meeting.Title != "As configured" || p.Refusals[0].Reasons[0].Code != "max_duration" {
		t.Errorf("refusals %+v", p.Refusals)
	}
	if p.Meetings != 3 {
		t.Errorf("looked at %d meetings", p.Meetings)
	}
}

func TestConfigPlan(t *testing.T) {
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		t.Run(string(dialect), func(t *testing.T) {
			_, s, token, url := plannedWorld(t, dialect)

			// By the API.
			file, err := json.Marshal(map[string]string{"config": strings.Replace(plannedFile, "\n", "\ndatabase: { url: \""+config.Default().Database.URL+"\" }\n", 1)})
			if err != nil {
				t.Fatal(err)
			}
			before := listedMeetings(t, s, token)
			res := send(t, s, "POST", "/api/v1/config/plan", string(file), "Authorization", "Bearer "+token)
			var answer struct {
				Valid bool
				Plan  ConfigPlan
			}
			if err := json.Unmarshal([]byte(res.body), &answer); err != nil || !answer.Valid {
				t.Fatalf("%d %s: %v", res.status, res.body, err)
			}
			answer.Plan.Settings = slices.DeleteFunc(answer.Plan.Settings, func(s PlannedSetting) bool { return s.Key == "database.url" })
			checkPlan(t, answer.Plan)

			// Beside the server.
			old, err := config.Parse("now.yaml", []byte("database: { url: '"+url+"' }\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			next, err := config.Parse("next.yaml", []byte("database: { url: '"+url+"' }\n"+plannedFile), nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := PlanOffline(t.Context(), old.Config, next.Config, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, *p)
			if after := listedMeetings(t, s, token); after != before {
				t.Errorf("the meetings are\n%s\nand were\n%s", after, before)
			}
		})
	}
}

func listedMeetings(t *testing.T, s *httptest.Server, token string) string {
	t.Helper()
	return send(t, s, "GET", "/api/v1/meetings?limit=500", "", "Authorization", "Bearer "+token).body
}

func TestConfigPlan_refusesByAPI(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	res := send(t, s, "POST", "/api/v1/config/plan", `{"config":"log: {level: x}\nemail: {smtp: {password: hunter2, port: x}}\n"}`, "Authorization", "Bearer "+token)
	var answer struct {
		Valid  bool
		Faults []ConfigFileFault
	}
	if err := json.Unmarshal([]byte(res.body), &answer); err != nil || answer.Valid || len(answer.Faults) != 2 || answer.Faults[0].Line != 1 || answer.Faults[1].Line != 2 {
		t.Errorf("%s: %v", res.body, err)
	}
	if strings.Contains(res.body, "hunter2") {
		t.Errorf("tells a secret: %s", res.body)
	}
}

// TestConfigKeys: each setting tells its value, its default, and where it came from.
func TestConfigKeys(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	l, err := config.Parse("c.yaml", []byte("log: { level: warn }\nbooking:\n  approval:\n    timeout: 2h\nemail: { smtp: { username: u, password: hunter2 } }\n"),
		[]string{"PUNCTUAL_QUEUE_JOBS_NOTIFY_EMAIL_LEASE=30s", "PUNCTUAL_AUTH_LOGIN_RATE=3/m"})
	if err != nil {
		t.Fatal(err)
	}
	a.latest.Store(l.Config)
	a.source.Accept("c.yaml", l.Origins)
	var answer struct {
		Keys    []ConfigKey
		File    string
		Refused *RefusedConfig
	}
	ask := func() {
		t.Helper()
		answer.Refused = nil
		res := send(t, s, "GET", "/api/v1/config", "", "Authorization", "Bearer "+token)
		if err := json.Unmarshal([]byte(res.body), &answer); err != nil || strings.Contains(res.body, "hunter2") {
			t.Fatalf("%d %s: %v", res.status, res.body, err)
		}
	}
	ask()
	keys := map[string]ConfigKey{}
	for _, k := range answer.Keys {
		keys[k.Key] = k
	}
	for key, want := range map[string]ConfigKey{
		"log.level":                {Kind: "text", Value: "warn", Default: "info", Origin: ConfigOrigin{Kind: "file", Line: 1, Column: 15}},
		"booking.approval.timeout": {Kind: "duration", Value: "2h", Default: "24h", Origin: ConfigOrigin{Kind: "file", Line: 4, Column: 14}},
		"auth.login_rate":          {Kind: "rate", Value: "3/m", Default: "10/m", Origin: ConfigOrigin{Kind: "environment", Variable: "PUNCTUAL_AUTH_LOGIN_RATE"}},
		"booking.hold_pending":     {Kind: "boolean", Value: true, Default: true, Origin: ConfigOrigin{Kind: "default"}},
		"queue.horizon":            {Kind: "duration", Value: "2m", Default: "2m", Origin: ConfigOrigin{Kind: "default"}, Restart: true},
		"email.smtp.password":      {Kind: "text", Value: "***", Default: "", Origin: ConfigOrigin{Kind: "file", Line: 5, Column: 41}, Secret: true},
	} {
		want.Key = key
		got := keys[key]
		if got.Key == "" || got.Kind != want.Kind || got.Value != want.Value || got.Default != want.Default || got.Origin != want.Origin || got.Restart != want.Restart || got.Secret != want.Secret {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if jobs := keys["queue.jobs"]; jobs.Origin.Variable != "PUNCTUAL_QUEUE_JOBS_NOTIFY_EMAIL_LEASE" || !jobs.Waits {
		t.Errorf("%+v", jobs)
	}

	_, refused := config.Parse("c.yaml", []byte("log: { level: loud }\n"), nil)
	a.source.Refuse(refused)
	ask()
	if answer.Refused == nil || answer.Refused.Faults[0].Line != 1 || !strings.Contains(answer.Refused.Faults[0].Excerpt, "loud") {
		t.Errorf("%+v", answer.Refused)
	}
	a.source.Accept("c.yaml", l.Origins)
	if ask(); answer.Refused != nil {
		t.Errorf("still %+v", answer.Refused)
	}
}
