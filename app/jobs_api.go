package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/app/config"
	"punctual/delayjob"
	failures "punctual/delayjob/gormstore"
	"punctual/notify"
)

// jobsAPI shows the strategies to admins and lets them pause one, and revive or discard dead letters.
type jobsAPI struct {
	queue    func() delayjob.Inspector // that in force
	jobs     []delayjob.DelayJob
	settings map[string]delayjob.Options
	dead     *deadLetters
	pauses   *pauses
	reload   func() // a full pass of the loader, if there is one in this process
	coming   *comingHour
	pending  *pendingCounts // for when the queue does not answer
	unknown  *unknownJobs
	mode     func() queueMode
	ledger   *notify.Service // tells what a mail is about
}

// queueMode is what the queue in force lives in.
type queueMode string

const (
	inMemory   queueMode = "memory"
	onRedis    queueMode = "redis"
	onFallback queueMode = "fallback" // Redis is away and one process works from memory, this one or another
)

type jobView struct {
	Name      string      `json:"name" example:"meeting.start"`
	Delayed   int         `json:"delayed" doc:"Waiting for their time, of those within the loader's horizon"`
	Ready     int         `json:"ready" doc:"Due, waiting for a handler"`
	Reserved  int         `json:"reserved" doc:"Being handled"`
	Dead      int         `json:"dead" doc:"Given up"`
	OldestDue *time.Time  `json:"oldest_due,omitempty" doc:"When the earliest waiting message is due"`
	Paused    bool        `json:"paused"`
	PausedAt  *time.Time  `json:"paused_at,omitempty" doc:"Since when"`
	PausedBy  string      `json:"paused_by,omitempty" doc:"By whom" example:"root@example.org"`
	Settings  jobSettings `json:"settings"`
}

type jobSettings struct {
	Concurrency int     `json:"concurrency"`
	Batch       int     `json:"batch"`
	Lease       string  `json:"lease" example:"30s"`
	MaxRuntime  string  `json:"max_runtime" example:"5m"`
	MaxAttempts int     `json:"max_attempts" doc:"-1: no limit"`
	Rate        float64 `json:"rate" doc:"Executions per second and process; 0: no limit"`
}

type jobName struct {
	Name string `path:"name" maxLength:"64" example:"notify.email"`
}

func (a *jobsAPI) register(api huma.API) {
	op := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Jobs"}}
	}
	huma.Register(api, op("list-jobs", http.MethodGet, "/jobs", "The strategies and what waits for them"), a.list)
	huma.Register(api, op("pause-job", http.MethodPost, "/jobs/{name}/pause", "Hand out nothing of a strategy"), a.pause)
	huma.Register(api, op("resume-job", http.MethodPost, "/jobs/{name}/resume", "Go on with a strategy"), a.resume)
	huma.Register(api, op("list-job-messages", http.MethodGet, "/jobs/{name}/messages", "The next messages of a strategy that the queue holds"), a.messages)
	huma.Register(api, op("coming-jobs", http.MethodGet, "/jobs/coming", "What becomes due in each minute of the coming hour, by strategy"), a.comingHour)
	a.registerDead(api, op)
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
		Items   []jobView        `json:"items" nullable:"false"`
		Unknown []unknownJobView `json:"unknown" nullable:"false" doc:"Jobs with messages in the queue but without a strategy in this version, the first 100 by name. Nothing handles these messages"`
		Mode    queueMode        `json:"mode" enum:"memory,redis,fallback" doc:"What the queue lives in; fallback: Redis is away and one process works from memory. Any other one counts what the database has, without what is being handled"`
	}
}

func (a *jobsAPI) list(ctx context.Context, _ *struct{}) (*jobList, error) {
	paused, err := a.pauses.settings.Paused(ctx)
	if err != nil {
		return nil, err
	}
	out := &jobList{}
	out.Body.Mode = a.mode()
	stats, err := a.stats(ctx)
	if errors.Is(err, errQueueDown) && ctx.Err() == nil {
		out.Body.Mode = onFallback
		stats, err = a.pending.count(ctx)
	}
	if err != nil {
		return nil, err
	}
	out.Body.Unknown = []unknownJobView{}
	if out.Body.Mode != onFallback { // a queue that does not answer has been reported
		found, err := a.unknown.count(ctx)
		if err != nil {
			return nil, queueError(fmt.Errorf("count unknown jobs: %w", err))
		}
		names := slices.Sorted(maps.Keys(found))
		for _, name := range names[:min(len(names), shownTopics)] {
			c := countsOf(name, found[name])
			out.Body.Unknown = append(out.Body.Unknown, unknownJobView{strings.ToValidUTF8(name, "\uFFFD"), c.Delayed, c.Ready, c.Reserved, c.Dead, c.OldestDue})
		}
	}
	out.Body.Items = make([]jobView, 0, len(a.jobs))
	for _, j := range a.jobs {
		out.Body.Items = append(out.Body.Items, a.viewOf(j.Name(), stats[j.Name()], paused))
	}
	return out, nil
}

// stats asks the queue that is in force.
func (a *jobsAPI) stats(ctx context.Context) (map[string]delayjob.Stats, error) {
	queue, stats := a.queue(), map[string]delayjob.Stats{}
	for _, j := range a.jobs {
		s, err := queue.Stats(ctx, j.Name())
		if err != nil {
			return nil, queueError(fmt.Errorf("count %s: %w", j.Name(), err))
		}
		stats[j.Name()] = s
	}
	return stats, nil
}

func (a *jobsAPI) view(ctx context.Context, job string, paused map[string]failures.Pause) (jobView, error) {
	s, err := a.queue().Stats(ctx, job)
	if err != nil {
		return jobView{}, queueError(fmt.Errorf("count %s: %w", job, err))
	}
	return a.viewOf(job, s, paused), nil
}

func (a *jobsAPI) viewOf(job string, s delayjob.Stats, paused map[string]failures.Pause) jobView {
	o := a.settings[job]
	v := jobView{
		Name: job, Delayed: s.Delayed, Ready: s.Ready, Reserved: s.Reserved, Dead: s.Dead, Paused: s.Paused,
		Settings: jobSettings{
			Concurrency: o.Concurrency, Batch: o.Batch, Lease: config.ShortDuration(o.Lease), MaxRuntime: config.ShortDuration(o.MaxRuntime),
			MaxAttempts: max(-1, o.MaxAttempts), Rate: o.Rate,
		},
	}
	if !s.Oldest.IsZero() {
		v.OldestDue = new(s.Oldest.UTC())
	}
	if p, ok := paused[job]; ok {
		v.Paused, v.PausedAt, v.PausedBy = true, &p.At, p.By
	}
	return v
}

type jobAnswer struct{ Body jobView }

func (a *jobsAPI) pause(ctx context.Context, in *jobName) (*jobAnswer, error) {
	by := ""
	if who, ok := account.FromContext(ctx); ok {
		by = who.Email
	}
	return a.change(ctx, in.Name, func() error { return a.pauses.pause(ctx, in.Name, by) })
}

func (a *jobsAPI) resume(ctx context.Context, in *jobName) (*jobAnswer, error) {
	return a.change(ctx, in.Name, func() error { return a.pauses.resume(ctx, in.Name) })
}

func (a *jobsAPI) change(ctx context.Context, job string, change func() error) (*jobAnswer, error) {
	if !a.knows(job) {
		return nil, delayjob.ErrNotFound
	}
	if err := change(); err != nil {
		return nil, err
	}
	paused, err := a.pauses.settings.Paused(ctx)
	if err != nil {
		return nil, err
	}
	v, err := a.view(ctx, job, paused)
	if err != nil {
		return nil, err
	}
	return &jobAnswer{v}, nil
}

func (a *jobsAPI) knows(job string) bool {
	return slices.ContainsFunc(a.jobs, func(j delayjob.DelayJob) bool { return j.Name() == job })
}

func (a *jobsAPI) comingHour(ctx context.Context, _ *struct{}) (*comingAnswer, error) {
	v, err := a.coming.count(ctx)
	if err != nil {
		return nil, err
	}
	return &comingAnswer{v}, nil
}

type messagesQuery struct {
	Name   string `path:"name" maxLength:"64" example:"notify.email"`
	State  string `query:"state" enum:"delayed,ready,reserved" default:"delayed" doc:"Waiting for their time, due, or being handled"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20"`
	Cursor string `query:"cursor" maxLength:"500"`
}

type messageView struct {
	ID         string     `json:"id" example:"meeting.start:42"`
	Key        string     `json:"key"`
	Version    int64      `json:"version"`
	State      string     `json:"state" enum:"delayed,ready,reserved"`
	Due        time.Time  `json:"due"`
	WaitsUntil *time.Time `json:"waits_until" nullable:"true" doc:"Later than due after a failure"`
	LeaseUntil *time.Time `json:"lease_until" nullable:"true"`
	Attempts   int        `json:"attempts"`
	MeetingID  *int64     `json:"meeting_id" nullable:"true"`
}

type messageList struct {
	Body struct {
		Items      []messageView `json:"items" nullable:"false"`
		NextCursor *string       `json:"next_cursor" nullable:"true" doc:"For the next page; null on the last"`
	}
}

func (a *jobsAPI) messages(ctx context.Context, in *messagesQuery) (*messageList, error) {
	if !a.knows(in.Name) {
		return nil, delayjob.ErrNotFound
	}
	infos, next, err := a.queue().List(ctx, in.Name, delayjob.State(in.State), in.Cursor, in.Limit)
	if errors.Is(err, delayjob.ErrCursor) {
		return nil, errCursor()
	}
	if err != nil {
		return nil, queueError(fmt.Errorf("look at %s: %w", in.Name, err))
	}
	out := &messageList{}
	out.Body.Items = make([]messageView, len(infos))
	for i, m := range infos {
		out.Body.Items[i] = messageView{
			ID: m.ID(), Key: m.Key, Version: m.Version, State: string(m.State), Due: m.Due.UTC(), Attempts: m.Attempt,
			WaitsUntil: instantOrNull(m.WaitsUntil), LeaseUntil: instantOrNull(m.LeaseUntil), MeetingID: a.meetingOf(ctx, in.Name, m.Key),
		}
	}
	out.Body.NextCursor = orNull(next)
	return out, nil
}

// meetingOf is the meeting that a message is about, as far as that can be told.
func (a *jobsAPI) meetingOf(ctx context.Context, job, key string) *int64 {
	id, err := strconv.ParseInt(delayjob.Entity(key), 10, 64)
	if err != nil {
		return nil
	}
	switch area, _, _ := strings.Cut(job, "."); area {
	case "meeting", "approval":
		return &id
	case "notify":
		if n, err := a.ledger.Get(ctx, id); err == nil {
			return orNull(n.MeetingID)
		}
	}
	return nil
}

// errQueueDown says that the queue does not answer, whatever the reason: the database is the
// truth, and nothing is lost.
var errQueueDown = errors.New("the queue does not answer")

func queueError(err error) error { return fmt.Errorf("%w: %w", errQueueDown, err) }

// settingsOf are the options in force of each job, as its consumer makes them.
func settingsOf(jobs []delayjob.DelayJob, over map[string]delayjob.Options) map[string]delayjob.Options {
	m := map[string]delayjob.Options{}
	for _, j := range jobs {
		var o delayjob.Options
		if c, ok := j.(delayjob.Configurer); ok {
			o = c.Options()
		}
		_, batch := j.(delayjob.BatchJob)
		m[j.Name()] = o.Merge(over[j.Name()]).WithDefaults(batch)
	}
	return m
}
