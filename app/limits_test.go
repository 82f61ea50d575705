package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/account"
	"punctual/account/redislimit"
	"punctual/app/audit"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/migrations"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

func TestLimits_rates(t *testing.T) {
	a, s := startApplication(t, func(c *config.Config) {
		c.Limits.Rate = config.Rate{Count: 5, Per: time.Hour}
		c.Limits.AnonymousRate = config.Rate{Count: 4, Per: time.Hour}
	})
	token := signIn(t, a, s) // one of eight requests without sign-in
	refusedAfter := func(what string, want int, headers ...string) {
		t.Helper()
		for n := range 100 {
			res := send(t, s, "GET", "/api/v1/me", "", headers...)
			if res.status != 429 {
				continue
			}
			if n != want || res.Code != "rate_limited" || res.header.Get("Retry-After") == "" {
				t.Errorf("%s: refused after %d, want %d: %s %v", what, n, want, res.body, res.header)
			}
			return
		}
		t.Errorf("%s: never refused", what)
	}
	refusedAfter("one token", 10, "Authorization", "Bearer "+token)
	refusedAfter("no token", 7)
	refusedAfter("a wrong token", 8, "Authorization", "Bearer wrong")

	a.limits.set(config.Default().Limits)
	for _, headers := range [][]string{{"Authorization", "Bearer " + token}, {"Authorization", "Bearer wrong"}, {}} {
		eventually(t, func() bool { return send(t, s, "GET", "/api/v1/me", "", headers...).status != 429 })
	}
}

// patientRedis is the URL of a Redis whose clients wait for an answer for a minute.
func patientRedis(t *testing.T) string {
	return testenv.Redis(t) + "?dial_timeout=1m&read_timeout=1m&write_timeout=1m"
}

// bePatient makes the shared limits wait for Redis even if the machine stalls, instead of counting by
// themselves.
func bePatient(apps ...*Application) {
	for _, a := range apps {
		for _, r := range []*sharedRate{a.limits.people, a.limits.tokens, a.limits.addresses} {
			r.shared.(*redislimit.Limiter).Patience = time.Minute
		}
		for _, p := range []*requestPlaces{&a.limits.running, &a.limits.heavy, &a.limits.streams} {
			p.shared.Patience = time.Minute
		}
	}
}

// Two processes share a rate: a caller has it once, and a tenth in each process.
func TestLimits_sharedRate(t *testing.T) {
	db, redis := testdb.URL(t, migrations.Postgres), patientRedis(t)
	one := func(c *config.Config) {
		c.Database.URL, c.Queue.URL = db, redis
		c.Limits.Rate = config.Rate{Count: 50, Per: 24 * time.Hour}
	}
	a, first := startApplication(t, one)
	b, second := startApplication(t, one)
	bePatient(a, b)
	token := signIn(t, a, first)
	allowed := 0
	for i := range 240 {
		if send(t, []*httptest.Server{first, second}[i%2], "GET", "/api/v1/me", "", "Authorization", "Bearer "+token).status == 200 {
			allowed++
		}
	}
	if allowed != 120 {
		t.Errorf("%d requests were allowed, want 100 and a tenth for each process", allowed)
	}
}

// Two processes together give a person as many streams as one does, and as many requests at once.
func TestLimits_sharedPlaces(t *testing.T) {
	db, redis := testdb.URL(t, migrations.Postgres), patientRedis(t)
	one := func(c *config.Config) {
		c.Database.URL, c.Queue.URL = db, redis
		c.Limits.Streams, c.Limits.Heavy = 2, 1
	}
	a, first := startApplication(t, one)
	b, second := startApplication(t, one)
	bePatient(a, b)
	token := signIn(t, a, first)
	run(t, a)
	var open []*http.Response
	for _, s := range []*httptest.Server{first, second} {
		res, next := listenTo(t, s, "/events", token)
		if res.StatusCode != 200 || next() != "ready" {
			t.Fatal(res.Status)
		}
		open = append(open, res)
	}
	for _, s := range []*httptest.Server{first, second} {
		if res, _ := listenTo(t, s, "/events", token); res.StatusCode != 429 {
			t.Errorf("the third stream: %s", res.Status)
		}
	}
	_ = open[0].Body.Close()
	eventually(t, func() bool { res, _ := listenTo(t, second, "/events", token); return res.StatusCode == 200 })

	leave, ok := a.limits.heavy.take(t.Context(), "person 7", 1, 0)
	if !ok {
		t.Fatal("no place")
	}
	if _, ok := b.limits.heavy.take(t.Context(), "person 7", 1, 0); ok {
		t.Error("a second heavy request of one person in another process")
	}
	time.AfterFunc(50*time.Millisecond, leave)
	if leave, ok := b.limits.heavy.take(t.Context(), "person 7", 1, time.Minute); !ok {
		t.Error("a place that became free in another process is not taken")
	} else {
		leave()
	}
}

// Those who read the public calendar without signing in have a few places for each network and half of the
// places together, on the page as in the API.
func TestLimits_public(t *testing.T) {
	a, s := startApplication(t, func(c *config.Config) {
		c.Public.Enabled = true
		c.Limits.Heavy = 1
	})
	token := signIn(t, a, s)
	if res := send(t, s, "GET", "/public", ""); res.status != 200 {
		t.Fatalf("%d %s", res.status, res.body)
	}
	network := account.Networks("127.0.0.1")[0]
	_, leave, ok := a.limits.takePublic(t.Context(), network)
	if !ok {
		t.Fatal("no place")
	}
	waiting, giveUp := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range placeWaiters {
		wg.Go(func() { a.limits.takePublic(waiting, network) })
	}
	eventually(t, func() bool {
		a.limits.heavy.mu.Lock()
		defer a.limits.heavy.mu.Unlock()
		return a.limits.heavy.of["network "+network].users == 1+placeWaiters
	})
	for _, path := range []string{"/public", "/api/v1/public/rooms", "/api/v1/public/meetings?from=2027-02-10T00:00:00Z&to=2027-02-11T00:00:00Z"} {
		if res := send(t, s, "GET", path, ""); res.status != 429 || res.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %.200s", path, res.status, res.body)
		}
	}
	if res := send(t, s, "GET", "/api/v1/meetings", "", "Authorization", "Bearer "+token); res.status != 200 {
		t.Errorf("a user who is signed in: %d %s", res.status, res.body)
	}
	giveUp()
	wg.Wait()
	leave()
	if res := send(t, s, "GET", "/public", ""); res.status != 200 {
		t.Errorf("when they have left: %d %s", res.status, res.body)
	}

	for i := range max(1, heavyPlaces/2) {
		_, leave, ok := a.limits.takePublic(t.Context(), strconv.Itoa(i))
		if !ok {
			t.Fatalf("no place for network %d", i)
		}
		defer leave()
	}
	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, ok := a.limits.takePublic(brief, network); ok {
		t.Error("the public calendar has more than half of the places")
	}
	if res := send(t, s, "GET", "/api/v1/meetings", "", "Authorization", "Bearer "+token); res.status != 200 {
		t.Errorf("a user who is signed in: %d %s", res.status, res.body)
	}
}

func TestRequestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p requestPlaces
		take := func(key string, wait time.Duration) (func(), bool) { return p.take(t.Context(), key, 2, wait) }
		leave1, ok1 := take("a", 0)
		leave2, ok2 := take("a", 0)
		if !ok1 || !ok2 {
			t.Fatal("no place")
		}
		if _, ok := take("a", 0); ok {
			t.Error("a third place")
		}
		if leave, ok := take("b", 0); !ok {
			t.Error("another key has no place")
		} else {
			leave()
		}
		begin := time.Now()
		if _, ok := take("a", time.Second); ok || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", ok, time.Since(begin))
		}
		time.AfterFunc(300*time.Millisecond, leave1)
		begin = time.Now()
		leave3, ok := take("a", time.Second)
		if !ok || time.Since(begin) != 300*time.Millisecond {
			t.Errorf("%v after %v", ok, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok := p.take(ctx, "a", 2, time.Hour); ok {
			t.Error("a place for a client that left")
		}
		var waiting atomic.Int64
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if leave, ok := take("a", time.Minute); ok {
					waiting.Add(1)
					leave()
				}
			})
		}
		synctest.Wait()
		leave2()
		wg.Wait()
		if n := waiting.Load(); n != 2*(1+placeWaiters)-2 {
			t.Errorf("%d waited", n)
		}
		leave3()
		if len(p.of) != 0 {
			t.Errorf("%d keys are left", len(p.of))
		}
	})
}

// listenTo opens an event stream and returns its first event.
func listenTo(t *testing.T, s *httptest.Server, path, token string) (res *http.Response, next func() string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if res, err = (&http.Client{Transport: &http.Transport{DisableCompression: true}}).Do(req); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	return res, func() string {
		for lines.Scan() {
			if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				return event
			}
		}
		return ""
	}
}

func TestLimits_streams(t *testing.T) {
	a, s := startApplication(t, func(c *config.Config) { c.Limits.Streams, c.Limits.TotalStreams = 2, 3 })
	token := signIn(t, a, s)
	run(t, a)
	var open []*http.Response
	for range 2 {
		res, next := listenTo(t, s, "/events", token)
		if res.StatusCode != 200 || next() != "ready" {
			t.Fatal(res.Status)
		}
		open = append(open, res)
	}
	res, _ := listenTo(t, s, "/events", token)
	if res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("the third: %s", res.Status)
	}
	other := member(t, a, s, token)
	if res, _ := listenTo(t, s, "/events", other); res.StatusCode != 200 {
		t.Errorf("another person: %s", res.Status)
	}
	if res, _ := listenTo(t, s, "/events", other); res.StatusCode != 429 {
		t.Errorf("more than the process takes: %s", res.Status)
	}
	_ = open[0].Body.Close()
	eventually(t, func() bool { res, _ := listenTo(t, s, "/events", token); return res.StatusCode == 200 })
}

// run does what ends event streams.
func run(t *testing.T, a *Application) {
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.stream.Run(ctx) })
	wg.Go(func() { _ = a.rights.run(ctx) })
	wg.Go(func() { _ = a.broadcasts.run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait() })
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// member makes a user and returns their token.
func member(t *testing.T, _ *Application, s *httptest.Server, admin string) string {
	t.Helper()
	res := send(t, s, "POST", "/api/v1/users", `{"email":"m@example.org","name":"M","role":"manager","password":"another long password"}`, "Authorization", "Bearer "+admin)
	if res.status != 201 {
		t.Fatalf("%d %s", res.status, res.body)
	}
	return login(t, s)
}

func login(t *testing.T, s *httptest.Server) string {
	t.Helper()
	res := send(t, s, "POST", "/api/v1/auth/login", `{"email":"m@example.org","password":"another long password"}`)
	var body struct{ Token string }
	if err := json.Unmarshal([]byte(res.body), &body); err != nil || res.status != 200 {
		t.Fatalf("%d %s", res.status, res.body)
	}
	return body.Token
}

// An event stream ends when its caller may no longer read what they read, also when the change was
// made in another process. What changes nothing for the caller ends no stream.
func TestRights_endStreams(t *testing.T) {
	db, redis := testdb.URL(t, migrations.Postgres), testenv.Redis(t)
	shared := func(c *config.Config) { c.Database.URL, c.Queue.URL = db, redis }
	a, here := startApplication(t, shared)
	b, there := startApplication(t, shared)
	admin := signIn(t, a, here)
	run(t, a)
	run(t, b)
	token := member(t, a, here, admin)
	user := "/api/v1/users/2" // the second that was made
	patch := func(body string) {
		t.Helper()
		if res := send(t, here, "PATCH", user, body, "Authorization", "Bearer "+admin); res.status != 200 {
			t.Fatalf("%s: %d %s", body, res.status, res.body)
		}
	}
	for _, c := range []struct {
		name   string
		change func()
		before func()
	}{
		{"demoted", func() { patch(`{"role":"member"}`) }, nil},
		{"password reset", func() { patch(`{"password":"yet another password"}`); patch(`{"password":"another long password"}`) }, func() { token = login(t, here) }},
		{"disabled", func() { patch(`{"disabled":true}`) }, func() { token = login(t, here) }},
		{"signed out", func() {
			send(t, here, "POST", "/api/v1/auth/logout", "", "Authorization", "Bearer "+token)
		}, func() { patch(`{"disabled":false}`); token = login(t, here) }},
	} {
		if c.before != nil {
			c.before()
		}
		resHere, nextHere := listenTo(t, here, "/events", token)
		resThere, nextThere := listenTo(t, there, "/events", token)
		_, nextAdmin := listenTo(t, there, "/events", admin)
		if nextHere() != "ready" || nextThere() != "ready" || nextAdmin() != "ready" {
			t.Fatalf("%s: %s %s", c.name, resHere.Status, resThere.Status)
		}
		c.change()
		if nextHere() != "" || nextThere() != "" { // reads until it ends
			t.Errorf("%s: the stream goes on", c.name)
		}
		b.rights.mu.Lock()
		if n := len(b.rights.streams); n == 0 {
			t.Errorf("%s: the admin's stream ended", c.name)
		}
		b.rights.mu.Unlock()
	}
}

// An event stream ends when the token of its caller expires, without a check of all streams.
func TestRights_expire(t *testing.T) {
	a, s := startApplication(t, nil)
	admin := signIn(t, a, s)
	for life := 300 * time.Millisecond; ; life *= 2 {
		until := time.Now().Add(life)
		body := fmt.Sprintf(`{"name":"short","expires_at":%q}`, until.Format(time.RFC3339Nano))
		made := send(t, s, "POST", "/api/v1/me/tokens", body, "Authorization", "Bearer "+admin)
		if made.status == 422 { // the machine is slow
			continue
		}
		var token struct{ Token string }
		if err := json.Unmarshal([]byte(made.body), &token); err != nil || made.status != 201 {
			t.Fatalf("%d %s", made.status, made.body)
		}
		res, next := listenTo(t, s, "/events", token.Token)
		if res.StatusCode == 401 { // as above
			continue
		}
		first := next()
		if first != "ready" && time.Now().After(until) { // as above
			continue
		}
		if first != "ready" || next() != "" { // reads until it ends
			t.Errorf("%s %q", res.Status, first)
		}
		return
	}
}

// A caller that waits for jobs gets none once it has lost the right to them.
func TestRights_waitingPops(t *testing.T) {
	a, s := startApplication(t, nil)
	run(t, a)
	admin := signIn(t, a, s)
	post := func(token, path, body string) answer {
		return send(t, s, "POST", "/api/v1"+path, body, "Authorization", "Bearer "+token)
	}
	job := 0
	// lose waits for a job with a token that is deleted before the job is added.
	lose := func(path, body string, keyed bool, pause time.Duration) answer {
		t.Helper()
		var token struct {
			ID    int64
			Token string
		}
		made := post(admin, "/me/tokens", `{"name":"consumer","scopes":["topics:consume"]}`)
		if err := json.Unmarshal([]byte(made.body), &token); err != nil || made.status != 201 {
			t.Fatalf("%d %s", made.status, made.body)
		}
		headers := []string{"Authorization", "Bearer " + token.Token}
		if keyed {
			headers = append(headers, "Idempotency-Key", fmt.Sprint("k", job))
		}
		popped := make(chan answer)
		go func() { popped <- send(t, s, "POST", "/api/v1"+path, body, headers...) }()
		time.Sleep(pause) // if it has not begun by then, it is refused at once
		send(t, s, "DELETE", fmt.Sprintf("/api/v1/me/tokens/%d", token.ID), "", "Authorization", "Bearer "+admin)
		job++
		if added := post(admin, "/topics/orders/jobs", fmt.Sprintf(`{"id":"job-%d","body":"x","delay_ms":0}`, job)); added.status != 201 {
			t.Fatalf("%d %s", added.status, added.body)
		}
		return <-popped
	}
	for _, c := range []struct {
		path, body string
		keyed      bool
	}{
		{"/topics/orders/pop", `{"wait_ms":20000}`, false},
		{"/pop", `{"topics":["orders","other"],"wait_ms":20000}`, true},
	} {
		pause := 100 * time.Millisecond
		got := lose(c.path, c.body, c.keyed, pause)
		for ; got.status == 200 && pause < 5*time.Second; pause *= 2 { // the machine is slow: it had begun, and did not wait yet
			got = lose(c.path, c.body, c.keyed, pause)
		}
		if got.status != 401 {
			t.Errorf("%s: %d %s", c.path, got.status, got.body)
		}
		if got := post(admin, "/topics/orders/pop", `{"wait_ms":20000}`); !strings.Contains(got.body, `"attempt":1`) {
			t.Errorf("the job after %s: %s", c.path, got.body)
		}
	}
}

// A deputy's event stream ends when the absence does, without a check of all streams.
func TestRights_deputy(t *testing.T) {
	a, s := startApplication(t, nil)
	admin := signIn(t, a, s)
	token := member(t, a, s, admin) // a manager
	for life := 300 * time.Millisecond; ; life *= 2 {
		until := time.Now().Add(life)
		body := fmt.Sprintf(`{"away":{"from":%q,"until":%q,"deputy_id":2}}`,
			until.Add(-time.Hour).Format(time.RFC3339), until.Format(time.RFC3339Nano))
		if res := send(t, s, "PATCH", "/api/v1/me", body, "Authorization", "Bearer "+admin); res.status == 422 {
			continue // the machine is slow
		} else if res.status != 200 {
			t.Fatalf("%d %s", res.status, res.body)
		}
		res, next := listenTo(t, s, "/events", token)
		if res.StatusCode != 200 || next() != "ready" {
			t.Fatal(res.Status)
		}
		if time.Now().After(until) { // the machine is slow: it may have begun after the absence
			_ = res.Body.Close()
			continue
		}
		ended := make(chan string, 1)
		go func() { ended <- next() }()
		select {
		case event := <-ended:
			if event != "" || time.Now().Before(until) {
				t.Errorf("%q before the end of the absence", event)
			}
		case <-time.After(life + 2*time.Minute):
			t.Fatal("the stream goes on after the absence")
		}
		if res, next := listenTo(t, s, "/events", token); res.StatusCode != 200 || next() != "ready" {
			t.Errorf("after it: %s", res.Status)
		}
		return
	}
}

// A command changes rights beside the servers: streams end although neither a request nor another
// process reports it.
func TestRights_changedByACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var latest atomic.Int64
		r := newRights(slog.New(slog.DiscardHandler))
		r.history = func(context.Context, int64) (int64, error) { return latest.Load(), nil }
		var mayRead atomic.Bool
		mayRead.Store(true)
		stream, end := context.WithCancel(t.Context())
		defer end()
		r.streams[&openStream{valid: func(context.Context) (bool, error) { return mayRead.Load(), nil }, end: end}] = struct{}{}
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = r.run(ctx) }()
		mayRead.Store(false)
		time.Sleep(2 * rightsLook)
		if stream.Err() != nil {
			t.Error("the stream ended without a change")
		}
		latest.Store(7)
		time.Sleep(time.Second)
		if stream.Err() == nil {
			t.Error("the stream goes on for a second")
		}
		stop()
	})
}

func TestRightsHistory(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		history := rightsHistory(db.Gorm)
		seen := int64(0)
		for _, tt := range []struct {
			action  string
			changes bool
		}{
			{"room.changed", true}, // at first anything counts
			{"room.changed", false}, {"session.begun", false}, {"session.refused", false}, {"token.created", false},
			{"user.changed", true}, {"token.deleted", true}, {"session.ended", true}, {"webhook.changed", false},
		} {
			if err := audit.Add(db.Gorm.WithContext(t.Context()), audit.Entry{Action: tt.action, ID: "1"}); err != nil {
				t.Fatal(err)
			}
			latest, err := history(t.Context(), seen)
			if err != nil || (latest > seen) != tt.changes {
				t.Errorf("%s: from %d to %d, %v", tt.action, seen, latest, err)
			}
			seen = latest
		}
	})
}

// Anybody can have sign-ins refused: the history keeps some of them, and how many it left out.
func TestRefusals(t *testing.T) {
	r := newRefusals()
	kept := func(n int, kind string, key func(int) string) (kept int) {
		for i := range n {
			if _, ok := r.note(t.Context(), kind, key(i)); ok {
				kept++
			}
		}
		return kept
	}
	if n := kept(50, "user ", func(int) string { return "7" }); n != 10 {
		t.Errorf("%d entries of one account, want 10", n)
	}
	if n := kept(1000, "nobody ", strconv.Itoa); n != 300 {
		t.Errorf("%d entries of nobody, want 300", n)
	}
	if leftOut, ok := r.note(t.Context(), "user ", "8"); !ok || leftOut != 700 {
		t.Errorf("%d were left out, %v", leftOut, ok)
	}
}

// Light requests find a connection although every one for heavy requests is taken.
func TestForHeavy_hasConnectionsOfItsOwn(t *testing.T) {
	db, err := database.Open(t.Context(), testdb.URL(t, migrations.Postgres), database.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	heavy := database.ForHeavy(database.ForRequest(t.Context()))
	var held []context.CancelFunc
	for range 2 {
		ctx, cancel := context.WithCancel(heavy)
		tx := db.Gorm.WithContext(ctx).Begin()
		if tx.Error != nil {
			t.Fatal(tx.Error)
		}
		held = append(held, func() { tx.Rollback(); cancel() })
	}
	for _, ctx := range []context.Context{database.ForRequest(t.Context()), t.Context()} {
		if err := db.Gorm.WithContext(ctx).Exec("SELECT 1").Error; err != nil {
			t.Error(err)
		}
	}
	for _, free := range held {
		free()
	}
}

func TestContainerMemory(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none, unlimited, huge, limited := filepath.Join(dir, "none"), file("a", "max\n"), file("b", "9223372036854771712\n"), file("c", "536870912\n")
	for _, c := range []struct {
		files []string
		want  int64
	}{{[]string{none}, 0}, {[]string{unlimited, huge}, 0}, {[]string{none, limited}, 512 << 20}} {
		if got := containerMemory(c.files...); got != c.want {
			t.Errorf("%v: %d, want %d", c.files, got, c.want)
		}
	}
}

// Wrong tokens of a network do not shut out a right one that was used before, whether or not it has the right
// to what it asks for.
func TestLimits_wrongTokensShutOutNobody(t *testing.T) {
	a, s := startApplication(t, func(c *config.Config) { c.Limits.AnonymousRate = config.Rate{Count: 4, Per: time.Hour} })
	right := []string{"Authorization", "Bearer " + signIn(t, a, s)}
	if res := send(t, s, "GET", "/api/v1/me", "", right...); res.status != 200 {
		t.Fatalf("%d %s", res.status, res.body)
	}
	for n := 0; send(t, s, "GET", "/api/v1/me", "", "Authorization", "Bearer wrong").status != 429; n++ {
		if n > 100 {
			t.Fatal("wrong tokens are never refused")
		}
	}
	for range 20 {
		if res := send(t, s, "GET", "/api/v1/me", "", right...); res.status != 200 {
			t.Fatalf("after wrong tokens of others: %d %s", res.status, res.body)
		}
	}
}
