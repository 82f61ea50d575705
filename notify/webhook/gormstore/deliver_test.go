package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	post "punctual/delayjob/webhook"
	"punctual/notify/webhook"
	"punctual/notify/webhook/gormstore"
	"punctual/tests/testenv/testdb"
)

// bodies has a body for every event except those in none.
type bodies struct {
	none   map[int64]bool
	err    error
	panics *atomic.Bool
}

func (b bodies) Bodies(_ context.Context, events []int64) (map[int64][]byte, error) {
	if b.panics != nil && b.panics.Load() {
		panic("no body")
	}
	all := map[int64][]byte{}
	for _, id := range events {
		if !b.none[id] {
			all[id] = fmt.Appendf(nil, `{"id":%d}`, id)
		}
	}
	return all, b.err
}

// desk is a server that receives events.
type desk struct {
	*httptest.Server
	mu     sync.Mutex
	posts  []string // "event attempt"
	answer http.HandlerFunc
}

func newDesk(t *testing.T, answer http.HandlerFunc) *desk {
	d := &desk{answer: answer}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.posts = append(d.posts, r.Header.Get("X-Punctual-Id")+" "+r.Header.Get("X-Punctual-Attempt"))
		d.mu.Unlock()
		d.answer(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *desk) told() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.posts)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

var errDown = errors.New("the database is away")

// newDeliver gives up after 50 attempts.
func newDeliver(t *testing.T, s webhook.Store, b webhook.Bodies, now func() time.Time) *webhook.Deliver {
	sender := post.NewSender("test", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	t.Cleanup(sender.Close)
	return webhook.NewDeliver(s, b, sender, webhook.DeliverOptions{
		MaxAttempts: 50, Down: func(err error) bool { return errors.Is(err, errDown) }, Now: now, Log: slog.New(slog.DiscardHandler),
	})
}

// to sends a webhook to a server.
func to(t *testing.T, s *gormstore.Store, w *webhook.Webhook, url string) {
	t.Helper()
	if _, err := s.UpdateWebhook(t.Context(), w.ID, func(w *webhook.Webhook) error { w.URL = url; return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestDeliver: what becomes of a delivery by what its server answers and by what it is itself.
func TestDeliver(t *testing.T) {
	now := time.Now().Truncate(time.Microsecond)
	busy := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	closed := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, " the\x00 desk\xff\r\nis closed ", http.StatusBadGateway)
	}
	set := func(fn func(*webhook.Delivery)) func(*testing.T, *gormstore.Store, *webhook.Delivery) {
		return func(t *testing.T, s *gormstore.Store, d *webhook.Delivery) {
			t.Helper()
			if _, err := s.UpdateDelivery(t.Context(), d.ID, func(d *webhook.Delivery) error { fn(d); return nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows := []struct {
		name    string
		answer  http.HandlerFunc
		before  func(*testing.T, *gormstore.Store, *webhook.Delivery)
		attempt int    // of the message; 0: 1
		want    error  // of Execute
		state   string // and what is noted
		posts   int
	}{
		{name: "2xx", answer: status(204), state: "delivered 1 204 ", posts: 1},
		{name: "not 2xx", answer: closed, want: errors.New("the server answered 502 Bad Gateway: the desk is closed"),
			state: "pending 1 502 the server answered 502 Bad Gateway: the desk is closed", posts: 1},
		{name: "a redirect", answer: status(302), want: errors.New("the server answered 302 Found"), state: "pending 1 302 the server answered 302 Found", posts: 1},
		{name: "busy", answer: busy, want: delayjob.After(7*time.Second, errors.New("the server answered 503 Service Unavailable")),
			state: "pending 1 503 the server answered 503 Service Unavailable", posts: 1},
		{name: "again", answer: status(200), before: set(func(d *webhook.Delivery) { d.Attempts, d.Status, d.LastError = 4, 502, "closed" }), attempt: 5, state: "delivered 5 200 ", posts: 1},
		{name: "the last but one attempt", answer: status(500), attempt: 49, want: errors.New("the server answered 500 Internal Server Error"),
			state: "pending 1 500 the server answered 500 Internal Server Error", posts: 1},
		{name: "the last attempt", answer: busy, attempt: 50, want: delayjob.Dead(errors.New("the server answered 503 Service Unavailable")),
			state: "failed 1 503 the server answered 503 Service Unavailable", posts: 1},
		{name: "at the last moment", answer: status(200), before: set(func(d *webhook.Delivery) { d.Expires = now.Add(time.Microsecond) }), state: "delivered 1 200 ", posts: 1},
		{name: "given up", answer: status(200), before: set(func(d *webhook.Delivery) { d.Expires, d.Attempts, d.Status, d.LastError = now, 40, 502, "closed" }), attempt: 41,
			want: delayjob.Dead(errors.New("failed after 72h0m0s; last error: closed")), state: "failed 40 502 failed after 72h0m0s; last error: closed"},
		{name: "given up untried", answer: status(200), before: set(func(d *webhook.Delivery) { d.Expires = now }),
			want: delayjob.Dead(errors.New("failed after 72h0m0s")), state: "failed 0 0 failed after 72h0m0s"},
		{name: "its dead letter was put back", answer: status(200), before: set(func(d *webhook.Delivery) { d.State, d.Expires = webhook.Failed, now.Add(-time.Hour) }), state: "delivered 1 200 ", posts: 1},
		{name: "failed", answer: status(200), before: set(func(d *webhook.Delivery) { d.State = webhook.Failed }), attempt: 2, want: delayjob.Drop("already failed"), state: "failed 0 0 "},
		{name: "delivered", answer: status(200), before: set(func(d *webhook.Delivery) { d.State = webhook.Delivered }), want: delayjob.Drop("already delivered"), state: "delivered 0 0 "},
		{name: "sent again meanwhile", answer: status(200), before: set(func(d *webhook.Delivery) { d.Version = 2 }), want: delayjob.Drop("superseded by a resend"), state: "pending 0 0 "},
		{name: "switched off", answer: status(200), before: func(t *testing.T, s *gormstore.Store, d *webhook.Delivery) {
			if _, err := s.UpdateWebhook(t.Context(), d.WebhookID, func(w *webhook.Webhook) error { w.Active = false; return nil }); err != nil {
				t.Fatal(err)
			}
		}, state: "skipped 0 0 the webhook is not active"},
		{name: "410", answer: status(410), state: "failed 1 410 the server answered 410 Gone", posts: 1}}
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		aMeeting(t, db, 1)
		for _, row := range rows {
			t.Run(row.name, func(t *testing.T) {
				d := newDesk(t, row.answer)
				w := hook(t, s, true)
				to(t, s, w, d.URL)
				mustHappen(t, db, 1, "changed")
				mine, err := s.Deliveries(t.Context(), w.ID, webhook.Filter{Limit: 9})
				if err != nil || len(mine) != 1 {
					t.Fatalf("%+v, %v", mine, err)
				}
				one := mine[0]
				m := one.Message()
				m.Attempt = max(1, row.attempt)
				if row.before != nil {
					row.before(t, s, one)
				}
				err = newDeliver(t, s, bodies{}, func() time.Time { return now }).Execute(t.Context(), m)
				if !reflect.DeepEqual(err, row.want) {
					t.Errorf("%v, want %v", err, row.want)
				}
				got, w, err := s.Delivery(t.Context(), one.ID)
				if err != nil {
					t.Fatal(err)
				}
				if state := fmt.Sprintf("%s %d %d %s", got.State, got.Attempts, got.Status, got.LastError); state != row.state {
					t.Errorf("noted %q, want %q", state, row.state)
				}
				if (got.State == webhook.Delivered && row.posts > 0) != got.DeliveredAt.Equal(now) {
					t.Errorf("%s, delivered at %s", got.State, got.DeliveredAt)
				}
				if len(d.told()) != row.posts {
					t.Errorf("posts: %v, want %d", d.told(), row.posts)
				}
				if stopped := w.Stopped != ""; stopped != (row.name == "410") || stopped && (w.Active || w.Version != 2) {
					t.Errorf("webhook %+v", w)
				}
			})
		}
	})
}

// TestDeliver_nothingToTell: events of a deleted meeting are not posted, and a database outage never
// uses up an attempt.
func TestDeliver_nothingToTell(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		d := newDesk(t, status(200))
		w := hook(t, s, true)
		to(t, s, w, d.URL)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created", "started")
		ds := all(t, s)
		job := newDeliver(t, s, bodies{none: map[int64]bool{ds[0].EventID: true}}, time.Now)
		if err := job.Execute(t.Context(), ds[0].Message()); err != nil {
			t.Error(err)
		}
		if got, _, err := s.Delivery(t.Context(), ds[0].ID); err != nil || got.State != webhook.Skipped || got.Attempts != 0 || got.LastError != "the meeting is deleted" {
			t.Errorf("%+v, %v", got, err)
		}
		if err := newDeliver(t, s, bodies{err: errDown}, time.Now).Execute(t.Context(), ds[1].Message()); !reflect.DeepEqual(err, delayjob.Unavailable(errDown)) {
			t.Errorf("while the database is away: %v", err)
		}
		m := ds[1].Message()
		if err := s.DeleteWebhook(t.Context(), w.ID, func(*webhook.Webhook) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := job.Execute(t.Context(), m); !reflect.DeepEqual(err, delayjob.Drop("no such delivery")) {
			t.Errorf("of a deleted webhook: %v", err)
		}
		m.Key = "x"
		if err := job.Execute(t.Context(), m); err == nil || !strings.Contains(err.Error(), "invalid delivery key") {
			t.Errorf("key x: %v", err)
		}
		if len(d.told()) > 0 {
			t.Errorf("posts: %v", d.told())
		}
	})
}

// TestDeliver_moved: a webhook that leads elsewhere by the time its old server answers 410 stays on.
func TestDeliver_moved(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		w := hook(t, s, true)
		d := newDesk(t, func(rw http.ResponseWriter, _ *http.Request) {
			to(t, s, w, "https://elsewhere.example.org/")
			rw.WriteHeader(http.StatusGone)
		})
		to(t, s, w, d.URL)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created")
		if err := newDeliver(t, s, bodies{}, time.Now).Execute(t.Context(), all(t, s)[0].Message()); err != nil {
			t.Error(err)
		}
		if got, err := s.Webhook(t.Context(), w.ID); err != nil || !got.Active || got.Stopped != "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestDeliver_sentAgainMeanwhile: what became of an attempt is not noted of one that was sent again
// while it was made.
func TestDeliver_sentAgainMeanwhile(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		aMeeting(t, db, 1)
		w := hook(t, s, true)
		var one *webhook.Delivery
		d := newDesk(t, func(http.ResponseWriter, *http.Request) {
			_, err := s.UpdateDelivery(t.Context(), one.ID, func(d *webhook.Delivery) error { d.Version++; return nil })
			if err != nil {
				t.Error(err)
			}
		})
		to(t, s, w, d.URL)
		mustHappen(t, db, 1, "created")
		one = all(t, s)[0]
		if err := newDeliver(t, s, bodies{}, time.Now).Execute(t.Context(), one.Message()); err != nil {
			t.Error(err)
		}
		if got, _, err := s.Delivery(t.Context(), one.ID); err != nil || got.State != webhook.Pending || got.Attempts != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestDeliver_rests: a server that failed is left in peace for a while, which costs no attempt.
func TestDeliver_rests(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		d := newDesk(t, status(500))
		to(t, s, hook(t, s, true), d.URL)
		aMeeting(t, db, 1)
		aMeeting(t, db, 2)
		mustHappen(t, db, 1, "created")
		mustHappen(t, db, 2, "created")
		ds := all(t, s)
		job := newDeliver(t, s, bodies{}, time.Now)
		// On a machine that stands still the rest may be over before it is looked at; but each is longer.
		for tries := 0; ; tries++ {
			_ = job.Execute(t.Context(), ds[0].Message())
			err := job.Execute(t.Context(), ds[1].Message())
			if err != nil && strings.HasPrefix(err.Error(), "snoozed for ") {
				break
			}
			if tries == 5 {
				t.Fatalf("%v after posts %v", err, d.told())
			}
		}
		posts := 0
		for _, p := range d.told() {
			if strings.HasPrefix(p, fmt.Sprint(ds[1].EventID, " ")) {
				posts++
			}
		}
		if got, _, err := s.Delivery(t.Context(), ds[1].ID); err != nil || got.Attempts != posts {
			t.Errorf("after %d posts %+v, %v", posts, got, err)
		}
	})
}

// TestDeliver_options: attempts come after 5 s and up to an hour, and none is the last one; the age
// of a delivery ends it.
func TestDeliver_options(t *testing.T) {
	t.Parallel()
	o := (&webhook.Deliver{}).Options()
	for attempt, most := range map[int]time.Duration{1: 5 * time.Second, 2: 10 * time.Second, 10: 2560 * time.Second, 11: time.Hour, 60: time.Hour} {
		if d := o.Backoff.Delay(attempt); d < most/2 || d > most {
			t.Errorf("after attempt %d: %s, want %s to %s", attempt, d, most/2, most)
		}
	}
	if o.MaxAttempts >= 0 {
		t.Errorf("%d attempts", o.MaxAttempts)
	}
}

// TestDeliver_twoProcesses: two processes share the deliveries. Each event is posted once, regardless
// of which process loads it and how often.
func TestDeliver_twoProcesses(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		d := newDesk(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
		to(t, s, hook(t, s, true), d.URL)
		aMeeting(t, db, 1)
		const events = 12
		mustHappen(t, db, 1, slices.Repeat([]string{"changed"}, events)...)

		// By a slow clock, so that no lease ends however busy the machine is.
		begun := time.Now()
		q := memqueue.New(memqueue.WithClock(func() time.Time { return begun.Add(time.Since(begun) / 20) }))
		t.Cleanup(func() { _ = q.Close() })
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range 2 {
			job := newDeliver(t, s, bodies{}, time.Now)
			for m, err := range job.Load(ctx, delayjob.Window{To: time.Now().Add(time.Minute)}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := q.Add(ctx, m); err != nil {
					t.Fatal(err)
				}
			}
			c := delayjob.NewConsumer(q, []delayjob.DelayJob{job}, delayjob.ConsumerOptions{})
			running.Go(func() { _ = c.Run(ctx) })
		}
		defer running.Wait()
		defer stop()
		deadline := time.Now().Add(2 * time.Minute)
		for len(all(t, s)) > 0 {
			if time.Now().After(deadline) {
				t.Fatalf("%d wait", len(all(t, s)))
			}
			time.Sleep(50 * time.Millisecond)
		}
		told := d.told()
		slices.Sort(told)
		if len(told) != events || len(slices.Compact(told)) != events {
			t.Errorf("told: %v", told)
		}
	})
}

// TestDeliver_order: two processes post the events of meetings to a server that fails at random.
// Those of one meeting arrive in order, however their messages are handed out, and each arrives.
func TestDeliver_order(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		var mu sync.Mutex
		var arrived []int64
		d := newDesk(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(rand.N(5 * time.Millisecond))
			id, _ := strconv.ParseInt(r.Header.Get("X-Punctual-Id"), 10, 64)
			mu.Lock()
			defer mu.Unlock()
			if len(arrived) == 10 {
				arrived = append(arrived, 0)
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			arrived = append(arrived, id)
		})
		to(t, s, hook(t, s, true), d.URL)
		const meetings, events = 5, 6
		for m := range int64(meetings) {
			aMeeting(t, db, m+1)
		}
		for range events {
			for m := range int64(meetings) {
				mustHappen(t, db, m+1, "changed")
			}
		}
		of, want := map[int64]int64{}, map[int64][]int64{}
		jobs := []*webhook.Deliver{newDeliver(t, s, bodies{}, time.Now), newDeliver(t, s, bodies{}, time.Now)}
		var posting sync.WaitGroup
		ds := all(t, s)
		for _, one := range ds {
			of[one.EventID] = one.MeetingID
			want[one.MeetingID] = append(want[one.MeetingID], one.EventID)
			posting.Go(func() {
				for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(rand.N(20 * time.Millisecond)) {
					m := one.Message()
					m.Attempt = 2
					if err := jobs[rand.IntN(2)].Execute(t.Context(), m); err == nil || err.Error() == "already delivered" {
						return
					}
					if time.Now().After(deadline) {
						t.Errorf("event %d is not posted", one.EventID)
						return
					}
				}
			})
		}
		posting.Wait()
		if len(ds) != meetings*events {
			t.Errorf("%d deliveries", len(ds))
		}
		got := map[int64][]int64{}
		for _, id := range arrived {
			if id != 0 {
				got[of[id]] = append(got[of[id]], id)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("arrived %v, want %v", got, want)
		}
	})
}

// events are the IDs of events with attempt 1, as a desk notes them.
func events(ds []*webhook.Delivery) (first []string) {
	for _, d := range ds {
		first = append(first, fmt.Sprint(d.EventID, " 1"))
	}
	return first
}

// TestDeliver_leads: the message of the oldest event posts the later ones of its meeting as well, in
// order and each once. No message but its own ever runs, and it never waits.
func TestDeliver_leads(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		d := newDesk(t, status(200))
		w := hook(t, s, true)
		to(t, s, w, d.URL)
		aMeeting(t, db, 1)
		aMeeting(t, db, 2)
		mustHappen(t, db, 1, slices.Repeat([]string{"changed"}, 220)...)
		line := all(t, s)
		mustHappen(t, db, 2, "created") // is in no line
		job := newDeliver(t, s, bodies{}, time.Now)
		runs := 0
		for err := delayjob.Snooze(0); err != nil; runs++ {
			if !reflect.DeepEqual(err, delayjob.Snooze(0)) || runs > len(line) {
				t.Fatalf("after %d runs: %v", runs, err)
			}
			err = job.Execute(t.Context(), line[0].Message())
		}
		if runs < 2 {
			t.Error("one run posts them all, however many there are")
		}
		if d := cmp.Diff(events(line), d.told()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if left := all(t, s); len(left) != 1 || left[0].MeetingID != 2 {
			t.Errorf("%d are pending", len(left))
		}
		for _, one := range line {
			if got, _, err := s.Delivery(t.Context(), one.ID); err != nil || got.State != webhook.Delivered || got.Attempts != 1 || got.DeliveredAt.IsZero() {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	})
}

// alone is a store that refuses to record several deliveries at once, and refuses one delivery once.
type alone struct {
	*gormstore.Store
	refused int64 // ID; 0: none
	shared  int
}

func (s *alone) Record(ctx context.Context, ds []*webhook.Delivery) error {
	if len(ds) > 1 {
		s.shared++
		return errors.New("the statement is refused")
	}
	if ds[0].ID == s.refused {
		s.refused = 0
		return errors.New("the row is refused")
	}
	return s.Store.Record(ctx, ds)
}

// TestDeliver_recordsEachByItself: if the database refuses to record what was posted together, each
// is recorded by itself. One that cannot be is posted again, and no other.
func TestDeliver_recordsEachByItself(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := &alone{Store: gormstore.New(db.Gorm)}
		d := newDesk(t, status(200))
		to(t, s.Store, hook(t, s.Store, true), d.URL)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, slices.Repeat([]string{"changed"}, 6)...)
		line := all(t, s.Store)
		s.refused = line[3].ID
		job := newDeliver(t, s, bodies{}, time.Now)
		if err := job.Execute(t.Context(), line[0].Message()); err == nil {
			t.Error("it is not noticed that a row cannot be recorded")
		}
		m := line[0].Message()
		m.Attempt = 2
		if err := job.Execute(t.Context(), m); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(append(events(line), fmt.Sprint(line[3].EventID, " 1")), d.told()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		for _, one := range line {
			if got, _, err := s.Delivery(t.Context(), one.ID); err != nil || got.State != webhook.Delivered || got.Attempts != 1 {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if s.shared == 0 {
			t.Error("nothing was recorded together")
		}
	})
}

// TestDeliver_leaderFails: a process dies while it posts the third event of a meeting. Nobody posts
// later ones until the message of the first event comes again, which posts the third again and the
// rest once. What the dead process does when it was but slow changes nothing.
func TestDeliver_leaderFails(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		ctx, die := context.WithCancel(t.Context())
		d := newDesk(t, nil)
		var ds []*webhook.Delivery
		d.answer = func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Punctual-Id")+" "+r.Header.Get("X-Punctual-Attempt") == events(ds)[2] {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
				die()
				<-r.Context().Done()
			}
		}
		to(t, s, hook(t, s, true), d.URL)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, slices.Repeat([]string{"changed"}, 5)...)
		ds = all(t, s)
		if err := newDeliver(t, s, bodies{}, time.Now).Execute(ctx, ds[0].Message()); !errors.Is(err, context.Canceled) {
			t.Fatalf("it ends with %v", err)
		}
		first, _, err := s.Delivery(t.Context(), ds[0].ID)
		if err != nil || !first.Leading() {
			t.Fatalf("%+v, %v", first, err)
		}
		job := newDeliver(t, s, bodies{}, time.Now)
		for _, one := range ds[2:] {
			if err := job.Execute(t.Context(), one.Message()); err == nil || !strings.HasPrefix(err.Error(), "snoozed for ") {
				t.Errorf("while another leads: %v", err)
			}
		}
		taken := *first // by another process
		taken.UpdatedAt = first.UpdatedAt.Add(time.Microsecond)
		if err := s.Record(t.Context(), []*webhook.Delivery{&taken}); err != nil {
			t.Fatal(err)
		}
		if next, err := s.Next(t.Context(), []*webhook.Delivery{first}, time.Now(), 10); err != nil || next[0].Deliveries != nil {
			t.Errorf("the slow process goes on with %+v, %v", next, err)
		}
		if err := s.Finish(t.Context(), []*webhook.Delivery{first}, time.Now()); err != nil {
			t.Error(err)
		}
		if err := job.Execute(t.Context(), ds[0].Message()); err != nil {
			t.Errorf("taken over: %v", err)
		}
		want := events(ds)
		want = slices.Insert(want, 3, fmt.Sprint(ds[2].EventID, " 2"))
		if d := cmp.Diff(want, d.told()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if left := all(t, s); len(left) != 0 {
			t.Errorf("%d are pending", len(left))
		}
	})
}

// TestDeliver_followerFails: an event that fails when it is posted right after an older one comes
// again by its own message, when the server wants it. That is charged as an attempt. Later events wait.
func TestDeliver_followerFails(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		d := newDesk(t, nil)
		d.answer = func(w http.ResponseWriter, r *http.Request) {
			if len(d.told()) == 2 {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
		to(t, s, hook(t, s, true), d.URL)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "changed", "changed", "changed")
		ds := all(t, s)
		now := time.Now().Truncate(time.Microsecond)
		clock := func() time.Time { return now }
		job := newDeliver(t, s, bodies{}, clock)
		if err := job.Execute(t.Context(), ds[0].Message()); err != nil {
			t.Error(err)
		}
		failed, _, err := s.Delivery(t.Context(), ds[1].ID)
		if err != nil || failed.State != webhook.Pending || failed.Attempts != 1 || failed.Status != 503 || !failed.Due.Equal(now.Add(7*time.Second)) {
			t.Errorf("%+v, %v", failed, err)
		}
		m, later := ds[1].Message(), ds[2].Message()
		m.Attempt = 1
		for range 2 { // the second finds the attempt not charged, as after a crash
			if err := job.Execute(t.Context(), m); !reflect.DeepEqual(err, delayjob.After(7*time.Second, errors.New("the server answered 503 Service Unavailable"))) {
				t.Errorf("before it is due: %v", err)
			}
		}
		if err := job.Execute(t.Context(), later); err == nil || !strings.HasPrefix(err.Error(), "snoozed for ") {
			t.Errorf("a later event: %v", err)
		}
		now = now.Add(7 * time.Second)
		m.Attempt = 2
		if err := newDeliver(t, s, bodies{}, clock).Execute(t.Context(), m); err != nil {
			t.Error(err)
		}
		want := []string{events(ds)[0], events(ds)[1], fmt.Sprint(ds[1].EventID, " 2"), events(ds)[2]}
		if d := cmp.Diff(want, d.told()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// TestNext: each leading delivery gets the deliveries that wait for it, unless it was recorded since,
// and only such are finished.
func TestNext(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		hook(t, s, true)
		now := time.Now().UTC().Truncate(time.Microsecond)
		var firsts []*webhook.Delivery
		for m := range int64(3) {
			aMeeting(t, db, m+1)
			mustHappen(t, db, m+1, slices.Repeat([]string{"changed"}, 3)...)
		}
		ds := all(t, s)
		for i := range 3 {
			first := ds[3*i]
			first.DeliveredAt, first.UpdatedAt = now, now
			firsts = append(firsts, first)
		}
		if err := s.Record(t.Context(), firsts); err != nil {
			t.Fatal(err)
		}
		stale, superseded := *firsts[1], *firsts[2]
		stale.UpdatedAt = now.Add(-time.Second)
		superseded.Version++
		next, err := s.Next(t.Context(), []*webhook.Delivery{&stale, firsts[2], firsts[1], &superseded, firsts[0]}, now, 2)
		if err != nil || len(next) != 5 {
			t.Fatalf("%+v, %v", next, err)
		}
		for i, want := range [][]*webhook.Delivery{nil, ds[7:9], ds[4:6], nil, ds[1:3]} {
			if d := cmp.Diff(want, next[i].Deliveries); d != "" || (next[i].Webhook == nil) != (want == nil) {
				t.Errorf("%d (-want +got):\n%s", i, d)
			}
		}
		if err := s.Finish(t.Context(), []*webhook.Delivery{&superseded, firsts[0], &stale}, now); err != nil {
			t.Fatal(err)
		}
		if left := all(t, s); len(left) != 8 || left[0].ID != ds[1].ID {
			t.Errorf("%d are left", len(left))
		}
		if err := s.Finish(t.Context(), firsts[1:], now); err != nil {
			t.Fatal(err)
		}
		if left := all(t, s); len(left) != 6 {
			t.Errorf("%d are left in the end", len(left))
		}
	})
}

// A panic keeps no place at the server, whether it happens before, or between the post and its record.
func TestDeliver_panic(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		var posted, broken atomic.Bool
		d := newDesk(t, func(http.ResponseWriter, *http.Request) { posted.Store(true) })
		to(t, s, hook(t, s, true), d.URL)
		aMeeting(t, db, 1)
		mustHappen(t, db, 1, "created")
		one := all(t, s)[0]
		b := bodies{panics: new(atomic.Bool)}
		job := newDeliver(t, s, b, func() time.Time {
			if broken.Load() && posted.Load() {
				panic("no time")
			}
			return time.Now()
		})
		for _, breaks := range []*atomic.Bool{b.panics, &broken} {
			breaks.Store(true)
			for range 20 { // more than there are places
				func() {
					defer func() {
						if recover() == nil && breaks == &broken {
							t.Error("it did not panic")
						}
					}()
					posted.Store(false)
					if err := job.Execute(t.Context(), one.Message()); err == nil {
						t.Error("nothing fails")
					}
				}()
			}
			breaks.Store(false)
		}
		if err := job.Execute(t.Context(), one.Message()); err != nil || len(d.told()) != 21 {
			t.Errorf("%v, %d posts", err, len(d.told()))
		}
	})
}
