package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"punctual/account"
	"punctual/account/fault"
	"punctual/delayjob/topics"
)

type addInput struct {
	TopicInput
	Body json.RawMessage
}

type addOutput struct {
	Status int
	Body   any
}

// TopicResult is what became of one item of an array.
type TopicResult struct {
	ID     string       `json:"id"`
	Status int          `json:"status"`
	Code   string       `json:"code,omitempty"`
	Errors []TopicFault `json:"errors,omitempty"`
}

// AddedTopicResult is what became of one job of an array.
type AddedTopicResult struct {
	TopicResult
	Result string `json:"result,omitempty" enum:"added,replaced,unchanged" doc:"What happened to the job; omitted if it was refused"`
	Reason string `json:"reason,omitempty" enum:"newer_version,different_body" doc:"Why the job was refused; only with state_conflict"`
}

// AddedTopicJobs is what became of each job of an array.
type AddedTopicJobs struct {
	Items []AddedTopicResult `json:"items" nullable:"false"`
}

// AddedTopicJob is a job that was added, or the one that was stored already.
type AddedTopicJob struct {
	TopicJob
	Result string `json:"result" enum:"added,replaced,unchanged" doc:"unchanged: this version was already stored, perhaps with another due time, and may have ended"`
}

// TopicFault is one thing wrong with an item.
type TopicFault struct {
	Location string `json:"location"`
	Message  string `json:"message"`
	Code     string `json:"code"`
}

func (h *handlers) add(ctx context.Context, in *addInput) (*addOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsProduce); err != nil {
		return nil, err
	}
	if isArray(in.Body) {
		return h.addMany(ctx, in)
	}
	now := h.s.Now()
	j, faults := parse(in.Topic, in.Body, "body", now)
	if len(faults) > 0 {
		return nil, &fault.InvalidError{Faults: faults}
	}
	stored, err := h.s.Add(ctx, j)
	if err != nil {
		return nil, err
	}
	r := stored[0]
	switch r.Result {
	case topics.Outdated, topics.Differs:
		return nil, &topics.AddError{Result: r.Result, There: r.There, State: r.There.State(now)}
	case topics.Unchanged:
		return &addOutput{http.StatusOK, AddedTopicJob{view(r.There, r.There.State(now)), "unchanged"}}, nil
	case topics.Replaced:
		return &addOutput{http.StatusOK, AddedTopicJob{view(j, j.State(now)), "replaced"}}, nil
	default:
		return &addOutput{http.StatusCreated, AddedTopicJob{view(j, j.State(now)), "added"}}, nil
	}
}

func (h *handlers) addMany(ctx context.Context, in *addInput) (*addOutput, error) {
	var each []json.RawMessage
	if err := json.Unmarshal(in.Body, &each); err != nil {
		return nil, fault.Invalid("body", "malformed", "must be valid JSON")
	}
	if len(each) == 0 || len(each) > topics.MaxBatch {
		return nil, fault.Invalid("body", "out_of_range", "must hold 1 to 1000 jobs")
	}
	now := h.s.Now()
	items := make([]AddedTopicResult, len(each))
	var js []*topics.Job
	var at []int
	for i, raw := range each {
		j, faults := parse(in.Topic, raw, "body["+itoa(i)+"]", now)
		items[i].ID = j.ID
		if len(faults) > 0 {
			items[i].Status, items[i].Code = http.StatusUnprocessableEntity, "invalid"
			for _, f := range faults {
				items[i].Errors = append(items[i].Errors, TopicFault{f.Location, f.Message, f.Code})
			}
			continue
		}
		js, at = append(js, j), append(at, i)
	}
	stored, err := h.s.Add(ctx, js...)
	if err != nil {
		return nil, err
	}
	for n, i := range at {
		item, r := &items[i], stored[n]
		switch r.Result {
		case topics.Added:
			item.Status, item.Result = http.StatusCreated, "added"
		case topics.Replaced:
			item.Status, item.Result = http.StatusOK, "replaced"
		case topics.Unchanged:
			item.Status, item.Result = http.StatusOK, "unchanged"
		default:
			item.Status, item.Code, item.Reason = http.StatusConflict, "state_conflict", (&topics.AddError{Result: r.Result}).Reason()
		}
	}
	return &addOutput{Status: http.StatusOK, Body: AddedTopicJobs{items}}, nil
}

// ListedTopicJob is a job without its body.
type ListedTopicJob struct {
	ID          string       `json:"id"`
	State       topics.State `json:"state" enum:"delayed,ready,reserved,dead,done,expired"`
	Due         time.Time    `json:"due"`
	Version     int64        `json:"version"`
	Attempts    int          `json:"attempts" doc:"Number of deliveries so far"`
	MaxAttempts int          `json:"max_attempts" doc:"Maximum number of deliveries; -1 for no limit"`
	TTRMs       int64        `json:"ttr_ms"`
	ExpiresAt   *time.Time   `json:"expires_at,omitempty"`
	LeaseUntil  *time.Time   `json:"lease_until,omitempty"`
	LastError   string       `json:"last_error,omitempty"`
	CreatedAt   time.Time    `json:"created_at"`
	UpdatedAt   time.Time    `json:"updated_at"`
}

// TopicJob is a job with its body.
type TopicJob struct {
	ListedTopicJob
	Body json.RawMessage `json:"body" doc:"The JSON value that was sent"`
}

func view(j *topics.Job, s topics.State) TopicJob { return TopicJob{viewListed(j, s), j.Body} }

func viewListed(j *topics.Job, s topics.State) ListedTopicJob {
	v := ListedTopicJob{
		ID: j.ID, State: s, Due: j.Due, Version: j.Version, Attempts: j.Attempts, MaxAttempts: j.MaxAttempts,
		TTRMs: j.TTR.Milliseconds(), LastError: j.LastError, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
	if !j.Expires.IsZero() {
		v.ExpiresAt = &j.Expires
	}
	if s == topics.Reserved {
		v.LeaseUntil = &j.LeaseUntil
	}
	return v
}

type jobOutput struct{ Body TopicJob }

type listJobsInput struct {
	TopicInput
	State  topics.State `query:"state" enum:"delayed,ready,reserved,dead,done,expired" doc:"Only jobs in this state; all states if omitted"`
	Limit  int          `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string       `query:"cursor" maxLength:"500"`
}

type listJobsOutput struct {
	Body struct {
		Items      []ListedTopicJob `json:"items" nullable:"false" doc:"Delayed, ready and reserved jobs are sorted by due time, others by ID"`
		NextCursor *string          `json:"next_cursor" doc:"Cursor of the next page; null on the last page. A page may hold fewer items than limit"`
	}
}

func (h *handlers) listJobs(ctx context.Context, in *listJobsInput) (*listJobsOutput, error) {
	if err := allow(ctx, in.Topic, anything...); err != nil {
		return nil, err
	}
	var after *topics.Job
	if in.Cursor != "" {
		c, err := readCursor(in.Cursor)
		if err != nil {
			return nil, err
		}
		after = &topics.Job{Key: topics.Key{Topic: in.Topic, ID: c.ID}, Due: c.At}
	}
	js, next, now, err := h.s.List(ctx, in.Topic, in.State, after, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &listJobsOutput{}
	out.Body.Items = make([]ListedTopicJob, len(js))
	for i, j := range js {
		out.Body.Items[i] = viewListed(j, j.State(now))
	}
	if next != nil {
		out.Body.NextCursor = new(cursor{next.Due, next.ID}.String())
	}
	return out, nil
}

type purgeInput struct {
	TopicInput
	State topics.State `query:"state" enum:"delayed,ready,reserved,dead,done,expired" doc:"Only jobs in this state; all states if omitted"`
}

type purgeOutput struct {
	Body struct {
		Deleted int  `json:"deleted"`
		Running int  `json:"running" doc:"Number of deleted jobs that are still running; they will not be retried"`
		More    bool `json:"more" doc:"Whether there may be more jobs; repeat the call if so"`
	}
}

func (h *handlers) purge(ctx context.Context, in *purgeInput) (*purgeOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	out := &purgeOutput{}
	var err error
	out.Body.Deleted, out.Body.Running, out.Body.More, err = h.s.Purge(ctx, in.Topic, in.State)
	return out, err
}

func (h *handlers) get(ctx context.Context, in *JobInput) (*jobOutput, error) {
	if err := allow(ctx, in.Topic, anything...); err != nil {
		return nil, err
	}
	j, state, err := h.s.Job(ctx, in.key())
	if err != nil {
		return nil, err
	}
	return &jobOutput{view(j, state)}, nil
}

type rescheduleInput struct {
	JobInput
	Body struct {
		Due     *time.Time `json:"due,omitempty"`
		DelayMs *int64     `json:"delay_ms,omitempty"`
	}
}

func (h *handlers) reschedule(ctx context.Context, in *rescheduleInput) (*jobOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsProduce); err != nil {
		return nil, err
	}
	due, faults := dueTime(in.Body.Due, in.Body.DelayMs, "body", h.s.Now())
	if len(faults) > 0 {
		return nil, &fault.InvalidError{Faults: faults}
	}
	j, state, err := h.s.Reschedule(ctx, in.key(), due)
	if err != nil {
		return nil, err
	}
	return &jobOutput{view(j, state)}, nil
}

type statusOutput struct{ Status int }

func (h *handlers) delete(ctx context.Context, in *JobInput) (*statusOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsProduce); err != nil {
		return nil, err
	}
	running, err := h.s.Delete(ctx, in.key())
	if err != nil {
		return nil, err
	}
	if running {
		return &statusOutput{http.StatusAccepted}, nil
	}
	return &statusOutput{http.StatusNoContent}, nil
}
