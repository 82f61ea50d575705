package topics_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/topics"
	"punctual/delayjob/webhook"
)

const hookSecret = "0123456789abcdef"

// posted is a request that a receiver got.
type posted struct {
	id, key, attempt, body string
	at                     time.Time
}

// receiver is a webhook's; answer says what it does with a post.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []posted
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		h := req.Header
		if want := webhook.Sign(hookSecret, h.Get("X-Punctual-Timestamp"), body); h.Get("X-Punctual-Signature") != want {
			t.Errorf("signature %q, want %q", h.Get("X-Punctual-Signature"), want)
		}
		r.mu.Lock()
		r.got = append(r.got, posted{h.Get("X-Punctual-Id"), h.Get("Idempotency-Key"), h.Get("X-Punctual-Attempt"), string(body), time.Now()})
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) posts() []posted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func accept(http.ResponseWriter, *http.Request) {}

// push runs a pusher until the test ends, or stop.
func (w *world) push() (stop func()) {
	p := topics.NewPusher(w.Service, delayjob.ConsumerOptions{SafetyPoll: 200 * time.Millisecond, Grace: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))})
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

func (w *world) hook(url string) {
	w.t.Helper()
	w.hookWithin(url, topics.MaxTimeout)
}

func (w *world) hookWithin(url string, timeout time.Duration) {
	w.t.Helper()
	if _, err := w.SetWebhook(w.t.Context(), topics.Webhook{Topic: "t", URL: url, Secret: hookSecret, Timeout: timeout}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// becomes waits until a job is in a state.
func (w *world) becomes(id string, want topics.State) *topics.Job {
	w.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		j, state, err := w.Job(w.t.Context(), topics.Key{Topic: "t", ID: id})
		if err != nil {
			w.t.Fatal(err)
		}
		if state == want {
			return j
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s is %s with the error %q, want %s", id, state, j.LastError, want)
		}
	}
}

func TestPush(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		r := newReceiver(t, accept)
		w.add(topics.Added, w.job("waits", -time.Minute))
		w.push()
		w.hook(r.URL)
		w.becomes("waits", topics.IsDone)
		due := w.job("due", 300*time.Millisecond)
		w.add(topics.Added, due)
		if j := w.becomes("due", topics.IsDone); j.Attempts != 1 || j.LastError != "" {
			t.Errorf("%+v", j)
		}
		got := r.posts()
		if len(got) != 2 || got[0].id != "waits" || got[1].id != "due" || !strings.HasPrefix(got[1].key, "t:due:1:") || got[1].attempt != "1" || got[1].body != `{"id": "due"}` {
			t.Errorf("%+v", got)
		}
		if late := got[1].at.Sub(due.Due); late < 0 || late > patience {
			t.Errorf("late by %v", late)
		}
		eventually(t, "the queue is empty", func() bool {
			s, err := w.queue.Stats(t.Context(), "topic.t")
			return err == nil && s == delayjob.Stats{}
		})
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// What a receiver answers decides what becomes of a job.
func TestPush_answers(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		release := make(chan struct{})
		defer close(release)
		var busy sync.Once
		inside := newReceiver(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
		r := newReceiver(t, func(rw http.ResponseWriter, req *http.Request) {
			switch req.Header.Get("X-Punctual-Id") {
			case "busy":
				busy.Do(func() {
					rw.Header().Set("Retry-After", "1")
					rw.WriteHeader(http.StatusServiceUnavailable)
				})
			case "gone":
				rw.WriteHeader(http.StatusGone)
			case "moved":
				http.Redirect(rw, req, inside.URL, http.StatusPermanentRedirect)
			case "hangs":
				<-release
			case "broken":
				rw.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(rw, "out of \x00order")
			case "tomorrow":
				rw.Header().Set("Retry-After", "36000")
				rw.WriteHeader(http.StatusTooManyRequests)
			}
		})
		w.hook(r.URL)
		w.push()
		add := func(ids ...string) {
			t.Helper()
			for _, id := range ids {
				j := w.job(id, 0)
				if j.MaxAttempts = 1; id == "busy" || id == "tomorrow" {
					j.MaxAttempts = 2
				}
				w.add(topics.Added, j)
			}
		}
		dead := func(id, text string) {
			t.Helper()
			if j := w.becomes(id, topics.IsDead); j.Attempts != 1 || !strings.Contains(j.LastError, text) {
				t.Errorf("%s: %+v, want the error %q", id, j, text)
			}
		}
		add("busy", "gone", "moved", "broken", "tomorrow")
		dead("moved", "answered 308")
		dead("broken", "answered 500 Internal Server Error: out of order")
		if j := w.becomes("gone", topics.IsDone); !strings.Contains(j.LastError, "dropped: the receiver answered 410") {
			t.Errorf("%+v", j)
		}
		if j := w.becomes("busy", topics.IsDone); j.Attempts != 2 {
			t.Errorf("%+v", j)
		}
		posts := func(id string) []posted {
			return slices.DeleteFunc(r.posts(), func(p posted) bool { return p.id != id })
		}
		if got := posts("busy"); len(got) != 2 || got[1].at.Sub(got[0].at) < time.Second {
			t.Errorf("busy was tried as %+v, want a second in between", got)
		}
		// What waits long is the database's alone, until it is near.
		if j := w.becomes("tomorrow", topics.Delayed); time.Until(j.Due) < 9*time.Hour {
			t.Errorf("again at %v", j.Due)
		}
		eventually(t, "the queue does not hold it", func() bool {
			s, err := w.queue.Stats(t.Context(), "topic.t")
			return err == nil && s.Delayed == 0 && s.Ready == 0 && s.Reserved == 0
		})
		if _, _, err := w.Reschedule(t.Context(), topics.Key{Topic: "t", ID: "tomorrow"}, w.queue.Now()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is posted again", func() bool {
			got := posts("tomorrow")
			return len(got) == 2 && got[1].attempt == "1"
		})
		// Last, because the others must be answered in time.
		w.hookWithin(r.URL, time.Second)
		add("hangs")
		dead("hangs", "no answer in time")
	})
}

// A topic that is pushed is not popped, from the moment on at which its webhook is set until
// that at which it is deleted.
func TestPush_notPopped(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		first, second := newReceiver(t, accept), newReceiver(t, accept)
		waiting := make(chan error, 1)
		go func() {
			_, err := w.Pop(t.Context(), topics.Pop{Topics: []string{"other", "t"}, Max: 1, Wait: 2 * patience})
			waiting <- err
		}()
		time.Sleep(50 * time.Millisecond)
		w.hook(first.URL)
		hooked := func(err error) {
			t.Helper()
			if e, ok := errors.AsType[*topics.HookedError](err); !ok || e.Topic != "t" {
				t.Errorf("a pop: %v", err)
			}
		}
		w.add(topics.Added, w.job("a", 0))
		hooked(<-waiting)
		_, err := w.Pop(t.Context(), topics.Pop{Topics: []string{"t"}, Max: 1})
		hooked(err)
		w.push()
		if j := w.becomes("a", topics.IsDone); j.Attempts != 1 {
			t.Errorf("%+v", j)
		}
		if _, err := w.SetWebhook(t.Context(), topics.Webhook{Topic: "t", URL: second.URL}, new(int64(1))); err != nil {
			t.Fatal(err)
		}
		w.add(topics.Added, w.job("b", 0))
		w.becomes("b", topics.IsDone)
		if len(first.posts()) != 1 || len(second.posts()) != 1 {
			t.Errorf("first %v, second %v", first.posts(), second.posts())
		}
		if s, _, _, err := w.Topic(t.Context(), "t"); err != nil || !s.Pushed {
			t.Errorf("%+v, %v", s, err)
		}
		// A pause holds.
		if err := w.SetPaused(t.Context(), "t", true); err != nil {
			t.Fatal(err)
		}
		w.add(topics.Added, w.job("c", 0))
		time.Sleep(300 * time.Millisecond)
		w.state("c", topics.Ready)
		if err := w.DeleteWebhook(t.Context(), "t", new(int64(2))); err != nil {
			t.Fatal(err)
		}
		if err := w.SetPaused(t.Context(), "t", false); err != nil {
			t.Fatal(err)
		}
		if d := w.popSoon("c"); d.Attempts != 1 {
			t.Errorf("attempt %d", d.Attempts)
		}
		if len(second.posts()) != 1 {
			t.Errorf("posted after the webhook was deleted: %v", second.posts())
		}
	})
}

// popSoon pops a job that another consumer may hold for a moment.
func (w *world) popSoon(id string) (got topics.Delivery) {
	w.t.Helper()
	eventually(w.t, id+" is popped", func() bool {
		ds, err := w.Pop(w.t.Context(), topics.Pop{Topics: []string{"t"}, Max: 1, Wait: time.Second})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(ds) == 1 && ds[0].ID == id {
			got = ds[0]
			return true
		}
		return false
	})
	return got
}

// A slow receiver holds up its own topic alone.
func TestPush_isolated(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		release := make(chan struct{})
		slow := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-release })
		defer close(release)
		quick := newReceiver(t, accept)
		if _, err := w.SetWebhook(t.Context(), topics.Webhook{Topic: "slow", URL: slow.URL, Secret: hookSecret, Concurrency: 2, Timeout: topics.MaxTimeout}, nil); err != nil {
			t.Fatal(err)
		}
		w.hook(quick.URL)
		w.push()
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			j := w.job(id, 0)
			j.Topic = "slow"
			w.add(topics.Added, j)
		}
		eventually(t, "the slow topic is busy", func() bool { return len(slow.posts()) == 2 })
		begin := time.Now()
		w.add(topics.Added, w.job("a", 0))
		w.becomes("a", topics.IsDone)
		if took := time.Since(begin); took > topics.MaxTimeout/2 {
			t.Errorf("posted after %v", took)
		}
		if n := len(slow.posts()); n != 2 {
			t.Errorf("%d posts at once, want 2", n)
		}
	})
}

// A process that is told to stop gives back what it was posting, uncharged.
func TestPush_stopped(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		release := make(chan struct{})
		r := newReceiver(t, func(http.ResponseWriter, *http.Request) { <-release })
		w.hook(r.URL)
		stop := w.push()
		w.add(topics.Added, w.job("a", 0))
		eventually(t, "it is posted", func() bool { return len(r.posts()) == 1 })
		stop()
		close(release)
		if j := w.state("a", topics.Ready); j.Attempts != 0 {
			t.Errorf("%d attempts, want none charged", j.Attempts)
		}
		w.push()
		if j := w.becomes("a", topics.IsDone); j.Attempts != 1 {
			t.Errorf("%+v", j)
		}
	})
}

func TestSetWebhook(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		set := func(h topics.Webhook, based *int64) error {
			h.Topic = "t"
			_, err := w.SetWebhook(t.Context(), h, based)
			return err
		}
		for _, row := range []struct {
			hook      topics.Webhook
			locations string
		}{
			{topics.Webhook{URL: "http://10.0.0.1/", Secret: hookSecret}, "body.url"},
			{topics.Webhook{URL: "http://127.0.0.1/"}, "body.secret"},
			{topics.Webhook{URL: "gopher://x", Secret: "short", Concurrency: 101, Timeout: time.Minute}, "body.url body.secret body.concurrency body.timeout_ms"},
		} {
			var locations []string
			e, _ := errors.AsType[*topics.InvalidError](set(row.hook, nil))
			if e != nil {
				for _, f := range e.Faults {
					locations = append(locations, f.Location)
				}
			}
			if got := strings.Join(locations, " "); got != row.locations {
				t.Errorf("%+v: faults at %q, want %q", row.hook, got, row.locations)
			}
		}
		good := topics.Webhook{URL: "http://127.0.0.1/", Secret: hookSecret}
		if err := set(good, new(int64(1))); err == nil {
			t.Error("a version that is not there was accepted")
		}
		if err := set(good, nil); err != nil {
			t.Fatal(err)
		}
		if e, ok := errors.AsType[*topics.VersionError](set(good, new(int64(7)))); !ok || e.Current != 1 {
			t.Errorf("%v", e)
		}
		good.Secret = ""
		if err := set(good, new(int64(1))); err != nil {
			t.Fatal(err)
		}
		h, err := w.Webhook(t.Context(), "t")
		if err != nil || h.Version != 2 || h.Secret != hookSecret || h.Concurrency != topics.DefaultConcurrency || h.Timeout != topics.DefaultTimeout {
			t.Errorf("%+v, %v", h, err)
		}
		for _, change := range []topics.Webhook{{Concurrency: 7}, {Timeout: time.Second}} { // what is left out stays
			change.URL = good.URL
			if err := set(change, nil); err != nil {
				t.Fatal(err)
			}
		}
		h, err = w.Webhook(t.Context(), "t")
		if err != nil || h.Version != 4 || h.Secret != hookSecret || h.Concurrency != 7 || h.Timeout != time.Second {
			t.Errorf("%+v, %v", h, err)
		}
		if e, ok := errors.AsType[*topics.VersionError](w.DeleteWebhook(t.Context(), "t", new(int64(1)))); !ok || e.Current != 4 {
			t.Errorf("%v", e)
		}
		if err := w.DeleteWebhook(t.Context(), "t", nil); err != nil {
			t.Fatal(err)
		}
		if err := w.DeleteWebhook(t.Context(), "t", nil); !errors.Is(err, topics.ErrNotFound) {
			t.Error(err)
		}
		if _, err := w.Webhook(t.Context(), "t"); !errors.Is(err, topics.ErrNotFound) {
			t.Error(err)
		}
	})
}

// A pusher is told of webhooks that another process changed; it looks by itself but seldom.
func TestPush_changedElsewhere(t *testing.T) {
	each(t, func(w *world) {
		r := newReceiver(w.t, accept)
		w.push()
		other := newWorld(w.t, w.db, w.queue)
		other.TellOthers(w.WebhooksChanged)
		begin := time.Now()
		other.hook(r.URL)
		w.add(topics.Added, w.job("a", 0))
		w.becomes("a", topics.IsDone)
		if took := time.Since(begin); took > 14*time.Second {
			w.t.Errorf("posted after %v", took)
		}
		if n := len(r.posts()); n != 1 {
			w.t.Errorf("%d posts", n)
		}
	})
}
