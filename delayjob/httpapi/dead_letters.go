package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/account/rest"
	"punctual/delayjob"
	"punctual/delayjob/admin"
)

// DeadJobView is a dead letter. It is exported so that the description of the API has its fields.
type DeadJobView struct {
	ID        string    `json:"id" example:"notify.email:42"`
	Job       string    `json:"job"`
	Key       string    `json:"key"`
	Version   int64     `json:"version"`
	Attempts  int       `json:"attempts"`
	Error     string    `json:"error"`
	DeadAt    time.Time `json:"dead_at"`
	MeetingID *int64    `json:"meeting_id,omitempty" doc:"ID of the meeting that the message is about"`
}

func (a *api) registerDead(r huma.API, op func(id, method, path, summary string) huma.Operation) {
	huma.Register(r, op("list-dead-jobs", http.MethodGet, "/jobs/dead", "List dead letters, newest first"), a.listDead)
	huma.Register(r, op("get-dead-job", http.MethodGet, "/jobs/dead/{id}", "Get a dead letter with its payload"), a.deadJob)
	huma.Register(r, op("requeue-dead-job", http.MethodPost, "/jobs/dead/{id}/requeue", "Retry a dead letter"), a.requeue)
	huma.Register(r, op("requeue-dead-jobs", http.MethodPost, "/jobs/dead/requeue", "Retry dead letters: all, those of a job type, or those with an error"), a.requeueAll)
	huma.Register(r, op("discard-dead-job", http.MethodDelete, "/jobs/dead/{id}", "Discard a dead letter"), a.discard)
	huma.Register(r, op("discard-dead-jobs", http.MethodPost, "/jobs/dead/discard", "Discard dead letters: all, those of a job type, or those with an error"), a.discardAll)
}

type deadQuery struct {
	Job    string `query:"job" maxLength:"64" doc:"Only dead letters of this job type"`
	Error  string `query:"error_contains" maxLength:"1000" doc:"Text in the error; ignores case"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" maxLength:"500"`
}

type deadList struct {
	Body struct {
		Items      []DeadJobView `json:"items" nullable:"false"`
		NextCursor *string       `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (a *api) listDead(ctx context.Context, in *deadQuery) (*deadList, error) {
	rows, next, err := a.DeadLetters.Records.List(ctx, admin.Filter{Job: in.Job, ErrorContains: in.Error}, in.Cursor, in.Limit)
	if errors.Is(err, admin.ErrCursor) {
		return nil, errCursor
	}
	if err != nil {
		return nil, err
	}
	out := &deadList{}
	out.Body.NextCursor = rest.OrNull(next)
	out.Body.Items = make([]DeadJobView, len(rows))
	for i, f := range rows {
		out.Body.Items[i] = a.viewDead(ctx, f)
	}
	return out, nil
}

func (a *api) viewDead(ctx context.Context, f admin.DeadLetter) DeadJobView {
	v := ViewDeadLetter(f)
	v.MeetingID = a.MeetingOf(ctx, f.Job, f.Key)
	return v
}

// ViewDeadLetter is the view of a record, without its meeting.
func ViewDeadLetter(f admin.DeadLetter) DeadJobView {
	return DeadJobView{
		ID: f.ID(), Job: f.Job, Key: f.Key, Version: f.Version,
		Attempts: f.Attempts, Error: f.Error, DeadAt: f.DeadAt.UTC(),
	}
}

type deadID struct {
	ID string `path:"id" maxLength:"200" example:"notify.email:42"`
}

type deadDetail struct {
	Body struct {
		DeadJobView
		Discarded *time.Time        `json:"discarded_at" nullable:"true" doc:"When the dead letter was discarded; lists no longer include it"`
		Queued    bool              `json:"queued" doc:"Whether the queue still has the message; if not, the fields below are null"`
		Due       *time.Time        `json:"due" nullable:"true"`
		Payload   *string           `json:"payload" nullable:"true" doc:"Body of the message; usually empty, because the key refers to a database row"`
		Headers   map[string]string `json:"headers" nullable:"true"`
	}
}

func (a *api) deadJob(ctx context.Context, in *deadID) (*deadDetail, error) {
	f, recorded := a.DeadLetters.Records.Get(ctx, in.ID)
	if recorded != nil && !errors.Is(recorded, delayjob.ErrNotFound) {
		return nil, recorded
	}
	info, err := a.Queue().Get(ctx, in.ID)
	held := err == nil && info.State == delayjob.StateDead
	if err != nil && !errors.Is(err, delayjob.ErrNotFound) && recorded != nil {
		return nil, admin.QueueError(err)
	}
	if recorded != nil {
		if !held {
			return nil, delayjob.ErrNotFound
		}
		f = admin.DeadLetter{Job: info.Job, Key: info.Key, Version: info.Version, Attempts: info.Attempt, DeadAt: info.DiedAt}
	}
	out := &deadDetail{}
	out.Body.DeadJobView = a.viewDead(ctx, f)
	out.Body.Discarded = f.DiscardedAt
	if held {
		out.Body.Queued, out.Body.Due, out.Body.Headers = true, rest.InstantOrNull(info.Due), info.Headers
		out.Body.Payload = new(strings.ToValidUTF8(string(info.Body), "\uFFFD"))
	}
	return out, nil
}

func (a *api) requeue(ctx context.Context, in *deadID) (*struct{}, error) {
	if err := a.DeadLetters.Requeue(ctx, in.ID); err != nil {
		return nil, err
	}
	a.Reload()
	return nil, nil
}

type deadFilter struct {
	Body struct {
		Job           string `json:"job,omitempty" minLength:"1" maxLength:"64" doc:"Only dead letters of this job type" example:"notify.email"`
		ErrorContains string `json:"error_contains,omitempty" minLength:"1" maxLength:"1000" doc:"Text in the error; ignores case"`

		IDs []string `json:"ids,omitempty" minItems:"1" maxItems:"500" doc:"Only these dead letters; cannot be combined with other fields" example:"[\"notify.email:42\"]"`
	}
}

type requeued struct {
	Body struct {
		Requeued int `json:"requeued" doc:"Number of messages that are retried"`
	}
}

func (a *api) chosen(in *deadFilter) (jobs []string, err error) {
	for _, j := range a.Jobs {
		if in.Body.Job == "" || in.Body.Job == j.Name() {
			jobs = append(jobs, j.Name())
		}
	}
	var faults fault.List
	if len(jobs) == 0 && !a.Unknown.Known(in.Body.Job) {
		faults.Add("body.job", "unknown", "must be a job type%s", a.Suggest(in.Body.Job))
	}
	if strings.ContainsRune(in.Body.ErrorContains, 0) {
		faults.Add("body.error_contains", "malformed", "must not hold the character NUL")
	}
	if len(in.Body.IDs) > 0 && (in.Body.Job != "" || in.Body.ErrorContains != "") {
		faults.Add("body.ids", "contradiction", "must not be set together with job or error_contains")
	}
	return jobs, faults.Err()
}

func (a *api) requeueAll(ctx context.Context, in *deadFilter) (*requeued, error) {
	jobs, err := a.chosen(in)
	if err != nil {
		return nil, err
	}
	out := &requeued{}
	if len(in.Body.IDs) > 0 {
		out.Body.Requeued, err = admin.Each(in.Body.IDs, func(id string) error { return a.DeadLetters.Requeue(ctx, id) })
	} else {
		out.Body.Requeued, err = a.DeadLetters.RequeueAll(ctx, admin.Filter{Job: in.Body.Job, ErrorContains: in.Body.ErrorContains}, jobs)
	}
	if err != nil {
		return nil, err
	}
	a.Reload()
	return out, nil
}

type discarded struct {
	Body struct {
		Discarded int `json:"discarded" doc:"Number of dead letters discarded"`
	}
}

func (a *api) discardAll(ctx context.Context, in *deadFilter) (*discarded, error) {
	if _, err := a.chosen(in); err != nil {
		return nil, err
	}
	out := &discarded{}
	var err error
	if len(in.Body.IDs) > 0 {
		out.Body.Discarded, err = admin.Each(in.Body.IDs, func(id string) error { return a.DeadLetters.Discard(ctx, id) })
	} else {
		out.Body.Discarded, err = a.DeadLetters.DiscardAll(ctx, admin.Filter{Job: in.Body.Job, ErrorContains: in.Body.ErrorContains})
	}
	return out, err
}

func (a *api) discard(ctx context.Context, in *deadID) (*struct{}, error) {
	return nil, a.DeadLetters.Discard(ctx, in.ID)
}
