package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

func at(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// TestApproval_timesOut: a request nobody decides is rejected in time, and its slot, held
// until then, is free again.
func TestApproval_timesOut(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "20s"}})

		booking := testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID})
		m := alice.Book(t, booking)
		if m.Status != "pending" || !m.Approval.Required || m.Approval.Deadline == nil {
			t.Fatalf("requested %+v", m)
		}
		deadline := *m.Approval.Deadline
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", booking)
		eventually(t, time.Now().Add(slack), "the manager is asked", func() bool { return len(mail.Where("boss@example.org", "approval_request")) == 1 })

		eventually(t, deadline.Add(slack), "rejected", func() bool {
			return alice.Meeting(t, m.ID).Status == "rejected" && len(entries(alice.History(t, m.ID), "rejected")) == 1
		})
		wantOnce(t, alice.History(t, m.ID), "rejected", "timer", deadline)
		if got := alice.Meeting(t, m.ID).Approval; got.Reason != "timeout" || got.DecidedAt == nil {
			t.Errorf("approval %+v, want the reason timeout", got)
		}
		eventually(t, time.Now().Add(slack), "the organizer is told", func() bool { return len(mail.Where("alice@example.org", "decision")) == 1 })
		boss.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/meetings/%d/approve", m.ID), with{})
		alice.Book(t, booking)

		// The start is the deadline when it comes first.
		soon := alice.Book(t, testenv.Booking(inSeconds(6), inSeconds(1800), []int64{room.ID}))
		if soon.Approval.Deadline == nil || !soon.Approval.Deadline.Equal(soon.Start) {
			t.Errorf("deadline %v of a request for %v", soon.Approval.Deadline, soon.Start)
		}
		eventually(t, soon.Start.Add(slack), "rejected at its start", func() bool { return len(entries(alice.History(t, soon.ID), "rejected")) == 1 })
		if es := entries(alice.History(t, soon.ID), "started"); len(es) != 0 {
			t.Errorf("the rejected request started: %+v", es)
		}
		wantNothingTwice(t, mail)
	})
}

// TestApproval_byManager: those named decide, once; others may not.
func TestApproval_byManager(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		other := admin.NewUser(t, "Other", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "1h"}})
		slot := func(hour int) with {
			return testenv.Booking(inSeconds(hour*3600), inSeconds(hour*3600+1800), []int64{room.ID})
		}

		approved := alice.Book(t, slot(2))
		approve := at("/meetings/%d/approve", approved.ID)
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, approve, with{})
		other.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, approve, with{})
		var m testenv.Meeting
		boss.Want(t, http.StatusOK, http.MethodPost, approve, with{"comment": "fine"}, &m)
		if m.Status != "confirmed" || m.Approval.Comment != "fine" || m.Approval.DecidedAt == nil {
			t.Errorf("approved: %+v", m)
		}
		if p := boss.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, approve, with{}); !strings.Contains(p.Detail, "confirmed") {
			t.Errorf("the second approval does not tell the state: %q", p.Detail)
		}
		boss.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/meetings/%d/reject", approved.ID), with{})
		if es := entries(alice.History(t, approved.ID), "confirmed"); len(es) != 1 || es[0].Actor.ID != boss.User.ID {
			t.Errorf("confirmed: %+v", es)
		}

		rejected := alice.Book(t, slot(3))
		boss.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/reject", rejected.ID), with{"comment": "no"}, &m)
		if m.Status != "rejected" || m.Approval.Comment != "no" || m.Approval.Reason == "timeout" {
			t.Errorf("rejected: %+v", m)
		}
		alice.Book(t, slot(3))

		// Many decide at once; one wins.
		raced := alice.Book(t, slot(4))
		statuses := map[int]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				verb := []string{"approve", "reject"}[i%2]
				res, err := boss.Try(http.MethodPost, at("/meetings/%d/%s", raced.ID, verb), with{})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[res.Status]++
			})
		}
		wg.Wait()
		if statuses[http.StatusOK] != 1 || statuses[http.StatusConflict] != 9 {
			t.Errorf("answers %v, want one 200 and nine 409", statuses)
		}
		history := alice.History(t, raced.ID)
		if n := len(entries(history, "confirmed")) + len(entries(history, "rejected")); n != 1 {
			t.Errorf("%d decisions in the history", n)
		}

		eventually(t, time.Now().Add(slack), "three decisions told", func() bool { return len(mail.Where("alice@example.org", "decision")) == 3 })
		wantNothingTwice(t, mail)
	})
}

var decisionLink = regexp.MustCompile(`http://\S+/decide\?token=[A-Za-z0-9_-]+`)

// meetingLink has the number of the meeting that a mail is about.
var meetingLink = regexp.MustCompile(`http://\S+/meetings/(\d+)`)

// link waits for a mail and finds the address at which its reader decides.
func link(t *testing.T, mail *testenv.MailServer, to, kind string) string {
	t.Helper()
	var found string
	eventually(t, time.Now().Add(slack), kind+" to "+to, func() bool {
		for _, m := range mail.Where(to, kind) {
			if found = decisionLink.FindString(m.Part("text/plain")); found != "" {
				return true
			}
		}
		return false
	})
	return found
}

// openPage is what a browser does with a page that needs no sign-in.
func openPage(t *testing.T, method, address string, form url.Values) (status int, body string) {
	t.Helper()
	res, err := testenv.Browse(method, address, form)
	if err != nil {
		t.Fatal(err)
	}
	return res.Status, string(res.Body)
}

// decideAt posts the form of the page of a link.
func decideAt(t *testing.T, link, choice, comment string) (status int, body string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return openPage(t, http.MethodPost, u.Scheme+"://"+u.Host+u.Path, url.Values{"token": {u.Query().Get("token")}, "choice": {choice}, "comment": {comment}})
}

// TestApproval_byLink: a link in the mail decides once, on a page that asks before it acts.
func TestApproval_byLink(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		chef := admin.NewUser(t, "Chef", "manager", with{"locale": "de"})
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{
			"required": true, "approver_ids": []int64{boss.User.ID}, "second_level": with{"approver_ids": []int64{chef.User.ID}}, "timeout": "1h",
		}})
		m := alice.Book(t, testenv.Booking(inSeconds(7200), inSeconds(9000), []int64{room.ID}))

		first := link(t, mail, "boss@example.org", "approval_request")
		for _, method := range []string{http.MethodHead, http.MethodGet, http.MethodGet} { // programs look, too
			if status, _ := openPage(t, method, first+"&choice=approve", nil); status != http.StatusOK {
				t.Errorf("%s: %d", method, status)
			}
		}
		if got := alice.Meeting(t, m.ID).Status; got != "pending" {
			t.Fatalf("looking at the page made it %s", got)
		}
		if status, body := openPage(t, http.MethodGet, first[:len(first)-2]+"xx", nil); status != http.StatusNotFound || strings.Contains(body, "Design review") {
			t.Errorf("a forged link: %d\n%s", status, body)
		}
		if status, _ := decideAt(t, first, "", ""); status != http.StatusUnprocessableEntity {
			t.Errorf("no choice: %d", status)
		}
		if status, body := decideAt(t, first, "approve", "fine"); status != http.StatusSeeOther {
			t.Fatalf("approve: %d\n%s", status, body)
		}
		if _, body := openPage(t, http.MethodGet, first, nil); !strings.Contains(body, "Boss approved") || strings.Contains(body, "<form") {
			t.Errorf("the page of the level that has agreed:\n%s", body)
		}
		if got := alice.Meeting(t, m.ID).Status; got != "pending" {
			t.Fatalf("one of two levels made it %s", got)
		}

		second := link(t, mail, "chef@example.org", "approval_request")
		if _, body := openPage(t, http.MethodGet, second, nil); !strings.Contains(body, `lang="de"`) || !strings.Contains(body, "Genehmigen") {
			t.Errorf("not in German:\n%s", body)
		}
		if status, _ := decideAt(t, second, "approve", ""); status != http.StatusSeeOther {
			t.Errorf("approve: %d", status)
		}
		if got := alice.Meeting(t, m.ID).Status; got != "confirmed" {
			t.Errorf("%s, want confirmed", got)
		}
		if status, body := decideAt(t, first, "reject", ""); status != http.StatusConflict || !strings.Contains(body, "Chef approved") {
			t.Errorf("a used link: %d\n%s", status, body)
		}
		eventually(t, time.Now().Add(slack), "the organizer is told", func() bool { return len(mail.Where("alice@example.org", "decision")) == 1 })

		off := alice.Book(t, testenv.Booking(inSeconds(10800), inSeconds(12600), []int64{room.ID}))
		eventually(t, time.Now().Add(slack), "asked again", func() bool { return len(mail.Where("boss@example.org", "approval_request")) == 2 })
		asked := mail.Where("boss@example.org", "approval_request")
		withdrawn := decisionLink.FindString(asked[1].Part("text/plain"))
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", off.ID), with{}, nil)
		if status, body := decideAt(t, withdrawn, "approve", ""); status != http.StatusConflict || !strings.Contains(body, "Alice canceled the meeting") {
			t.Errorf("a withdrawn request: %d\n%s", status, body)
		}

		// A link is bound to what was asked for.
		late := alice.Book(t, testenv.Booking(inSeconds(18000), inSeconds(19800), []int64{room.ID}))
		eventually(t, time.Now().Add(slack), "asked a third time", func() bool { return len(mail.Where("boss@example.org", "approval_request")) == 3 })
		old := decisionLink.FindString(mail.Where("boss@example.org", "approval_request")[2].Part("text/plain"))
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", late.ID), with{"end": inSeconds(21600)}, nil)
		if status, body := decideAt(t, old, "approve", ""); status != http.StatusConflict || !strings.Contains(body, "has been changed since") || strings.Contains(body, "<form") {
			t.Errorf("a request that was moved: %d\n%s", status, body)
		}
		if got := alice.Meeting(t, late.ID).Status; got != "pending" {
			t.Errorf("the moved request is %s", got)
		}
		wantNothingTwice(t, mail)
	})
}

// TestApproval_timers: those who were asked are reminded and others asked as well, each once;
// a deputy is asked for who is away.
func TestApproval_timers(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		on.YAML = "booking: { approval: { timeout: 10m, remind_before: 9m57s, escalate_after: 8s, on_timeout: approve } }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		stand := admin.NewUser(t, "Stand", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}}})
		boss.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPatch, "/me", with{"away": with{
			"from": inSeconds(-60), "until": inSeconds(3600), "deputy_id": alice.User.ID,
		}})
		boss.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": with{"from": inSeconds(-60), "until": inSeconds(3600), "deputy_id": stand.User.ID}}, nil)

		m := alice.Book(t, testenv.Booking(inSeconds(7200), inSeconds(9000), []int64{room.ID}))
		if got := testenv.All[testenv.Meeting](t, stand, "/meetings?status=pending&awaiting=me"); len(got) != 1 || got[0].ID != m.ID {
			t.Errorf("waiting for the deputy: %+v", got)
		}
		if got := testenv.All[testenv.Meeting](t, admin, "/meetings?awaiting=me"); len(got) != 0 && len(entries(alice.History(t, m.ID), "changed")) == 0 {
			t.Errorf("waiting for the admin, whom nobody asked: %+v", got)
		}
		eventually(t, time.Now().Add(slack), "reminded", func() bool { return len(mail.Where("stand@example.org", "approval_reminder")) == 1 })
		escalated := link(t, mail, testenv.AdminEmail, "escalation")
		if n := len(mail.Where("boss@example.org", "")); n != 0 {
			t.Errorf("%d mails to the one who is away", n)
		}
		if got := testenv.All[testenv.Meeting](t, admin, "/meetings?awaiting=me"); len(got) != 1 {
			t.Errorf("waiting for the admin: %+v", got)
		}
		if status, body := decideAt(t, escalated, "approve", ""); status != http.StatusSeeOther {
			t.Errorf("%d\n%s", status, body)
		}
		history := alice.History(t, m.ID)
		if es := entries(history, "changed"); len(es) != 1 || es[0].Actor.Name != "approval.escalate" || es[0].Reason != "escalated" {
			t.Errorf("escalated: %+v", es)
		}
		boss.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": nil}, nil)

		// Nobody decides: the installation approves.
		soon := alice.Book(t, testenv.Booking(inSeconds(6), inSeconds(1800), []int64{room.ID}))
		eventually(t, soon.Start.Add(slack), "approved in time", func() bool { return len(entries(alice.History(t, soon.ID), "confirmed")) == 1 })
		wantOnce(t, alice.History(t, soon.ID), "confirmed", "timer", soon.Start)
		wantNothingTwice(t, mail)
	})
}

// TestApproval_adminStandsIn: what waits for an approver who is away waits for their deputy, who
// may be an admin, though nobody asks admins where an approver is named.
func TestApproval_adminStandsIn(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss, alice := admin.NewUser(t, "Boss", "manager"), admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}}})
		m := alice.Book(t, testenv.Booking(inSeconds(7200), inSeconds(9000), []int64{room.ID}))
		waits := func(want int) {
			t.Helper()
			if got := testenv.All[testenv.Meeting](t, admin, "/meetings?awaiting=me"); len(got) != want || want == 1 && got[0].ID != m.ID {
				t.Errorf("waiting for the admin: %+v, want %d", got, want)
			}
		}
		waits(0)
		boss.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": with{"from": inSeconds(-60), "until": inSeconds(3600), "deputy_id": admin.User.ID}}, nil)
		waits(1)
		boss.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": nil}, nil)
		waits(0)
	})
}

// TestApproval_move: a confirmed meeting that is to move stays where it is until that is decided.
func TestApproval_move(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "1h"}})
		mine := alice.Book(t, testenv.Booking(inSeconds(10800), inSeconds(12600), []int64{room.ID}))
		boss.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/approve", mine.ID), with{}, nil)

		type changing struct {
			testenv.Meeting
			PendingChange *struct {
				Start    time.Time `json:"start"`
				Deadline time.Time `json:"deadline"`
			} `json:"pending_change"`
		}
		move := func(from, to int) (got changing) {
			t.Helper()
			alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", mine.ID), with{"start": inSeconds(from), "end": inSeconds(to)}, &got)
			if got.Status != "confirmed" || got.PendingChange == nil || !got.Start.Equal(mine.Start) {
				t.Fatalf("%+v", got)
			}
			return got
		}
		timeout := func(d string) {
			t.Helper()
			admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", room.ID), with{"approval": with{"timeout": d}}, nil)
		}
		timeout("10s")
		asked := move(14400, 16200)
		eventually(t, asked.PendingChange.Deadline.Add(slack), "dropped in time", func() bool {
			var now changing
			alice.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", mine.ID), nil, &now)
			return now.PendingChange == nil && len(mail.Where("alice@example.org", "decision")) == 2 // on the request and on the move
		})
		admin.Book(t, testenv.Booking(asked.PendingChange.Start, asked.PendingChange.Start.Add(time.Minute), []int64{room.ID}))
		if got := alice.Meeting(t, mine.ID); got.Status != "confirmed" || !got.Start.Equal(mine.Start) {
			t.Errorf("%+v", got)
		}

		timeout("1h") // time for what holds only until then
		again := move(18000, 19800)
		for _, slot := range [][2]time.Time{{mine.Start, mine.End}, {again.PendingChange.Start, again.PendingChange.Start.Add(time.Minute)}} {
			admin.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", testenv.Booking(slot[0], slot[1], []int64{room.ID}))
		}
		open := ""
		eventually(t, time.Now().Add(slack), "a mail whose link is open", func() bool {
			for _, m := range mail.Where("boss@example.org", "approval_request") {
				found := decisionLink.FindString(m.Part("text/plain"))
				if _, body := openPage(t, http.MethodGet, found, nil); strings.Contains(body, "<form") {
					open = found
				}
			}
			return open != ""
		})
		if status, body := decideAt(t, open, "approve", "ok"); status != http.StatusSeeOther {
			t.Fatalf("%d\n%s", status, body)
		}
		var done changing
		alice.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", mine.ID), nil, &done)
		if done.PendingChange != nil || !done.Start.Equal(again.PendingChange.Start) || done.Status != "confirmed" {
			t.Errorf("%+v", done)
		}
		admin.Book(t, testenv.Booking(mine.Start, mine.End, []int64{room.ID}))
		wantNothingTwice(t, mail)
	})
}

// TestApproval_twoInstances: of decisions made at two instances at once exactly one counts.
func TestApproval_twoInstances(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	a, b := twoServers(t, on.Config)
	admin := a.Admin(t)
	boss := admin.NewUser(t, "Boss", "manager")
	alice := admin.NewUser(t, "Alice", "member")
	room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "1h"}})
	contestants := []struct {
		by   *testenv.Client
		verb string
	}{{boss, "approve"}, {boss.At(b), "reject"}, {admin.At(b), "approve"}, {admin, "reject"}}
	for round := range 10 {
		m := alice.Book(t, testenv.Booking(inSeconds(7200+3600*round), inSeconds(7200+3600*round+1800), []int64{room.ID}))
		results := make([]*testenv.Response, len(contestants))
		var wg sync.WaitGroup
		for i, c := range contestants {
			wg.Go(func() {
				res, err := c.by.Try(http.MethodPost, at("/meetings/%d/%s", m.ID, c.verb), with{})
				if err != nil {
					t.Error(err)
					return
				}
				results[i] = res
			})
		}
		wg.Wait()
		won := 0
		final := alice.Meeting(t, m.ID).Status
		for i, res := range results {
			if res == nil {
				continue
			}
			if res.Status == http.StatusOK {
				won++
			} else if p, err := res.Problem(); err != nil || p.Code != "state_conflict" || !strings.Contains(p.Detail, final) {
				t.Errorf("%s: %d %s, but it is %s", contestants[i].verb, res.Status, res.Body, final)
			}
		}
		if won != 1 {
			t.Errorf("%d decisions succeeded", won)
		}
	}
}

// TestApproval_seriesInTwoRooms: dates of a series that got another room are decided by its
// approvers: each is asked for theirs alone, and decides on those at once.
func TestApproval_seriesInTwoRooms(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		admin := testenv.Server(t, on.Config).Admin(t)
		boss, chef := admin.NewUser(t, "Boss", "manager"), admin.NewUser(t, "Chef", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		by := func(who *testenv.Client) with {
			return with{"capacity": 8, "approval": with{"required": true, "approver_ids": []int64{who.User.ID}}}
		}
		board, hall := admin.NewRoom(t, "Board", by(boss)), admin.NewRoom(t, "Hall", by(chef))
		body := weekly(monday(2), 4, board.ID, with{"on_conflict": "other_room"})
		var free, made seriesAnswer
		alice.Want(t, http.StatusOK, http.MethodPost, "/series/preview", body, &free)
		second := free.Meetings[1]
		admin.Book(t, testenv.Booking(second.Start, second.End, []int64{board.ID}))
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", body, &made)
		if got := made.Meetings[1].RoomIDs; len(got) != 1 || got[0] != hall.ID {
			t.Fatalf("the second date is in %v", got)
		}

		bosses, chefs := link(t, mail, "boss@example.org", "approval_request"), link(t, mail, "chef@example.org", "approval_request")
		if _, page := openPage(t, http.MethodGet, bosses, nil); !strings.Contains(page, "for 3 dates of a series") {
			t.Errorf("the page of the first room:\n%s", page)
		}
		if _, page := openPage(t, http.MethodGet, chefs, nil); strings.Contains(page, "dates of a series") || !strings.Contains(page, "<form") {
			t.Errorf("the page of the second room:\n%s", page)
		}
		states := func(want ...string) {
			t.Helper()
			var got []string
			for _, m := range made.Meetings {
				got = append(got, alice.Meeting(t, m.ID).Status)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		}
		if status, page := decideAt(t, bosses, "approve", ""); status != http.StatusSeeOther {
			t.Fatalf("%d\n%s", status, page)
		}
		states("confirmed", "pending", "confirmed", "confirmed")
		boss.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, at("/series/%d/approve", made.Series.ID), with{})
		chef.Want(t, http.StatusOK, http.MethodPost, at("/series/%d/reject", made.Series.ID), with{}, nil)
		states("confirmed", "rejected", "confirmed", "confirmed")
		if status, page := decideAt(t, chefs, "approve", ""); status != http.StatusConflict || !strings.Contains(page, "Chef rejected") {
			t.Errorf("%d\n%s", status, page)
		}
		for _, who := range []string{"boss@example.org", "chef@example.org"} {
			if n := len(mail.Where(who, "approval_request")); n != 1 {
				t.Errorf("%s was asked %d times", who, n)
			}
		}
		wantNothingTwice(t, mail)
	})
}

// TestApproval_roomsWithDifferentApprovers: each agrees to their own room, and everybody who may
// see the meeting is told who is still asked.
func TestApproval_roomsWithDifferentApprovers(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		admin := testenv.Server(t, on.Config).Admin(t)
		boss, chef := admin.NewUser(t, "Boss", "manager"), admin.NewUser(t, "Chef", "manager")
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		by := func(who *testenv.Client) with {
			return with{"approval": with{"required": true, "approver_ids": []int64{who.User.ID}}}
		}
		board, hall := admin.NewRoom(t, "Board", by(boss)), admin.NewRoom(t, "Hall", by(chef))
		type approver struct {
			ID   int64  `json:"id"`
			Name string `json:"name"`
		}
		type waiting struct {
			testenv.Meeting
			Approval struct {
				Approvers *[]approver `json:"approvers"`
				Agreed    []struct {
					Name    string  `json:"name"`
					RoomIDs []int64 `json:"room_ids"`
				} `json:"agreed"`
			} `json:"approval"`
		}
		m := alice.Book(t, testenv.Booking(inSeconds(7200), inSeconds(9000), []int64{board.ID, hall.ID}, with{"visibility": "private"}))
		asked := func(as *testenv.Client) (names []string) {
			t.Helper()
			var got waiting
			as.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", m.ID), nil, &got)
			if got.Approval.Approvers == nil {
				return nil
			}
			for _, a := range *got.Approval.Approvers {
				names = append(names, a.Name)
			}
			return names
		}
		want := func(as *testenv.Client, names ...string) {
			t.Helper()
			if got := asked(as); !slices.Equal(got, names) {
				t.Errorf("%s is told that %v are asked, want %v", as.User.Name, got, names)
			}
		}
		want(alice, "Boss", "Chef")
		want(bob) // it is private
		theirs := link(t, mail, "boss@example.org", "approval_request")
		if _, page := openPage(t, http.MethodGet, theirs, nil); !strings.Contains(page, "<dt>You decide on</dt><dd>Board</dd>") {
			t.Errorf("the reader is not told that they decide on one of two rooms:\n%s", page)
		}
		if status, page := decideAt(t, theirs, "approve", "fine"); status != http.StatusSeeOther {
			t.Fatalf("%d\n%s", status, page)
		}
		if _, page := openPage(t, http.MethodGet, theirs, nil); !strings.Contains(page, "Boss approved") || strings.Contains(page, "<form") {
			t.Errorf("the link of who has agreed:\n%s", page)
		}
		want(alice, "Chef")
		list := testenv.All[waiting](t, alice, "/meetings?organizer=me")
		if len(list) != 1 || list[0].Approval.Approvers == nil || len(*list[0].Approval.Approvers) != 1 || len(list[0].Approval.Agreed) != 1 || !slices.Equal(list[0].Approval.Agreed[0].RoomIDs, []int64{board.ID}) {
			t.Errorf("listed %+v", list)
		}
		boss.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/meetings/%d/approve", m.ID), with{})
		chef.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"away": with{"from": inSeconds(-60), "until": inSeconds(3600), "deputy_id": boss.User.ID}}, nil)
		want(alice, "Boss") // in place of Chef
		boss.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/approve", m.ID), with{}, nil)
		if got := alice.Meeting(t, m.ID).Status; got != "confirmed" {
			t.Errorf("it is %s", got)
		}
		want(alice)
		if es := entries(alice.History(t, m.ID), "changed"); len(es) != 1 || es[0].Changes["approval.agreed"].To != "Board" || es[0].Reason != "fine" {
			t.Errorf("history %+v", es)
		}
		eventually(t, time.Now().Add(slack), "the organizer is told once", func() bool { return len(mail.Where("alice@example.org", "decision")) == 1 })
		wantNothingTwice(t, mail)
	})
}
