package app

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/notify"
)

// bury makes a message die, as a consumer would.
func bury(t *testing.T, a *application, job, key string) {
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
	if err := a.failures.RecordFailures(t.Context(), delayjob.Failure{Message: m, Error: "boom", At: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// The facts of a notice and of a notification are the same in JSON, so that none gets lost
// between the two areas.
func TestFacts_areTheSameOnBothSides(t *testing.T) {
	var in meeting.Facts
	fill(reflect.ValueOf(&in).Elem())
	want, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(facts(in))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Error(d)
	}
}

// fill sets every field to something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("text")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	default:
		panic("fill: " + v.Type().String())
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
