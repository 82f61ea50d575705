package app

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	"punctual/delayjob/memqueue"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// deadLetter makes one, in the queue and with a record of its error; without one if that is "".
func deadLetter(t *testing.T, a *Application, job, key, text string) {
	t.Helper()
	m := delayjob.Message{Job: job, Key: key, Version: 1, Due: time.Now().Add(-time.Minute)}
	if _, err := a.queue.Add(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got, err := a.queue.Claim(t.Context(), delayjob.ShardOf(key, a.queue.Shards()), []delayjob.Want{{Job: job, Limit: 1, Lease: time.Minute}})
	if err != nil || len(got.Messages) != 1 {
		t.Fatal(got, err)
	}
	if errs := a.queue.Nack(t.Context(), delayjob.Return{Lease: got.Messages[0].Lease, How: delayjob.Bury}); errs != nil {
		t.Fatal(errs)
	}
	if text == "" {
		return
	}
	if err := a.deadLetters.RecordFailures(t.Context(), delayjob.Failure{Message: got.Messages[0], Error: text, At: got.Now}); err != nil {
		t.Fatal(err)
	}
}

func TestDeadLetters_overHTTP(t *testing.T) {
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		t.Run(string(dialect), func(t *testing.T) {
			a, s := startApplication(t, func(c *config.Config) { c.Database.URL = testdb.URL(t, dialect) })
			auth := []string{"Authorization", "Bearer " + signIn(t, a, s)}
			left := func(want ...string) {
				t.Helper()
				var list struct{ Items []struct{ ID string } }
				res := send(t, s, "GET", "/api/v1/jobs/dead", "", auth...)
				if err := json.Unmarshal([]byte(res.body), &list); err != nil {
					t.Fatal(res.body)
				}
				var got []string
				for _, i := range list.Items {
					got = append(got, i.ID)
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("dead letters %v, want %v", got, want)
				}
			}
			state := func(id string, want delayjob.State) {
				t.Helper()
				i, err := a.queue.Get(t.Context(), id)
				if err != nil && !errors.Is(err, delayjob.ErrNotFound) || i.State != want {
					t.Errorf("%s is %q, %v; want %q", id, i.State, err, want)
				}
			}
			deadLetter(t, a, "notify.email", "1", "451 Mailbox 100% full")
			deadLetter(t, a, "notify.email", "2", "554 spam")
			deadLetter(t, a, "notify.sms", "3", "no credit")
			deadLetter(t, a, "notify.sms", "4", "")
			deadLetter(t, a, "meeting.end", "5", "odd")
			deadLetter(t, a, "meeting.end", "6", "")

			if res := send(t, s, "DELETE", "/api/v1/jobs/dead/meeting.end:5", "", auth...); res.status != 204 {
				t.Errorf("discard: %d %s", res.status, res.body)
			}
			if res := send(t, s, "DELETE", "/api/v1/jobs/dead/meeting.end:6", "", auth...); res.status != 204 {
				t.Errorf("discard what has no record: %d %s", res.status, res.body)
			}
			if res := send(t, s, "DELETE", "/api/v1/jobs/dead/meeting.end:5", "", auth...); res.status != 404 {
				t.Errorf("twice: %d %s", res.status, res.body)
			}
			left("notify.email:1", "notify.email:2", "notify.sms:3")
			state("meeting.end:5", delayjob.StateAbsent)
			state("meeting.end:6", delayjob.StateAbsent)
			if f, err := a.deadLetters.Get(t.Context(), "meeting.end:6"); err != nil || f.DiscardedAt == nil {
				t.Errorf("the loader would revive it: %+v %v", f, err)
			}

			for _, c := range []struct {
				body string
				n    int
				left []string
			}{
				{`{"error_contains":"100% FULL"}`, 1, []string{"notify.email:2", "notify.sms:3"}},
				{`{"error_contains":"5_4"}`, 0, []string{"notify.email:2", "notify.sms:3"}},
				{`{"error_contains":"\\"}`, 0, []string{"notify.email:2", "notify.sms:3"}},
				{`{"error_contains":"spam","job":"notify.sms"}`, 0, []string{"notify.email:2", "notify.sms:3"}},
				{`{"job":"notify.sms"}`, 2, []string{"notify.email:2"}},
				{`{}`, 1, nil},
				{`{}`, 0, nil},
			} {
				res := send(t, s, "POST", "/api/v1/jobs/dead/requeue", c.body, auth...)
				var out struct{ Requeued int }
				if err := json.Unmarshal([]byte(res.body), &out); err != nil || res.status != 200 || out.Requeued != c.n {
					t.Errorf("%s: %d %s", c.body, res.status, res.body)
				}
				left(c.left...)
			}
			for _, id := range []string{"notify.email:1", "notify.email:2", "notify.sms:3", "notify.sms:4"} {
				state(id, delayjob.StateReady)
			}
			for body, location := range map[string]string{
				`{"job":"notify.emial"}`:        "body.job",
				`{"error_contains":""}`:         "body.error_contains",
				`{"error_contains":"a\u0000b"}`: "body.error_contains",
				``:                              "body",
			} {
				res := send(t, s, "POST", "/api/v1/jobs/dead/requeue", body, auth...)
				if res.status != 422 || len(res.Errors) != 1 || res.Errors[0].Location != location {
					t.Errorf("%s: %d %s", body, res.status, res.body)
				}
			}
		})
	}
}

// A flush takes dead letters out of the queue; their records bring them back.
func TestDeadLetters_afterAFlush(t *testing.T) {
	a, _ := startApplication(t, nil)
	deadLetter(t, a, "notify.email", "1", "refused")
	deadLetter(t, a, "notify.email", "2", "refused")
	empty := memqueue.New()
	d := &admin.DeadLetters{Records: a.deadLetters, Queue: empty}
	if err := d.Requeue(t.Context(), "notify.email:1"); err != nil {
		t.Fatal(err)
	}
	if i, err := empty.Get(t.Context(), "notify.email:1"); err != nil || i.State != delayjob.StateReady || i.Version != 1 {
		t.Errorf("%+v %v", i, err)
	}
	if err := d.Discard(t.Context(), "notify.email:2"); err != nil {
		t.Fatal(err)
	}
	if err := d.Requeue(t.Context(), "notify.email:2"); err != nil {
		t.Errorf("a discarded one: %v", err)
	}
	if err := d.Requeue(t.Context(), "notify.email:2"); !errors.Is(err, delayjob.ErrNotFound) {
		t.Errorf("what is no dead letter: %v", err)
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
