package httpapi

import (
	"context"
	"iter"
	"testing"
	"time"

	"punctual/delayjob"
)

// loads is a strategy that has these due times to load, and counts how often it was asked.
type loads struct {
	due   []time.Time
	asked int
}

func (*loads) Name() string                                    { return "loads" }
func (*loads) Execute(context.Context, delayjob.Message) error { return nil }

func (l *loads) Load(_ context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	l.asked++
	return func(yield func(delayjob.Message, error) bool) {
		for _, d := range l.due {
			if w.Contains(d) && !yield(delayjob.Message{Job: "loads", Key: "1", Due: d}, nil) {
				return
			}
		}
	}
}

func TestComingHour(t *testing.T) {
	now := time.Date(2027, 2, 10, 9, 0, 30, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Truncate(time.Minute).Add(d) }
	l := &loads{due: []time.Time{at(-time.Hour), at(0), at(90 * time.Second), at(59*time.Minute + 59*time.Second), at(time.Hour), at(2 * time.Hour)}}
	c := &comingHour{jobs: []delayjob.DelayJob{l}, most: 10, now: func() time.Time { return now }}
	for range 2 { // the second answer is the first
		v, err := c.count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := v.Items[0].Minutes
		if !v.From.Equal(at(0)) || m[0] != 2 || m[1] != 1 || m[59] != 1 || v.Items[0].More {
			t.Errorf("from %s: %+v", v.From, v.Items[0])
		}
	}
	now = now.Add(comingFresh)
	c.most = 2
	v, err := c.count(t.Context())
	if err != nil || !v.Items[0].More || l.asked != 2 {
		t.Errorf("with a bound: %+v, asked %d times, %v", v.Items, l.asked, err)
	}
}
