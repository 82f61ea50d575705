package topics

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"punctual/account"
	"punctual/account/fault"
)

type addInput struct {
	TopicInput
	Body json.RawMessage
}

type addOutput struct {
	Status int
	Body   any
}

type topicResult struct {
	ID     string       `json:"id"`
	Status int          `json:"status"`
	Code   string       `json:"code,omitempty"`
	Errors []topicFault `json:"errors,omitempty"`
}

// addedResult is what became of one job of an array.
type addedResult struct {
	topicResult
	Result string `json:"result,omitempty" enum:"added,replaced,unchanged" doc:"Left out if the job was refused"`
	Reason string `json:"reason,omitempty" enum:"newer_version,different_body" doc:"With state_conflict: why the job was refused"`
}

type addedResults struct {
	Items []addedResult `json:"items" nullable:"false"`
}

// addedJob is a job that was added, or the one that was stored already.
type addedJob struct {
	topicJob
	Result string `json:"result" enum:"added,replaced,unchanged" doc:"unchanged: this version was stored already, perhaps with another due time, and may have ended"`
}

type topicFault struct {
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
	now := h.s.now()
	j, faults := parse(in.Topic, in.Body, "body", now)
	if len(faults) > 0 {
		return nil, &InvalidError{Faults: faults}
	}
	stored, err := h.s.Add(ctx, j)
	if err != nil {
		return nil, err
	}
	r := stored[0]
	switch r.Result {
	case Outdated, Differs:
		return nil, &AddError{r.Result, r.There, r.There.State(now)}
	case Unchanged:
		return &addOutput{http.StatusOK, addedJob{view(r.There, r.There.State(now)), "unchanged"}}, nil
	case Replaced:
		return &addOutput{http.StatusOK, addedJob{view(j, j.State(now)), "replaced"}}, nil
	default:
		return &addOutput{http.StatusCreated, addedJob{view(j, j.State(now)), "added"}}, nil
	}
}

func (h *handlers) addMany(ctx context.Context, in *addInput) (*addOutput, error) {
	var each []json.RawMessage
	if err := json.Unmarshal(in.Body, &each); err != nil {
		return nil, fault.Invalid("body", "malformed", "must be JSON")
	}
	if len(each) == 0 || len(each) > MaxBatch {
		return nil, fault.Invalid("body", "out_of_range", "must hold 1 to 1000 jobs")
	}
	now := h.s.now()
	items := make([]addedResult, len(each))
	var js []*Job
	var at []int
	for i, raw := range each {
		j, faults := parse(in.Topic, raw, "body["+itoa(i)+"]", now)
		items[i].ID = j.ID
		if len(faults) > 0 {
			items[i].Status, items[i].Code = http.StatusUnprocessableEntity, "invalid"
			for _, f := range faults {
				items[i].Errors = append(items[i].Errors, topicFault{f.Location, f.Message, f.Code})
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
		case Added:
			item.Status, item.Result = http.StatusCreated, "added"
		case Replaced:
			item.Status, item.Result = http.StatusOK, "replaced"
		case Unchanged:
			item.Status, item.Result = http.StatusOK, "unchanged"
		default:
			item.Status, item.Code, item.Reason = http.StatusConflict, "state_conflict", (&AddError{Result: r.Result}).Reason()
		}
	}
	return &addOutput{Status: http.StatusOK, Body: addedResults{items}}, nil
}

type topicJob struct {
	ID          string          `json:"id"`
	State       State           `json:"state" enum:"delayed,ready,reserved,dead,done,expired"`
	Due         time.Time       `json:"due"`
	Version     int64           `json:"version"`
	Body        json.RawMessage `json:"body" doc:"As it was sent"`
	Attempts    int             `json:"attempts" doc:"Deliveries so far"`
	MaxAttempts int             `json:"max_attempts" doc:"-1: no limit"`
	TTRMs       int64           `json:"ttr_ms"`
	ExpiresAt   *time.Time      `json:"expires_at,omitempty"`
	LeaseUntil  *time.Time      `json:"lease_until,omitempty"`
	LastError   string          `json:"last_error,omitempty"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
}

func view(j *Job, s State) topicJob {
	v := topicJob{
		ID: j.ID, State: s, Due: j.Due, Version: j.Version, Body: j.Body, Attempts: j.Attempts, MaxAttempts: j.MaxAttempts,
		TTRMs: j.TTR.Milliseconds(), LastError: j.LastError, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
	if !j.Expires.IsZero() {
		v.ExpiresAt = &j.Expires
	}
	if s == Reserved {
		v.LeaseUntil = &j.LeaseUntil
	}
	return v
}

type jobOutput struct{ Body topicJob }

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
	due, faults := dueTime(in.Body.Due, in.Body.DelayMs, "body", h.s.now())
	if len(faults) > 0 {
		return nil, &InvalidError{Faults: faults}
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
