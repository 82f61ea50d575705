package memqueue

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"punctual/delayjob"
)

// A journaled is a queue in a process that may die.
type journaled struct {
	*Queue
	t    *testing.T
	path string
}

func newJournaled(t *testing.T) *journaled {
	j := &journaled{t: t, path: filepath.Join(t.TempDir(), "held")}
	j.revive()
	return j
}

// revive starts the next process.
func (j *journaled) revive() {
	j.t.Helper()
	journal, err := OpenJournal(j.path, slog.New(slog.DiscardHandler))
	if err != nil {
		j.t.Fatal(err)
	}
	j.t.Cleanup(func() { _ = journal.Close() })
	j.Queue = New(WithJournal(journal))
}

func (j *journaled) add(keys ...string) {
	j.t.Helper()
	for _, k := range keys {
		j.addVersion(k, 1)
	}
}

func (j *journaled) addVersion(key string, version int64) {
	j.t.Helper()
	if _, err := j.Add(j.t.Context(), delayjob.Message{Job: "j", Key: key, Version: version, Due: time.Now().Add(-time.Minute), Body: []byte("body")}); err != nil {
		j.t.Fatal(err)
	}
}

func (j *journaled) claim(w delayjob.Want) delayjob.Claimed {
	j.t.Helper()
	w.Job, w.Limit, w.Lease = "j", 100, time.Minute
	c, err := j.Claim(j.t.Context(), 0, []delayjob.Want{w})
	if err != nil {
		j.t.Fatal(err)
	}
	return c
}

// told formats claimed messages as key, attempt and crashes.
func told(ms []delayjob.Message) (all []string) {
	for _, m := range ms {
		all = append(all, fmt.Sprint(m.Key, " ", m.Attempt, " ", m.Crashes))
	}
	slices.Sort(all)
	return all
}

func (j *journaled) wants(what string, got []delayjob.Message, want ...string) {
	j.t.Helper()
	if g := told(got); !slices.Equal(g, want) {
		j.t.Errorf("%s: %q, want %q", what, g, want)
	}
}

// A message that kills each process that runs it finally dies, as in any queue.
func TestJournal_poison(t *testing.T) {
	q := newJournaled(t)
	want := delayjob.Want{MaxAttempts: 2}
	for i, now := range []string{"bad 1 0", "bad 1 1", "bad 1 2", "bad 2 3"} {
		q.add("bad")
		q.wants(fmt.Sprint("process ", i+1), q.claim(want).Messages, now)
		q.revive()
	}
	q.add("bad")
	c := q.claim(want)
	q.wants("handed out again", c.Messages)
	q.wants("dead", c.Dead, "bad 2 4")
	q.revive()
	q.add("bad") // adding a dead message again starts anew
	q.wants("begun anew", q.claim(want).Messages, "bad 1 0")
}

// Only held messages count as crashed.
func TestJournal_held(t *testing.T) {
	q := newJournaled(t)
	q.add("held", "done", "back", "replaced", "removed", "cancelled", "another")
	leases := map[string]delayjob.Lease{}
	for _, m := range q.claim(delayjob.Want{}).Messages {
		leases[m.Key] = m.Lease
	}
	q.Ack(t.Context(), leases["done"])
	q.Nack(t.Context(), delayjob.Return{Lease: leases["back"], How: delayjob.Retry})
	q.addVersion("replaced", 2)
	if _, err := q.Remove(t.Context(), "j:removed"); err != nil {
		t.Fatal(err)
	}
	q.revive()

	q.add("waits", "held", "done", "back", "removed")
	q.addVersion("replaced", 2)
	q.addVersion("another", 2) // not the version that was held
	first := q.claim(delayjob.Want{}).Messages
	q.wants("after a crash", first, "another 1 0", "back 1 0", "done 1 0", "held 1 1", "removed 1 0", "replaced 1 0", "waits 1 0")
	if problems, err := q.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("Check: %v, %v", problems, err)
	}
	for _, m := range first {
		q.Nack(t.Context(), delayjob.Return{Lease: m.Lease, How: delayjob.Release})
	}
	if err := q.SetEpoch(t.Context(), "1"); err != nil { // forgets "cancelled"
		t.Fatal(err)
	}
	q.revive() // after all messages were returned
	q.add("held", "back", "cancelled")
	q.wants("after a stop", q.claim(delayjob.Want{}).Messages, "back 1 0", "cancelled 1 0", "held 1 1")
}

// Leases that end on purpose are not recorded.
func TestJournal_leasesOfOthers(t *testing.T) {
	q := newJournaled(t)
	q.add("a")
	q.wants("claimed", q.claim(delayjob.Want{ChargeExpired: true}).Messages, "a 1 0")
	q.revive()
	q.add("a")
	q.wants("after a crash", q.claim(delayjob.Want{ChargeExpired: true}).Messages, "a 1 0")
}

// A crash that tears the last line costs that line, and the file does not grow forever.
func TestJournal_file(t *testing.T) {
	q := newJournaled(t)
	q.add("a", "b")
	q.claim(delayjob.Want{})
	text, err := os.ReadFile(q.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(q.path, append(text, "+ 1 1 0 \"j:a"...), 0o600); err != nil {
		t.Fatal(err)
	}
	q.revive()
	q.add("a", "b")
	q.wants("after a torn line", q.claim(delayjob.Want{}).Messages, "a 1 1", "b 1 1")

	for i := range 500 {
		for k := range 100 {
			q.add(fmt.Sprintf("some message of many, %d of round %d", k, i))
		}
		var ls []delayjob.Lease
		for _, m := range q.claim(delayjob.Want{}).Messages {
			ls = append(ls, m.Lease)
		}
		if errs := q.Ack(t.Context(), ls...); errs != nil {
			t.Fatal(errs)
		}
	}
	info, err := os.Stat(q.path)
	if err != nil || info.Size() > 2*journalSize {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	q.revive()
	q.add("a", "b")
	q.wants("in the end", q.claim(delayjob.Want{}).Messages, "a 1 2", "b 1 2")
}

// If the journal cannot be written, messages are still handed out.
func TestJournal_cannotBeWritten(t *testing.T) {
	q := newJournaled(t)
	_ = q.journal.file.Close() // like a full disk
	q.add("a")
	q.wants("claimed", q.claim(delayjob.Want{}).Messages, "a 1 0")
	if q.journal.file != nil {
		t.Error("the file was not given up")
	}
	q.add("b")
	q.wants("claimed", q.claim(delayjob.Want{}).Messages, "b 1 0")
	if _, err := OpenJournal(filepath.Join(t.TempDir(), "no", "folder"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a journal in a folder that is not there")
	}
}
