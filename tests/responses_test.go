package tests

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// answersTo are the responses of a meeting's attendees by address.
func answersTo(m testenv.Meeting) map[string]string {
	found := map[string]string{}
	for _, a := range m.Attendees {
		found[a.Email] = a.Response
	}
	return found
}

var (
	respondLink = regexp.MustCompile(`http://\S+/respond\?token=[A-Za-z0-9_-]+`)
	offerLink   = regexp.MustCompile(`http://\S+/offer\?token=[A-Za-z0-9_-]+`)
)

// linkIn waits for so many mails of a kind about what has a title, and finds an address in the newest: mails about
// several meetings arrive in any order.
func linkIn(t *testing.T, mail *testenv.MailServer, to, kind, title string, count int, pattern *regexp.Regexp) (found string, m testenv.Message) {
	t.Helper()
	eventually(t, time.Now().Add(slack), at("%d x %s of %q to %s", count, kind, title, to), func() bool {
		ms := slices.DeleteFunc(mail.Where(to, kind), func(m testenv.Message) bool { return !strings.Contains(m.Subject(), title) })
		if len(ms) < count {
			return false
		}
		m = ms[count-1]
		found = pattern.FindString(m.Part("text/plain"))
		return true
	})
	if found == "" {
		t.Fatalf("no link in the mail:\n%s", m.Part("text/plain"))
	}
	return found, m
}

// partstat is what the calendar of a mail says of an attendee.
func partstat(m testenv.Message, email string) string {
	calendar := strings.ReplaceAll(m.Part("text/calendar"), "\r\n ", "")
	for line := range strings.SplitSeq(calendar, "\r\n") {
		if strings.HasPrefix(line, "ATTENDEE") && strings.HasSuffix(strings.ToLower(line), ":mailto:"+email) {
			_, rest, _ := strings.Cut(line, "PARTSTAT=")
			status, _, _ := strings.Cut(rest, ";")
			return status
		}
	}
	return ""
}

// TestResponses: who is invited answers, on the page or by the mail's link without an account;
// the organizer sees it and hears of a decline once; a meeting that moves asks again.
func TestResponses(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob, eve := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member"), admin.NewUser(t, "Eve", "member")
		room := admin.NewRoom(t, "Turing")
		guest := "guest@example.net"
		start := inSeconds(7200)
		m := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
			"visibility": "private",
			"attendees":  []any{with{"email": "bob@example.org"}, with{"email": guest, "name": "Gast", "locale": "de"}},
		}))
		respond := at("/meetings/%d/respond", m.ID)

		// On the page: a wrong answer, a stranger's, one's own.
		if p := bob.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, respond, with{"response": "perhaps", "comment": strings.Repeat("x", 1001)}); len(p.Errors) == 0 {
			t.Errorf("a wrong answer: %+v", p)
		}
		bob.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, respond, with{})
		for _, c := range []*testenv.Client{eve, admin, alice} {
			c.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, respond, with{"response": "accepted"})
		}
		var got testenv.Meeting
		bob.Want(t, http.StatusOK, http.MethodPost, respond, with{"response": "tentative", "comment": "if the train runs"}, &got)
		if answersTo(got)["bob@example.org"] != "tentative" || got.Version != m.Version+1 || got.ScheduleVersion != m.ScheduleVersion {
			t.Errorf("answered: %+v", got)
		}
		bob.Want(t, http.StatusOK, http.MethodPost, respond, with{"response": "tentative", "comment": "if the train runs"}, &got)
		if got.Version != m.Version+1 {
			t.Errorf("the same again raised the version to %d", got.Version)
		}
		comments := func(c *testenv.Client) string {
			var m struct {
				Attendees []struct{ Comment *string }
			}
			c.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", got.ID), nil, &m)
			if len(m.Attendees) == 0 || m.Attendees[0].Comment == nil {
				return ""
			}
			return *m.Attendees[0].Comment
		}
		if a, b := comments(alice), comments(bob); a != "if the train runs" || b != a {
			t.Errorf("the comment: %q to the organizer, %q to who said it", a, b)
		}
		if ms := testenv.All[testenv.Meeting](t, bob, "/meetings?attendee=me"); len(ms) != 1 || answersTo(ms[0])["bob@example.org"] != "tentative" {
			t.Errorf("bob's list: %+v", ms)
		}

		// By the mail, without an account: a page that asks first.
		link, invitation := linkIn(t, mail, guest, "invitation", "Design review", 1, respondLink)
		if s := partstat(invitation, guest); s != "NEEDS-ACTION" {
			t.Errorf("invited with %s", s)
		}
		if status, body := openPage(t, http.MethodGet, link+"&choice=declined", nil); status != http.StatusOK || !strings.Contains(body, "Design review") || !strings.Contains(body, "Absagen") {
			t.Errorf("the page: %d\n%s", status, body)
		}
		openPage(t, http.MethodHead, link+"&choice=declined", nil)
		if s := answersTo(alice.Meeting(t, m.ID))[guest]; s != "needs_action" {
			t.Fatalf("looking at the page made it %s", s)
		}
		if status, body := openPage(t, http.MethodGet, link[:len(link)-3]+"xyz", nil); status != http.StatusNotFound || strings.Contains(body, "Design review") {
			t.Errorf("a forged link: %d\n%s", status, body)
		}
		answer := func(choice, comment string) (int, string) {
			u, err := url.Parse(link)
			if err != nil {
				t.Fatal(err)
			}
			return openPage(t, http.MethodPost, u.Scheme+"://"+u.Host+u.Path, url.Values{"token": {u.Query().Get("token")}, "choice": {choice}, "comment": {comment}})
		}
		if status, _ := answer("perhaps", ""); status != http.StatusUnprocessableEntity {
			t.Errorf("no choice: %d", status)
		}
		for range 2 { // twice tells the organizer once
			if status, body := answer("declined", "Ich bin verreist."); status != http.StatusSeeOther {
				t.Errorf("declined: %d\n%s", status, body)
			}
			answer("tentative", "")
		}
		answer("declined", "Ich bin verreist.")
		if s := answersTo(alice.Meeting(t, m.ID))[guest]; s != "declined" {
			t.Errorf("by the link: %s", s)
		}
		es := entries(alice.History(t, m.ID), "responded")
		if len(es) != 6 || es[1].Actor.Name != "Gast" || es[1].Changes["response"].To != "declined" || es[1].Reason != "" {
			t.Errorf("history: %+v", es)
		}
		eventually(t, time.Now().Add(slack), "the organizer hears of the decline", func() bool { return len(mail.Where("alice@example.org", "declined")) == 1 })
		if text := mail.Where("alice@example.org", "declined")[0].Part("text/plain"); !strings.Contains(text, "Gast") || !strings.Contains(text, "verreist") {
			t.Errorf("the mail:\n%s", text)
		}

		// A later beginning within the time asks nobody; another time asks everybody again.
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"start": start.Add(5 * time.Minute)}, &got)
		if a := answersTo(got); a[guest] != "declined" || a["bob@example.org"] != "tentative" {
			t.Errorf("begins later: %v", a)
		}
		_, change := linkIn(t, mail, guest, "change", "Design review", 1, respondLink)
		if s := partstat(change, "bob@example.org"); s != "TENTATIVE" {
			t.Errorf("the change says %s of bob", s)
		}
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"start": start.Add(2 * time.Hour), "end": start.Add(3 * time.Hour)}, &got)
		if a := answersTo(got); a[guest] != "needs_action" || a["bob@example.org"] != "needs_action" {
			t.Errorf("moved: %v", a)
		}
		if _, change = linkIn(t, mail, guest, "change", "Design review", 2, respondLink); partstat(change, guest) != "NEEDS-ACTION" {
			t.Errorf("the move says %s of the guest", partstat(change, guest))
		}

		// What is called off takes no answer.
		cancel(t, alice, m.ID)
		bob.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, respond, with{"response": "accepted"})
		if status, _ := answer("accepted", ""); status != http.StatusConflict {
			t.Errorf("answering what was called off: %d", status)
		}
		wantNothingTwice(t, mail)
	})
}

// TestResponses_series: one answer is for all dates to come; the organizer hears of it once.
func TestResponses_series(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob, eve := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member"), admin.NewUser(t, "Eve", "member")
		room := admin.NewRoom(t, "Turing")
		guest := "guest@example.net"
		start := time.Now().UTC().Truncate(time.Hour).Add(26 * time.Hour)
		booking := testenv.Booking(start, start.Add(30*time.Minute), []int64{room.ID}, with{
			"rrule": "FREQ=DAILY;COUNT=4", "timezone": "UTC",
			"attendees": []any{with{"email": "bob@example.org"}, with{"email": guest}},
		})
		var made struct {
			Series   struct{ ID int64 }
			Meetings []testenv.Meeting
		}
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", booking, &made)
		respond := at("/series/%d/respond", made.Series.ID)
		eve.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, respond, with{"response": "accepted"})

		// One date for itself, then all.
		bob.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/respond", made.Meetings[2].ID), with{"response": "declined"}, nil)
		var res struct{ Meetings []testenv.Meeting }
		bob.Want(t, http.StatusOK, http.MethodPost, respond, with{"response": "accepted"}, &res)
		if len(res.Meetings) != 4 {
			t.Errorf("answered for %d dates", len(res.Meetings))
		}
		bob.Want(t, http.StatusOK, http.MethodPost, respond, with{"response": "accepted"}, &res) // again

		link, _ := linkIn(t, mail, guest, "invitation", "Design review", 1, respondLink)
		if _, body := openPage(t, http.MethodGet, link, nil); !strings.Contains(body, "4 dates") {
			t.Errorf("the page does not speak of the dates:\n%s", body)
		}
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := openPage(t, http.MethodPost, u.Scheme+"://"+u.Host+u.Path, url.Values{"token": {u.Query().Get("token")}, "choice": {"declined"}}); status != http.StatusSeeOther {
			t.Errorf("declined: %d\n%s", status, body)
		}
		for _, m := range made.Meetings {
			m = alice.Meeting(t, m.ID)
			if a := answersTo(m); a["bob@example.org"] != "accepted" || a[guest] != "declined" {
				t.Errorf("date %v: %v", m.Start, a)
			}
			if n := len(entries(alice.History(t, m.ID), "responded")); n != 2 && !(n == 3 && m.ID == made.Meetings[2].ID) {
				t.Errorf("date %v: %d entries", m.Start, n)
			}
		}
		var kept testenv.Meeting
		alice.Want(t, http.StatusOK, http.MethodGet, at("/series/%d", made.Series.ID), nil, &kept)
		if a := answersTo(kept); a["bob@example.org"] != "accepted" || a[guest] != "declined" {
			t.Errorf("the series: %v", a)
		}
		eventually(t, time.Now().Add(slack), "two declines told", func() bool { return len(mail.Where("alice@example.org", "declined")) == 2 })

		// A later mail about the series tells what they said.
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", made.Series.ID), with{"title": "Stand-up"}, nil)
		if _, change := linkIn(t, mail, guest, "change", "Stand-up", 1, respondLink); partstat(change, "bob@example.org") != "ACCEPTED" || partstat(change, guest) != "DECLINED" {
			t.Errorf("the change says %s and %s", partstat(change, "bob@example.org"), partstat(change, guest))
		}
		wantNothingTwice(t, mail)
	})
}

// TestOffer_byLink: who waits accepts what is offered by a page that asks first; nobody waits
// for more than they may.
func TestOffer_byLink(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		on.YAML = "booking: { waiting_list: { offer: 1h }, limits: { max_waits: 2 } }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob, carol := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member"), admin.NewUser(t, "Carol", "member")
		room := admin.NewRoom(t, "Turing")
		start := inSeconds(7200)
		booking := testenv.Booking(start, start.Add(time.Hour), []int64{room.ID})
		held := alice.Book(t, booking)
		first, second := join(t, bob, booking), join(t, carol, booking)

		// The third place is one too many, also when several are asked for at once; who leaves one may take another.
		join(t, carol, booking)
		if p := carol.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/waitlist", booking); len(p.Errors) != 1 || p.Errors[0].Code != "too_many_waits" {
			t.Errorf("one too many: %+v", p)
		}
		carol.Want(t, http.StatusNoContent, http.MethodDelete, at("/waitlist/%d", second.ID), nil, nil)
		var got atomic.Int64
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				res, err := carol.Try(http.MethodPost, "/waitlist", booking)
				if err != nil {
					t.Error(err)
				} else if res.Status == http.StatusCreated {
					got.Add(1)
				}
			})
		}
		if wg.Wait(); got.Load() != 1 {
			t.Errorf("%d places of the one that was left", got.Load())
		}

		cancel(t, alice, held.ID)
		becomes(t, bob, first, "offered")
		link, _ := linkIn(t, mail, "bob@example.org", "waitlist_offer", "Design review", 1, offerLink)
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodGet} {
			if status, body := openPage(t, method, link, nil); status != http.StatusOK || method == http.MethodGet && !strings.Contains(body, "Waiting list offer") {
				t.Errorf("%s: %d\n%s", method, status, body)
			}
		}
		if w := waitOf(t, bob, first.ID); w.State != "offered" {
			t.Fatalf("looking at the page made it %s", w.State)
		}
		if status, _ := openPage(t, http.MethodGet, link[:len(link)-3]+"xyz", nil); status != http.StatusNotFound {
			t.Errorf("a forged link: %d", status)
		}
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		post := func(choice string) int {
			status, _ := openPage(t, http.MethodPost, u.Scheme+"://"+u.Host+u.Path, url.Values{"token": {u.Query().Get("token")}, "choice": {choice}})
			return status
		}
		if status := post(""); status != http.StatusUnprocessableEntity {
			t.Errorf("no choice: %d", status)
		}
		if status := post("accept"); status != http.StatusSeeOther {
			t.Errorf("accepting: %d", status)
		}
		if status := post("decline"); status != http.StatusConflict {
			t.Errorf("declining what was accepted: %d", status)
		}
		if m := bob.Meeting(t, waitOf(t, bob, first.ID).MeetingID); m.Status != "confirmed" || m.Organizer.ID != bob.User.ID {
			t.Errorf("accepted: %+v", m)
		}
		if _, body := openPage(t, http.MethodGet, link, nil); !strings.Contains(body, "The room is yours") {
			t.Errorf("afterwards:\n%s", body)
		}
	})
}
