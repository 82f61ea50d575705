package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/delayjob"
	failures "punctual/delayjob/gormstore"
)

// jobsAPI shows the strategies to admins and lets them pause one, and revive or discard dead letters.
type jobsAPI struct {
	queue    func() delayjob.Inspector // that in force
	jobs     []delayjob.DelayJob
	settings map[string]delayjob.Options
	dead     *deadLetters
	pauses   *pauses
	reload   func() // a full pass of the loader, if there is one in this process
}

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

type deadJobView struct {
	ID       string    `json:"id" example:"notify.email:42"`
	Job      string    `json:"job"`
	Key      string    `json:"key"`
	Version  int64     `json:"version"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error"`
	DeadAt   time.Time `json:"dead_at"`
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
	huma.Register(api, op("list-dead-jobs", http.MethodGet, "/jobs/dead", "Dead letters, the latest first"), a.listDead)
	huma.Register(api, op("requeue-dead-job", http.MethodPost, "/jobs/dead/{id}/requeue", "Try a dead letter again"), a.requeue)
	huma.Register(api, op("requeue-dead-jobs", http.MethodPost, "/jobs/dead/requeue", "Try all dead letters again, or those of a strategy or with an error"), a.requeueAll)
	huma.Register(api, op("discard-dead-job", http.MethodDelete, "/jobs/dead/{id}", "Give a dead letter up for good"), a.discard)
}

type jobList struct {
	Body struct {
		Items []jobView `json:"items" nullable:"false"`
	}
}

func (a *jobsAPI) list(ctx context.Context, _ *struct{}) (*jobList, error) {
	paused, err := a.pauses.settings.Paused(ctx)
	if err != nil {
		return nil, err
	}
	out := &jobList{}
	out.Body.Items = make([]jobView, 0, len(a.jobs))
	for _, j := range a.jobs {
		v, err := a.view(ctx, j.Name(), paused)
		if err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, v)
	}
	return out, nil
}

func (a *jobsAPI) view(ctx context.Context, job string, paused map[string]failures.Pause) (jobView, error) {
	s, err := a.queue().Stats(ctx, job)
	if err != nil {
		return jobView{}, queueError(fmt.Errorf("count %s: %w", job, err))
	}
	o := a.settings[job]
	v := jobView{
		Name: job, Delayed: s.Delayed, Ready: s.Ready, Reserved: s.Reserved, Dead: s.Dead, Paused: s.Paused,
		Settings: jobSettings{
			Concurrency: o.Concurrency, Batch: o.Batch, Lease: shortDuration(o.Lease), MaxRuntime: shortDuration(o.MaxRuntime),
			MaxAttempts: max(-1, o.MaxAttempts), Rate: o.Rate,
		},
	}
	if !s.Oldest.IsZero() {
		v.OldestDue = new(s.Oldest.UTC())
	}
	if p, ok := paused[job]; ok {
		v.Paused, v.PausedAt, v.PausedBy = true, &p.At, p.By
	}
	return v, nil
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
	if !slices.ContainsFunc(a.jobs, func(j delayjob.DelayJob) bool { return j.Name() == job }) {
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

type deadQuery struct {
	Job    string `query:"job" maxLength:"64" doc:"Of this strategy only"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" maxLength:"500"`
}

type deadList struct {
	Body struct {
		Items      []deadJobView `json:"items" nullable:"false"`
		NextCursor *string       `json:"next_cursor" doc:"For the next page; null on the last"`
	}
}

func (a *jobsAPI) listDead(ctx context.Context, in *deadQuery) (*deadList, error) {
	rows, next, err := a.dead.records.List(ctx, failures.Filter{Job: in.Job}, in.Cursor, in.Limit)
	if errors.Is(err, failures.ErrCursor) {
		p := newProblem(http.StatusUnprocessableEntity, "invalid", "Invalid request")
		p.Errors = []ProblemFault{{Location: "query.cursor", Message: "is no cursor of this list", Code: "malformed"}}
		return nil, p
	}
	if err != nil {
		return nil, err
	}
	out := &deadList{}
	out.Body.NextCursor = orNull(next)
	out.Body.Items = make([]deadJobView, len(rows))
	for i, f := range rows {
		out.Body.Items[i] = viewDead(f)
	}
	return out, nil
}

func viewDead(f failures.Failure) deadJobView {
	return deadJobView{
		ID: f.ID(), Job: f.Job, Key: f.Key, Version: f.Version,
		Attempts: f.Attempts, Error: f.Error, DeadAt: f.DeadAt.UTC(),
	}
}

type deadID struct {
	ID string `path:"id" maxLength:"200" example:"notify.email:42"`
}

func (a *jobsAPI) requeue(ctx context.Context, in *deadID) (*struct{}, error) {
	if err := a.dead.requeue(ctx, in.ID); err != nil {
		return nil, err
	}
	a.reload()
	return nil, nil
}

type deadFilter struct {
	Body struct {
		Job           string `json:"job,omitempty" minLength:"1" maxLength:"64" doc:"Of this strategy only" example:"notify.email"`
		ErrorContains string `json:"error_contains,omitempty" minLength:"1" maxLength:"1000" doc:"Whose error has this in it, in upper or lower case"`
	}
}

type requeued struct {
	Body struct {
		Requeued int `json:"requeued" doc:"How many are tried again"`
	}
}

func (a *jobsAPI) requeueAll(ctx context.Context, in *deadFilter) (*requeued, error) {
	var jobs []string
	for _, j := range a.jobs {
		if in.Body.Job == "" || in.Body.Job == j.Name() {
			jobs = append(jobs, j.Name())
		}
	}
	var faults []ProblemFault
	if len(jobs) == 0 && knownJob(in.Body.Job) != nil {
		faults = append(faults, ProblemFault{Location: "body.job", Message: "is no strategy" + suggest(in.Body.Job, strategies), Code: "unknown"})
	}
	if strings.ContainsRune(in.Body.ErrorContains, 0) {
		faults = append(faults, ProblemFault{Location: "body.error_contains", Message: "must not hold the character NUL", Code: "malformed"})
	}
	if len(faults) > 0 {
		p := newProblem(http.StatusUnprocessableEntity, "invalid", "Invalid request")
		p.Errors = faults
		return nil, p
	}
	n, err := a.dead.requeueAll(ctx, failures.Filter{Job: in.Body.Job, ErrorContains: in.Body.ErrorContains}, jobs)
	if err != nil {
		return nil, err
	}
	a.reload()
	out := &requeued{}
	out.Body.Requeued = n
	return out, nil
}

func (a *jobsAPI) discard(ctx context.Context, in *deadID) (*struct{}, error) {
	return nil, a.dead.discard(ctx, in.ID)
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
