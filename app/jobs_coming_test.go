package app

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"punctual/delayjob"
)

// loads is a strategy that has these due times to load, and counts how often it was asked.
type loads struct {
	due   []time.Time
	asked int
}

func (*loads) Name() string                                    { return "loads" }
func (*loads) Execute(context.Context, delayjob.Message) error { return nil }

func (l *loads) Load(_ context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	l.asked++
	return func(yield func(delayjob.Message, error) bool) {
		for _, d := range l.due {
			if w.Contains(d) && !yield(delayjob.Message{Job: "loads", Key: "1", Due: d}, nil) {
				return
			}
		}
	}
}

func TestComingHour(t *testing.T) {
	now := time.Date(2027, 2, 10, 9, 0, 30, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Truncate(time.Minute).Add(d) }
	l := &loads{due: []time.Time{at(-time.Hour), at(0), at(90 * time.Second), at(59*time.Minute + 59*time.Second), at(time.Hour), at(2 * time.Hour)}}
	c := &comingHour{jobs: []delayjob.DelayJob{l}, most: 10, now: func() time.Time { return now }}
	for range 2 { // the second answer is the first
		v, err := c.count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := v.Items[0].Minutes
		if !v.From.Equal(at(0)) || m[0] != 2 || m[1] != 1 || m[59] != 1 || v.Items[0].More {
			t.Errorf("from %s: %+v", v.From, v.Items[0])
		}
	}
	now = now.Add(comingFresh)
	c.most = 2
	v, err := c.count(t.Context())
	if err != nil || !v.Items[0].More || l.asked != 2 {
		t.Errorf("with a bound: %+v, asked %d times, %v", v.Items, l.asked, err)
	}
}

func TestDeadJobs_several(t *testing.T) {
	a, s := startApplication(t, nil)
	auth := []string{"Authorization", "Bearer " + signIn(t, a, s)}
	for _, key := range []string{"1", "2", "3", "4"} {
		deadLetter(t, a, "meeting.end", key, "boom "+key)
	}
	for _, c := range []struct{ method, path, body, says string }{
		{"GET", "/jobs/dead/meeting.end:1", "", `"meeting_id":1`},
		{"GET", "/jobs/dead/meeting.end:1", "", `"queued":true`},
		{"GET", "/jobs/dead?error_contains=BOOM%203", "", `"id":"meeting.end:3"`},
		{"POST", "/jobs/dead/discard", `{"ids":["meeting.end:1","meeting.end:9"]}`, `{"discarded":1}`},
		{"POST", "/jobs/dead/discard", `{"ids":["meeting.end:1"],"job":"meeting.end"}`, `"location":"body.ids"`},
		{"POST", "/jobs/dead/requeue", `{"ids":["meeting.end:2"]}`, `{"requeued":1}`},
		{"POST", "/jobs/dead/discard", `{"error_contains":"boom 3"}`, `{"discarded":1}`},
		{"POST", "/jobs/dead/discard", `{}`, `{"discarded":1}`},
		{"GET", "/jobs/dead", "", `"items":[]`},
		{"GET", "/jobs", "", `"mode":"memory"`},
		{"GET", "/jobs/meeting.end/messages?state=ready", "", `"id":"meeting.end:2"`},
		{"GET", "/jobs/nothing/messages", "", `"code":"not_found"`},
		{"GET", "/jobs/coming", "", `"job":"meeting.start"`},
	} {
		if res := send(t, s, c.method, "/api/v1"+c.path, c.body, auth...); !strings.Contains(res.body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, res.status, res.body)
		}
	}
}
