package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestTopics_limits: a topic that is full and a token that asks too often get 429, with the
// time after which to ask again.
func TestTopics_limits(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = "topics: { max_pending: 5, max_topics: 2, rate: 30/m }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		const jobs = "/topics/orders/jobs"
		refused := func(res *testenv.Response) testenv.Problem {
			t.Helper()
			p, err := res.Problem()
			if err != nil || res.Status != http.StatusTooManyRequests || p.Code != "rate_limited" {
				t.Fatalf("%d %s", res.Status, res.Body)
			}
			if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || n < 1 {
				t.Errorf("Retry-After %q", res.Header.Get("Retry-After"))
			}
			return p
		}
		limited := func(c *testenv.Client, method, path string, body any) testenv.Problem {
			t.Helper()
			return refused(c.Do(t, method, path, body))
		}
		job := func(id string) with { return with{"id": id, "delay_ms": 3600_000, "body": 1} }
		admin.Want(t, http.StatusOK, http.MethodPost, jobs, []with{job("1"), job("2"), job("3"), job("4")}, nil)
		if p := limited(admin, http.MethodPost, jobs, []with{job("5"), job("6")}); !strings.Contains(p.Detail, "orders") {
			t.Errorf("%+v", p)
		}
		admin.Want(t, http.StatusCreated, http.MethodPost, jobs, job("5"), nil)
		limited(admin, http.MethodPost, jobs, job("6"))
		admin.Want(t, http.StatusNoContent, http.MethodDelete, jobs+"/1", nil, nil)
		eventually(t, soon(10), "there is room again", func() bool {
			return admin.Do(t, http.MethodPost, jobs, job("6")).Status == http.StatusCreated
		})
		admin.Want(t, http.StatusCreated, http.MethodPost, "/topics/second/jobs", job("1"), nil)
		limited(admin, http.MethodPost, "/topics/third/jobs", job("1"))

		token := func() *testenv.Client {
			var made struct{ Token string }
			admin.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "shop", "scopes": []string{"topics:consume"}}, &made)
			return &testenv.Client{Base: server.URL, Token: made.Token}
		}
		busy, other := token(), token()
		allowed, began := 0, time.Now()
		for ; allowed < 100 && busy.Do(t, http.MethodGet, "/topics/orders", nil).Status == http.StatusOK; allowed++ {
		}
		most := 50 + int(time.Since(began).Seconds())
		if on.redis != nil { // while it does not answer at once, as on a busy machine, the process counts anew
			most += 30
		}
		if allowed < 30 || allowed > most {
			t.Errorf("%d requests were allowed, want some 30", allowed)
		}
		res := busy.Do(t, http.MethodPost, "/topics/orders/pop", with{})
		for i := 0; i < 50 && res.Status == http.StatusOK; i++ { // one more is allowed each two seconds
			res = busy.Do(t, http.MethodPost, "/topics/orders/pop", with{})
		}
		refused(res)
		other.Want(t, http.StatusOK, http.MethodGet, "/topics/orders", nil, nil)
		busy.Want(t, http.StatusOK, http.MethodGet, "/me", nil, nil) // other requests are not counted
	})
}

// TestTopics_program: the token that an admin makes for a program does what its scopes say, and
// nothing else; nobody else can make one.
func TestTopics_program(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	shop := admin.NewUser(t, "Shop", "member")
	in := with{"name": "shop", "scopes": []string{"topics:produce:orders", "topics:consume:orders"}}
	shop.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/me/tokens", in)
	tokens := fmt.Sprintf("/users/%d/tokens", shop.User.ID)
	shop.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, tokens, in)
	admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, tokens, with{"name": "x", "scopes": []string{"meetings:write"}})
	var made struct {
		ID    int64
		Token string
	}
	admin.Want(t, http.StatusCreated, http.MethodPost, tokens, in, &made)
	c := &testenv.Client{Base: server.URL, Token: made.Token}
	c.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": "a", "delay_ms": 0, "body": 1}, nil)
	a := popOne(t, c, "a", 1)
	c.Want(t, http.StatusNoContent, http.MethodPost, "/topics/orders/jobs/a/finish", with{"lease": a.Lease}, nil)
	for _, row := range []struct {
		method, path string
		body         any
	}{
		{http.MethodPost, "/topics/mails/jobs", with{"id": "a", "delay_ms": 0, "body": 1}},
		{http.MethodPost, "/topics/orders/pause", nil},
		{http.MethodPut, "/topics/orders/webhook", with{"url": "https://1.1.1.1/", "secret": hookSecret}},
		{http.MethodGet, "/topics/orders/webhook", nil},
		{http.MethodGet, "/topics/orders/dead", nil},
		{http.MethodGet, "/rooms", nil}, {http.MethodGet, "/meetings", nil}, {http.MethodGet, "/users", nil}, {http.MethodGet, "/jobs", nil}, {http.MethodGet, "/me/tokens", nil},
	} {
		c.WantProblem(t, http.StatusForbidden, "forbidden", row.method, row.path, row.body)
	}
	admin.Want(t, http.StatusNoContent, http.MethodDelete, fmt.Sprintf("%s/%d", tokens, made.ID), nil, nil)
	c.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodPost, "/topics/orders/pop", with{})
}

// TestTopics_gauges: topics are in the metrics and in queue stats.
func TestTopics_gauges(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	server := testenv.Server(t, on.Config)
	c := server.Admin(t)
	c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", []with{
		{"id": "later", "delay_ms": 100_000, "body": 1}, {"id": "r1", "delay_ms": 0, "body": 1}, {"id": "r2", "delay_ms": 0, "body": 1}, {"id": "d", "delay_ms": 0, "body": 1},
		{"id": "year", "delay_ms": 31_000_000_000, "body": 1},
	}, nil)
	for _, d := range pop(t, c, 0, with{"ttr_ms": 600_000}) {
		switch d.ID {
		case "d":
			c.Want(t, http.StatusNoContent, http.MethodPost, "/topics/orders/jobs/d/fail", with{"lease": d.Lease, "dead": true}, nil)
		case "r1":
			c.Want(t, http.StatusNoContent, http.MethodPost, "/topics/orders/jobs/r1/fail", with{"lease": d.Lease, "delay_ms": 0}, nil)
		}
	}
	gauges := map[string]float64{}
	series := regexp.MustCompile(`(?m)^delayjob_(waiting|ready|leased|dead)\{job="topic\.orders"\} (\S+)$`)
	look := func() map[string]float64 {
		for _, m := range series.FindAllStringSubmatch(string(c.Do(t, http.MethodGet, server.URL+"/metrics", nil).Body), -1) {
			gauges[m[1]], _ = strconv.ParseFloat(m[2], 64)
		}
		return gauges
	}
	want := map[string]float64{"waiting": 1, "ready": 1, "leased": 1, "dead": 1}
	eventually(t, soon(10), "the gauges tell of the topic", func() bool { return fmt.Sprint(look()) == fmt.Sprint(want) })

	var list []struct {
		Job                            string
		Delayed, Ready, Reserved, Dead int
	}
	if err := json.Unmarshal([]byte(command(t, server, 0, "queue", "stats", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	last := list[len(list)-1]
	if last.Job != "topic.orders" || last.Delayed != 1 || last.Ready != 1 || last.Reserved != 1 || last.Dead != 1 {
		t.Errorf("%+v", last)
	}
}

// TestTopics_longPoll: a pop waits as long as it may, which is as long as any request may take.
func TestTopics_longPoll(t *testing.T) {
	t.Parallel()
	c := testenv.Server(t, testenv.Config{}).Admin(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Base+"/api/v1/topics/orders/pop", strings.NewReader(`{"wait_ms": 30000}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct{ Items []delivery }
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK || len(out.Items) != 0 {
		t.Errorf("%d %+v, %v", res.StatusCode, out, err)
	}
	if took := time.Since(begin); took < 29*time.Second {
		t.Errorf("it waited %v", took)
	}
}
