package app

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"punctual/app/config"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	"punctual/delayjob/memqueue"
)

// noTopics is a topicCounter without a topic.
type noTopics struct{ topicCounter }

func (noTopics) Names(context.Context, int) ([]string, error) { return nil, nil }

// Messages of unknown job types are counted, and logged once for each job.
func TestUnknownJobs(t *testing.T) {
	t.Parallel()
	q := memqueue.New()
	defer q.Close()
	var log bytes.Buffer
	u := &admin.UnknownJobs{Queue: func() delayjob.Inspector { return q }, Known: config.IsJob, Log: slog.New(slog.NewTextHandler(&log, nil))}
	add := func(job, key string) {
		t.Helper()
		if _, err := q.Add(t.Context(), delayjob.Message{Job: job, Key: key, Version: 1, Due: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(want map[string]float64) {
		t.Helper()
		registry := prometheus.NewRegistry()
		registry.MustRegister(newQueueCollector(u.Queue, nil, noTopics{}, u))
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	add("meeting.start", "1")
	add("topic.orders", "1")
	look(nil)
	add("no.such", "1")
	add("no.such", "2")
	add("other", "1")
	for range 2 {
		look(map[string]float64{"delayjob_unknown no.such": 2, "delayjob_unknown other": 1})
	}
	for _, job := range []string{"no.such", "other"} {
		if n := strings.Count(log.String(), `msg="unknown job type in queue" job=`+job); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", job, n, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
