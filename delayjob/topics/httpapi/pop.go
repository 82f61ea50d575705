package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/fault"
	"punctual/delayjob/topics"
)

// PopOptions say what to pop, and how.
type PopOptions struct {
	Max    int   `json:"max,omitempty" minimum:"1" maximum:"500" default:"1" doc:"Maximum number of jobs"`
	WaitMs int64 `json:"wait_ms,omitempty" minimum:"0" maximum:"30000" doc:"How long to wait for the first job"`
	TTRMs  int64 `json:"ttr_ms,omitempty" minimum:"1" maximum:"86400000" doc:"How long the jobs stay reserved; defaults to the ttr_ms of each job"`
}

// liftDeadline is for requests that may wait: the deadline of reading them, which have been
// read, would end them early.
func liftDeadline(ctx huma.Context) []error {
	_ = ctx.SetReadDeadline(time.Time{}) // a connection without deadlines has none to lift
	return nil
}

type popInput struct {
	TopicInput
	Body *PopOptions `required:"false"`
}

func (*popInput) Resolve(ctx huma.Context) []error { return liftDeadline(ctx) }

type popManyInput struct {
	Body struct {
		Topics []string `json:"topics" nullable:"false" minItems:"1" maxItems:"20" pattern:"^[a-z0-9.-]{1,64}$" doc:"Topic names, each at most once"`
		PopOptions
	}
}

func (*popManyInput) Resolve(ctx huma.Context) []error { return liftDeadline(ctx) }

type poppedJob struct {
	Topic      string          `json:"topic"`
	ID         string          `json:"id"`
	Body       json.RawMessage `json:"body"`
	Attempt    int             `json:"attempt" doc:"Number of this attempt, counted from 1"`
	Due        time.Time       `json:"due"`
	Lease      string          `json:"lease" doc:"Token that finishes, extends or fails the job"`
	LeaseUntil time.Time       `json:"lease_until"`
}

type popOutput struct {
	Body struct {
		Items []poppedJob `json:"items" nullable:"false"`
	}
}

func (h *handlers) pop(ctx context.Context, in *popInput) (*popOutput, error) {
	o := PopOptions{}
	if in.Body != nil {
		o = *in.Body
	}
	return h.popFrom(ctx, []string{in.Topic}, o)
}

func (h *handlers) popMany(ctx context.Context, in *popManyInput) (*popOutput, error) {
	// Not by the schema: its check for duplicates panics on arrays and objects.
	if len(in.Body.Topics) == 0 {
		return nil, fault.Invalid("body.topics", "required", "must name at least one topic")
	}
	for i, t := range in.Body.Topics {
		if slices.Contains(in.Body.Topics[:i], t) {
			return nil, fault.Invalid("body.topics["+itoa(i)+"]", "conflict", "must not be repeated")
		}
	}
	return h.popFrom(ctx, in.Body.Topics, in.Body.PopOptions)
}

func (h *handlers) popFrom(ctx context.Context, names []string, o PopOptions) (*popOutput, error) {
	for _, t := range names {
		if err := allow(ctx, t, account.TopicsConsume); err != nil {
			return nil, err
		}
	}
	ds, err := h.s.Pop(ctx, topics.Pop{Topics: names, Max: max(1, o.Max), Wait: millis(o.WaitMs), TTR: millis(o.TTRMs), Allowed: account.Recheck})
	if err != nil {
		return nil, err
	}
	out := &popOutput{}
	out.Body.Items = make([]poppedJob, len(ds))
	for i, d := range ds {
		out.Body.Items[i] = poppedJob{
			Topic: d.Topic, ID: d.ID, Body: d.Body, Attempt: d.Attempts, Due: d.Due, Lease: d.Lease.String(), LeaseUntil: d.LeaseUntil,
		}
	}
	return out, nil
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

type finishInput struct {
	JobInput
	Body struct {
		Lease string `json:"lease"`
	}
}

func (h *handlers) finish(ctx context.Context, in *finishInput) (*struct{}, error) {
	e, err := h.ending(ctx, in.key(), in.Body.Lease)
	if err != nil {
		return nil, err
	}
	errs, err := h.s.Finish(ctx, e)
	if err != nil {
		return nil, err
	}
	return nil, errs[0]
}

func (h *handlers) ending(ctx context.Context, k topics.Key, lease string) (topics.Ending, error) {
	if err := allow(ctx, k.Topic, account.TopicsConsume); err != nil {
		return topics.Ending{}, err
	}
	l, err := topics.ParseLease(lease)
	return topics.Ending{Key: k, Lease: l}, err
}

type finishManyInput struct {
	TopicInput
	Body []struct {
		ID    string `json:"id" maxLength:"128"`
		Lease string `json:"lease"`
	} `nullable:"false" minItems:"1" maxItems:"1000"`
}

type finishManyOutput struct {
	Body struct {
		Items []TopicResult `json:"items" nullable:"false"`
	}
}

func (h *handlers) finishMany(ctx context.Context, in *finishManyInput) (*finishManyOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsConsume); err != nil {
		return nil, err
	}
	if len(in.Body) == 0 {
		return nil, fault.Invalid("body", "required", "must name at least one job")
	}
	out := &finishManyOutput{}
	out.Body.Items = make([]TopicResult, len(in.Body))
	var es []topics.Ending
	var at []int
	for i, f := range in.Body {
		out.Body.Items[i] = TopicResult{ID: f.ID, Status: http.StatusConflict, Code: "lease_lost"}
		if l, err := topics.ParseLease(f.Lease); err == nil && isID(f.ID) {
			es, at = append(es, topics.Ending{Key: topics.Key{Topic: in.Topic, ID: f.ID}, Lease: l}), append(at, i)
		}
	}
	errs, err := h.s.Finish(ctx, es...)
	if err != nil {
		return nil, err
	}
	for n, i := range at {
		if errs[n] == nil {
			out.Body.Items[i].Status, out.Body.Items[i].Code = http.StatusNoContent, ""
		}
	}
	return out, nil
}

type extendInput struct {
	JobInput
	Body struct {
		Lease string `json:"lease"`
		TTRMs int64  `json:"ttr_ms" minimum:"1" maximum:"86400000"`
	}
}

type extendOutput struct {
	Body struct {
		LeaseUntil time.Time `json:"lease_until"`
	}
}

func (h *handlers) extend(ctx context.Context, in *extendInput) (*extendOutput, error) {
	e, err := h.ending(ctx, in.key(), in.Body.Lease)
	if err != nil {
		return nil, err
	}
	out := &extendOutput{}
	out.Body.LeaseUntil, err = h.s.Extend(ctx, e, millis(in.Body.TTRMs))
	return out, err
}

type failInput struct {
	JobInput
	Body struct {
		Lease   string `json:"lease"`
		Error   string `json:"error,omitempty" doc:"Error message; the first 4,000 bytes are stored"`
		DelayMs *int64 `json:"delay_ms,omitempty" minimum:"0" maximum:"158112000000" doc:"Delay before the next attempt; if omitted, it grows with each attempt from 1 s to 5 min"`
		Dead    bool   `json:"dead,omitempty" doc:"Whether to give up instead of retrying"`
	}
}

func (h *handlers) fail(ctx context.Context, in *failInput) (*struct{}, error) {
	e, err := h.ending(ctx, in.key(), in.Body.Lease)
	if err != nil {
		return nil, err
	}
	f := topics.Failure{Error: in.Body.Error, Dead: in.Body.Dead}
	if in.Body.DelayMs != nil {
		f.Delay = new(millis(*in.Body.DelayMs))
	}
	return nil, h.s.Fail(ctx, e, f)
}
