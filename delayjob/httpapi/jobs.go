// Package httpapi serves the delay jobs to admins: counts and messages of each job, pauses, dead
// letters, what becomes due in the next hour, and how late jobs ran.
package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/fault"
	"punctual/account/rest"
	"punctual/delayjob"
	"punctual/delayjob/admin"
)

// Options are what the operations work with.
type Options struct {
	Queue     func() delayjob.Inspector // returns the queue in force
	Mode      func() QueueMode          // returns where it lives
	Jobs      []delayjob.DelayJob
	Overrides map[string]delayjob.Options // of the defaults of jobs, by name
	Horizon   time.Duration               // of the loader

	DeadLetters *admin.DeadLetters
	Pauses      *admin.Pauses
	Unknown     *admin.UnknownJobs
	Reload      func()                                            // starts a full pass of the loader, if it runs in this process
	MeetingOf   func(ctx context.Context, job, key string) *int64 // returns the meeting that a message is about, nil if there is none
	Suggest     func(job string) string                           // returns the end of a message about an unknown job
	Lateness    LatenessStore
	Flush       func(context.Context) // writes the latest counts of this process to Lateness
	Meetings    MeetingLateness
}

// QueueMode is where the queue in force lives.
type QueueMode string

const (
	InMemory QueueMode = "memory"
	OnRedis  QueueMode = "redis"
	Fallback QueueMode = "fallback" // Redis is down and one process, this one or another, works from memory
)

type api struct {
	Options
	settings map[string]delayjob.Options
	coming   *comingHour
	pending  *pendingCounts // for when the queue does not answer
}

// Register adds the operations about jobs, dead letters and punctuality to r.
func Register(r huma.API, o Options) {
	a := &api{
		Options: o, settings: admin.Settings(o.Jobs, o.Overrides),
		coming:  &comingHour{jobs: o.Jobs, most: mostCounted, now: time.Now},
		pending: &pendingCounts{jobs: o.Jobs, dead: o.DeadLetters.Records.Count, horizon: o.Horizon, most: mostCounted, now: time.Now},
	}
	a.registerJobs(r)
	a.registerPunctuality(r)
}

// JobView is a job with its counts.
type JobView struct {
	Name      string      `json:"name" example:"meeting.start"`
	Delayed   int         `json:"delayed" doc:"Messages within the loader's horizon that are not due yet"`
	Ready     int         `json:"ready" doc:"Messages that are due and wait for a handler"`
	Reserved  int         `json:"reserved" doc:"Messages being handled"`
	Dead      int         `json:"dead" doc:"Dead letters"`
	OldestDue *time.Time  `json:"oldest_due,omitempty" doc:"When the earliest waiting message is due"`
	Paused    bool        `json:"paused"`
	PausedAt  *time.Time  `json:"paused_at,omitempty" doc:"When the job type was paused"`
	PausedBy  string      `json:"paused_by,omitempty" doc:"User who paused the job type" example:"root@example.org"`
	Settings  JobSettings `json:"settings"`
}

// JobSettings are the options in force of a job.
type JobSettings struct {
	Concurrency int     `json:"concurrency"`
	Batch       int     `json:"batch"`
	Lease       string  `json:"lease" example:"30s"`
	MaxRuntime  string  `json:"max_runtime" example:"5m"`
	MaxAttempts int     `json:"max_attempts" doc:"Maximum number of attempts; -1 for no limit"`
	Rate        float64 `json:"rate" doc:"Maximum executions per second in each process; 0 for no limit"`
}

type jobName struct {
	Name string `path:"name" maxLength:"64" example:"notify.email"`
}

func (a *api) registerJobs(r huma.API) {
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Jobs"}}
	}
	huma.Register(r, op("list-jobs", http.MethodGet, "/jobs", "List job types with their message counts"), a.list)
	huma.Register(r, op("pause-job", http.MethodPost, "/jobs/{name}/pause", "Pause a job type"), a.pause)
	huma.Register(r, op("resume-job", http.MethodPost, "/jobs/{name}/resume", "Resume a job type"), a.resume)
	huma.Register(r, op("list-job-messages", http.MethodGet, "/jobs/{name}/messages", "List the next messages of a job type"), a.messages)
	huma.Register(r, op("coming-jobs", http.MethodGet, "/jobs/coming", "Count the messages due in each minute of the next hour, by job type"), a.comingHour)
	a.registerDead(r, op)
}

type unknownJobView struct {
	Name      string     `json:"name" example:"meeting.archive"`
	Delayed   int        `json:"delayed"`
	Ready     int        `json:"ready"`
	Reserved  int        `json:"reserved"`
	Dead      int        `json:"dead"`
	OldestDue *time.Time `json:"oldest_due,omitempty" doc:"When the earliest waiting message is due"`
}

type jobList struct {
	Body struct {
		Items   []JobView        `json:"items" nullable:"false"`
		Unknown []unknownJobView `json:"unknown" nullable:"false" doc:"The first 100 job types, by name, that have messages in the queue but that this version does not know. Their messages wait"`
		Mode    QueueMode        `json:"mode" enum:"memory,redis,fallback" doc:"What stores the queue. fallback: Redis is unavailable and one process works from memory; other processes then count what the database holds, without messages being handled"`
	}
}

func (a *api) list(ctx context.Context, _ *struct{}) (*jobList, error) {
	paused, err := a.Pauses.Decisions.Paused(ctx)
	if err != nil {
		return nil, err
	}
	out := &jobList{}
	out.Body.Mode = a.Mode()
	stats, err := a.stats(ctx)
	if errors.Is(err, admin.ErrQueueDown) && ctx.Err() == nil {
		out.Body.Mode = Fallback
		stats, err = a.pending.count(ctx)
	}
	if err != nil {
		return nil, err
	}
	out.Body.Unknown = []unknownJobView{}
	if out.Body.Mode != Fallback { // a queue that does not answer has been reported
		found, err := a.Unknown.Count(ctx)
		if err != nil {
			return nil, admin.QueueError(fmt.Errorf("count unknown jobs: %w", err))
		}
		names := slices.Sorted(maps.Keys(found))
		for _, name := range names[:min(len(names), mostUnknown)] {
			s := found[name]
			out.Body.Unknown = append(out.Body.Unknown, unknownJobView{strings.ToValidUTF8(name, "\uFFFD"), s.Delayed, s.Ready, s.Reserved, s.Dead, rest.InstantOrNull(s.Oldest)})
		}
	}
	out.Body.Items = make([]JobView, 0, len(a.Jobs))
	for _, j := range a.Jobs {
		out.Body.Items = append(out.Body.Items, a.viewOf(j.Name(), stats[j.Name()], paused))
	}
	return out, nil
}

func (a *api) stats(ctx context.Context) (map[string]delayjob.Stats, error) {
	queue, stats := a.Queue(), map[string]delayjob.Stats{}
	for _, j := range a.Jobs {
		s, err := queue.Stats(ctx, j.Name())
		if err != nil {
			return nil, admin.QueueError(fmt.Errorf("count %s: %w", j.Name(), err))
		}
		stats[j.Name()] = s
	}
	return stats, nil
}

func (a *api) view(ctx context.Context, job string, paused map[string]admin.Pause) (JobView, error) {
	s, err := a.Queue().Stats(ctx, job)
	if err != nil {
		return JobView{}, admin.QueueError(fmt.Errorf("count %s: %w", job, err))
	}
	return a.viewOf(job, s, paused), nil
}

func (a *api) viewOf(job string, s delayjob.Stats, paused map[string]admin.Pause) JobView {
	o := a.settings[job]
	v := JobView{
		Name: job, Delayed: s.Delayed, Ready: s.Ready, Reserved: s.Reserved, Dead: s.Dead, OldestDue: rest.InstantOrNull(s.Oldest), Paused: s.Paused,
		Settings: JobSettings{
			Concurrency: o.Concurrency, Batch: o.Batch, Lease: fault.FormatDuration(o.Lease), MaxRuntime: fault.FormatDuration(o.MaxRuntime),
			MaxAttempts: max(-1, o.MaxAttempts), Rate: o.Rate,
		},
	}
	if p, ok := paused[job]; ok {
		v.Paused, v.PausedAt, v.PausedBy = true, &p.At, p.By
	}
	return v
}

type jobAnswer struct{ Body JobView }

func (a *api) pause(ctx context.Context, in *jobName) (*jobAnswer, error) {
	by := ""
	if who, ok := account.FromContext(ctx); ok {
		by = who.Email
	}
	return a.change(ctx, in.Name, func() error { return a.Pauses.Pause(ctx, in.Name, by) })
}

func (a *api) resume(ctx context.Context, in *jobName) (*jobAnswer, error) {
	return a.change(ctx, in.Name, func() error { return a.Pauses.Resume(ctx, in.Name) })
}

func (a *api) change(ctx context.Context, job string, change func() error) (*jobAnswer, error) {
	if !a.knows(job) {
		return nil, delayjob.ErrNotFound
	}
	if err := change(); err != nil {
		return nil, err
	}
	paused, err := a.Pauses.Decisions.Paused(ctx)
	if err != nil {
		return nil, err
	}
	v, err := a.view(ctx, job, paused)
	if err != nil {
		return nil, err
	}
	return &jobAnswer{v}, nil
}

func (a *api) knows(job string) bool {
	return slices.ContainsFunc(a.Jobs, func(j delayjob.DelayJob) bool { return j.Name() == job })
}

func (a *api) comingHour(ctx context.Context, _ *struct{}) (*comingAnswer, error) {
	v, err := a.coming.count(ctx)
	if err != nil {
		return nil, err
	}
	return &comingAnswer{v}, nil
}

type messagesQuery struct {
	Name   string `path:"name" maxLength:"64" example:"notify.email"`
	State  string `query:"state" enum:"delayed,ready,reserved" default:"delayed" doc:"State of the message: not due yet, due, or being handled"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20"`
	Cursor string `query:"cursor" maxLength:"500"`
}

type messageView struct {
	ID         string     `json:"id" example:"meeting.start:42"`
	Key        string     `json:"key"`
	Version    int64      `json:"version"`
	State      string     `json:"state" enum:"delayed,ready,reserved"`
	Due        time.Time  `json:"due"`
	WaitsUntil *time.Time `json:"waits_until" nullable:"true" doc:"Time of the next attempt; later than due after a failure"`
	LeaseUntil *time.Time `json:"lease_until" nullable:"true"`
	Attempts   int        `json:"attempts"`
	MeetingID  *int64     `json:"meeting_id" nullable:"true"`
}

type messageList struct {
	Body struct {
		Items      []messageView `json:"items" nullable:"false"`
		NextCursor *string       `json:"next_cursor" nullable:"true" doc:"Cursor of the next page; null on the last page"`
	}
}

func (a *api) messages(ctx context.Context, in *messagesQuery) (*messageList, error) {
	if !a.knows(in.Name) {
		return nil, delayjob.ErrNotFound
	}
	infos, next, err := a.Queue().List(ctx, in.Name, delayjob.State(in.State), in.Cursor, in.Limit)
	if errors.Is(err, delayjob.ErrCursor) {
		return nil, errCursor
	}
	if err != nil {
		return nil, admin.QueueError(fmt.Errorf("look at %s: %w", in.Name, err))
	}
	out := &messageList{}
	out.Body.Items = make([]messageView, len(infos))
	for i, m := range infos {
		out.Body.Items[i] = messageView{
			ID: m.ID(), Key: m.Key, Version: m.Version, State: string(m.State), Due: m.Due.UTC(), Attempts: m.Attempt,
			WaitsUntil: rest.InstantOrNull(m.WaitsUntil), LeaseUntil: rest.InstantOrNull(m.LeaseUntil), MeetingID: a.MeetingOf(ctx, in.Name, m.Key),
		}
	}
	out.Body.NextCursor = rest.OrNull(next)
	return out, nil
}

const mostUnknown = 100

var errCursor = fault.Invalid("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
