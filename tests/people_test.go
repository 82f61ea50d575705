package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestPeople: whoever types a name or an address is helped to people of the organisation and
// to those whom they invited before, and is told no more of them than that.
func TestPeople(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		admin.NewUser(t, "Jörg Müller-Lüdenscheidt", "member", with{"email": "jml@example.org", "phone": "+4930123"})
		admin.NewUser(t, "Öznur Yıldız", "member", with{"email": "oyildiz@example.org"})
		admin.NewUser(t, "王小明", "member", with{"email": "xiaoming@example.org"})
		gone := admin.NewUser(t, "Jörg Gone", "member", with{"email": "gone@example.org"})
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", gone.User.ID), with{"disabled": true}, nil)
		room := admin.NewRoom(t, "Turing")
		start := inSeconds(3600)
		guests := []any{with{"email": "jo.guest@example.net", "name": "Jo Guest"}, with{"email": "gone@example.org"}, with{"email": "oyildiz@example.org"}}
		alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"attendees": guests}))

		find := func(c *testenv.Client, q string) []string {
			t.Helper()
			var page struct{ Items []map[string]any }
			c.Want(t, http.StatusOK, http.MethodGet, "/people?q="+url.QueryEscape(q), nil, &page)
			var found []string
			for _, p := range page.Items {
				email, _ := p["email"].(string)
				if _, named := p["user_id"]; len(p) != 3 || !named || p["name"] == nil {
					t.Errorf("%q: %v, want a name, an address and an ID alone", q, p)
				}
				found = append(found, email)
			}
			return found
		}
		for _, tt := range []struct {
			q    string
			want []string
		}{
			{"jö", []string{"jml@example.org"}}, // not who is disabled
			{"JÖRG m", []string{"jml@example.org"}},
			{"lüden", []string{"jml@example.org"}}, // behind a hyphen
			{"jml@", []string{"jml@example.org"}},
			{"örg", nil},     // no beginning of a word
			{"example", nil}, // a domain is no person
			{"ö", []string{"oyildiz@example.org"}},
			{"öz yı", []string{"oyildiz@example.org"}},
			{"王", []string{"xiaoming@example.org"}},
			{"jo", []string{"jo.guest@example.net"}},
			{"gu", []string{"jo.guest@example.net"}},
			{"j", nil}, // too short
			{"", nil},
			{"ali", nil}, // oneself
			{"%%", nil},
			{"__", nil},
			{`\\`, nil},
		} {
			if got := find(alice, tt.q); !slices.Equal(got, tt.want) {
				t.Errorf("%q finds %q, want %q", tt.q, got, tt.want)
			}
		}
		if got := find(admin, "jo"); len(got) > 0 {
			t.Errorf("a guest of somebody else's is found: %q", got)
		}
		if got := find(admin, "ali"); len(got) != 1 {
			t.Errorf("a colleague is not found: %q", got)
		}

		// Few, those met most often first.
		for i := range 12 {
			admin.NewUser(t, fmt.Sprintf("Same %02d", i), "member", with{"email": fmt.Sprintf("same%d@example.org", i)})
		}
		alice.Book(t, testenv.Booking(start.Add(time.Hour), start.Add(2*time.Hour), []int64{room.ID}, with{"attendees": []any{with{"email": "zoe@example.net", "name": "Same Zoe"}}}))
		if got := find(alice, "same"); len(got) != 8 || got[0] != "zoe@example.net" {
			t.Errorf("found %q, want eight with whom was met first", got)
		}

		p := alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/people?q="+strings.Repeat("a", 101), nil)
		if len(p.Errors) != 1 || p.Errors[0].Location != "query.q" {
			t.Errorf("too long: %+v", p.Errors)
		}
		server.Anonymous().WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, "/people?q=al", nil)

		// Who is disabled looks nobody up, and nobody else reads the directory letter by letter:
		// 120 answers at once, and two more a second.
		if res, err := gone.At(server).Try(http.MethodGet, "/people?q=al", nil); err != nil || res.Status != http.StatusUnauthorized {
			t.Fatalf("who is disabled looks people up: %v %v", res, err)
		}
		var answered atomic.Int64
		began := time.Now()
		var askers sync.WaitGroup
		for range 16 {
			askers.Go(func() {
				for range 20 {
					switch res, err := alice.Try(http.MethodGet, "/people?q=al", nil); {
					case err != nil:
						t.Error(err)
					case res.Status == http.StatusOK:
						answered.Add(1)
					case res.Status != http.StatusTooManyRequests:
						t.Errorf("status %d", res.Status)
					case res.Header.Get("Retry-After") == "":
						t.Error("nobody is told when to try again")
					}
				}
			})
		}
		askers.Wait()
		most := 121 + int64(2*time.Since(began).Seconds())
		if on.redis != nil { // while it does not answer at once, as on a busy machine, the process counts anew
			most *= 2
		}
		if answered.Load() > most {
			t.Errorf("%d of 320 look-ups were answered, want %d at most", answered.Load(), most)
		}
	})
}

// TestPeople_disabled: who may not sign in any more is told nothing, whenever they were invited, also
// of what was to be told before; an address of nobody here still is.
func TestPeople_disabled(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, dora := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Dora", "member")
		room := admin.NewRoom(t, "Turing")
		invited := with{"visibility": "private", "attendees": []any{with{"email": "dora@example.org"}, with{"email": "guest@example.net"}}}
		before := alice.Book(t, testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID}, invited))
		eventually(t, time.Now().Add(slack), "both are invited", func() bool {
			return len(mail.Where("dora@example.org", "invitation")) == 1 && len(mail.Where("guest@example.net", "invitation")) == 1
		})
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", dora.User.ID), with{"disabled": true}, nil)
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", before.ID), with{"title": "Layoffs"}, nil)
		after := alice.Book(t, testenv.Booking(inSeconds(10000), inSeconds(12000), []int64{room.ID}, invited, with{"attendees": []any{
			with{"email": "Dora@example.org"}, with{"email": "guest@example.net"}}}))
		eventually(t, time.Now().Add(slack), "the guest hears of both", func() bool {
			return len(mail.Where("guest@example.net", "change")) == 1 && len(mail.Where("guest@example.net", "invitation")) == 2
		})
		for _, m := range []testenv.Meeting{before, after} {
			eventually(t, time.Now().Add(slack), "the ledger says why", func() bool {
				for _, n := range admin.Notifications(t, m.ID) {
					if strings.EqualFold(n.Address, "dora@example.org") && n.State == "skipped" && strings.Contains(n.LastError, "disabled") {
						return true
					}
				}
				return false
			})
		}
		for _, m := range mail.Messages() {
			if strings.EqualFold(m.To[0], "dora@example.org") && (m.Kind() != "invitation" || len(mail.Where(m.To[0], "")) > 1) {
				t.Errorf("she is told %q", m.Subject())
			}
		}
	})
}
