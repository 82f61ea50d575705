package app

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/meeting"
	meetingstore "punctual/meeting/gormstore"
	"punctual/notify"
	ledger "punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// bury makes a message die, as a consumer would.
func bury(t *testing.T, a *Application, job, key string) {
	t.Helper()
	m := delayjob.Message{Job: job, Key: key, Version: 1, Due: time.Now().Add(-time.Second)}
	if _, err := a.queue.Add(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got, err := a.queue.Claim(t.Context(), 0, []delayjob.Want{{Job: job, Limit: 1, Lease: time.Minute, MaxAttempts: 1}})
	if err != nil || len(got.Messages) != 1 {
		t.Fatalf("claimed %+v, %v", got, err)
	}
	if errs := a.queue.Nack(t.Context(), delayjob.Return{Lease: got.Messages[0].Lease, How: delayjob.Bury}); errs != nil && errs[0] != nil {
		t.Fatal(errs)
	}
	m.Attempt = 1
	if err := a.deadLetters.RecordFailures(t.Context(), delayjob.Failure{Message: m, Error: "boom", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func TestNotification(t *testing.T) {
	to := meeting.Person{UserID: 3, Email: "a@example.org", Name: "A", Phone: "+4930", Locale: "zh", Timezone: "Asia/Shanghai"}
	at := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	n := notification(meeting.Notice{DedupeKey: "k", Kind: meeting.NoticeReminder, Channel: meeting.SMS, MeetingID: 9, To: to, Due: at, Expires: at.Add(time.Hour)})
	want := notify.Notification{
		DedupeKey: "k", Kind: notify.Reminder, Channel: notify.SMS, MeetingID: 9, Due: at, Expires: at.Add(time.Hour), State: notify.Pending, Version: 1,
		To:    notify.Recipient{UserID: 3, Name: "A", Address: "+4930", Locale: "zh", Timezone: "Asia/Shanghai"},
		Facts: n.Facts,
	}
	if d := cmp.Diff(want, n); d != "" {
		t.Error(d)
	}
	if n := notification(meeting.Notice{Channel: meeting.Email, To: to, Late: true}); n.To.Address != to.Email || n.State != notify.SkippedLate {
		t.Errorf("%+v", n)
	}
}

// Nothing is sent to users who are disabled, and without an answer whether they are, nothing at all.
func TestNoticeScreen_disabled(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		down := errors.New("the database is down")
		screen := noticeScreen{meetings: meetingstore.New(db.Gorm, nil), policy: func() notify.Policy { return notify.Policy{} }, now: time.Now, bounces: ledger.NewBounces(db.Gorm, nil).Marked, wishes: ledger.NewPreferences(db.Gorm, nil).Wishes, disabled: func(_ context.Context, ids []int64, emails []string) (map[int64]bool, map[string]bool, error) {
			if !slices.Equal(ids, []int64{7, 8}) || !slices.Equal(emails, []string{"Eve@example.org", "ann@example.org"}) {
				t.Errorf("asked for %v and %v", ids, emails)
			}
			return map[int64]bool{7: true}, map[string]bool{"eve@example.org": true, "ann@example.org": true}, down
		}}
		ns := []notify.Notification{
			{ID: 1, To: notify.Recipient{UserID: 7, Address: "old@example.org"}},
			{ID: 2, To: notify.Recipient{UserID: 8, Address: "ann@example.org"}}, // an address that was a disabled user's
			{ID: 3, To: notify.Recipient{Address: "Eve@example.org"}},
			{ID: 4, To: notify.Recipient{Address: "ann@example.org"}},
		}
		if _, err := screen.objections(t.Context(), ns); !errors.Is(err, down) {
			t.Errorf("%v, want %v", err, down)
		}
		down = nil
		got, err := screen.objections(t.Context(), ns)
		gone := notify.Objection{State: notify.Skipped, Reason: "not sent: the account is disabled"}
		if diff := cmp.Diff(map[int64]notify.Objection{1: gone, 3: gone, 4: gone}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// Mails whose addresses all bounced are skipped. If one of two bounced, the other gets the mail. Links that a person
// asked for are sent anyway.
func TestNoticeScreen_bounces(t *testing.T) {
	screen := noticeScreen{bounces: func(context.Context, []string) (map[string]notify.Bounce, error) {
		return map[string]notify.Bounce{"gone@example.org": {Reason: "5.1.1 secret"}, "old@example.org": {}}, nil
	}}
	mail := func(kind notify.Kind, to, cc string) notify.Notification {
		n := notify.Notification{ID: 1, Kind: kind, Channel: notify.Email, To: notify.Recipient{Address: to}}
		if cc != "" {
			n.Facts.Reply = &meeting.Reply{CC: cc}
		}
		return n
	}
	skipped := notify.Objection{State: notify.Skipped, Reason: "not sent: mail to this address bounced on 0001-01-01T00:00:00Z"}
	for name, c := range map[string]struct {
		n    notify.Notification
		want notify.Objection
	}{
		"marked":        {mail(notify.Invitation, "Gone@example.org", ""), skipped},
		"not marked":    {mail(notify.Invitation, "ada@example.org", ""), notify.Objection{}},
		"the recipient": {mail(notify.Reply, "Gone@example.org", "ada@example.org"), notify.Objection{Except: "Gone@example.org"}},
		"the copy":      {mail(notify.Reply, "ada@example.org", "gone@example.org"), notify.Objection{Except: "gone@example.org"}},
		"both":          {mail(notify.Reply, "old@example.org", "gone@example.org"), skipped},
		"a reset":       {mail(notify.PasswordReset, "gone@example.org", ""), notify.Objection{}},
		"a new user":    {mail(notify.InviteUser, "gone@example.org", ""), notify.Objection{}},
	} {
		got := map[int64]notify.Objection{}
		if err := screen.applyBounces(t.Context(), []notify.Notification{c.n}, got); err != nil || got[1] != c.want {
			t.Errorf("%s: %+v, %v", name, got[1], err)
		}
	}
}
