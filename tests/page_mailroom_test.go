package tests

import (
	"testing"
	"time"

	"punctual/tests/testenv"
	"punctual/web"
)

// TestPageMailroom: an administrator gives a room an address, sees what it received and answered, releases
// a mail from quarantine and tries another one.
func TestPageMailroom(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	server := testenv.Server(t, testenv.Config{YAML: mailroomYAML, Mail: testenv.Mail(t)})
	admin := server.Admin(t)
	ada := admin.NewUser(t, "Ada", "member").User.Email
	admin.NewRoom(t, "Turing", with{"address": "turing"})
	const to = "turing@rooms.example.org"
	start := inSeconds(48 * 3600)
	deliver(t, server, to, invite{uid: "one", from: ada, to: to, start: start}.eml())
	eventually(t, time.Now().Add(slack), "the first mail is done", func() bool {
		return len(testenv.All[receivedMail](t, admin, "/mailroom/messages?state=done")) == 1
	})
	deliver(t, server, to, invite{uid: "two", from: ada, to: to, start: start}.eml())
	deliver(t, server, to, invite{uid: "three", from: ada, to: to, start: start.AddDate(0, 0, 1), proven: "none"}.eml())

	b := browse(t, server)
	b.signIn(testenv.AdminEmail, testenv.AdminPassword)
	b.open("/admin/mailroom")
	b.await("document.querySelectorAll('tr[data-mail]').length === 3 && document.querySelectorAll('tr[data-mail] .tag.good').length === 2")
	b.accessible("mailroom")
	b.shot("admin-mailroom")
	b.press("Open Review two")
	b.reads("Declined")
	b.accessible("mail")
	b.shot("admin-mail")
	b.press("Close")
	b.press("Open Review three")
	b.reads("Sender is not authenticated")
	b.press("Release")
	b.reads("Accepted")
	b.press("Close")

	deliver(t, server, to, invite{uid: "daily", from: ada, to: to, start: start.AddDate(0, 0, 7), rule: "RRULE:FREQ=DAILY;COUNT=3"}.eml())
	b.await("document.querySelectorAll('tr[data-mail]').length === 4")
	b.press("Open Review daily")
	b.click("[...document.querySelectorAll('dialog[open] a')].find((a) => a.innerText === 'Series: Review')")
	b.await("/^.meetings.\\d+$/.test(location.pathname) && document.querySelector('dialog[open] h2')?.innerText.includes('Review')")
	b.open("/admin/mailroom")

	b.press("Try a mail")
	b.await("document.querySelector('dialog[open] input[type=file]')")
	eml := invite{uid: "four", from: ada, to: to, start: start}.eml()
	eval[bool](b, `(() => {
		const chosen = new DataTransfer(), input = document.querySelector('dialog[open] input[type=file]')
		chosen.items.add(new File([%q], 'four.eml'))
		input.files = chosen.files
		return input.dispatchEvent(new Event('change', { bubbles: true }))
	})()`, eml)
	b.reads("Trusted")
	b.await("document.querySelector('dialog[open] .tag.bad')")
	b.accessible("trying a mail")
	b.shot("admin-mail-try")
	b.press("Close")
	b.size(phone)
	b.await("document.querySelector('tr[data-mail]').getBoundingClientRect().right <= innerWidth")
	b.shot("admin-mailroom-phone")
}
