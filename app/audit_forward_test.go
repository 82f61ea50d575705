package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/app/audit"
	"punctual/app/database"
	"punctual/app/syslog"
	"punctual/delayjob"
	"punctual/tests/testenv/testdb"
)

// Each entry that is written after forwarding began is sent once, also one whose transaction commits
// after a later one was sent. While the server cannot be reached, nothing is lost.
func TestAuditForward(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		l, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		to, err := syslog.Parse("udp://"+l.LocalAddr().String(), "")
		if err != nil {
			t.Fatal(err)
		}
		nowhere, err := syslog.Parse("unix:///nowhere/at/all", "")
		if err != nil {
			t.Fatal(err)
		}
		f := &auditForward{db: db.Gorm, name: "test", to: to}
		add := func(tx *gorm.DB, id string) {
			t.Helper()
			if err := audit.Add(tx, audit.Entry{Action: "room.changed", ID: id, Changes: map[string]audit.Change{"name": {To: id}}}); err != nil {
				t.Fatal(err)
			}
		}
		load := func() (ms []delayjob.Message) {
			t.Helper()
			for m, err := range f.Load(ctx, delayjob.Window{To: time.Now()}) {
				if err != nil {
					t.Fatal(err)
				}
				ms = append(ms, m)
			}
			return ms
		}
		count := func() int64 {
			t.Helper()
			r, err := f.begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return r.Sent
		}
		b := make([]byte, 10_000)
		run := func() (received []string) {
			t.Helper()
			for _, m := range load() {
				before := count()
				if err := f.Execute(ctx, m); err != nil {
					t.Fatal(err)
				}
				if err := f.Execute(ctx, m); count() > before && err == nil {
					t.Error("the same message sends again")
				}
				for range count() - before {
					n, _, err := l.ReadFrom(b)
					if err != nil {
						t.Fatal(err)
					}
					received = append(received, string(b[:n]))
				}
			}
			return received
		}
		// Transactions of other databases of the server delay what is sent.
		sent := func(want ...string) {
			t.Helper()
			var got []string
			for end := time.Now().Add(time.Minute); len(got) < len(want) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				got = append(got, run()...)
			}
			got = append(got, run()...)
			if len(got) != len(want) {
				t.Fatalf("want %s: %q", want, got)
			}
			for i, id := range want {
				if !strings.Contains(got[i], " room.changed - {") || !strings.Contains(got[i], `"changes":{"name":{"from":null,"to":"`+id+`"}}`) {
					t.Errorf("want %s: %s", id, got[i])
				}
			}
		}
		tx := db.Gorm.WithContext(ctx)
		add(tx, "before")
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			lines, _, err := audit.After(ctx, db.Gorm, audit.Place{}, 1)
			if err != nil || time.Now().After(end) {
				t.Fatal(lines, err)
			}
			if len(lines) > 0 {
				break
			}
		}
		sent()
		add(tx, "1")
		if db.Gorm.Name() == "postgres" { // SQLite has one writer at a time
			late := tx.Begin()
			add(late, "late")
			add(tx, "early")
			sent("1")
			sent()
			if err := late.Commit().Error; err != nil {
				t.Fatal(err)
			}
			sent("late", "early")
		} else {
			sent("1")
		}
		sent()

		add(tx, "2")
		add(tx, "3")
		f.to = nowhere
		var waiting []delayjob.Message
		for end := time.Now().Add(time.Minute); len(waiting) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			waiting = load()
		}
		if err := f.Execute(ctx, waiting[0]); err == nil || !strings.Contains(err.Error(), "syslog server") {
			t.Errorf("without a server: %v", err)
		}
		f.to = to
		sent("2", "3")
		sent()
	})
}

func TestExportAudit(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
		var entries []audit.Entry
		for i := range 1001 { // three pages
			entries = append(entries, audit.Entry{At: start.Add(time.Duration(i) * time.Second), Action: []string{"room.changed", "site.changed"}[i%2], ID: fmt.Sprint(i)})
		}
		if err := audit.Add(db.Gorm.WithContext(t.Context()), entries...); err != nil {
			t.Fatal(err)
		}
		a := &Application{db: db}
		export := func(from, to time.Time, actions ...string) (ids []string) {
			t.Helper()
			var out bytes.Buffer
			if err := a.ExportAudit(t.Context(), &out, from, to, actions...); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				var e auditEntry
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				ids = append(ids, e.Subject.ID)
			}
			return ids
		}
		all := export(time.Time{}, time.Time{})
		if len(all) != 1001 || all[0] != "1000" || all[1000] != "0" {
			t.Errorf("%d entries", len(all))
		}
		if got := export(start, start.Add(4*time.Second), "room.*"); !slices.Equal(got, []string{"2", "0"}) {
			t.Errorf("rooms within four seconds: %v", got)
		}
		broken := errors.New("the reader went away")
		if err := a.ExportAudit(t.Context(), failing{broken}, time.Time{}, time.Time{}); !errors.Is(err, broken) {
			t.Errorf("a writer that fails: %v", err)
		}
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.ExportAudit(canceled, &bytes.Buffer{}, time.Time{}, time.Time{}); err == nil {
			t.Error("goes on for nobody")
		}
	})
}

type failing struct{ error }

func (f failing) Write([]byte) (int, error) { return 0, f.error }
