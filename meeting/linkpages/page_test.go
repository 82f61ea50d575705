package linkpages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/waitlist"
)

// html is the page of a view.
func html(t *testing.T, v *view) string {
	t.Helper()
	w := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(w)
	page{}.write(c, http.StatusOK, v)
	if w.Code != http.StatusOK || !strings.HasSuffix(w.Body.String(), "</html>\n") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// in reports in which order the page says the parts; the first that is missing fails the test.
func in(t *testing.T, page string, parts ...string) {
	t.Helper()
	rest := page
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("no %q where it should be in\n%s", part, page)
		}
		rest = after
	}
}

// A page asks before it acts, with a form where there is something to do and none where there is not.
func TestLinkPages(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 25, 9, 0, 0, 0, time.UTC)
	m := &meeting.Meeting{
		ID: 7, Title: "Board <b>", Status: meeting.Confirmed, Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}, Timezone: "UTC", RoomNames: []string{"Hall"},
		Organizer: meeting.Person{Name: "Ann"}, CheckIn: meeting.CheckInWindow{Until: start.Add(10 * time.Minute)}, Request: &meeting.Request{Deadline: start},
	}
	linked := &meeting.Linked{State: meeting.LinkOpen, Meeting: m}
	approve, reject := `name="choice" value="approve"`, `name="choice" value="reject"`

	asked := html(t, viewOf(linked, "abc", ""))
	in(t, asked, `lang="en"`, "Board &lt;b&gt;", "<dt>Where</dt><dd>Hall</dd>", `action="/decide"`, `name="token" value="abc"`, `name="comment"`, approve, reject)
	if strings.Contains(asked, `class="confirm"`) || strings.Contains(asked, `name="meeting"`) {
		t.Errorf("nothing is to be confirmed in\n%s", asked)
	}
	in(t, html(t, viewOf(linked, "abc", "reject")), `class="confirm"`, "about to reject", reject, approve)
	v := viewOf(linked, "abc", "approve")
	if status := v.setFault(english, time.UTC, &meeting.ConflictError{Conflicts: []meeting.Occupancy{{RoomID: 1, Slot: m.Slot}}}); status != http.StatusConflict {
		t.Errorf("taken: %d", status)
	}
	in(t, html(t, v), `role="alert"`, "Another meeting has taken the room", "approved. Thu, Mar 25, 2027")
	linked.State, linked.Decision = meeting.LinkDecided, &meeting.Decision{Result: meeting.Rejected, Name: "Mona", At: start}
	if decided := html(t, viewOf(linked, "abc", "approve")); strings.Contains(decided, "<form") || !strings.Contains(decided, "Mona rejected") {
		t.Errorf("there is nothing to decide in\n%s", decided)
	}

	door := &Pages{Now: func() time.Time { return start }}
	c, _ := gin.CreateTestContext(httptest.NewRecorder())
	c.Request = httptest.NewRequest(http.MethodGet, "/check-in", nil)
	here := html(t, door.arrivalView(c, &booking.Arrivable{Meeting: m}, "abc"))
	in(t, here, `action="/check-in"`, `name="token" value="abc"`, `name="meeting" value="7"`, `<button class="approve">Check in</button>`)
	if strings.Contains(here, "<textarea") {
		t.Errorf("there is nothing to say in\n%s", here)
	}
	in(t, html(t, door.arrivalView(c, &booking.Arrivable{Room: "Hall"}, "abc")), "<h1>Hall</h1>", "No meeting is taking place here now")

	offer := &waitlist.Offering{Wait: &meeting.Wait{State: meeting.Offered, OfferUntil: start, Wished: meeting.Wished{Title: "Retro", RoomNames: []string{"Desk"}, Timezone: "UTC"}}}
	in(t, html(t, offerView(offer, "abc")), "Retro", `action="/offer"`, `name="choice" value="accept"`, `name="choice" value="decline"`)

	all := []Subscription{{Group: "reminder", On: true}, {Group: "invitations"}}
	in(t, html(t, subscriptionView(c, Reader{Email: "g@example.org"}, all, "abc")), "g@example.org", "<dt>Reminders</dt><dd>On</dd>", `action="/choose-mails"`, `value="reminder:off"`, `value="invitations:on"`)
	if page := html(t, subscriptionView(c, Reader{UserID: 3}, nil, "abc")); strings.Contains(page, "<form") || !strings.Contains(page, "require these emails") {
		t.Errorf("there is nothing to choose in\n%s", page)
	}

	invited := &booking.Invited{Meeting: m, Open: true, Response: meeting.Accepted}
	in(t, html(t, respondView(c, invited, "abc", meeting.Declined)), `action="/respond"`, `class="confirm"`, `value="accepted" aria-pressed="true"`, `name="choice" value="declined"`)
}
