//go:build upgrade

package tests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// earlier returns the program to upgrade from: UPGRADE_FROM is its path, or a commit that it is built from. The
// default is the commit before the newest migration.
func earlier(t *testing.T) string {
	t.Helper()
	run := func(dir, name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	from := os.Getenv("UPGRADE_FROM")
	if info, err := os.Stat(from); err == nil && info.Mode().IsRegular() {
		path, err := filepath.Abs(from)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	if from == "" {
		from = run("..", "git", "log", "-1", "--format=%H", "--", "migrations") + "^"
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "source.tar")
	run("..", "git", "archive", "--output", archive, from)
	run(dir, "tar", "-xf", archive)
	run(dir, "go", "build", "-tags", "nomsgpack", "-o", "earlier", ".")
	t.Logf("upgrading from %s", run("..", "git", "log", "-1", "--format=%h of %cs: %s", from))
	return filepath.Join(dir, "earlier")
}

// balancer spreads requests over instances, as a reverse proxy does: a request goes to the next instance if one
// accepts no connection.
type balancer struct {
	instances []*testenv.Client

	mu       sync.Mutex
	next     int
	requests int
	failed   []string // requests that no instance accepted, or that failed otherwise
}

// try sends a request. It reports whether the answer has that status, and records it otherwise.
func (b *balancer) try(status int, method, path string, body, out any, opts ...testenv.Option) bool {
	b.mu.Lock()
	b.next++
	first := b.next
	b.requests++
	b.mu.Unlock()
	var res *testenv.Response
	var err error
	for i := range b.instances {
		res, err = b.instances[(first+i)%len(b.instances)].Try(method, path, body, opts...)
		if dial, ok := errors.AsType[*net.OpError](err); !ok || dial.Op != "dial" {
			break
		}
	}
	if err == nil && res.Status == status {
		if err = res.Decode(out); err == nil {
			return true
		}
	}
	if err != nil {
		b.fail("%s %s: %v", method, path, err)
	} else {
		b.fail("%s %s: %d %s", method, path, res.Status, res.Body)
	}
	return false
}

func (b *balancer) fail(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = append(b.failed, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// rollout is people who book and look at what is booked while instances are replaced.
type rollout struct {
	*balancer
	rooms  []int64
	booked chan testenv.Meeting // to be looked at
	stop   chan struct{}
	people sync.WaitGroup

	count sync.Mutex
	done  int       // meetings that were booked and found by others
	last  time.Time // the end of the last one

	streams []*stream
}

// book books meetings that begin and end soon, each room's one after the other.
func (r *rollout) book(n int) {
	var free time.Time
	for i := 0; ; i++ {
		select {
		case <-r.stop:
			return
		default:
		}
		room := r.rooms[(n*10+i%10)%len(r.rooms)]
		if i%10 == 0 { // all ten rooms are booked up to then
			free = later(free.Add(5*time.Second), time.Now().UTC().Truncate(time.Second).Add(15*time.Second))
		}
		body := testenv.Booking(free, free.Add(4*time.Second), []int64{room}, with{
			"attendees": []any{with{"email": fmt.Sprintf("guest%d-%d@example.org", n, i), "name": "Guest"}},
			"reminders": []any{reminder("start", 3*time.Second, "email")},
		})
		var m testenv.Meeting
		if !r.try(http.StatusCreated, http.MethodPost, "/meetings", body, &m, testenv.Header("Idempotency-Key", fmt.Sprintf("%d-%d", n, i))) {
			continue
		}
		r.count.Lock()
		r.last = later(r.last, m.End)
		r.count.Unlock()
		r.booked <- m
		if wait := time.Until(free.Add(-25 * time.Second)); wait > 0 { // so that all are over soon
			time.Sleep(wait)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// look reads the day and the meeting from other instances than the one that booked it.
func (r *rollout) look() {
	for m := range r.booked {
		q := url.Values{"from": {m.Start.Add(-time.Minute).Format(time.RFC3339)}, "to": {m.End.Add(time.Minute).Format(time.RFC3339)}}
		var grid struct{ Meetings []struct{ ID int64 } }
		var again testenv.Meeting
		if !r.try(http.StatusOK, http.MethodGet, "/grid?"+q.Encode(), nil, &grid) || !r.try(http.StatusOK, http.MethodGet, fmt.Sprintf("/meetings/%d", m.ID), nil, &again) {
			continue
		}
		if !slices.Contains(grid.Meetings, struct{ ID int64 }{m.ID}) || !again.Start.Equal(m.Start) {
			r.fail("meeting %d at %v: the grid has %v, the meeting begins at %v", m.ID, m.Start, grid.Meetings, again.Start)
		}
		r.count.Lock()
		r.done++
		r.count.Unlock()
	}
}

// more waits until people have done something with the instances as they are now.
func (r *rollout) more(t *testing.T, n int) {
	t.Helper()
	r.count.Lock()
	until := r.done + n
	r.count.Unlock()
	eventually(t, time.Now().Add(2*time.Minute), "people book and look", func() bool {
		r.count.Lock()
		defer r.count.Unlock()
		return r.done >= until
	})
}

// follow listens to all events until ctx ends, at one instance after the other.
func (r *rollout) follow(ctx context.Context, t *testing.T) {
	for i := 0; ctx.Err() == nil; i++ {
		last := ""
		if heard := r.heard(); len(heard) > 0 {
			last = heard[len(heard)-1].id
		}
		s, res, err := open(t, r.instances[i%len(r.instances)], last, "")
		if err != nil { // that instance is being replaced
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if res.StatusCode != http.StatusOK {
			r.fail("/events: %d", res.StatusCode)
			return
		}
		r.count.Lock()
		r.streams = append(r.streams, s)
		r.count.Unlock()
		select {
		case <-s.ended:
		case <-ctx.Done():
			s.close()
		}
	}
}

// heard are the events of all streams so far; each stream begins with one of its own.
func (r *rollout) heard() (all []event) {
	r.count.Lock()
	defer r.count.Unlock()
	for _, s := range r.streams {
		all = append(all, s.all()...)
	}
	return all
}

// TestUpgrade: three instances are replaced by this version one after the other, and one goes back and returns,
// while people book; then each table gets a column, as a later version would add. Nobody notices.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	old, mail := earlier(t), testenv.Mail(t)
	config := testenv.Config{Database: testenv.Postgres(t), Queue: testenv.RedisServer(t).URL(), Mail: mail, Program: old}
	var servers []*testenv.ServerInstance
	for range 3 {
		s := testenv.PrepareServer(t, config)
		s.StartOnly(t)
		servers = append(servers, s)
	}
	for _, s := range servers {
		if err := s.AwaitReady(); err != nil {
			t.Fatal(err)
		}
	}
	admin := servers[0].Admin(t)
	r := &rollout{balancer: &balancer{}, booked: make(chan testenv.Meeting, 1000), stop: make(chan struct{})}
	for _, s := range servers {
		r.instances = append(r.instances, admin.At(s))
	}
	for i := range 40 {
		r.rooms = append(r.rooms, admin.NewRoom(t, fmt.Sprintf("Room %d", i)).ID)
	}
	var listening, looking sync.WaitGroup
	ctx, hangUp := context.WithCancel(t.Context())
	listening.Go(func() { r.follow(ctx, t) })
	eventually(t, time.Now(), "the stream of events begins", func() bool { return len(r.heard()) > 0 })
	from := r.heard()[0].id
	for n := range 4 {
		r.people.Go(func() { r.book(n) })
	}
	for range 4 {
		looking.Go(r.look)
	}
	leave := sync.OnceFunc(func() { close(r.stop); r.people.Wait(); close(r.booked); looking.Wait() })
	defer func() { leave(); hangUp(); listening.Wait() }()

	const some = 40
	replace := func(s *testenv.ServerInstance, program string) {
		t.Helper()
		if code := s.Stop(); code != 0 {
			t.Errorf("an instance stopped with exit code %d", code)
		}
		r.more(t, some) // without it
		s.SetProgram(program)
		s.Start(t)
		r.more(t, some)
	}
	r.more(t, some)
	replace(servers[0], "")
	replace(servers[0], old)
	for _, s := range servers {
		replace(s, "")
	}
	db, err := pgx.Connect(t.Context(), config.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(t.Context()))
	rows, _ := db.Query(t.Context(), `SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if _, err := db.Exec(t.Context(), fmt.Sprintf("ALTER TABLE %q ADD COLUMN of_a_later_version text NOT NULL DEFAULT ''", table)); err != nil {
			t.Fatal(err)
		}
		r.more(t, 2)
	}
	r.more(t, some)
	leave()

	var report *audit.Report
	eventually(t, later(r.last, time.Now()).Add(time.Minute), "everything that is due is done", func() bool {
		if report, err = audit.Database(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		return len(report.Open) == 0 && time.Now().After(r.last)
	})
	for _, f := range slices.Concat(r.failed, report.Faults) {
		t.Error(f)
	}
	if report.Never > 0 || report.TooLate > 0 || len(report.Began) != r.done || len(report.Ended) != r.done {
		t.Errorf("%d meetings: %d began, %d ended, %d of them without having begun; %d mails were skipped as too late",
			r.done, len(report.Began), len(report.Ended), report.Never, report.TooLate)
	}
	wantNothingTwice(t, mail)
	if lost, _, err := audit.Mails(t.Context(), db, mail.Counts()); err != nil || len(lost) > 0 {
		t.Errorf("%d mails are recorded as sent and never arrived: %v, %v", len(lost), lost[:min(3, len(lost))], err)
	}
	if n := len(mail.Where("", "reminder")); n != 2*r.done { // to the organizer and the guest
		t.Errorf("%d reminders, want %d", n, 2*r.done)
	}
	rows, _ = db.Query(t.Context(), `SELECT id::text FROM history WHERE id > $1::bigint ORDER BY id`, from)
	want, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	eventually(t, time.Now(), "the listener received all events", func() bool {
		heard = nil
		for _, e := range r.heard() {
			if strings.HasPrefix(e.name, "meeting.") {
				heard = append(heard, e.id)
			}
		}
		return len(heard) >= len(want)
	})
	slices.Sort(want)
	slices.Sort(heard)
	if !slices.Equal(heard, want) {
		t.Errorf("the listener received %d events, want the %d of the history, each once", len(heard), len(want))
	}
	t.Logf("%d requests, %d meetings, %d mails, %d events; %d tables got a column; starts at most %v late, ends %v",
		r.requests, r.done, len(mail.Messages()), len(heard), len(tables), audit.Percentile(report.Began, 1), audit.Percentile(report.Ended, 1))
}
