package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/delayjob/failpoint"
	"punctual/meeting"
)

// transition is a timed change of status of many meetings at once. It checks only the version and
// the status. The engine's clock has already decided that the change is due.
type transition struct {
	job     string
	action  meeting.Action
	reached []meeting.Status // statuses in which it has taken effect or can no longer have one
	to      meeting.Status
	change  statement // of the refs in $1, at $2; returns the refs that it changed
}

// changes are its changes in the history, for a meeting that never started and for another.
func (t *transition) changes() []any {
	text := func(from meeting.Status) any {
		return `{"status":{"from":"` + string(from) + `","to":"` + string(t.to) + `"}}`
	}
	if t.to == meeting.InProgress {
		return []any{text(meeting.Confirmed), text(meeting.Confirmed)}
	}
	return []any{text(meeting.Confirmed), text(meeting.InProgress)}
}

var (
	start = transition{
		job: meeting.JobStart, action: meeting.ActionStarted, reached: []meeting.Status{meeting.InProgress, meeting.Ended}, to: meeting.InProgress,
		change: load("start"),
	}
	end = transition{
		// A meeting in progress that did not end is left to the job that releases no-shows.
		job: meeting.JobEnd, action: meeting.ActionEnded, reached: []meeting.Status{meeting.Ended, meeting.InProgress}, to: meeting.Ended,
		change: load("end"),
	}
)

var (
	recordTransition = load("record_transition") // SQLite
	getSchedules     = write(`SELECT id, schedule_version, status FROM meetings
		WHERE id ` + amongIDs)
)

func (s *Store) Start(ctx context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error) {
	return s.apply(ctx, &start, refs, micro(at))
}

func (s *Store) End(ctx context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error) {
	return s.apply(ctx, &end, refs, micro(at))
}

func (s *Store) apply(ctx context.Context, t *transition, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error) {
	// All callers lock the rows in the same order.
	sorted := slices.SortedFunc(slices.Values(refs), func(a, b meeting.Ref) int { return cmp.Compare(a.ID, b.ID) })
	var changed map[meeting.Ref]bool
	change := func(tx *gorm.DB) (err error) {
		changed, err = s.change(tx, t, sorted, at)
		return err
	}
	var err error
	if s.dialect == postgres {
		err = patiently(ctx, func() error { return change(s.db.WithContext(ctx)) }) // one statement
	} else {
		err = s.transaction(ctx, change)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %d meetings: %w", t.job, len(refs), err)
	}
	failpoint.Reach("transition.after", t.job)
	outcomes, err := s.outcomes(ctx, t, refs, changed)
	if err != nil {
		return nil, fmt.Errorf("%s of %d meetings: %w", t.job, len(refs), err)
	}
	return outcomes, nil
}

// change returns the refs that took effect.
func (s *Store) change(tx *gorm.DB, t *transition, refs []meeting.Ref, at time.Time) (map[meeting.Ref]bool, error) {
	rows := make([]row, len(refs))
	for i, r := range refs {
		rows[i] = row{"id": r.ID, "version": r.Version}
	}
	args := []any{table(rows), at}
	if s.dialect == postgres {
		args = append(append(args, string(t.action), t.job), t.changes()...)
	}
	changed := make(map[meeting.Ref]bool, len(refs))
	err := s.query(tx, func(rows *sql.Rows) error {
		var r meeting.Ref
		err := rows.Scan(&r.ID, &r.Version)
		changed[r] = true
		return err
	}, t.change, args...)
	if err != nil || s.dialect == postgres || len(changed) == 0 {
		return changed, err
	}
	failpoint.Reach("transition.middle", t.job)
	ids := make([]int64, 0, len(changed))
	for _, r := range refs {
		if changed[r] {
			ids = append(ids, r.ID)
		}
	}
	_, err = s.exec(tx, recordTransition, append([]any{s.ids(slices.Compact(ids)...), at, string(t.action), t.job}, t.changes()...)...)
	return changed, err
}

// outcomes reads the meetings whose refs did not take effect. Equal refs share their outcome.
func (s *Store) outcomes(ctx context.Context, t *transition, refs []meeting.Ref, changed map[meeting.Ref]bool) ([]meeting.Outcome, error) {
	outcomes := make([]meeting.Outcome, len(refs))
	var rest []int64
	for _, r := range refs {
		if !changed[r] {
			rest = append(rest, r.ID)
		}
	}
	if len(rest) == 0 {
		return outcomes, nil
	}
	now, err := s.schedules(s.db.WithContext(ctx), getSchedules, rest)
	if err != nil {
		return nil, err
	}
	for i, r := range refs {
		if changed[r] {
			continue
		}
		m, there := now[r.ID]
		switch {
		case !there || m.version != r.Version:
			outcomes[i] = meeting.Stale
		case slices.Contains(t.reached, m.status) || m.status == meeting.Confirmed: // past its end: only that has an effect
			outcomes[i] = meeting.Done
		default:
			outcomes[i] = meeting.Stale
		}
	}
	return outcomes, nil
}

type schedule struct {
	version int64
	status  meeting.Status
}

// schedules runs a query for id, version and status of meetings.
func (s *Store) schedules(tx *gorm.DB, q statement, ids []int64) (map[meeting.ID]schedule, error) {
	found := make(map[meeting.ID]schedule, len(ids))
	err := s.query(tx, func(rows *sql.Rows) error {
		var id meeting.ID
		var m schedule
		err := rows.Scan(&id, &m.version, &m.status)
		found[id] = m
		return err
	}, q, s.ids(ids...))
	return found, err
}
