package tests

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

const hookSecret = "a secret of 16 or more"

// post is a request that a receiver got, whose signature was good.
type post struct {
	topic, id, key, attempt, body string
	at                            time.Time
}

// hookReceiver is another company's server.
type hookReceiver struct {
	*httptest.Server
	mu    sync.Mutex
	posts []post
}

// receiveHooks starts a receiver. It checks each post as one would who knows docs/api.md alone.
func receiveHooks(t *testing.T, answer http.HandlerFunc) *hookReceiver {
	t.Helper()
	r := &hookReceiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		at := time.Now()
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the sender was killed
		}
		stamp := req.Header.Get("X-Punctual-Timestamp")
		mac := hmac.New(sha256.New, []byte(hookSecret))
		fmt.Fprintf(mac, "%s.%s", stamp, body)
		if want := "v1=" + hex.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(want), []byte(req.Header.Get("X-Punctual-Signature"))) {
			t.Errorf("%s: signature %q, want %q", req.Header.Get("X-Punctual-Id"), req.Header.Get("X-Punctual-Signature"), want)
		}
		if req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s with %q", req.Method, req.Header.Get("Content-Type"))
		}
		h := req.Header
		r.mu.Lock()
		r.posts = append(r.posts, post{h.Get("X-Punctual-Topic"), h.Get("X-Punctual-Id"), h.Get("Idempotency-Key"), h.Get("X-Punctual-Attempt"), string(body), at})
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

// of are the posts of one job.
func (r *hookReceiver) of(id string) (ps []post) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.posts {
		if p.id == id {
			ps = append(ps, p)
		}
	}
	return ps
}

func (r *hookReceiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.posts)
}

// allowLoopback lets webhooks reach the receivers of a test.
const allowLoopback = "topics: { allow_networks: [127.0.0.0/8, \"::1\"] }\n"

func soon(seconds int) time.Time { return time.Now().Add(time.Duration(seconds)*time.Second + slack) }

// TestTopicWebhook: the jobs of a topic are posted when they are due, and what the receiver
// says decides what becomes of them.
func TestTopicWebhook(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = allowLoopback
		c := testenv.Server(t, on.Config).Admin(t)
		const hook, jobs = "/topics/orders/webhook", "/topics/orders/jobs"
		release := make(chan struct{})
		defer close(release)
		inside := receiveHooks(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
		var first sync.Once
		r := receiveHooks(t, func(w http.ResponseWriter, req *http.Request) {
			switch req.Header.Get("X-Punctual-Id") {
			case "busy":
				first.Do(func() {
					w.Header().Set("Retry-After", "2")
					w.WriteHeader(http.StatusServiceUnavailable)
				})
			case "gone":
				w.WriteHeader(http.StatusGone)
			case "moved":
				http.Redirect(w, req, inside.URL, http.StatusTemporaryRedirect)
			case "hangs":
				<-release
			case "broken":
				http.Error(w, "the shop is closed", http.StatusInternalServerError)
			}
		})
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "waited", "delay_ms": 0, "body": "w"}, nil)
		c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, hook, nil)
		var set struct {
			URL, Secret string
			Concurrency int
			TimeoutMs   int `json:"timeout_ms"`
		}
		res := c.Want(t, http.StatusOK, http.MethodPut, hook, with{"url": r.URL + "/in?key=1", "secret": hookSecret, "timeout_ms": 8000}, &set)
		if set.Secret != "" || strings.Contains(string(res.Body), hookSecret) || set.Concurrency != 4 || set.TimeoutMs != 8000 {
			t.Errorf("%s", res.Body)
		}
		if res := c.Want(t, http.StatusOK, http.MethodGet, hook, nil, &set); set.URL != r.URL+"/in?key=1" || strings.Contains(string(res.Body), hookSecret) {
			t.Errorf("%s", res.Body)
		}
		p := c.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, "/topics/orders/pop", with{})
		if !strings.Contains(p.Detail, "webhook") {
			t.Errorf("%+v", p)
		}
		c.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, "/pop", with{"topics": []string{"mails", "orders"}})
		eventually(t, soon(10), "what waited is posted", func() bool { return len(r.of("waited")) == 1 })

		due := time.Now().Add(1500 * time.Millisecond)
		c.Want(t, http.StatusOK, http.MethodPost, jobs, []with{
			{"id": "due", "due": due.Format(time.RFC3339Nano), "body": with{"n": []int{1}}, "version": 7},
			{"id": "busy", "delay_ms": 0, "body": 1}, {"id": "gone", "delay_ms": 0, "body": 1},
			{"id": "moved", "delay_ms": 0, "body": 1, "max_attempts": 1}, {"id": "hangs", "delay_ms": 0, "body": 1, "max_attempts": 1},
			{"id": "broken", "delay_ms": 0, "body": 1, "max_attempts": 2},
		}, nil)
		eventually(t, soon(20), "all have ended", func() bool {
			var s struct{ Delayed, Ready, Reserved, Dead, Done int }
			c.Want(t, http.StatusOK, http.MethodGet, "/topics/orders", nil, &s)
			return s.Dead == 3 && s.Done == 4
		})
		if ps := r.of("due"); len(ps) != 1 || ps[0].body != `{"n":[1]}` || !strings.HasPrefix(ps[0].key, "orders:due:7:") || ps[0].topic != "orders" || ps[0].attempt != "1" {
			t.Errorf("%+v", ps)
		} else if late := ps[0].at.Sub(due); late < 0 || late > slack {
			t.Errorf("posted %v after it was due", late)
		}
		if ps := r.of("busy"); len(ps) != 2 || ps[1].at.Sub(ps[0].at) < 2*time.Second || ps[0].key != ps[1].key || ps[1].attempt != "2" {
			t.Errorf("%+v", ps)
		}
		if n := len(r.of("broken")); n != 2 {
			t.Errorf("broken was posted %d times", n)
		}
		for id, text := range map[string]string{"moved": "answered 307", "hangs": "no answer in time", "broken": "answered 500 Internal Server Error: the shop is closed"} {
			if j := wantTopicJob(t, c, id, "dead"); !strings.Contains(j.LastError, text) {
				t.Errorf("%s: %q, want %q", id, j.LastError, text)
			}
		}
		if j := wantTopicJob(t, c, "gone", "done"); !strings.Contains(j.LastError, "410") {
			t.Errorf("%+v", j)
		}

		// Without the webhook the topic is popped again.
		c.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodDelete, hook, nil, testenv.Header("If-Match", `"9"`))
		c.Want(t, http.StatusNoContent, http.MethodDelete, hook, nil, nil)
		c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodDelete, hook, nil)
		before := r.count()
		c.Want(t, http.StatusCreated, http.MethodPost, jobs, with{"id": "later", "delay_ms": 0, "body": 1}, nil)
		eventually(t, soon(10), "it is popped", func() bool { return len(pop(t, c, time.Second)) == 1 })
		if n := r.count(); n != before {
			t.Errorf("%d posts after the webhook was deleted", n-before)
		}
	})
}

// TestTopicWebhook_refused: an address inside is refused when it is set, and when the name that
// was allowed leads there later.
func TestTopicWebhook_refused(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{YAML: allowLoopback})
	c := server.Admin(t)
	r := receiveHooks(t, func(http.ResponseWriter, *http.Request) {})
	_, port, err := net.SplitHostPort(r.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const hook = "/topics/orders/webhook"
	named := "http://localhost:" + port + "/"
	c.Want(t, http.StatusOK, http.MethodPut, hook, with{"url": named, "secret": hookSecret}, nil)
	c.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": "a", "delay_ms": 0, "body": 1}, nil)
	eventually(t, soon(10), "the receiver is allowed", func() bool { return len(r.of("a")) == 1 })

	// The file is changed while it runs: now the same name leads to where nobody may go.
	server.Configure(t, strings.Replace(server.Config(t), allowLoopback, "", 1))
	refused := func(url string) bool {
		res := c.Do(t, http.MethodPut, "/topics/other/webhook", with{"url": url, "secret": hookSecret})
		p, err := res.Problem()
		return err == nil && p.Code == "invalid" && len(p.Errors) == 1 && p.Errors[0].Location == "body.url"
	}
	eventually(t, soon(10), "the change is in force", func() bool { return refused(named) })
	c.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": "b", "delay_ms": 0, "body": 1, "max_attempts": 1}, nil)
	eventually(t, soon(10), "the dial is refused", func() bool {
		var j topicJob
		c.Want(t, http.StatusOK, http.MethodGet, "/topics/orders/jobs/b", nil, &j)
		return j.State == "dead" && strings.Contains(j.LastError, "is not a public address")
	})
	if len(r.of("b")) != 0 {
		t.Error("it was posted")
	}
	p := c.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPut, "/topics/other/webhook", with{"url": named, "secret": "short", "timeout_ms": 5})
	if len(p.Errors) != 3 {
		t.Errorf("%+v, want all three faults", p.Errors)
	}
	for _, url := range []string{
		"http://127.0.0.1:" + port + "/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://10.0.0.1/", "http://192.168.0.1/", "http://169.254.169.254/latest/meta-data/",
		"http://100.100.100.200/", "http://[fd00:ec2::254]/", "http://0.0.0.0/", "http://[64:ff9b::7f00:1]/", "file:///etc/passwd", "http://u:p@1.1.1.1/",
	} {
		if !refused(url) {
			t.Errorf("%s was accepted", url)
		}
	}
}

// TestTopicWebhook_instances: two processes share the posts of a topic; each takes over a
// change made at the other; one that is killed in the middle of a post leaves it to the other.
func TestTopicWebhook_instances(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	on.YAML = allowLoopback
	a, b := twoServers(t, on.Config)
	atA := a.Admin(t)
	atB := atA.At(b)
	old := receiveHooks(t, func(http.ResponseWriter, *http.Request) {})
	hold, release := make(chan string, 100), make(chan struct{})
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	r := receiveHooks(t, func(_ http.ResponseWriter, req *http.Request) {
		if id := req.Header.Get("X-Punctual-Id"); strings.HasPrefix(id, "slow") && req.Header.Get("X-Punctual-Attempt") == "1" {
			hold <- id
			<-release
		}
	})
	atA.Want(t, http.StatusOK, http.MethodPut, "/topics/orders/webhook", with{"url": old.URL, "secret": hookSecret}, nil)
	many := make([]with, 200)
	for i := range many {
		many[i] = with{"id": fmt.Sprint(i), "delay_ms": 500 + 5*i, "body": i}
	}
	atA.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", many, nil)
	eventually(t, soon(20), "all are posted", func() bool { return old.count() >= len(many) })
	for i := range many {
		if n := len(old.of(fmt.Sprint(i))); n != 1 {
			t.Errorf("job %d was posted %d times", i, n)
		}
	}
	// A change holds for the next post, in both.
	atB.Want(t, http.StatusOK, http.MethodPut, "/topics/orders/webhook", with{"url": r.URL, "timeout_ms": 2000, "concurrency": 2}, nil)
	before := old.count()
	time.Sleep(3 * time.Second) // until both have taken the new concurrency over

	// Two handlers in each process: with four posts on their way each of them holds two.
	atA.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", []with{
		{"id": "slow1", "delay_ms": 0, "body": 1}, {"id": "slow2", "delay_ms": 0, "body": 1}, {"id": "slow3", "delay_ms": 0, "body": 1}, {"id": "slow4", "delay_ms": 0, "body": 1},
	}, nil)
	for range 4 {
		select {
		case <-hold:
		case <-time.After(2 * slack):
			t.Fatalf("%d posts on their way, want 4", r.count())
		}
	}
	a.Kill()
	ids := []string{"slow1", "slow2", "slow3", "slow4"}
	eventually(t, soon(20), "all are posted again", func() bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return len(r.of(id)) < 2 })
	})
	for _, id := range ids {
		ps := r.of(id)
		if ps[0].key != ps[1].key || ps[1].attempt != "2" {
			t.Errorf("%+v", ps)
		}
		t.Logf("%s again after %v", id, ps[1].at.Sub(ps[0].at).Round(time.Millisecond))
	}
	eventually(t, soon(10), "all are done", func() bool {
		var s struct{ Done, Dead, Reserved, Ready, Delayed int }
		atB.Want(t, http.StatusOK, http.MethodGet, "/topics/orders", nil, &s)
		return s.Done == len(many)+4
	})
	if old.count() != before {
		t.Error("the old receiver was posted to")
	}
	letGo()
}

// TestTopicWebhook_punctual tells how long after a job is due its post arrives.
func TestTopicWebhook_punctual(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML = allowLoopback
		c := testenv.Server(t, on.Config).Admin(t)
		r := receiveHooks(t, func(http.ResponseWriter, *http.Request) {})
		c.Want(t, http.StatusOK, http.MethodPut, "/topics/orders/webhook", with{"url": r.URL, "secret": hookSecret}, nil)
		const n = 100
		begin := time.Now().Add(time.Second)
		batch := make([]with, n)
		for i := range batch {
			batch[i] = with{"id": fmt.Sprint(i), "due": begin.Add(time.Duration(i) * 20 * time.Millisecond).Format(time.RFC3339Nano), "body": 1}
		}
		c.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/jobs", batch, nil)
		eventually(t, soon(15), "all are posted", func() bool { return r.count() >= n })
		late := make([]time.Duration, n)
		for i := range late {
			late[i] = r.of(fmt.Sprint(i))[0].at.Sub(begin.Add(time.Duration(i) * 20 * time.Millisecond))
			if late[i] < 0 || late[i] > slack {
				t.Errorf("job %d came %v after it was due", i, late[i])
			}
		}
		slices.SortFunc(late, func(a, b time.Duration) int { return cmp.Compare(a, b) })
		t.Logf("late: median %v, p90 %v, worst %v", late[n/2], late[n*9/10], late[n-1])
	})
}
