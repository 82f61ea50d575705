package booking

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
)

// Service implements the use cases of meetings for users and jobs, with permissions, rules and
// effects. Safe for concurrent use.
//
// Returned meetings have the current status and only what the actor may see. Errors are those of
// errors.go; any other is a failure of the store or the directory.
type Service struct {
	store     Store
	directory Directory
	scheduler Scheduler
	settings  func() meeting.Settings
	now       func() time.Time
	log       *slog.Logger
	unknown   sync.Map // names of time zones that were logged
	fields    knownFields
}

// Scheduler adds timed events to the queue after the commit that created them. It is best effort
// and must not block for long: the loader adds what it misses.
type Scheduler interface {
	Schedule(ctx context.Context, ms ...delayjob.Message)
	Forget(ctx context.Context, ids ...string)
}

// NewService returns a service. It calls settings whenever it needs one.
func NewService(store Store, directory Directory, scheduler Scheduler, settings func() meeting.Settings, now func() time.Time, log *slog.Logger) *Service {
	return &Service{store: store, directory: directory, scheduler: scheduler, settings: settings, now: now, log: log}
}

// Now returns the current time as it is stored: UTC, to the microsecond.
func (s *Service) Now() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// Settings returns the settings with defaults.
func (s *Service) Settings() meeting.Settings {
	c := s.settings()
	if c.Timezone == "" {
		c.Timezone = "UTC"
	}
	return c
}

// ErrUnchanged makes the store undo an update that would change nothing, so that no version is
// raised.
var ErrUnchanged = errors.New("unchanged")

// AnnounceChange notifies the queue of what the meeting now waits for, what it no longer waits for, and
// what there is to send. It is called after the commit.
func (s *Service) AnnounceChange(ctx context.Context, before, m *meeting.Meeting, notices []meeting.Notice) {
	was := map[meeting.ID]*meeting.Meeting{}
	if before != nil {
		was[m.ID] = before
	}
	s.announceAll(ctx, was, map[meeting.ID]*meeting.Meeting{m.ID: m}, notices, m.Undoable)
}

// announceAll is announce for many meetings, before and after, with few calls of the queue. The
// waiting list gets what a change frees once the change can no longer be undone.
func (s *Service) announceAll(ctx context.Context, before, after map[meeting.ID]*meeting.Meeting, notices []meeting.Notice, u *meeting.Undoable) {
	var was, now []delayjob.Message
	var free []meeting.Occupancy
	for _, id := range slices.Sorted(maps.Keys(after)) {
		m := after[id]
		now = append(now, m.Messages()...)
		if b := before[id]; m.Foreign != "" && b != nil && u == nil {
			now = append(now, delayjob.Message{Job: meeting.JobAnswer, Key: strconv.FormatInt(m.ID, 10), Version: m.UpdatedAt.UnixMicro(), Due: m.UpdatedAt})
		}
		if b := before[id]; b != nil {
			was = append(was, b.Messages()...)
			free = append(free, b.FreedBy(m)...)
		}
	}
	s.forget(ctx, was, now)
	if u != nil {
		s.freedFrom(ctx, free, u.Until)
	} else {
		s.Freed(ctx, free)
	}
	s.scheduler.Schedule(ctx, append(now, Deliveries(notices)...)...)
}

// forget removes the messages of before that have no successor in after.
func (s *Service) forget(ctx context.Context, before, after []delayjob.Message) {
	keep := make(map[string]bool, len(after))
	for _, m := range after {
		keep[m.ID()] = true
	}
	var gone []string
	for _, m := range before {
		if !keep[m.ID()] {
			gone = append(gone, m.ID())
		}
	}
	if len(gone) > 0 {
		s.scheduler.Forget(ctx, gone...)
	}
}

// Deliveries returns the messages that send notices: newly recorded ones that are not too late.
// Another package handles the delivery, in a job named for the channel.
func Deliveries(notices []meeting.Notice) []delayjob.Message {
	var ms []delayjob.Message
	for _, n := range notices {
		if n.ID != 0 && !n.Late {
			ms = append(ms, delayjob.Message{
				Job: "notify." + string(n.Channel), Key: strconv.FormatInt(n.ID, 10), Version: 1, Due: n.Due,
			})
		}
	}
	return ms
}

// Freed schedules a check of the waiting lists for what has just become free. If the process dies
// first, the loader's next full pass finds it.
func (s *Service) Freed(ctx context.Context, free []meeting.Occupancy) {
	s.freedFrom(ctx, free, s.Now())
}

func (s *Service) freedFrom(ctx context.Context, free []meeting.Occupancy, at time.Time) {
	if len(free) == 0 {
		return
	}
	rooms, number, err := s.store.Awaited(ctx, free, s.Now())
	if err != nil {
		s.log.Warn("waiting list lookup failed, loader will retry", "error", err)
		return
	}
	s.scheduler.Schedule(ctx, meeting.Looks(rooms, number, at)...)
}
