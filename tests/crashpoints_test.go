package tests

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// A crashPoint is a place where the program kills itself with SIGKILL, see package failpoint.
type crashPoint struct {
	at     string
	embed  bool // also with SQLite and the queue in memory
	only   bool // there alone
	twice  bool // the mail server may have accepted one mail twice
	during phase
}

// A phase is what the program does when it dies.
type phase int

const (
	booking  phase = iota // takes bookings, the invitations to which go out
	timers                // does what falls due
	loading               // fills an empty queue
	hanging               // waits for a mail server that does not answer
	stopping              // was told to stop while it waits for such a one
)

var crashPoints = []crashPoint{
	{at: "booking.middle:2", embed: true},
	{at: "booking.before:2", embed: true},
	{at: "booking.after:2", embed: true},
	{at: "add.before:2"},
	{at: "add.after:2"},
	{at: "claim.after/notify.email"},
	{at: "send.before", embed: true},
	{at: "send.after", embed: true, twice: true},
	{at: "ack.before/notify.email", embed: true},
	{at: "ack.after/notify.email"},

	{at: "claim.after/meeting.start", during: timers, embed: true},
	{at: "claim.after/meeting.remind", during: timers},
	{at: "transition.middle/meeting.start", during: timers, embed: true, only: true},
	{at: "transition.middle/meeting.end", during: timers, embed: true, only: true},
	{at: "transition.after/meeting.start", during: timers, embed: true},
	{at: "transition.after/meeting.end", during: timers},
	{at: "ack.before/meeting.start", during: timers},
	{at: "ack.after/meeting.start", during: timers},
	{at: "remind.middle", during: timers, embed: true},
	{at: "remind.after", during: timers, embed: true},

	{at: "load.page", during: loading},
	{at: "load.page:2", during: loading, embed: true},
	{at: "epoch.before", during: loading, embed: true},
	{at: "epoch.after", during: loading},

	{at: "extend.before", during: hanging},
	{at: "extend.after", during: hanging},
	{at: "release.before", during: stopping},
}

// crashRuns is how often each point is tried; CRASH_RUNS asks for more.
func crashRuns(t *testing.T) int {
	n := 1
	if s := os.Getenv("CRASH_RUNS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			t.Fatalf("CRASH_RUNS=%s", s)
		}
	}
	return n
}

// TestCrashPoints kills the program where it hurts, starts it again and wants to find everything
// done, and once. Points of both installations take turns, unless CRASH_RUNS asks for more than one run.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	runs := crashRuns(t)
	for run := range runs {
		for i, p := range crashPoints {
			embedded := p.embed && (p.only || runs > 1 || i%2 == 0)
			name := fmt.Sprintf("%s/%d", strings.ReplaceAll(p.at, "/", " "), run+1)
			if !p.only && (runs > 1 || !embedded) {
				t.Run(name+"/postgres_redis", func(t *testing.T) {
					t.Parallel()
					crash(t, onServers, p)
				})
			}
			if embedded {
				t.Run(name+"/sqlite_memory", func(t *testing.T) {
					t.Parallel()
					crash(t, func(*testing.T) setup { return setup{} }, p)
				})
			}
		}
	}
}

// A crashStory is one program that dies and comes back.
type crashStory struct {
	*testing.T
	on     setup
	point  crashPoint
	mail   *testenv.MailServer
	server *testenv.ServerInstance
	admin  *testenv.Client
	pace   int       // how many times longer than needed meetings last
	start  time.Time // of all meetings
	want   []string  // titles
	body   map[string]map[string]any
	died   bool
	missed bool // the point
}

// Half of the meetings end soon; the others last and have reminders a second after their start.
const crashMeetings = 4

// length of those that end soon.
func (s *crashStory) length() time.Duration {
	if s.point.during == timers && !strings.HasSuffix(s.point.at, "meeting.end") {
		return 5 * time.Second * time.Duration(s.pace)
	}
	return 2 * time.Second * time.Duration(s.pace)
}

// slowest is the pace at which a story must come to its point.
const slowest = 9

// crash tells the story of a point. A machine that stalls for longer than a meeting lasts never comes to
// the points of a start or an end: then the story is told again, slower.
func crash(t *testing.T, on func(*testing.T) setup, p crashPoint) {
	for pace := 1; !crashed(t, on(t), p, pace); pace *= 3 {
	}
}

// crashed is false if the program did not come to the point.
func crashed(t *testing.T, on setup, p crashPoint, pace int) bool {
	s := &crashStory{T: t, on: on, point: p, pace: pace, mail: testenv.Mail(t), body: map[string]map[string]any{}}
	on.Mail, on.Tags = s.mail, "failpoint"
	if p.during == stopping {
		on.Jobs = "{ notify.email: { concurrency: 1 } }" // so that one that was claimed waits for the other
	}
	s.server = testenv.PrepareServer(t, on.Config)
	if p.during != loading {
		s.server.Setenv("FAILPOINT", p.at)
	}
	began := time.Now()
	s.server.Start(t)
	s.admin = s.server.Admin(t)
	s.plan(time.Since(began))
	if p.during == hanging || p.during == stopping {
		s.mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Wait: time.Hour} }) // never accepted
	}
	for _, title := range s.want {
		if s.book(title); s.missed {
			s.server.Stop()
			return false
		}
	}
	switch p.during {
	case booking:
	case loading:
		s.server.Stop()
		if on.redis != nil {
			on.redis.Do(t, "FLUSHALL")
		}
		s.server.Setenv("FAILPOINT", p.at)
		s.server.StartOnly(t)
		s.revive()
	case stopping:
		eventually(t, time.Now().Add(slack), "a mail under way", func() bool { return s.mail.Tried() > 0 })
		time.Sleep(200 * time.Millisecond * time.Duration(pace)) // until the next one is claimed
		if err := syscall.Kill(s.server.PID(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.revive()
	default:
		if !s.died { // on a slow machine it comes to the point while it is being booked
			s.revive()
		}
	}
	if s.missed {
		s.server.Stop()
		return false
	}
	if !s.died {
		t.Fatal("it came to its end without passing the point")
	}
	s.check()
	return true
}

// plan makes the rooms and decides on the meetings: how far ahead they are depends on how long the
// machine took to start the program, which it may have to do once more before they are all booked.
func (s *crashStory) plan(took time.Duration) {
	s.start = inSeconds(s.pace * (4 + int(4*took/time.Second)))
	for i := range crashMeetings {
		room := s.admin.NewRoom(s, fmt.Sprintf("Room %d", i))
		title := fmt.Sprintf("short %d", i)
		length, fields := s.length(), with{"attendees": []any{with{"email": fmt.Sprintf("guest%d@example.org", i), "name": "Guest"}}}
		if i%2 == 1 {
			title, length = fmt.Sprintf("long %d", i), time.Hour
			fields["reminders"] = []any{reminder("end", time.Hour-time.Second, "email")}
		}
		fields["title"] = title
		s.want = append(s.want, title)
		s.body[title] = testenv.Booking(s.start, s.start.Add(length), []int64{room.ID}, fields)
	}
}

// book asks for a meeting until it is there, and waits until its invitation is sent and recorded unless the mail
// server hangs: so nothing else is under way when the program dies with a later one.
func (s *crashStory) book(title string) {
	s.Helper()
	for {
		res, err := s.admin.Try(http.MethodPost, "/meetings", s.body[title])
		if err != nil {
			if s.revive(); s.missed {
				return
			}
			continue
		}
		if s.missed = s.pace < slowest && time.Now().After(s.start); s.missed { // too late for its reminder, or for all of it
			return
		}
		if res.Status != http.StatusCreated && !(res.Status == http.StatusConflict && s.died) {
			s.Fatalf("%s: %d %s", title, res.Status, res.Body)
		}
		break
	}
	if s.point.during == hanging || s.point.during == stopping {
		return
	}
	eventually(s.T, time.Now().Add(2*slack), "the invitation to "+title, func() bool {
		if !s.died && s.server.AwaitKilled(0) {
			s.revive()
		}
		guest := s.body[title]["attendees"].([]any)[0].(with)["email"].(string)
		return len(s.mail.Where(guest, "invitation")) > 0 && s.recorded()
	})
}

// recorded tells whether the ledger knows of each mail that it was sent. It is false while the
// program is dead.
func (s *crashStory) recorded() bool {
	s.Helper()
	res, err := s.admin.Try(http.MethodGet, "/notifications?limit=500", nil)
	if err != nil || res.Status != http.StatusOK {
		return false
	}
	var page testenv.Page[testenv.Notification]
	if err := json.Unmarshal(res.Body, &page); err != nil {
		s.Fatal(err)
	}
	return !slices.ContainsFunc(page.Items, func(n testenv.Notification) bool { return n.State != "sent" })
}

// revive waits until the program is dead and starts it again, without the point.
func (s *crashStory) revive() {
	s.Helper()
	if s.died {
		s.Fatalf("it does not answer, but did not die again\n%s", s.server.Log())
	}
	patience := 2 * slack
	if s.pace < slowest {
		patience = slack / 2
	}
	if !s.server.AwaitKilled(max(0, time.Until(s.start.Add(s.length()))) + patience) {
		if s.missed = s.pace < slowest; s.missed {
			return
		}
		s.Fatal("it did not come to the point")
	}
	if !strings.Contains(s.server.Log(), "failpoint "+strings.TrimSuffix(s.point.at, ":2")) {
		s.Fatalf("it died of something else\n%s", s.server.Log())
	}
	s.died = true
	s.mail.OnData(nil)
	s.server.Setenv("FAILPOINT", "")
	s.server.Start(s)
}

// check waits until everything has happened and wants it to have happened once.
func (s *crashStory) check() {
	s.Helper()
	end := s.start.Add(s.length())
	if now := time.Now(); now.After(end) {
		end = now
	}
	ids := map[string]int64{}
	for _, m := range testenv.All[testenv.Meeting](s, s.admin, "/meetings") {
		if ids[m.Title] != 0 {
			s.Errorf("%q was booked twice", m.Title)
		}
		ids[m.Title] = m.ID
	}
	if len(ids) != crashMeetings {
		s.Fatalf("the meetings are %v, want %v", ids, s.want)
	}
	deadline := end.Add(2 * slack)
	for title, id := range ids {
		last, rows := "started", 1
		if strings.HasPrefix(title, "short") {
			last = "ended"
		} else {
			rows = 3 // the reminders
		}
		eventually(s.T, deadline, title+" "+last, func() bool { return len(entries(s.admin.History(s, id), last)) > 0 })
		eventually(s.T, deadline, title+": all mails sent", func() bool {
			sent := 0
			for _, n := range s.admin.Notifications(s, id) {
				if n.State == "sent" {
					sent++
				}
			}
			return sent == rows
		})
	}
	eventually(s.T, deadline, "a queue without anything that is due", s.quiet)
	for title, id := range ids {
		history := s.admin.History(s, id)
		short := strings.HasPrefix(title, "short")
		for action, want := range map[string]int{"created": 1, "started": 1, "ended": strings.Count(title, "short")} {
			n := len(entries(history, action))
			if n == 0 && short && action == "started" {
				continue // it was over before its start could be caught up
			}
			if n != want {
				s.Errorf("%s: %q is %d times in its history, want %d: %+v", title, action, n, want, history)
			}
		}
		if es := entries(history, "started"); len(es) == 1 && es[0].At.Before(s.start) {
			s.Errorf("%s started at %v", title, es[0].At)
		}
		told := map[string]bool{}
		for _, n := range s.admin.Notifications(s, id) {
			if key := n.Kind + " to " + n.Address; told[key] || n.State != "sent" {
				s.Errorf("%s: %s, again: %v, is %s", title, key, told[key], n.State)
			} else {
				told[key] = true
			}
		}
	}
	again := 0
	for id, n := range s.mail.Counts() {
		if again += n - 1; id == "" || n > 2 {
			s.Errorf("%d mails have the Message-ID %q", n, id)
		}
	}
	if most := map[bool]int{true: 1}[s.point.twice]; again > most {
		s.Errorf("%d mails were sent again, want at most %d", again, most)
	}
	var dead testenv.Page[map[string]any]
	if s.admin.Want(s, http.StatusOK, http.MethodGet, "/jobs/dead", nil, &dead); len(dead.Items) > 0 {
		s.Errorf("dead letters: %v", dead.Items)
	}
	if s.on.redis != nil {
		wantSound(s.T, s.server)
	}
}

// quiet tells whether nothing in the queue is due, held or dead.
func (s *crashStory) quiet() bool {
	s.Helper()
	var list struct {
		Items []struct{ Ready, Reserved, Dead int }
	}
	s.admin.Want(s, http.StatusOK, http.MethodGet, "/jobs", nil, &list)
	for _, j := range list.Items {
		if j.Ready+j.Reserved+j.Dead > 0 {
			return false
		}
	}
	return len(list.Items) > 0
}
