package topics

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// describe makes an operation of topics.
type describe func(id, method, path, summary string, more ...func(*huma.Operation)) huma.Operation

func status(n int) func(*huma.Operation) { return func(o *huma.Operation) { o.DefaultStatus = n } }

func or(ns ...int) func(*huma.Operation) {
	return func(o *huma.Operation) { o.Errors = append(o.Errors, ns...) }
}

// Register adds the operations to the API. Who is asking comes from [account.FromContext]; rate
// limits the requests of each token.
func Register(api huma.API, s *Service, rate account.Limiter) {
	h := &handlers{s: s}
	limited := huma.Middlewares{limit(api, rate)}
	op := func(id, method, path, summary string, more ...func(*huma.Operation)) huma.Operation {
		o := huma.Operation{
			OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{"Topics"}, Middlewares: limited,
			Errors: []int{
				http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusServiceUnavailable,
			},
		}
		for _, m := range more {
			m(&o)
		}
		return o
	}
	h.registerWebhooks(api, op)
	leased := or(http.StatusConflict)
	changes := or(http.StatusNotFound, http.StatusConflict)

	huma.Register(api, op("add-topic-jobs", http.MethodPost, "/topics/{topic}/jobs", "Add a job, or an array of up to 1,000",
		status(http.StatusCreated), or(http.StatusConflict), oneOrMany(api)), h.add)
	huma.Register(api, op("get-topic-job", http.MethodGet, "/topics/{topic}/jobs/{id}", "A job and its state", or(http.StatusNotFound)), h.get)
	huma.Register(api, op("reschedule-topic-job", http.MethodPatch, "/topics/{topic}/jobs/{id}", "Give a job another due time", changes), h.reschedule)
	huma.Register(api, op("delete-topic-job", http.MethodDelete, "/topics/{topic}/jobs/{id}", "Delete a job; 202 if it is being run",
		status(http.StatusNoContent), or(http.StatusNotFound)), h.delete)
	huma.Register(api, op("pop-topic-jobs", http.MethodPost, "/topics/{topic}/pop", "Reserve due jobs, waiting for the first one", or(http.StatusConflict)), h.pop)
	huma.Register(api, op("pop-jobs-of-topics", http.MethodPost, "/pop", "Reserve due jobs of several topics", or(http.StatusConflict)), h.popMany)
	huma.Register(api, op("finish-topic-job", http.MethodPost, "/topics/{topic}/jobs/{id}/finish", "Say that a job is done", status(http.StatusNoContent), leased), h.finish)
	huma.Register(api, op("finish-topic-jobs", http.MethodPost, "/topics/{topic}/finish", "Say that up to 1,000 jobs are done"), h.finishMany)
	huma.Register(api, op("extend-topic-job", http.MethodPost, "/topics/{topic}/jobs/{id}/extend", "Keep a job reserved for longer", leased), h.extend)
	huma.Register(api, op("fail-topic-job", http.MethodPost, "/topics/{topic}/jobs/{id}/fail", "Give a job back, for later or for good", status(http.StatusNoContent), leased), h.fail)
	huma.Register(api, op("list-topics", http.MethodGet, "/topics", "The topics that the token reaches, and what they hold"), h.list)
	huma.Register(api, op("get-topic", http.MethodGet, "/topics/{topic}", "What a topic holds, and the coming hour by minute"), h.stats)
	huma.Register(api, op("pause-topic", http.MethodPost, "/topics/{topic}/pause", "Hand out nothing of a topic"), h.pause)
	huma.Register(api, op("resume-topic", http.MethodPost, "/topics/{topic}/resume", "Go on with a topic"), h.resume)
	huma.Register(api, op("list-dead-topic-jobs", http.MethodGet, "/topics/{topic}/dead", "Jobs that gave up, the latest first"), h.dead)
	huma.Register(api, op("requeue-dead-topic-job", http.MethodPost, "/topics/{topic}/dead/{id}/requeue", "Try a dead job again", status(http.StatusNoContent), changes), h.requeue)
}

// oneOrMany describes a body that is a job or an array of jobs. It is validated by parse, job
// by job.
func oneOrMany(api huma.API) func(*huma.Operation) {
	return func(o *huma.Operation) {
		one := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[newTopicJob](), true, "NewTopicJob")
		o.SkipValidateBody = true
		o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
			OneOf: []*huma.Schema{one, {Type: huma.TypeArray, Items: one, MinItems: new(1), MaxItems: new(MaxBatch)}},
		}}}}
	}
}

type handlers struct{ s *Service }

// TopicInput is one topic.
type TopicInput struct {
	Topic string `path:"topic" maxLength:"64" pattern:"^[a-z0-9.-]+$" example:"orders"`
}

// JobInput is one job.
type JobInput struct {
	TopicInput
	ID string `path:"id" maxLength:"128" pattern:"^[A-Za-z0-9._~-]+$"`
}

func (i JobInput) key() Key { return Key{i.Topic, i.ID} }

// allow is nil if the token reaches one of the scopes for this topic.
func allow(ctx context.Context, topic string, scopes ...account.Scope) error {
	p, ok := account.FromContext(ctx)
	if !ok {
		return account.ErrUnauthorized
	}
	for _, s := range scopes {
		if p.HasScope(s + ":" + account.Scope(topic)) {
			return nil
		}
	}
	return account.ErrForbidden
}

var anything = []account.Scope{account.TopicsProduce, account.TopicsConsume, account.TopicsAdmin}

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
		return nil, &InvalidError{faults}
	}
	stored, err := h.s.Add(ctx, j)
	if err != nil {
		return nil, err
	}
	out := &addOutput{Status: http.StatusOK}
	switch stored[0].Result {
	case Outdated:
		return nil, &VersionError{stored[0].Current}
	case Added:
		out.Status = http.StatusCreated
	case Unchanged: // perhaps with another due time, or done
		there, state, err := h.s.Job(ctx, j.Key)
		if err == nil {
			out.Body = view(there, state)
			return out, nil
		}
	}
	out.Body = view(j, j.State(now))
	return out, nil
}

func (h *handlers) addMany(ctx context.Context, in *addInput) (*addOutput, error) {
	var each []json.RawMessage
	if err := json.Unmarshal(in.Body, &each); err != nil {
		return nil, &InvalidError{[]Fault{{"body", "malformed", "is no JSON"}}}
	}
	if len(each) == 0 || len(each) > MaxBatch {
		return nil, &InvalidError{[]Fault{{"body", "out_of_range", "must hold 1 to 1000 jobs"}}}
	}
	now := h.s.now()
	items := make([]topicResult, len(each))
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
		switch stored[n].Result {
		case Added:
			items[i].Status = http.StatusCreated
		case Outdated:
			items[i].Status, items[i].Code = http.StatusConflict, "state_conflict"
		default:
			items[i].Status = http.StatusOK
		}
	}
	return &addOutput{Status: http.StatusOK, Body: map[string]any{"items": items}}, nil
}

type topicJob struct {
	ID          string     `json:"id"`
	State       State      `json:"state" enum:"delayed,ready,reserved,dead,done,expired,deleted"`
	Due         time.Time  `json:"due"`
	Version     int64      `json:"version"`
	Attempts    int        `json:"attempts" doc:"Deliveries so far"`
	MaxAttempts int        `json:"max_attempts" doc:"-1: no limit"`
	TTRMs       int64      `json:"ttr_ms"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
	LeaseUntil  *time.Time `json:"lease_until,omitempty"`
	LastError   string     `json:"last_error,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

func view(j *Job, s State) topicJob {
	v := topicJob{
		ID: j.ID, State: s, Due: j.Due, Version: j.Version, Attempts: j.Attempts, MaxAttempts: j.MaxAttempts,
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
		return nil, &InvalidError{faults}
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

// PopOptions say what to pop, and how.
type PopOptions struct {
	Max    int   `json:"max,omitempty" minimum:"1" maximum:"500" default:"1" doc:"At most so many"`
	WaitMs int64 `json:"wait_ms,omitempty" minimum:"0" maximum:"30000" doc:"How long to wait for the first one"`
	TTRMs  int64 `json:"ttr_ms,omitempty" minimum:"1" maximum:"86400000" doc:"How long they are reserved; without it as long as each says itself"`
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

// Resolve implements [huma.Resolver].
func (*popInput) Resolve(ctx huma.Context) []error { return liftDeadline(ctx) }

type popManyInput struct {
	Body struct {
		Topics []string `json:"topics" minItems:"1" maxItems:"20" uniqueItems:"true" pattern:"^[a-z0-9.-]{1,64}$"`
		PopOptions
	}
}

// Resolve implements [huma.Resolver].
func (*popManyInput) Resolve(ctx huma.Context) []error { return liftDeadline(ctx) }

type poppedJob struct {
	Topic      string          `json:"topic"`
	ID         string          `json:"id"`
	Body       json.RawMessage `json:"body"`
	Attempt    int             `json:"attempt" doc:"From 1"`
	Due        time.Time       `json:"due"`
	Lease      string          `json:"lease" doc:"The right to finish, extend or fail it"`
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
	return h.popFrom(ctx, in.Body.Topics, in.Body.PopOptions)
}

func (h *handlers) popFrom(ctx context.Context, topics []string, o PopOptions) (*popOutput, error) {
	for _, t := range topics {
		if err := allow(ctx, t, account.TopicsConsume); err != nil {
			return nil, err
		}
	}
	ds, err := h.s.Pop(ctx, Pop{Topics: topics, Max: max(1, o.Max), Wait: millis(o.WaitMs), TTR: millis(o.TTRMs)})
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

func (h *handlers) ending(ctx context.Context, k Key, lease string) (Ending, error) {
	if err := allow(ctx, k.Topic, account.TopicsConsume); err != nil {
		return Ending{}, err
	}
	l, err := ParseLease(lease)
	return Ending{k, l}, err
}

type finishManyInput struct {
	TopicInput
	Body []struct {
		ID    string `json:"id" maxLength:"128"`
		Lease string `json:"lease"`
	} `minItems:"1" maxItems:"1000"`
}

type finishManyOutput struct {
	Body struct {
		Items []topicResult `json:"items" nullable:"false"`
	}
}

func (h *handlers) finishMany(ctx context.Context, in *finishManyInput) (*finishManyOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsConsume); err != nil {
		return nil, err
	}
	out := &finishManyOutput{}
	out.Body.Items = make([]topicResult, len(in.Body))
	var es []Ending
	var at []int
	for i, f := range in.Body {
		out.Body.Items[i] = topicResult{ID: f.ID, Status: http.StatusConflict, Code: "lease_lost"}
		if l, err := ParseLease(f.Lease); err == nil && isID(f.ID) {
			es, at = append(es, Ending{Key{in.Topic, f.ID}, l}), append(at, i)
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
		Error   string `json:"error,omitempty" doc:"Its first 4,000 bytes are kept"`
		DelayMs *int64 `json:"delay_ms,omitempty" minimum:"0" maximum:"158112000000" doc:"Until the next attempt; without it longer from attempt to attempt, 1 s to 5 min"`
		Dead    bool   `json:"dead,omitempty" doc:"There must be no further attempt"`
	}
}

func (h *handlers) fail(ctx context.Context, in *failInput) (*struct{}, error) {
	e, err := h.ending(ctx, in.key(), in.Body.Lease)
	if err != nil {
		return nil, err
	}
	f := Failure{Error: in.Body.Error, Dead: in.Body.Dead}
	if in.Body.DelayMs != nil {
		f.Delay = new(millis(*in.Body.DelayMs))
	}
	return nil, h.s.Fail(ctx, e, f)
}

// TopicCounts are what a topic holds.
type TopicCounts struct {
	Topic            string  `json:"topic"`
	Delayed          int     `json:"delayed"`
	Ready            int     `json:"ready"`
	Reserved         int     `json:"reserved"`
	Dead             int     `json:"dead"`
	Done             int     `json:"done" doc:"Within the last day"`
	Expired          int     `json:"expired" doc:"Within the last day"`
	OldestDueSeconds float64 `json:"oldest_due_seconds" doc:"How long the oldest job that is ready has been due"`
	Paused           bool    `json:"paused"`
	Pushed           bool    `json:"pushed" doc:"To a webhook, instead of being popped"`
}

func viewStats(s Stats, now time.Time) TopicCounts {
	v := TopicCounts{
		Topic: s.Topic, Delayed: s.Delayed, Ready: s.Ready, Reserved: s.Reserved, Dead: s.Dead, Done: s.Done, Expired: s.Expired, Paused: s.Paused, Pushed: s.Pushed,
	}
	if !s.OldestDue.IsZero() {
		v.OldestDueSeconds = max(0, now.Sub(s.OldestDue).Seconds())
	}
	return v
}

type topicsOutput struct {
	Body struct {
		Items      []TopicCounts `json:"items" nullable:"false"`
		NextCursor *string       `json:"next_cursor" doc:"Always null: the list is complete"`
	}
}

func (h *handlers) list(ctx context.Context, _ *struct{}) (*topicsOutput, error) {
	all, now, err := h.s.Stats(ctx)
	if err != nil {
		return nil, err
	}
	out := &topicsOutput{}
	out.Body.Items = []TopicCounts{}
	for _, s := range all {
		if allow(ctx, s.Topic, anything...) == nil {
			out.Body.Items = append(out.Body.Items, viewStats(s, now))
		}
	}
	return out, nil
}

type topicOutput struct {
	Body struct {
		TopicCounts
		NextHour []int `json:"next_hour" nullable:"false" doc:"How many jobs become due in each of the coming sixty minutes"`
	}
}

func (h *handlers) stats(ctx context.Context, in *TopicInput) (*topicOutput, error) {
	if err := allow(ctx, in.Topic, anything...); err != nil {
		return nil, err
	}
	s, minutes, now, err := h.s.Topic(ctx, in.Topic)
	if err != nil {
		return nil, err
	}
	out := &topicOutput{}
	out.Body.TopicCounts, out.Body.NextHour = viewStats(s, now), minutes[:]
	return out, nil
}

func (h *handlers) pause(ctx context.Context, in *TopicInput) (*topicOutput, error) {
	return h.setPaused(ctx, in, true)
}

func (h *handlers) resume(ctx context.Context, in *TopicInput) (*topicOutput, error) {
	return h.setPaused(ctx, in, false)
}

func (h *handlers) setPaused(ctx context.Context, in *TopicInput, paused bool) (*topicOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	if err := h.s.SetPaused(ctx, in.Topic, paused); err != nil {
		return nil, err
	}
	return h.stats(ctx, in)
}

type deadInput struct {
	TopicInput
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50"`
	Cursor string `query:"cursor" maxLength:"500"`
}

type deadTopicJob struct {
	ID       string          `json:"id"`
	Body     json.RawMessage `json:"body"`
	Version  int64           `json:"version"`
	Attempts int             `json:"attempts"`
	Error    string          `json:"error"`
	Due      time.Time       `json:"due"`
	DeadAt   time.Time       `json:"dead_at"`
}

type deadOutput struct {
	Body struct {
		Items      []deadTopicJob `json:"items" nullable:"false"`
		NextCursor *string        `json:"next_cursor" doc:"For the next page; null on the last"`
	}
}

type deadCursor struct {
	At time.Time
	ID string
}

func (h *handlers) dead(ctx context.Context, in *deadInput) (*deadOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	var after *Job
	if in.Cursor != "" {
		var c deadCursor
		b, err := base64.RawURLEncoding.DecodeString(in.Cursor)
		if err != nil || json.Unmarshal(b, &c) != nil {
			return nil, &InvalidError{[]Fault{{"query.cursor", "malformed", "is no cursor of this list"}}}
		}
		after = &Job{Key: Key{in.Topic, c.ID}, UpdatedAt: c.At}
	}
	js, err := h.s.Dead(ctx, in.Topic, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &deadOutput{}
	if len(js) > in.Limit {
		js = js[:in.Limit]
		last := js[len(js)-1]
		b, err := json.Marshal(deadCursor{last.UpdatedAt, last.ID})
		if err != nil {
			return nil, err
		}
		out.Body.NextCursor = new(base64.RawURLEncoding.EncodeToString(b))
	}
	out.Body.Items = make([]deadTopicJob, len(js))
	for i, j := range js {
		out.Body.Items[i] = deadTopicJob{ID: j.ID, Body: j.Body, Version: j.Version, Attempts: j.Attempts, Error: j.LastError, Due: j.Due, DeadAt: j.UpdatedAt}
	}
	return out, nil
}

func (h *handlers) requeue(ctx context.Context, in *JobInput) (*struct{}, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	return nil, h.s.Requeue(ctx, in.key())
}
