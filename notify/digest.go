package notify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"punctual/account/fault"
	"punctual/delayjob"
)

// JobDigest is the name of the delay job that records digests.
const JobDigest = "notify.digest"

// Period is what a digest covers.
type Period string

const (
	NoDigest      Period = "off"
	DigestToday   Period = "today"    // from the time of the digest until the end of the day
	DigestOfNext  Period = "tomorrow" // the next day
	DigestOfWeek  Period = "week"     // from the time of the digest on its weekday, seven days counting that day
	maxAgenda            = 50         // meetings that a digest lists
	minutesPerDay        = 24 * 60
)

// Periods returns all periods.
func Periods() []Period { return []Period{NoDigest, DigestToday, DigestOfNext, DigestOfWeek} }

// Digest says when a person receives a list of their meetings, in local time.
type Digest struct {
	Period  Period       // "": off
	At      int          // minutes after midnight
	Weekday time.Weekday // with DigestOfWeek
}

// zoneOf returns the time zone of a user.
func zoneOf(name string) *time.Location {
	if zone, err := fault.StoredZone(name); err == nil {
		return zone
	}
	return time.UTC
}

// Off reports whether there is no digest.
func (d Digest) Off() bool { return d.Period == "" || d.Period == NoDigest }

// Next returns when the first digest after an instant is due; zero: never. If clocks skip the time, it
// is due at the change. If they show it twice, it is due at the first pass.
func (d Digest) Next(after time.Time, zone *time.Location) time.Time {
	if d.Off() {
		return time.Time{}
	}
	for day := midnight(after.In(zone)); ; day = day.AddDate(0, 0, 1) {
		if d.Period == DigestOfWeek && day.Weekday() != d.Weekday {
			continue
		}
		if at := onClock(day, d.At, zone); at.After(after) {
			return at.UTC()
		}
	}
}

// Span returns the half-open interval that a digest covers which is due at an instant.
func (d Digest) Span(due time.Time, zone *time.Location) (from, to time.Time) {
	day := midnight(due.In(zone))
	ends := func(days int) time.Time { return onClock(day.AddDate(0, 0, days), 0, zone).UTC() }
	switch d.Period {
	case DigestOfNext:
		return ends(1), ends(2)
	case DigestOfWeek:
		return due, ends(7)
	default:
		return due, ends(1)
	}
}

// DueDigest is the position of a digest in the order of due times.
type DueDigest struct {
	UserID  int64
	Version int64
	Due     time.Time
}

// Subscription is a user's digest and what it needs to know of the user.
type Subscription struct {
	DueDigest
	Digest
	To     Recipient // Address is the email address
	Zone   string    // of the user when Due was computed
	Active bool      // whether the user may sign in
}

// DigestStore keeps the digests of users.
type DigestStore interface {
	// DueDigests lists at most n digests that are due in w, ordered by user, starting after one. A
	// window without a lower bound also contains those whose user has moved to another time zone.
	DueDigests(ctx context.Context, w delayjob.Window, after int64, n int) ([]DueDigest, error)

	// Subscription returns the digest of a user, or [ErrNotFound].
	Subscription(ctx context.Context, userID int64) (Subscription, error)

	// Digested records n, unless it is nil, and the next due time for a zone in one transaction. It
	// changes nothing and returns false if another process has done so. It sets the ID of n.
	Digested(ctx context.Context, s Subscription, n *Notification, next time.Time, zone string) (bool, error)
}

// Agenda returns the meetings in a half-open interval that a user organizes or is invited to and did
// not decline, in the order of their starts, without those that do not take place.
type Agenda func(ctx context.Context, userID int64, email string, from, to time.Time) ([]AgendaItem, error)

// Digests is the delay job that records a digest for each user who wants one. The key of a message is
// the ID of the user, its version that of the due time. A digest and the next due time are recorded in
// one transaction, so that a crash neither loses nor repeats one.
type Digests struct {
	Store     DigestStore
	Agenda    Agenda
	Scheduler Scheduler
	Now       func() time.Time
}

// Name implements [delayjob.DelayJob].
func (*Digests) Name() string { return JobDigest }

// Options implements [delayjob.Configurer]. There is no limit of attempts: the next digest would be lost too.
func (*Digests) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 4, MaxAttempts: -1, MaxRuntime: time.Minute, Backoff: delayjob.Backoff{Base: 2 * time.Second, Cap: 15 * time.Minute}}
}

// Message returns the message of a digest.
func (d DueDigest) Message() delayjob.Message {
	return delayjob.Message{Job: JobDigest, Key: strconv.FormatInt(d.UserID, 10), Version: d.Version, Due: d.Due}
}

// Load implements [delayjob.DelayJob].
func (j *Digests) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		for after := int64(0); ; {
			page, err := j.Store.DueDigests(ctx, w, after, loadPage)
			if err != nil {
				yield(delayjob.Message{}, fmt.Errorf("load due digests: %w", err))
				return
			}
			for _, d := range page {
				if !yield(d.Message(), nil) {
					return
				}
			}
			if len(page) < loadPage {
				return
			}
			after = page[len(page)-1].UserID
		}
	}
}

// Execute records the digest of a user, if there is anything in it, and when the next one is due. If
// the user has moved to another time zone, it only computes when that is.
func (j *Digests) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("invalid user %q", m.Key))
	}
	return j.digest(ctx, id, m.Version)
}

func (j *Digests) digest(ctx context.Context, userID, version int64) error {
	s, err := j.Store.Subscription(ctx, userID)
	switch {
	case errors.Is(err, ErrNotFound):
		return delayjob.Drop("no such digest")
	case err != nil:
		return err
	case s.DueDigest.Version != version || s.Due.IsZero():
		return delayjob.Drop("another digest is due")
	}
	now := j.Now()
	zone := zoneOf(s.To.Timezone)
	switch {
	case !now.Before(s.Due):
	case s.Zone != s.To.Timezone:
		_, err := j.Store.Digested(ctx, s, nil, s.Next(now, zone), s.To.Timezone)
		return err
	default:
		return delayjob.Drop("not due yet")
	}
	n, err := j.compose(ctx, s, now, zone)
	if err != nil {
		return err
	}
	recorded, err := j.Store.Digested(ctx, s, n, s.Next(now, zone), s.To.Timezone)
	if err != nil {
		return err
	}
	if recorded && n != nil && n.ID != 0 {
		j.Scheduler.Schedule(ctx, n.Message())
	}
	return nil
}

// compose returns the notification of a digest; nil: there is nothing to send. A late digest is sent as long
// as it is of use.
func (j *Digests) compose(ctx context.Context, s Subscription, now time.Time, zone *time.Location) (*Notification, error) {
	from, to := s.Span(s.Due, zone)
	if !s.Active || !now.Before(to) {
		return nil, nil
	}
	items, err := j.Agenda(ctx, s.UserID, s.To.Address, from, to)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	f := Facts{Timezone: s.To.Timezone, Rooms: []string{}, Reason: string(s.Period), Count: len(items), Agenda: items[:min(len(items), maxAgenda)]}
	f.Start, f.End = from, to
	return &Notification{
		// A user who moves to another time zone may be due twice on one date. Another period is another digest.
		DedupeKey: fmt.Sprintf("%s:%d:%s:%s", DigestMail, s.UserID, s.Period, s.Due.In(zone).Format(time.DateOnly)),
		Kind:      DigestMail, Channel: Email, To: s.To, Facts: f, Due: s.Due, Expires: to, State: Pending, Version: 1,
	}, nil
}
