package gormstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// pages reads everything that is due in pages of a size.
func (f *fixture) pages(job string, from, to time.Time, size int) []meeting.Due {
	f.Helper()
	var all []meeting.Due
	var after meeting.DueCursor
	for {
		page, err := f.store.Due(f.Context(), job, from, to, after, size)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, page...)
		if len(page) < size {
			return all
		}
		after = page[len(page)-1].Cursor
	}
}

func keys(due []meeting.Due) []string {
	ks := make([]string, len(due))
	for i, d := range due {
		ks[i] = fmt.Sprintf("%s v%d %s", d.Key, d.Version, d.Due.Format("15:04"))
	}
	return ks
}

func TestDue(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		a := f.book(slot("09:00", "10:00"), f.turing)
		b := f.book(slot("09:00", "11:00"), f.hopper) // at the same instant
		c := f.book(slot("12:00", "13:00"), f.turing)
		f.change(c.ID, reschedule(f, terms(slot("12:30", "13:00"), f.turing)))
		gone := f.book(slot("14:00", "15:00"), f.turing)
		f.change(gone.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		asked := f.room("Asked", func(r *meeting.Room) { r.Approval.Required = true })
		request := f.book(slot("09:30", "10:00"), asked)
		if _, err := f.store.Start(t.Context(), []meeting.Ref{{ID: b.ID, Version: 1}}, at("09:00")); err != nil {
			t.Fatal(err)
		}

		key := func(m *meeting.Meeting, version int, due string) string {
			return fmt.Sprintf("%d v%d %s", m.ID, version, due)
		}
		reminder := func(m *meeting.Meeting, version int, due string) string {
			return fmt.Sprintf("%d:start:900 v%d %s", m.ID, version, due)
		}
		day := at("23:00")
		for _, size := range []int{1, 2, 100} {
			f.want("start", keys(f.pages(meeting.JobStart, time.Time{}, day, size)), []string{key(a, 1, "09:00"), key(c, 2, "12:30")})
			f.want("end", keys(f.pages(meeting.JobEnd, time.Time{}, day, size)), []string{key(a, 1, "10:00"), key(b, 1, "11:00"), key(c, 2, "13:00")})
			f.want("expire", keys(f.pages(meeting.JobExpire, time.Time{}, day, size)), []string{key(request, 1, "09:30")})
			f.want("remind", keys(f.pages(meeting.JobRemind, time.Time{}, day, size)), []string{reminder(a, 1, "08:45"), reminder(b, 1, "08:45"), reminder(c, 2, "12:15")})
		}
		f.want("to is included", keys(f.pages(meeting.JobEnd, time.Time{}, at("11:00"), 1)), []string{key(a, 1, "10:00"), key(b, 1, "11:00")})
		f.want("from is not", keys(f.pages(meeting.JobEnd, at("10:00"), at("11:00"), 1)), []string{key(b, 1, "11:00")})

		dead := func(job, key string, version int) {
			f.sql("INSERT INTO job_failures (job, key, version, attempts, error, dead_at) VALUES (?, ?, ?, 8, 'x', ?)", job, key, version, now)
		}
		dead(meeting.JobEnd, fmt.Sprint(a.ID), 1)
		dead(meeting.JobEnd, fmt.Sprint(c.ID), 1) // of an older schedule
		dead(meeting.JobStart, fmt.Sprint(b.ID), 1)
		dead(meeting.JobRemind, fmt.Sprintf("%d:start:900", a.ID), 1)
		f.want("without the dead", keys(f.pages(meeting.JobEnd, time.Time{}, day, 2)), []string{key(b, 1, "11:00"), key(c, 2, "13:00")})
		f.want("reminders without the dead", keys(f.pages(meeting.JobRemind, time.Time{}, day, 2)), []string{reminder(b, 1, "08:45"), reminder(c, 2, "12:15")})

		if _, err := f.store.Due(t.Context(), "other", time.Time{}, day, meeting.DueCursor{}, 1); err == nil {
			t.Error("an unknown job has something due")
		}
	})
}

// What the store's messages say and what the loader reads is the same.
func TestDue_agreesWithMessages(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for i := range 5 {
			f.book(clock.Slot{Start: at("09:00").AddDate(0, 0, i), End: at("10:00").AddDate(0, 0, i)}, f.turing)
		}
		f.book(slot("09:00", "10:00"), f.room("Asked", func(r *meeting.Room) { r.Approval.Required = true }))
		var want, got []string
		for id := range int64(6) {
			for _, m := range f.read(id + 1).Messages() {
				want = append(want, fmt.Sprint(m.Job, m.Key, m.Version, m.Due.UnixMicro()))
			}
		}
		for _, job := range []string{meeting.JobStart, meeting.JobEnd, meeting.JobExpire, meeting.JobRemind, meeting.JobApprovalRemind, meeting.JobEscalate} {
			for _, d := range f.pages(job, time.Time{}, at("09:00").AddDate(1, 0, 0), 3) {
				got = append(got, fmt.Sprint(job, d.Key, d.Version, d.Due.UnixMicro()))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		f.want("due", got, want)
	})
}

// The loader's pages come from the partial indexes: a full scan every minute would not do.
func TestDue_usesTheIndexes(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		rows := 20_000 // so many that Postgres prefers an index
		if f.db.Dialect == "sqlite" {
			rows = 3_000
		}
		f.bulk(rows)
		f.sql("INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at) SELECT id, 'start', 900, '[\"email\"]', starts_at FROM meetings")
		f.sql("UPDATE meetings SET status = 'ended' WHERE id > 100")
		f.sql("UPDATE meeting_reminders SET handled_at = due_at WHERE meeting_id > 100")
		f.sql(`INSERT INTO approvals (meeting_id, number, waiting, level, asked_at, deadline, remind_at, escalate_at)
			SELECT id, 1, id <= 100, 1, starts_at, starts_at, starts_at, starts_at FROM meetings`)
		f.sql("ANALYZE")
		for job, index := range map[string]string{
			meeting.JobStart: "meetings_start_due", meeting.JobEnd: "meetings_end_due",
			meeting.JobExpire: "approvals_deadline", meeting.JobApprovalRemind: "approvals_remind", meeting.JobEscalate: "approvals_escalate", meeting.JobRemind: "meeting_reminders_due",
		} {
			for _, from := range []time.Time{{}, now} {
				for _, after := range []meeting.DueCursor{{}, {Due: now, ID: 5, Sub: "start:900"}} {
					plan := f.explain(job, from, after)
					if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan on meeting") || strings.Contains(plan, "TEMP B-TREE") {
						t.Errorf("%s from %v after %v:\n%s", job, from, after, plan)
					}
				}
			}
		}
	})
}

func (f *fixture) explain(job string, from time.Time, after meeting.DueCursor) string {
	f.Helper()
	q, args, err := f.store.DueStatement(job, from, at("23:00"), after, 1000)
	if err != nil {
		f.Fatal(err)
	}
	explain, columns := "EXPLAIN ", 1
	if f.db.Dialect == "sqlite" {
		explain, columns = "EXPLAIN QUERY PLAN ", 4
	}
	rows, err := f.db.SQL.QueryContext(f.Context(), explain+q, args...)
	if err != nil {
		f.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		line := make([]string, columns)
		to := make([]any, columns)
		for i := range line {
			to[i] = &line[i]
		}
		if err := rows.Scan(to...); err != nil {
			f.Fatal(err)
		}
		plan = append(plan, line[columns-1])
	}
	if err := rows.Err(); err != nil {
		f.Fatal(err)
	}
	return strings.Join(plan, "\n")
}
