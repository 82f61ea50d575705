package httpapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"punctual/account"
	"punctual/account/fault"
	"punctual/delayjob/topics"
)

// TopicCounts are what a topic holds.
type TopicCounts struct {
	Topic            string  `json:"topic"`
	Delayed          int     `json:"delayed"`
	Ready            int     `json:"ready"`
	Reserved         int     `json:"reserved"`
	Dead             int     `json:"dead"`
	Done             int     `json:"done" doc:"Jobs done within the last day"`
	Expired          int     `json:"expired" doc:"Jobs expired within the last day"`
	OldestDueSeconds float64 `json:"oldest_due_seconds" doc:"How long the oldest ready job has been due"`
	Paused           bool    `json:"paused"`
	Pushed           bool    `json:"pushed" doc:"Whether jobs are posted to a webhook instead of being popped"`
}

func viewStats(s topics.Stats, now time.Time) TopicCounts {
	v := TopicCounts{
		Topic: s.Topic, Delayed: s.Delayed, Ready: s.Ready, Reserved: s.Reserved, Dead: s.Dead, Done: s.Done, Expired: s.Expired, Paused: s.Paused, Pushed: s.Pushed,
	}
	if !s.OldestDue.IsZero() {
		v.OldestDueSeconds = max(0, now.Sub(s.OldestDue).Seconds())
	}
	return v
}

type topicsInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"500"`
	Cursor string `query:"cursor" maxLength:"500"`
}

type topicsOutput struct {
	Body struct {
		Items      []TopicCounts `json:"items" nullable:"false"`
		NextCursor *string       `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

func (h *handlers) list(ctx context.Context, in *topicsInput) (*topicsOutput, error) {
	after := ""
	if in.Cursor != "" {
		c, err := readCursor(in.Cursor)
		if err != nil {
			return nil, err
		}
		after = c.ID
	}
	all, now, err := h.s.Stats(ctx)
	if err != nil {
		return nil, err
	}
	out := &topicsOutput{}
	out.Body.Items = []TopicCounts{}
	for _, s := range all {
		if s.Topic <= after || allow(ctx, s.Topic, anything...) != nil {
			continue
		}
		if n := len(out.Body.Items); n == in.Limit {
			out.Body.NextCursor = new(cursor{ID: out.Body.Items[n-1].Topic}.String())
			break
		}
		out.Body.Items = append(out.Body.Items, viewStats(s, now))
	}
	return out, nil
}

type topicOutput struct {
	Body struct {
		TopicCounts
		NextHour []int `json:"next_hour" nullable:"false" doc:"Number of jobs that become due in each of the next 60 minutes"`
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
		NextCursor *string        `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

type cursor struct {
	At time.Time
	ID string
}

func (c cursor) String() string {
	b, _ := json.Marshal(c) // a time within the years of the database can be written
	return base64.RawURLEncoding.EncodeToString(b)
}

func readCursor(text string) (c cursor, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(b, &c) != nil || c.ID == "" || !utf8.ValidString(c.ID) || strings.ContainsRune(c.ID, 0) {
		return c, fault.Invalid("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
	}
	return c, nil
}

func (h *handlers) dead(ctx context.Context, in *deadInput) (*deadOutput, error) {
	if err := allow(ctx, in.Topic, account.TopicsAdmin); err != nil {
		return nil, err
	}
	var after *topics.Job
	if in.Cursor != "" {
		c, err := readCursor(in.Cursor)
		if err != nil {
			return nil, err
		}
		after = &topics.Job{Key: topics.Key{Topic: in.Topic, ID: c.ID}, UpdatedAt: c.At}
	}
	js, err := h.s.Dead(ctx, in.Topic, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &deadOutput{}
	if len(js) > in.Limit {
		js = js[:in.Limit]
		last := js[len(js)-1]
		out.Body.NextCursor = new(cursor{last.UpdatedAt, last.ID}.String())
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
