package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// delivery is a job that was popped.
type delivery struct {
	Topic      string          `json:"topic"`
	ID         string          `json:"id"`
	Body       json.RawMessage `json:"body"`
	Attempt    int             `json:"attempt"`
	Lease      string          `json:"lease"`
	LeaseUntil time.Time       `json:"lease_until"`
}

type topicJob struct {
	ID         string     `json:"id"`
	State      string     `json:"state"`
	Due        time.Time  `json:"due"`
	Attempts   int        `json:"attempts"`
	LastError  string     `json:"last_error"`
	LeaseUntil *time.Time `json:"lease_until"`
}

func pop(t *testing.T, c *testenv.Client, wait time.Duration, opts ...with) []delivery {
	t.Helper()
	body := with{"wait_ms": wait.Milliseconds(), "max": 10}
	for _, o := range opts {
		for k, v := range o {
			body[k] = v
		}
	}
	var out struct{ Items []delivery }
	c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/pop", body, &out)
	return out.Items
}

// popSome waits for jobs.
func popSome(t *testing.T, c *testenv.Client, opts ...with) (got []delivery) {
	t.Helper()
	for deadline := time.Now().Add(slack); len(got) == 0 && time.Now().Before(deadline); {
		got = pop(t, c, 25*time.Second, opts...)
	}
	return got
}

// popOne wants this job, waiting for it.
func popOne(t *testing.T, c *testenv.Client, id string, attempt int, opts ...with) delivery {
	t.Helper()
	got := popSome(t, c, opts...)
	if len(got) != 1 || got[0].ID != id || got[0].Attempt != attempt {
		t.Fatalf("popped %+v, want attempt %d of %s", got, attempt, id)
	}
	return got[0]
}

// wantDelayed wants a job to wait, unless its time has come by now.
func wantDelayed(t *testing.T, c *testenv.Client, id string, due time.Time) {
	t.Helper()
	var j topicJob
	c.Want(t, http.StatusOK, http.MethodGet, "/topics/orders/jobs/"+id, nil, &j)
	if j.State != "delayed" && time.Now().Before(due) {
		t.Errorf("%+v, want it to be delayed until %v", j, due)
	}
}

func wantTopicJob(t *testing.T, c *testenv.Client, id, state string) topicJob {
	t.Helper()
	var j topicJob
	c.Want(t, http.StatusOK, http.MethodGet, "/topics/orders/jobs/"+id, nil, &j)
	if j.ID != id || j.State != state {
		t.Errorf("%+v, want %s to be %s", j, id, state)
	}
	return j
}

// TestTopics follows jobs of another system from their add to their end.
func TestTopics(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		c := testenv.Server(t, on.Config).Admin(t)
		const jobs = "/topics/orders/jobs"
		reserved := with{"ttr_ms": 600_000} // for longer than any machine takes

		begin := time.Now()
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "a", "delay_ms": 700, "body": with{"n": []int{1, 2}}}, nil)
		wantDelayed(t, c, "a", begin.Add(700*time.Millisecond))
		a := popOne(t, c, "a", 1, reserved)
		if took := time.Since(begin); took < 700*time.Millisecond || took > 700*time.Millisecond+slack {
			t.Errorf("popped after %v, want 700 ms", took)
		}
		if string(a.Body) != `{"n":[1,2]}` || a.Topic != "orders" {
			t.Errorf("popped %+v", a)
		}
		if j := wantTopicJob(t, c, "a", "reserved"); j.LeaseUntil == nil || j.Attempts != 1 {
			t.Errorf("%+v", j)
		}
		lease := with{"lease": a.Lease}
		c.WantProblem(t, http.StatusConflict, "lease_lost", http.MethodPost, jobs+"/a/finish", with{"lease": "AQI"})
		c.Want(t, http.StatusNoContent, http.MethodPost, jobs+"/a/finish", lease, nil)
		c.WantProblem(t, http.StatusConflict, "lease_lost", http.MethodPost, jobs+"/a/finish", lease)

		// Same, newer and older versions.
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "v", "delay_ms": 3600_000, "body": 1, "version": 5}, nil)
		c.Want(t, http.StatusOK, http.MethodPost, jobs, with{"id": "v", "delay_ms": 3600_000, "body": 1, "version": 5}, nil)
		c.Want(t, http.StatusOK, http.MethodPost, jobs, with{"id": "v", "delay_ms": 3600_000, "body": 2, "version": 6}, nil)
		c.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, jobs, with{"id": "v", "delay_ms": 0, "body": 1, "version": 5})
		// Rescheduled, to now.
		c.Want(t, http.StatusOK, http.MethodPatch, jobs+"/v", with{"due": time.Now().Add(-time.Second).Format(time.RFC3339Nano)}, nil)
		v := popOne(t, c, "v", 1, reserved)
		if string(v.Body) != "2" {
			t.Errorf("body %s, want that of the newer version", v.Body)
		}
		// Extended, then deleted while it is run.
		var extended struct {
			LeaseUntil time.Time `json:"lease_until"`
		}
		c.Want(t, http.StatusOK, http.MethodPost, jobs+"/v/extend", with{"lease": v.Lease, "ttr_ms": 1200_000}, &extended)
		if !extended.LeaseUntil.After(v.LeaseUntil.Add(time.Minute)) {
			t.Errorf("extended until %v from %v", extended.LeaseUntil, v.LeaseUntil)
		}
		c.Want(t, http.StatusAccepted, http.MethodDelete, jobs+"/v", nil, nil)
		c.WantProblem(t, http.StatusConflict, "lease_lost", http.MethodPost, jobs+"/v/finish", with{"lease": v.Lease})
		c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, jobs+"/v", nil)
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "gone", "delay_ms": 300, "body": nil}, nil)
		c.Want(t, http.StatusNoContent, http.MethodDelete, jobs+"/gone", nil, nil)
		// A deleted one is gone: its id may be added again at once, also in an array.
		var again struct{ ID, State, Result string }
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "gone", "delay_ms": 3600_000, "body": nil}, &again)
		if again.State != "delayed" || again.Result != "added" {
			t.Errorf("added again: %+v", again)
		}
		c.Want(t, http.StatusNoContent, http.MethodDelete, jobs+"/gone", nil, nil)
		var many struct {
			Items []struct {
				Status         int
				Result, Reason string
			}
		}
		c.Want(t, http.StatusOK, http.MethodPost, jobs, []with{
			{"id": "gone", "delay_ms": 3600_000, "body": 1}, {"id": "gone", "delay_ms": 3600_000, "body": 1}, {"id": "gone", "delay_ms": 3600_000, "body": 2},
		}, &many)
		if got, want := fmt.Sprint(many.Items), "[{201 added } {200 unchanged } {409  different_body}]"; got != want {
			t.Errorf("added again in an array: %s, want %s", got, want)
		}
		wantTopicJob(t, c, "gone", "delayed")
		c.Want(t, http.StatusNoContent, http.MethodDelete, jobs+"/gone", nil, nil)

		// The time to run is over: attempt 2. It fails, for later; then its attempts are used up.
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "r", "delay_ms": 0, "body": "x", "ttr_ms": 300, "max_attempts": 3}, nil)
		popOne(t, c, "r", 1)
		r := popOne(t, c, "r", 2, reserved)
		began := time.Now()
		c.Want(t, http.StatusNoContent, http.MethodPost, jobs+"/r/fail", with{"lease": r.Lease, "error": "the shop is closed", "delay_ms": 500}, nil)
		wantDelayed(t, c, "r", began.Add(500*time.Millisecond))
		r = popOne(t, c, "r", 3, reserved)
		if took := time.Since(began); took < 500*time.Millisecond {
			t.Errorf("again after %v, want 500 ms", took)
		}
		c.Want(t, http.StatusNoContent, http.MethodPost, jobs+"/r/fail", with{"lease": r.Lease, "error": "closed for good"}, nil)
		if j := wantTopicJob(t, c, "r", "dead"); j.LastError != "closed for good" || j.Attempts != 3 {
			t.Errorf("%+v", j)
		}
		var dead struct{ Items []struct{ ID, Error string } }
		c.Want(t, http.StatusOK, http.MethodGet, "/topics/orders/dead", nil, &dead)
		if len(dead.Items) != 1 || dead.Items[0].ID != "r" || dead.Items[0].Error != "closed for good" {
			t.Errorf("dead %+v", dead)
		}
		c.Want(t, http.StatusNoContent, http.MethodPost, "/topics/orders/dead/r/requeue", nil, nil)
		r = popOne(t, c, "r", 1, reserved)
		c.Want(t, http.StatusNoContent, http.MethodPost, jobs+"/r/finish", with{"lease": r.Lease}, nil)
		c.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, "/topics/orders/dead/r/requeue", nil)

		// Expired jobs are recorded, not delivered.
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "late", "due": time.Now().Add(-time.Minute).Format(time.RFC3339), "ttl_ms": 1000, "body": 0}, nil)
		if got := pop(t, c, 0); len(got) != 0 {
			t.Errorf("popped %+v, want nothing", got)
		}
		wantTopicJob(t, c, "late", "expired")
	})
}

// TestTopics_many adds and finishes in arrays, from several topics, and looks at the counts.
func TestTopics_many(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		c := testenv.Server(t, on.Config).Admin(t)
		batch := make([]with, 1000)
		for i := range batch {
			batch[i] = with{"id": fmt.Sprint(i), "delay_ms": 0, "body": with{"text": strings.Repeat("x", 50), "i": i}}
		}
		batch[7] = with{"id": "bad id", "delay_ms": 0, "body": 1}
		batch[8] = with{"id": "8", "body": 1, "colour": "red"}
		type items struct {
			Items []struct {
				ID     string
				Status int
				Code   string
			}
		}
		var added, again items
		begin := time.Now()
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", batch, &added)
		t.Logf("1000 added in %v", time.Since(begin))
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", batch, &again)
		for i, a := range added.Items {
			first, second := 201, 200
			if i == 7 || i == 8 {
				first, second = 422, 422
			}
			if a.Status != first || again.Items[i].Status != second || first == 422 && a.Code != "invalid" {
				t.Fatalf("job %d: %+v, then %+v", i, a, again.Items[i])
			}
		}
		c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/topics/orders/jobs", append(batch, batch...))
		c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/topics/orders/jobs", []with{})
		c.Want(t, http.StatusCreated, http.MethodPost, "/topics/mails/jobs", with{"id": "m", "delay_ms": 58_000, "body": 1}, nil)

		var stats struct {
			Delayed, Ready, Reserved, Dead, Done int
			OldestDueSeconds                     float64 `json:"oldest_due_seconds"`
			NextHour                             []int   `json:"next_hour"`
		}
		c.Want(t, http.StatusOK, http.MethodGet, "/topics/orders", nil, &stats)
		if stats.Ready != 998 || stats.OldestDueSeconds <= 0 {
			t.Errorf("%+v", stats)
		}
		c.Want(t, http.StatusOK, http.MethodGet, "/topics/mails", nil, &stats)
		if stats.Delayed != 1 || len(stats.NextHour) != 60 || stats.NextHour[0] != 1 {
			t.Errorf("%+v", stats)
		}
		begin = time.Now()
		for n := 0; n < 998; {
			got := pop(t, c, 0, with{"max": 500, "ttr_ms": 600_000})
			if len(got) == 0 {
				t.Fatalf("%d popped, want 998", n)
			}
			n += len(got)
			ends := make([]with, len(got), len(got)+1)
			for i, d := range got {
				ends[i] = with{"id": d.ID, "lease": d.Lease}
			}
			var finished items
			c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/finish", append(ends, with{"id": "m", "lease": got[0].Lease}), &finished)
			for i, f := range finished.Items {
				if want := 204; i < len(got) && f.Status != want || i == len(got) && (f.Status != 409 || f.Code != "lease_lost") {
					t.Fatalf("%+v", f)
				}
			}
		}
		t.Logf("998 popped and finished in %v", time.Since(begin))
		c.Want(t, http.StatusOK, http.MethodGet, "/topics/orders", nil, &stats)
		if stats.Ready != 0 || stats.Done != 998 {
			t.Errorf("%+v", stats)
		}
		c.Want(t, http.StatusOK, http.MethodPatch, "/topics/mails/jobs/m", with{"delay_ms": 300}, nil)
		var out struct{ Items []delivery }
		c.Want(t, http.StatusOK, http.MethodPost, "/pop", with{"topics": []string{"orders", "mails"}, "wait_ms": 30_000}, &out)
		if len(out.Items) != 1 || out.Items[0].Topic != "mails" || out.Items[0].ID != "m" {
			t.Errorf("popped %+v", out.Items)
		}
		var all struct{ Items []struct{ Topic string } }
		c.Want(t, http.StatusOK, http.MethodGet, "/topics", nil, &all)
		if len(all.Items) != 2 || all.Items[0].Topic != "mails" || all.Items[1].Topic != "orders" {
			t.Errorf("topics %+v", all.Items)
		}
	})
}

// TestTopics_scopes: a token of one topic does what its scope says, there alone.
func TestTopics_scopes(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	token := func(scopes ...string) *testenv.Client {
		var made struct{ Token string }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "shop", "scopes": scopes}, &made)
		return &testenv.Client{Base: server.URL, Token: made.Token}
	}
	job := with{"id": "a", "delay_ms": 0, "body": 1}
	producer, consumer, any := token("topics:produce:orders"), token("topics:consume:orders"), token("topics:consume", "topics:admin")
	producer.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", job, nil)
	producer.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/topics/orders2/jobs", job)
	producer.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/topics/orders/pop", with{})
	producer.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/rooms", nil)
	consumer.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/topics/orders/jobs", job)
	consumer.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/pop", with{"topics": []string{"orders", "mails"}})
	consumer.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/topics/orders/pause", nil)
	if got := pop(t, consumer, 0); len(got) != 1 {
		t.Errorf("popped %+v", got)
	}
	any.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/pause", nil, nil)
	any.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/topics/orders/jobs", job)
	admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/other/jobs", job, nil)
	var all struct{ Items []struct{ Topic string } }
	producer.Want(t, http.StatusOK, http.MethodGet, "/topics", nil, &all)
	if len(all.Items) != 1 || all.Items[0].Topic != "orders" {
		t.Errorf("a token of one topic sees %+v", all.Items)
	}
	member := admin.NewUser(t, "Bob", "member")
	member.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/topics/orders/pop", with{})

	for _, row := range []struct {
		path, body, location string
	}{
		{"/topics/orders/jobs", `{"body": 1}`, "body.due"},
		{"/topics/orders/jobs", `{"delay_ms": 0}`, "body.body"},
		{"/topics/orders/jobs", `{"delay_ms": -1, "body": 1}`, "body.delay_ms"},
		{"/topics/orders/jobs", `{"due": "2099-01-01T00:00:00Z", "body": 1}`, "body.due"},
		{"/topics/orders/jobs", `{"due": "tomorrow", "body": 1}`, "body.due"},
		{"/topics/orders/jobs", `{"id": "a:b", "delay_ms": 0, "body": 1}`, "body.id"},
		{"/topics/orders/jobs", `{"delay_ms": 0, "body": 1, "color": 1}`, "body.color"},
		{"/topics/orders/jobs", `{"delay_ms": 0, "body": "` + strings.Repeat("x", 70_000) + `"}`, "body.body"},
		{"/topics/orders/jobs", `{"delay_ms": 0, "body": 1, "max_attempts": 0}`, "body.max_attempts"},
		{"/topics/orders/jobs", `{"delay_ms": "1", "body": 1}`, "body.delay_ms"},
		{"/topics/orders/jobs", `null`, "body"},
		{"/topics/Orders/jobs", `{"delay_ms": 0, "body": 1}`, "path.topic"},
		{"/topics/orders/pop", `{"wait_ms": 30001}`, "body.wait_ms"},
		{"/pop", `{"topics": ["UP"]}`, "body.topics[0]"},
	} {
		p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, row.path, row.body)
		if len(p.Errors) == 0 || p.Errors[0].Location != row.location {
			t.Errorf("%.60s: %+v, want a fault at %s", row.body, p.Errors, row.location)
		}
	}
}

// TestTopics_crash: between pop and finish the program is killed, or Redis loses everything.
func TestTopics_crash(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		c := server.Admin(t)
		const jobs = "/topics/orders/jobs"
		c.Want(t, http.StatusOK, http.MethodPost, jobs, []with{
			{"id": "lost", "delay_ms": 0, "body": 1, "ttr_ms": 3000}, {"id": "held", "delay_ms": 0, "body": 1, "ttr_ms": 600_000}, {"id": "year", "delay_ms": 31_000_000_000, "body": 1},
		}, nil)
		got := popSome(t, c)
		if len(got) < 2 {
			got = append(got, popSome(t, c)...)
		}
		if len(got) != 2 {
			t.Fatalf("popped %+v", got)
		}
		lease := map[string]string{got[0].ID: got[0].Lease, got[1].ID: got[1].Lease}
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/quiet/pause", nil, nil)
		c.Want(t, http.StatusCreated, http.MethodPost, "/topics/quiet/jobs", with{"id": "q", "delay_ms": 0, "body": 1}, nil)
		server.Kill()
		server.Start(t)
		popOne(t, c, "lost", 2)
		c.WantProblem(t, http.StatusConflict, "lease_lost", http.MethodPost, jobs+"/lost/finish", with{"lease": lease["lost"]})
		c.Want(t, http.StatusNoContent, http.MethodPost, jobs+"/held/finish", with{"lease": lease["held"]}, nil)
		wantTopicJob(t, c, "year", "delayed")
		if on.redis == nil {
			return
		}
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "soon", "delay_ms": 2000, "body": 1}, nil)
		on.redis.Do(t, "FLUSHALL")
		again := map[string]int{} // attempts
		for len(again) < 2 {
			got := popSome(t, c)
			if len(got) == 0 {
				t.Fatalf("popped %v", again)
			}
			for _, d := range got {
				if again[d.ID] == 0 {
					again[d.ID] = d.Attempt
				}
			}
		}
		if again["soon"] != 1 || again["lost"] != 3 {
			t.Errorf("popped %v after the flush", again)
		}
		var out struct{ Items []delivery }
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/quiet/pop", with{"wait_ms": 1500}, &out)
		if len(out.Items) != 0 {
			t.Errorf("a paused topic handed out %+v", out.Items)
		}
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/quiet/resume", nil, nil)
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/quiet/pop", with{"wait_ms": 30_000}, &out)
		if len(out.Items) != 1 {
			t.Errorf("a resumed topic handed out %+v", out.Items)
		}
	})
}

// TestTopics_instances: a pop at one instance is woken by an add at another; one whose client
// went away takes nothing; one that waits ends when its server is told to stop.
func TestTopics_instances(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	a, b := twoServers(t, on.Config)
	atA := a.Admin(t)
	atB := atA.At(b)

	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = atA.Try(http.MethodPost, "/topics/orders/pop", with{"wait_ms": 20_000}, func(r *http.Request) { *r = *r.WithContext(ctx) })
	}()
	time.Sleep(300 * time.Millisecond)
	leave()
	<-left
	time.Sleep(100 * time.Millisecond)

	type answer struct {
		got  []delivery
		when time.Time
	}
	answers := make(chan answer, 1)
	go func() {
		// Longer than the server's deadline of reading a request, which is not one of waiting.
		got := pop(t, atA, 30*time.Second)
		answers <- answer{got, time.Now()}
	}()
	time.Sleep(6 * time.Second)
	begin := time.Now()
	atB.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": "a", "delay_ms": 0, "body": 1}, nil)
	woken := <-answers
	if len(woken.got) != 1 || woken.got[0].ID != "a" || woken.got[0].Attempt != 1 {
		t.Fatalf("popped %+v", woken.got)
	}
	t.Logf("woken %v after the add began", woken.when.Sub(begin))
	atB.Want(t, http.StatusNoContent, http.MethodPost, "/topics/orders/jobs/a/finish", with{"lease": woken.got[0].Lease}, nil)

	waiting := holdBack(t, atA, http.MethodPost, "/topics/orders/pop", with{"wait_ms": 25_000}) // the server has it before it is told to stop
	go func() {
		var out struct{ Items []delivery }
		if res, err := waiting.answer(); err != nil || res.Status != http.StatusOK || res.Decode(&out) != nil {
			t.Errorf("at the stop: %+v, %v", res, err)
		}
		answers <- answer{out.Items, time.Now()}
	}()
	time.Sleep(time.Second) // until it waits
	begin = time.Now()
	if code := a.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if last := <-answers; len(last.got) != 0 || last.when.Sub(begin) > 20*time.Second {
		t.Errorf("at the stop: %+v after %v", last.got, last.when.Sub(begin))
	}
}

// TestTopics_answers looks at what calls say about jobs: bodies, lists, pages, refusals.
func TestTopics_answers(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		c := testenv.Server(t, on.Config).Admin(t)
		const jobs = "/topics/orders/jobs"

		// What is no list of topics is refused, whatever it is.
		for _, topics := range []any{
			nil, []any{}, []any{[]any{}}, []any{[]any{}, []any{}}, []any{with{}}, []any{with{}, with{}}, []any{nil}, []any{1, 1}, []any{"orders", "orders"}, "orders", with{},
		} {
			c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/pop", with{"topics": topics})
		}
		c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/topics/orders/finish", []any{})
		c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/topics/orders/finish", []any{[]any{}})

		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "a", "delay_ms": 3600_000, "body": with{"n": []int{1}}, "version": 2}, nil)
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "b", "delay_ms": 1800_000, "body": nil}, nil)
		var one struct {
			Body   json.RawMessage
			Result string
		}
		c.Want(t, http.StatusOK, http.MethodGet, jobs+"/a", nil, &one)
		if string(one.Body) != `{"n":[1]}` {
			t.Errorf("body %s", one.Body)
		}
		for i, want := range []string{"unchanged", "replaced"} {
			c.Want(t, http.StatusOK, http.MethodPost, jobs, with{"id": "b", "delay_ms": 1800_000, "body": nil, "version": i + 1}, &one)
			if one.Result != want {
				t.Errorf("version %d: %s, want %s", i+1, one.Result, want)
			}
		}
		for reason, job := range map[string]with{
			"newer_version":  {"id": "a", "delay_ms": 0, "body": with{"n": []int{1}}, "version": 1},
			"different_body": {"id": "a", "delay_ms": 0, "body": 7, "version": 2},
		} {
			var p struct{ Code, State, Reason string }
			c.Want(t, http.StatusConflict, http.MethodPost, jobs, job, &p)
			if p.Code != "state_conflict" || p.State != "delayed" || p.Reason != reason {
				t.Errorf("%+v, want the reason %s and the state of the job", p, reason)
			}
		}

		// Lists have pages.
		pages := func(path string) (got []string) {
			for cursor := ""; ; {
				var page struct {
					Items      []struct{ ID, Topic string }
					NextCursor *string `json:"next_cursor"`
				}
				c.Want(t, http.StatusOK, http.MethodGet, path+"limit=1"+cursor, nil, &page)
				for _, i := range page.Items {
					got = append(got, i.ID+i.Topic)
				}
				if page.NextCursor == nil {
					return got
				}
				cursor = "&cursor=" + *page.NextCursor
			}
		}
		c.Want(t, http.StatusCreated, http.MethodPost, "/topics/mail/jobs", with{"delay_ms": 0, "body": 1}, nil)
		for path, want := range map[string]string{
			jobs + "?": "[a b]", jobs + "?state=delayed&": "[b a]", jobs + "?state=done&": "[]", "/topics?": "[mail orders]",
		} {
			if got := fmt.Sprint(pages(path)); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
		c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/topics?cursor=x", nil)
		c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, jobs+"?state=late", nil)
		var purged struct {
			Deleted, Running int
			More             bool
		}
		c.Want(t, http.StatusOK, http.MethodDelete, jobs, nil, &purged)
		if purged.Deleted != 2 || purged.Running != 0 || purged.More {
			t.Errorf("%+v", purged)
		}
		if got := fmt.Sprint(pages("/topics?")); got != "[mail]" {
			t.Errorf("topics after the purge: %s", got)
		}
	})
}
