package leaving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"punctual/account"
	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/series"
	"punctual/notify"
)

// JobLeave carries out departures. Its key is the user.
const JobLeave = "user.leave"

func (d *Departure) message() delayjob.Message {
	return delayjob.Message{Job: JobLeave, Key: strconv.FormatInt(d.UserID, 10), Version: d.version, Due: d.CreatedAt}
}

const loadPage = 100

type job struct {
	*Service
	down func(error) bool
}

// Job returns the delay job user.leave. down reports whether an error means that the database is down.
func (s *Service) Job(down func(error) bool) delayjob.DelayJob { return &job{s, down} }

func (*job) Name() string { return JobLeave }

// Options: a departure that is interrupted goes on, however often.
func (*job) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 1, MaxRuntime: time.Minute, MaxAttempts: -1}
}

func (j *job) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		var after *Departure
		for {
			due, err := j.store.Due(ctx, w.To, after, loadPage)
			if err != nil {
				yield(delayjob.Message{}, err)
				return
			}
			for _, d := range due {
				if !yield(d.message(), nil) {
					return
				}
				after = d
			}
			if len(due) < loadPage {
				return
			}
		}
	}
}

// Execute handles some series or meetings, and is called again until none is left. If it is
// interrupted, those are looked at again; what was done shows in them.
func (j *job) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("invalid user key %q", m.Key))
	}
	d, err := j.store.Departure(ctx, id, j.instant())
	switch {
	case errors.Is(err, account.ErrNotFound):
		return delayjob.Drop("no such departure")
	case err == nil && (d.version != m.Version || !d.Finished.IsZero()):
		return delayjob.Drop("carried out before")
	}
	more := false
	if err == nil {
		more, err = j.step(ctx, d)
	}
	if err == nil && more {
		return delayjob.Snooze(10 * time.Millisecond)
	}
	return err
}

// step handles the next series, or else the next meetings. It reports whether there may be more.
func (j *job) step(ctx context.Context, d *Departure) (more bool, err error) {
	var series, meetings []int64
	if d.Meetings != Keep {
		if series, err = j.store.NextSeries(ctx, d, j.instant(), j.Page); err == nil && len(series) == 0 {
			meetings, err = j.store.NextMeetings(ctx, d, j.instant(), j.Page)
		}
	}
	if err != nil {
		return false, err
	}
	if len(series)+len(meetings) == 0 {
		return false, j.finish(ctx, d)
	}
	by := meeting.Actor{Kind: meeting.ActorUser, ID: d.By.ID, Name: d.By.Name, Role: meeting.Admin, Calendar: true, Leaving: true}
	for _, id := range series {
		if err := j.passes(ctx, d, "series_id", id, j.ofSeries(ctx, by, d, id)); err != nil {
			return false, err
		}
		d.afterSeries = id
	}
	for _, id := range meetings {
		if err := j.passes(ctx, d, "meeting_id", id, j.ofMeeting(ctx, by, d, meeting.ID(id))); err != nil {
			return false, err
		}
		d.afterMeeting = id
	}
	return true, j.store.Progress(ctx, d)
}

// passes returns errors that another try may help against. Others leave the meeting as it is: the
// departure shows that it is left.
func (j *job) passes(ctx context.Context, d *Departure, kind string, id int64, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil || j.down(err) {
		return err
	}
	j.Log.Warn("a meeting of a user who left stays as it is", "user_id", d.UserID, kind, id, "error", err)
	return nil
}

func (j *job) ofSeries(ctx context.Context, by meeting.Actor, d *Departure, id int64) (err error) {
	if d.Meetings == Cancel {
		_, err = j.series.Cancel(ctx, by, id, nil, meeting.ScopeAll, nil, d.Reason)
		return err
	}
	_, err = j.series.Update(ctx, by, id, nil, series.Fields{Fields: d.fields(), Scope: meeting.ScopeAll})
	return err
}

func (j *job) ofMeeting(ctx context.Context, by meeting.Actor, d *Departure, id meeting.ID) (err error) {
	if d.Meetings == Cancel {
		_, err = j.meetings.Cancel(ctx, by, id, nil, d.Reason)
		return err
	}
	_, err = j.meetings.Update(ctx, by, id, nil, d.fields())
	return err
}

// handoverReason is the reason for overridden rules, which must have one, unless the admin gave one.
const handoverReason = "the organizer has left"

// fields hand a meeting over, whatever quotas and other rules say.
func (d *Departure) fields() booking.Fields {
	reason := cmp.Or(strings.TrimSpace(d.Reason), handoverReason)
	return booking.Fields{Organizer: &booking.OrganizerRef{UserID: d.ToUserID}, Override: &meeting.Override{Reason: reason}}
}

func (j *job) finish(ctx context.Context, d *Departure) error {
	waits, err := j.store.OpenWaits(ctx, d.UserID)
	if err != nil {
		return err
	}
	system := meeting.Actor{Kind: meeting.ActorSystem, Name: JobLeave}
	for _, id := range waits {
		if err := j.passes(ctx, d, "waitlist_id", id, j.waitlist.Leave(ctx, system, id, nil)); err != nil {
			return err
		}
	}
	mail, err := j.summary(ctx, d)
	if err != nil {
		return err
	}
	if err := j.store.Finish(ctx, d, j.instant(), mail); err != nil {
		return err
	}
	if d.Meetings != Keep && d.Left > 0 {
		j.Log.Warn("departure incomplete", "user_id", d.UserID, "left", d.Left, "total", d.Total)
	}
	for _, n := range mail {
		if n.ID != 0 {
			j.scheduler.Schedule(ctx, n.Message())
		}
	}
	return nil
}

// summary is the mail for the user who takes over, instead of one for each meeting.
func (j *job) summary(ctx context.Context, d *Departure) ([]notify.Notification, error) {
	taken := int(d.Total - d.Left)
	if d.Meetings != HandOver || taken <= 0 {
		return nil, nil
	}
	from, err := j.accounts.User(ctx, d.UserID)
	if err != nil {
		return nil, err
	}
	to, err := j.accounts.User(ctx, d.ToUserID)
	if err != nil {
		return nil, err
	}
	return []notify.Notification{{
		DedupeKey: fmt.Sprintf("%s:%d:%d", notify.Handover, d.UserID, d.version),
		Kind:      notify.Handover,
		Channel:   notify.Email,
		To:        notify.Recipient{UserID: to.ID, Name: to.Name, Address: to.Email, Locale: to.Locale, Timezone: to.Timezone},
		Facts:     notify.Facts{By: d.By.Name, Organizer: notify.Contact{Name: from.Name}, Count: taken, Timezone: to.Timezone},
		Due:       j.instant(),
		State:     notify.Pending,
		Version:   1,
	}}, nil
}
