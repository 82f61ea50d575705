// Package leaving takes leave of users: what becomes of their meetings when they go, and of their data.
//
// [Service.Leave] disables a user and records a [Departure]. The delay job user.leave carries it out,
// some meetings at a time, by the rules of package meeting. It remembers how far it came, and what is done
// is done: after a crash it goes on.
//
// [Service.Erase] and [Service.EraseGuest] record an [Erasure]. The delay job user.erase replaces what
// identifies the person in all texts of all tables. It follows the schema, so that it covers new tables.
package leaving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"punctual/account"
	"punctual/account/fault"
	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/series"
	"punctual/meeting/waitlist"
)

// Choice is what becomes of the coming meetings of a user who leaves.
type Choice string

const (
	HandOver Choice = "hand_over" // another user organizes them
	Cancel   Choice = "cancel"
	Keep     Choice = "keep" // they take place as planned
)

// Departure is a user's leave.
type Departure struct {
	UserID    int64
	Meetings  Choice
	ToUserID  int64  // with [HandOver]; 0: nobody
	Reason    string // for attendees; empty: none
	By        Admin
	Total     int64 // coming meetings at the beginning
	CreatedAt time.Time
	Finished  time.Time // zero: not yet

	Left int64 // coming meetings that the user organizes now; once finished, those of before that are left

	version                   int64
	afterSeries, afterMeeting int64
}

// Incomplete reports whether a finished departure could not change all meetings.
func (d *Departure) Incomplete() bool {
	return !d.Finished.IsZero() && d.Meetings != Keep && d.Left > 0
}

// Admin is the user who ordered something.
type Admin struct {
	ID   int64
	Name string
}

// Duties are what a user still has to do.
type Duties struct {
	Meetings int64 // coming ones that the user organizes, dates of series included
	Series   int64 // of them
	Waits    int64 // places on waiting lists
	Rooms    int64 // for which the user approves
	Requests int64 // that wait for an approval in these rooms
}

// running is the error while a departure of the user is carried out.
func running(action string) error { return &meeting.StateError{State: "leaving", Action: action} }

// Scheduler adds messages to the queue.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
}

// Service takes leave of users.
type Service struct {
	Page int // series or meetings that the job handles at once; set before use

	Exports account.Limiter // of exports by the user who asks; set before use
	Log     *slog.Logger    // set before use

	// Files deletes files that mention a person; nil: there are none. Set before use.
	Files func(mentions func(text string) bool) error

	store     *Store
	accounts  *account.Service
	meetings  *booking.Service
	series    *series.Service
	waitlist  *waitlist.Service
	scheduler Scheduler
	now       func() time.Time
}

// NewService returns a service.
func NewService(store *Store, accounts *account.Service, meetings *booking.Service, recurring *series.Service, waiting *waitlist.Service, scheduler Scheduler, now func() time.Time) *Service {
	return &Service{Page: 100, store: store, accounts: accounts, meetings: meetings, series: recurring, waitlist: waiting, scheduler: scheduler, now: now}
}

// Plan is what [Service.Leave] does.
type Plan struct {
	Meetings Choice
	ToUserID int64
	Reason   string
}

// Preview returns what a user still has to do, and checks the plan. It writes nothing.
func (s *Service) Preview(ctx context.Context, userID int64, p Plan) (Duties, error) {
	if err := s.check(ctx, userID, p); err != nil {
		return Duties{}, err
	}
	return s.store.Duties(ctx, userID, s.instant())
}

// Leave disables the user, which ends sessions, tokens and feeds, and records the departure. It returns
// a [*meeting.StateError] while an earlier one is carried out, [account.ErrNotFound], or an
// [*fault.InvalidError].
func (s *Service) Leave(ctx context.Context, by Admin, userID int64, p Plan) (*Departure, error) {
	if err := s.check(ctx, userID, p); err != nil {
		return nil, err
	}
	if d, err := s.store.Departure(ctx, userID, s.instant()); err == nil && d.Finished.IsZero() {
		return nil, running("leave")
	} else if err != nil && !errors.Is(err, account.ErrNotFound) {
		return nil, err
	}
	if _, err := s.accounts.UpdateUser(ctx, userID, nil, account.UserPatch{Disabled: new(true)}); err != nil {
		return nil, err
	}
	d := &Departure{UserID: userID, Meetings: p.Meetings, ToUserID: p.ToUserID, Reason: p.Reason, By: by, CreatedAt: s.instant()}
	if err := s.store.Begin(ctx, d); err != nil {
		return nil, fmt.Errorf("user %d leaves: %w", userID, err)
	}
	s.scheduler.Schedule(ctx, d.message())
	return d, nil
}

// Departure returns the last departure of a user, with the zero CreatedAt if there is none.
// Without such a user it is [account.ErrNotFound].
func (s *Service) Departure(ctx context.Context, userID int64) (*Departure, error) {
	d, err := s.store.Departure(ctx, userID, s.instant())
	if !errors.Is(err, account.ErrNotFound) {
		return d, err
	}
	if _, err := s.accounts.User(ctx, userID); err != nil {
		return nil, err
	}
	return &Departure{UserID: userID}, nil
}

func (s *Service) check(ctx context.Context, userID int64, p Plan) error {
	if _, err := s.accounts.User(ctx, userID); err != nil {
		return err
	}
	var found fault.List
	if !slices.Contains([]Choice{HandOver, Cancel, Keep}, p.Meetings) {
		found.Add("body.meetings", "unknown_value", "must be hand_over, cancel or keep")
	}
	found.Text("body.reason", p.Reason, maxReason)
	switch {
	case p.Meetings != HandOver && p.ToUserID != 0:
		found.Add("body.to_user_id", "contradiction", "must be omitted unless meetings is hand_over")
	case p.Meetings != HandOver:
	case p.ToUserID == 0:
		found.Add("body.to_user_id", "required", "is required to hand meetings over")
	case p.ToUserID == userID:
		found.Add("body.to_user_id", "unknown_user", "must be another user")
	default:
		to, err := s.accounts.User(ctx, p.ToUserID)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			return err
		}
		if err != nil || !to.Active() || strings.HasSuffix(to.Email, doorDomain) {
			found.Add("body.to_user_id", "unknown_user", "must be an active user")
		}
	}
	return found.Err()
}

const (
	maxReason  = 1000
	doorDomain = "@door.invalid" // of [account.DoorEmail]
)

func (s *Service) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }
