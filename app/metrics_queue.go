package app

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"punctual/delayjob"
	"punctual/delayjob/admin"
	"punctual/delayjob/topics"
)

// queueCollector counts the content of a queue on each scrape, so an idle installation costs
// nothing. It caches results for queueCounted, so many scrapers cost as much as one.
type queueCollector struct {
	queue  func() delayjob.Inspector // the current one
	jobs   []string
	topics topicCounter
	others *admin.UnknownJobs

	mu      sync.Mutex
	at      time.Time
	stats   map[string]delayjob.Stats
	unknown map[string]int // messages by job type that this version does not know
}

const queueCounted = 5 * time.Second

const otherJobs = "*"

// topicCounter counts jobs by topic. Dead jobs come from the database, because a flushed queue has
// lost them.
type topicCounter interface {
	Names(ctx context.Context, most int) ([]string, error)
	CountDead(ctx context.Context, topics []string) (map[string]int, error)
}

func newQueueCollector(q func() delayjob.Inspector, jobs []string, topics topicCounter, others *admin.UnknownJobs) *queueCollector {
	return &queueCollector{queue: q, jobs: jobs, topics: topics, others: others}
}

var (
	waitingDesc = queueDesc("delayjob_waiting", "Messages that are not due yet.")
	readyDesc   = queueDesc("delayjob_ready", "Messages that are due and wait for a handler.")
	leasedDesc  = queueDesc("delayjob_leased", "Messages that are being handled.")
	deadDesc    = queueDesc("delayjob_dead", "Dead letters.")
	pausedDesc  = queueDesc("delayjob_paused", "1 while the job is paused.")
	unknownDesc = queueDesc("delayjob_unknown", "Messages of a job type that this version does not know. They wait.")
	oldestDesc  = queueDesc("delayjob_oldest_due_age_seconds", "How long the oldest due message has been waiting; 0 if none is due.")
)

func queueDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"job"}, nil)
}

func (c *queueCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{waitingDesc, readyDesc, leasedDesc, deadDesc, pausedDesc, oldestDesc, unknownDesc} {
		ch <- d
	}
}

func (c *queueCollector) Collect(ch chan<- prometheus.Metric) {
	stats, unknown := c.look()
	for job, n := range unknown {
		ch <- prometheus.MustNewConstMetric(unknownDesc, prometheus.GaugeValue, float64(n), strings.ToValidUTF8(job, "\uFFFD"))
	}
	for job, s := range stats {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, job)
		}
		gauge(waitingDesc, float64(s.Delayed))
		gauge(readyDesc, float64(s.Ready))
		gauge(leasedDesc, float64(s.Reserved))
		gauge(deadDesc, float64(s.Dead))
		paused, age := 0.0, 0.0
		if s.Paused {
			paused = 1
		}
		if !s.Oldest.IsZero() {
			age = max(0, time.Since(s.Oldest).Seconds())
		}
		gauge(pausedDesc, paused)
		gauge(oldestDesc, age)
	}
}

// look omits jobs for which the queue does not answer. An absent series triggers its own alarm; a
// stale one would hide the problem.
func (c *queueCollector) look() (stats map[string]delayjob.Stats, unknown map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) < queueCounted {
		return c.stats, c.unknown
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	c.stats = map[string]delayjob.Stats{}
	queue := c.queue()
	for _, job := range c.jobs {
		if s, err := queue.Stats(ctx, job); err == nil {
			c.stats[job] = s
		}
	}
	ofTopics, _ := TopicStats(ctx, queue, c.topics, shownTopics) // absent, too, if the database does not answer
	maps.Copy(c.stats, ofTopics)
	c.unknown = map[string]int{}
	others, _ := c.others.Count(ctx)
	for job, s := range others {
		if len(c.unknown) >= shownTopics {
			job = otherJobs
		}
		c.unknown[job] += s.Messages()
	}
	c.at = time.Now()
	return c.stats, c.unknown
}

// TopicStats counts the messages of the first topics in name order, keyed by job name. It omits
// topics for which the queue does not answer.
func TopicStats(ctx context.Context, queue delayjob.Inspector, counter topicCounter, most int) (map[string]delayjob.Stats, error) {
	stats := map[string]delayjob.Stats{}
	names, err := counter.Names(ctx, most)
	if err != nil || len(names) == 0 {
		return stats, err
	}
	dead, err := counter.CountDead(ctx, names)
	if err != nil {
		return stats, err
	}
	for _, name := range names {
		job := topics.JobName(name)
		if s, err := queue.Stats(ctx, job); err == nil {
			s.Dead = dead[name]
			stats[job] = s
		}
	}
	return stats, nil
}
