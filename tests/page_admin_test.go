package tests

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"punctual/tests/testenv"
)

// ruled is a room with what an administrator sets of it.
type ruled struct {
	ID       int64    `json:"id"`
	Name     string   `json:"name"`
	SiteID   *int64   `json:"site_id"`
	Capacity int      `json:"capacity"`
	Features []string `json:"features"`
	OwnZone  *string  `json:"own_timezone"`
	Active   bool     `json:"active"`
	Version  int64    `json:"version"`
	Policy   struct {
		OpeningHours []struct {
			Days     []string `json:"days"`
			From, To string
		} `json:"opening_hours"`
		MinDuration string  `json:"min_duration"`
		MaxDuration *string `json:"max_duration"`
		Quota       *struct {
			Per   string
			Count *int
		}
	}
	Approval struct {
		Required    bool
		ApproverIDs []int64 `json:"approver_ids"`
	}
	CheckIn struct {
		Required bool
		Grace    string
	} `json:"check_in"`
}

func roomNamed(t *testing.T, c *testenv.Client, name string) ruled {
	t.Helper()
	for _, r := range testenv.All[ruled](t, c, "/rooms?include_inactive=true&limit=500") {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no room %q", name)
	return ruled{}
}

// admin signs in as an administrator of the demonstration, with a tab on a path.
func adminTab(t *testing.T, server *testenv.ServerInstance, path string) *tab {
	t.Helper()
	b := browse(t, server)
	b.signIn("ada@example.org", demoPassword)
	b.open(path)
	return b
}

// faultOf waits for a fault at the field of that label, which has the keyboard if it is the first.
func (b *tab) faultOf(label, text string) {
	b.t.Helper()
	b.await(`[...document.querySelectorAll('.field')].some((f) => f.querySelector('label')?.textContent.trim() === %q
		&& f.querySelector('.fault')?.innerText.includes(%q) && f.querySelector('[aria-invalid=true]'))`, label, text)
}

// TestPageAdminRooms: a room is made by the keyboard with its rules, faults are told at their
// fields, the rules stand in words, who was quicker is seen, and many are changed at once.
func TestPageAdminRooms(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	b := adminTab(t, server, "/admin/rooms")

	b.press("New room")
	b.await("location.pathname === '/admin/rooms/new' && document.querySelector('#room')")
	b.await("document.activeElement === document.querySelector('#room input') && !document.querySelector('#room [aria-invalid=true]')")
	b.strike("#room input", "\r") // without a name
	b.await("document.activeElement.getAttribute('aria-invalid') === 'true'")
	b.fill("Name", "Franklin")
	b.fill("Capacity", "12")
	b.fill("Features", "project")
	b.await("document.querySelector('[role=listbox]:not([hidden]) [aria-selected=true]')?.innerText.includes('projector')")
	b.key("\rkitchen\r") // one in use is completed, another is new
	b.await("document.querySelectorAll('#room .box li:not([role=option])').length === 2")
	b.accessible("new room, completing")
	b.fill("Shortest booking", "3")
	b.choose("select[aria-label='Shortest booking: unit']", "h")
	b.fill("Longest booking", "1")
	b.fill("Time zone", "Europe/Nowhere")
	b.key("\r")
	b.faultOf("Shortest booking", "longer")
	b.faultOf("Time zone", "zone")
	b.shot("room-faults")
	b.fill("Shortest booking", "15")
	b.choose("select[aria-label='Shortest booking: unit']", "m")
	b.fill("Time zone", "Asia/Tokyo")

	b.strike("input[type=radio]:not(:checked)", " ")
	b.await("document.querySelectorAll('.day').length === 7")
	b.choose("[data-day=MO] input[type=time]", "07:30")
	b.strike("[data-day=MO] [aria-label$='copy to Mon–Fri']", "\r")
	b.reads("Mon–Fri 7:30 AM–8 PM")
	b.choose("#room fieldset.quota select", "week")
	b.fill("Bookings", "3")
	b.reads("up to 3 bookings per week")
	b.click("[...document.querySelectorAll('#room label.check')].find((l) => l.innerText.includes('need approval'))")
	b.fill("Approvers", "grace")
	b.await("document.querySelector('[role=listbox]:not([hidden]) [aria-selected=true]')?.innerText.includes('Grace')")
	b.key("\r")
	b.reads("By Grace Hopper.")
	b.accessible("new room")
	b.shot("room-new")
	b.press("Create")
	b.await(`/^\/admin\/rooms\/\d+$/.test(location.pathname)`)
	b.told("Saved")
	r := roomNamed(t, ada, "Franklin")

	// A photo is saved at once: what is none is refused, a large one made smaller by the browser.
	file := filepath.Join(t.TempDir(), "room.png")
	upload := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.SetUploadFiles("input[name=photo]", []string{file}))
	}
	b.await("document.querySelector('input[name=photo]')")
	upload([]byte("no picture"))
	b.await("document.querySelector('#photo-fault')?.innerText.includes('PNG, JPEG or WebP')")
	upload(picture(t, 4500, 4000)) // more than the server takes
	b.told("Photo saved")
	b.await("document.querySelector('img.large')?.naturalWidth === 1280 && document.querySelector('img.large').alt === 'Photo of Franklin'")
	b.accessible("room with a photo")
	b.shot("room-photo")
	b.press("Remove photo")
	b.told("Photo removed")
	b.await("!document.querySelector('img.large')")
	upload(picture(t, 200, 100))
	b.await("document.querySelector('img.large')?.naturalWidth === 200")
	r = roomNamed(t, ada, "Franklin")
	if hours := r.Policy.OpeningHours; len(hours) != 1 || len(hours[0].Days) != 5 || hours[0].From != "07:30" || hours[0].To != "20:00" {
		t.Errorf("open %+v", hours)
	}
	if q := r.Policy.Quota; q == nil || q.Per != "week" || q.Count == nil || *q.Count != 3 {
		t.Errorf("quota %+v", q)
	}
	if r.Capacity != 12 || strings.Join(r.Features, " ") != "projector kitchen" || r.OwnZone == nil || *r.OwnZone != "Asia/Tokyo" ||
		r.Policy.MinDuration != "15m" || r.Policy.MaxDuration == nil || *r.Policy.MaxDuration != "1h" || !r.Approval.Required || len(r.Approval.ApproverIDs) != 1 {
		t.Errorf("made %+v", r)
	}

	// Somebody else changes it meanwhile: what differs is shown, and one decides.
	b.reads("Delete")
	b.idle() // it may read the room once more at its new address
	ada.Want(t, http.StatusOK, "PATCH", at("/rooms/%d", r.ID), with{"capacity": 20}, nil)
	b.fill("Floor", "9")
	b.press("Save")
	b.await("document.querySelector('.conflict')?.innerText.includes('up to 20 people')")
	b.accessible("conflict")
	b.shot("room-conflict")
	b.press("Overwrite with my version")
	b.told("Saved")
	b.await("!document.querySelector('.conflict')")
	if r = roomNamed(t, ada, "Franklin"); r.Capacity != 12 {
		t.Errorf("capacity %d, want that of the form", r.Capacity)
	}
	ada.Want(t, http.StatusOK, "PATCH", at("/rooms/%d", r.ID), with{"name": "Rosalind"}, nil)
	b.fill("Name", "Franklin II")
	b.press("Save")
	b.await("document.querySelector('.conflict')")
	b.press("Use their version")
	b.await("document.querySelector('#room input').value === 'Rosalind' && !document.querySelector('.conflict')")

	// A room that meetings need is not deleted, but can go out of service.
	turing := roomNamed(t, ada, "Turing")
	b.open(at("/admin/rooms/%d", turing.ID))
	b.press("Delete")
	b.reads("upcoming meeting")
	b.accessible("deleting")
	b.press("Take out of service")
	b.told("Saved")
	b.reads("Out of service: no new bookings")
	if roomNamed(t, ada, "Turing").Active {
		t.Error("Turing is still in service")
	}
	b.open(at("/admin/rooms/%d", r.ID))
	b.press("Delete")
	b.reads("This room has no upcoming meetings")
	b.click("[...document.querySelectorAll('dialog .danger')].at(-1)")
	b.await("location.pathname === '/admin/rooms' && document.querySelector('tbody tr')")
	ada.WantProblem(t, http.StatusNotFound, "not_found", "GET", at("/rooms/%d", r.ID), nil)

	// Filter, sort, many at once.
	b.choose("select[aria-label=Status]", "inactive")
	b.await("document.querySelectorAll('tbody tr').length === 1 && document.querySelector('tbody').innerText.includes('Turing')")
	b.choose("select[aria-label=Status]", "")
	b.press("Capacity")
	b.press("Capacity")
	b.await("document.querySelector('[aria-sort=descending]') && document.querySelector('tbody tr').innerText.includes('Hopper')")
	for _, name := range []string{"Turing", "Lovelace"} {
		b.strike(fmt.Sprintf("[aria-label='Select %s']", name), " ")
	}
	b.reads("2 selected")
	b.press("Change features")
	b.await("document.querySelector('dialog[open]')")
	b.fill("Add", "plants")
	b.key("\r")
	b.press("Update 2 rooms")
	b.told("2 rooms updated")
	for _, name := range []string{"Turing", "Lovelace"} {
		if r := roomNamed(t, ada, name); !strings.Contains(strings.Join(r.Features, " "), "plants") {
			t.Errorf("%s has %v", name, r.Features)
		}
	}
	b.strike("[aria-label='Select Turing']", " ")
	b.press("Put back in service")
	b.told("1 room updated")
	if !roomNamed(t, ada, "Turing").Active {
		t.Error("Turing is not in service")
	}

	// Rules of two rooms at once: what is left alone stays as each room has it.
	was := map[string]ruled{}
	for _, name := range []string{"Turing", "Lovelace"} {
		was[name] = roomNamed(t, ada, name)
		b.strike(fmt.Sprintf("[aria-label='Select %s']", name), " ")
	}
	b.press("Edit…")
	b.reads("Edit 2 rooms")
	b.await("hand.field('Opening hours') && hand.choose(hand.field('Opening hours'), 'week')")
	b.choose("dialog [data-day=MO] input[type=time]", "07:00")
	b.await("hand.choose(hand.field('Bookings need approval'), 'yes')")
	b.fill("Minimum notice", "3")
	b.accessible("several rooms")
	b.shot("rooms-edit")
	b.key(kb.Escape)
	b.says("Discard changes?")
	b.press("Keep editing")
	b.press("Update 2 rooms")
	b.told("2 rooms updated")
	for name, before := range was {
		r := roomNamed(t, ada, name)
		if hours := r.Policy.OpeningHours; len(hours) != 2 || hours[0].From != "07:00" || hours[1].From != "08:00" || len(hours[1].Days) != 4 {
			t.Errorf("%s is open %+v", name, hours)
		}
		if !r.Approval.Required || r.Capacity != before.Capacity || r.Policy.MinDuration != before.Policy.MinDuration {
			t.Errorf("%s was %+v and is %+v", name, before, r)
		}
	}
}

// TestPageAdminClosings: a site with its zone, a closing with the meetings in its way, one of
// which moves and the others are cancelled; and opened again.
func TestPageAdminClosings(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	b := adminTab(t, server, "/admin/sites")

	b.press("New site")
	b.await("document.querySelector('dialog[open]')")
	b.fill("Time zone", "Mars/Olympus")
	b.key("\r")
	b.faultOf("Name", "")
	b.faultOf("Time zone", "zone")
	b.accessible("site with faults")
	b.fill("Name", "Tokyo")
	b.fill("Time zone", "Asia/Tokyo")
	b.reads("Asia/Tokyo: it’s")
	b.key("\r")
	b.await("!document.querySelector('dialog[open]') && document.querySelector('tbody').innerText.includes('Tokyo')")
	var site struct{ ID, Version int64 }
	for _, s := range testenv.All[struct {
		ID, Version int64
		Name        string
	}](t, ada, "/sites") {
		if s.Name == "Tokyo" {
			site.ID, site.Version = s.ID, s.Version
		}
	}

	lab := ada.NewRoom(t, "Lab", with{"site_id": site.ID, "capacity": 6})
	other := ada.NewRoom(t, "Library", with{"site_id": site.ID, "capacity": 6})
	day := time.Now().AddDate(0, 0, 30).Format(time.DateOnly)
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	noon, err := time.ParseInLocation(time.DateOnly+" 15:04", day+" 12:00", tokyo)
	if err != nil {
		t.Fatal(err)
	}
	moves := ada.Book(t, testenv.Booking(noon, noon.Add(time.Hour), []int64{lab.ID}, with{"title": "Moves"}))
	goes := ada.Book(t, testenv.Booking(noon.Add(2*time.Hour), noon.Add(3*time.Hour), []int64{lab.ID}, with{"title": "Goes"}))

	b.open("/admin/blackouts")
	b.reads("No blackouts")
	b.press("New blackout")
	b.await("document.querySelector('dialog[open]')")
	b.press("Add blackout")
	b.faultOf("Room", "")
	b.choose("dialog select", fmt.Sprint(lab.ID))
	b.choose("dialog input[type=date]", day)
	b.reads("Times in Asia/Tokyo")
	b.fill("Reason", "New carpet")
	b.accessible("closing")
	b.key("\r")
	b.await("document.querySelectorAll('.affected li').length === 2")
	b.accessible("meetings in the way")
	b.shot("affected")
	b.press("Move: Moves")
	b.await("document.querySelector('.offer')?.innerText.includes('Library')")
	b.strike(".offer", "\r")
	b.reads("Moved to Library")
	b.press("Cancel: Goes")
	b.reads("All attendees are notified")
	if m := ada.Meeting(t, moves.ID); m.RoomIDs[0] != other.ID || !m.Start.Equal(moves.Start) {
		t.Errorf("moved to room %v at %v, want %d at the same time", m.RoomIDs, m.Start, other.ID)
	}
	if m := ada.Meeting(t, goes.ID); m.Status != "cancelled" {
		t.Errorf("it is %s", m.Status)
	}
	if h := ada.History(t, goes.ID); h[len(h)-1].Reason != "New carpet" {
		t.Errorf("cancelled because of %q", h[len(h)-1].Reason)
	}
	b.press("Done")
	b.await("!document.querySelector('dialog[open]') && document.querySelector('tbody').innerText.includes('New carpet')")
	var closing struct{ Start, End time.Time }
	closings := testenv.All[struct {
		ID         int64
		Start, End time.Time
	}](t, ada, "/blackouts")
	closing.Start, closing.End = closings[0].Start, closings[0].End
	if want := noon.Add(-12 * time.Hour); !closing.Start.Equal(want) || closing.End.Sub(want) != 24*time.Hour {
		t.Errorf("closed from %v for %v, want a day from %v", closing.Start, closing.End.Sub(closing.Start), want)
	}

	// Who was quicker is seen here, too.
	b.press("Edit: Lab")
	b.await("document.querySelector('dialog[open]')")
	ada.Want(t, http.StatusOK, "PATCH", at("/blackouts/%d", closings[0].ID), with{"reason": "New curtains"}, nil)
	b.fill("Reason", "New windows")
	b.press("Save")
	b.await("document.querySelector('.conflict')?.innerText.includes('New curtains')")
	b.press("Overwrite with my version")
	b.await("!document.querySelector('dialog[open]') && document.querySelector('tbody').innerText.includes('New windows')")
	b.press("Conflicting meetings: Lab")
	b.told("No conflicting meetings")
	b.press("Edit: Lab")
	b.await("document.querySelector('dialog[open]')")
	b.press("Remove blackout")
	b.reads("No blackouts")
}

// TestPageAdminPeople: a person is made, changed, away, disabled; sign-ins and tokens end.
func TestPageAdminPeople(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	b := adminTab(t, server, "/admin/people")

	b.press("New person")
	b.await("document.querySelector('#person')")
	b.choose("#person select[name=sign-in]", "password")
	b.fill("Password", "a long password")
	b.fill("Email", "not one")
	b.fill("Phone", "12")
	b.key("\r")
	b.faultOf("Name", "")
	b.faultOf("Email", "")
	b.faultOf("Phone", "")
	b.accessible("person with faults")
	b.fill("Name", "Marie Curie")
	b.fill("Email", "marie@example.org")
	b.fill("Phone", "+33 1 23456789")
	b.choose("#person select", "manager")
	b.press("Create")
	b.await(`/^\/admin\/people\/\d+$/.test(location.pathname)`)
	b.reads("Not signed in anywhere")
	marie := server.Login(t, "marie@example.org", "a long password")
	type person struct {
		ID       int64
		Role     string
		Disabled bool
		Version  int64
		Away     *struct {
			From, Until time.Time
			DeputyID    *int64 `json:"deputy_id"`
		}
	}
	var me person
	marie.Want(t, http.StatusOK, "GET", "/me", nil, &me)
	if me.Role != "manager" {
		t.Errorf("made as %s", me.Role)
	}

	// Away, with a deputy.
	b.open(at("/admin/people/%d", me.ID))
	b.await("document.querySelector('.away')")
	b.await("[...document.querySelectorAll('aside li')].some((l) => l.innerText.includes('Sign out'))")
	b.strike(".away input[type=checkbox]", " ")
	b.await("document.querySelectorAll('.away input[type=date]').length === 2")
	from := fmt.Sprintf("%d-01-15", time.Now().Year()+1) // 24 hours long everywhere
	eval[bool](b, `(() => { for (const e of document.querySelectorAll('.away input[type=date]')) {
		e.value = %q; e.dispatchEvent(new Event('input', { bubbles: true })) } return true })()`, from)
	b.await("document.querySelectorAll('.away option').length > 1")
	eval[bool](b, `(() => { const e = document.querySelector('.away select'); e.selectedIndex = 1; e.dispatchEvent(new Event('change', { bubbles: true })); return true })()`)
	b.accessible("person")
	b.press("Save")
	b.told("Saved")
	ada.Want(t, http.StatusOK, "GET", at("/users/%d", me.ID), nil, &me)
	if me.Away == nil || me.Away.Until.Sub(me.Away.From) != 24*time.Hour || me.Away.DeputyID == nil {
		t.Errorf("away %+v, want a day with a deputy", me.Away)
	}

	// Somebody was quicker.
	ada.Want(t, http.StatusOK, "PATCH", at("/users/%d", me.ID), with{"phone": "+4930999"}, nil)
	b.fill("Name", "Marie Skłodowska Curie")
	b.press("Save")
	b.await("document.querySelector('.conflict')?.innerText.includes('+4930999')")
	b.press("Use their version")
	b.await("!document.querySelector('.conflict')")

	// Her sign-in ends.
	b.strike("aside [aria-label^='Sign out']", "\r")
	b.told("Session signed out")
	marie.WantProblem(t, http.StatusUnauthorized, "unauthorized", "GET", "/me", nil)

	// A token of hers, for a topic; told once, and revoked.
	b.press("New token")
	b.await("document.querySelector('dialog[open]')")
	b.press("Create")
	b.faultOf("Name", "")
	b.await("document.querySelector('dialog fieldset .fault')")
	b.accessible("token with faults")
	b.fill("Name", "shop")
	b.strike("dialog input[value='topics:produce']", " ")
	b.fill("Only this topic", "orders")
	b.key("\r")
	b.await("document.querySelector('.secret code')")
	b.accessible("token")
	token := eval[string](b, "document.querySelector('.secret code').textContent")
	program := &testenv.Client{Base: server.URL, Token: token}
	program.Want(t, http.StatusCreated, "POST", "/topics/orders/jobs", with{"delay_ms": 3_600_000, "body": "x"}, nil)
	program.WantProblem(t, http.StatusForbidden, "forbidden", "POST", "/topics/others/jobs", with{"delay_ms": 1, "body": "x"})
	b.press("I’ve saved it")
	b.await("document.querySelector('tbody')?.innerText.includes('topics:produce:orders')")
	b.press("Revoke: shop")
	b.reads("Revoke shop?")
	b.click("[...document.querySelectorAll('dialog .danger')].at(-1)")
	b.told("Token revoked")
	program.WantProblem(t, http.StatusUnauthorized, "unauthorized", "GET", "/me", nil)

	// One's own, with described scopes.
	b.open("/admin/tokens")
	b.reads("These tokens act on your behalf")
	b.press("New token")
	b.await("document.querySelectorAll('dialog .scopes input').length > 8")
	b.fill("Name", "door sign")
	b.strike("dialog input[value='rooms:read']", " ")
	b.press("Create")
	b.await("document.querySelector('.secret code')")
	own := &testenv.Client{Base: server.URL, Token: eval[string](b, "document.querySelector('.secret code').textContent")}
	own.Want(t, http.StatusOK, "GET", "/rooms", nil, nil)
	own.WantProblem(t, http.StatusForbidden, "forbidden", "GET", "/users", nil)
	b.press("I’ve saved it")

	// Found, and disabled.
	b.open("/admin/people")
	b.await("document.querySelectorAll('tbody tr').length > 3")
	b.fillIn("input[type=search]", "curie")
	b.await("document.querySelectorAll('tbody tr').length === 1")
	b.press("Marie Curie")
	b.await("document.querySelector('#person')")
	b.press("Disable")
	b.await("document.querySelector('h2 .tag')")
	ada.Want(t, http.StatusOK, "GET", at("/users/%d", me.ID), nil, &me)
	if !me.Disabled {
		t.Error("she is not disabled")
	}

	// She has left, and is erased.
	var her struct{ Email string }
	ada.Want(t, http.StatusOK, "GET", at("/users/%d", me.ID), nil, &her)
	b.press("Record departure")
	b.reads("Upcoming meetings:")
	b.choose("dialog select[name=meetings]", "cancel")
	b.click("document.querySelector('dialog .button.danger')")
	b.reads("This person has left.")
	b.press("Erase person")
	b.fillIn("dialog input[name=typed]", her.Email)
	b.await("!document.querySelector('dialog .button.danger').disabled")
	b.click("document.querySelector('dialog .button.danger')")
	eventually(t, time.Now().Add(slack), "she is erased", func() bool {
		ada.Want(t, http.StatusOK, "GET", at("/users/%d", me.ID), nil, &her)
		return strings.HasSuffix(her.Email, "@erased.invalid")
	})
}

// TestPageAdminConfig: where each setting comes from, a file that is refused, and a file that
// is tried.
func TestPageAdminConfig(t *testing.T) {
	t.Parallel()
	server := demonstration(t)
	b := adminTab(t, server, "/admin/config")
	b.await("document.querySelector('dl')")
	b.fillIn("input[type=search]", "http.addr")
	b.await("document.querySelectorAll('dl > div').length === 1 && /line \\d|PUNCTUAL_HTTP_ADDR/.test(document.querySelector('dl').innerText)")
	b.await("document.querySelector('dl').innerText.includes('after a restart')")

	b.press("Test a config file")
	b.fill("File content", "bookng: {}")
	b.press("Preview changes")
	b.await("document.querySelector('.invalid')?.innerText.includes('did you mean booking')")
	b.accessible("a file that would be refused")
	eval[bool](b, `(() => { const e = document.querySelector('textarea'); e.value = 'booking:\n  reminders:\n    - { before: start, offset: 30m, channels: [email] }\n  limits: { max_duration: 20m }\n'
		e.dispatchEvent(new Event('input', { bubbles: true })); return true })()`)
	b.press("Preview changes")
	b.await("document.activeElement.classList.contains('plan')")
	b.reads("booking.limits.max_duration")
	b.await("/Rescheduled reminders\\s+[1-9]/.test(document.querySelector('.plan').innerText) && /would violate the new policies\\s+[1-9]/.test(document.querySelector('.plan').innerText)")
	b.accessible("a plan")
	b.shot("config-plan")

	file := server.Config(t)
	server.Configure(t, file+"\nlog: { level: loud }\n")
	b.await("document.querySelector('.refused')?.innerText.includes('loud') || (dispatchEvent(new Event('focus')), false)")
	b.accessible("a refused file")
	b.shot("config-refused")
	server.Configure(t, file)
	b.await("!document.querySelector('.refused') || (dispatchEvent(new Event('focus')), false)")
}

// TestPageAdminSections: on a phone, the sections of the administration are a menu, which the keyboard opens.
func TestPageAdminSections(t *testing.T) {
	t.Parallel()
	b := adminTab(t, demonstration(t), "/admin/rooms")
	b.size(phone)
	b.open("/admin/config")
	b.strike(".current", "\r")
	b.await("document.querySelector('#admin-sections.open')")
	b.accessible("sections")
	b.press("People")
	b.await("location.pathname === '/admin/people' && !document.querySelector('#admin-sections.open')")
}
