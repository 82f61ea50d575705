package tests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestBounces: after the mail server refused an address as unknown, nothing more is sent to it, until an admin
// allows it again. Other recipients get their mails.
func TestBounces(t *testing.T) {
	t.Parallel()
	mail := testenv.Mail(t)
	mail.OnRcpt(func(to string) testenv.Answer {
		if strings.EqualFold(to, "gone@example.org") {
			return testenv.Answer{Code: 550, Bad: true}
		}
		return testenv.Answer{}
	})
	server := testenv.Server(t, testenv.Config{Mail: mail})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	guests := with{"attendees": []any{with{"email": "Gone@example.org", "name": "Gone"}, with{"email": "fine@example.org", "name": "Fine"}}}
	invite := func(hours int, gone, fine string) (toGone testenv.Notification) {
		t.Helper()
		start := inSeconds(3600 * hours)
		m := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, guests))
		eventually(t, time.Now().Add(time.Minute), "concluded", func() bool {
			states := map[string]string{}
			for _, n := range admin.Notifications(t, m.ID) {
				address := strings.ToLower(n.Address)
				if states[address] = n.State; address == "gone@example.org" {
					toGone = n
				}
			}
			return states["gone@example.org"] == gone && states["fine@example.org"] == fine
		})
		return toGone
	}
	type bounce struct {
		ID              int64
		Address, Source string
	}
	bounces := func() []bounce { return testenv.All[bounce](t, admin, "/notifications/bounces?q=GONE") }

	invite(1, "failed", "sent")
	marked := bounces()
	if len(marked) != 1 || marked[0].Address != "gone@example.org" || marked[0].Source != "smtp" {
		t.Fatalf("marked %+v", marked)
	}
	skipped := invite(3, "skipped", "sent")
	if !strings.Contains(skipped.LastError, "bounced on ") || strings.Contains(skipped.LastError, "5.1.1") {
		t.Errorf("skipped because %q", skipped.LastError)
	}

	mail.OnRcpt(nil) // the mailbox exists now
	admin.Want(t, http.StatusNoContent, http.MethodDelete, at("/notifications/bounces/%d", marked[0].ID), nil, nil)
	admin.Want(t, http.StatusNotFound, http.MethodDelete, at("/notifications/bounces/%d", marked[0].ID), nil, nil)
	invite(5, "sent", "sent")
	if left := bounces(); len(left) > 0 {
		t.Errorf("marked %+v", left)
	}
}
