package app

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"punctual/delayjob"
	"punctual/delayjob/lateness"
	"punctual/notify"
)

type metrics struct {
	registry *prometheus.Registry

	late, doneLate, exec *prometheus.HistogramVec // by job
	results              *prometheus.CounterVec   // job, result
	claims               *prometheus.CounterVec   // empty
	batch                prometheus.Histogram
	wakes                *prometheus.CounterVec // cause
	extended, lost       *prometheus.CounterVec // job
	breaker              *prometheus.GaugeVec   // job
	adds                 *prometheus.CounterVec // job, result
	healed               prometheus.Counter
	load                 *prometheus.HistogramVec // full
	loadRows             *prometheus.CounterVec   // full
	loadFailures         prometheus.Counter
	http                 *prometheus.HistogramVec // method, route, status
	notifications        *prometheus.CounterVec   // kind, channel, state
	notified             *prometheus.HistogramVec // kind, channel
	deleted              *prometheus.CounterVec   // what
	oldest               *prometheus.GaugeVec     // what

	topics   topicLabels
	lateness *lateness.Recorder // for the report, which outlives the process; nil: not recorded
}

var (
	_ delayjob.Observer = (*metrics)(nil)
	_ notify.Observer   = (*metrics)(nil)
)

var (
	httpBuckets   = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	notifyBuckets = []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 30, 60, 300, 900, 3600, 43200} // changes wait for booking.undo, and others for quiet hours
)

func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(h)
		return h
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	m.late = histogram("delayjob_late_seconds", "From due, or due again after a failure or a crash, to the start of the handler.", lateness.Buckets, "job")
	m.doneLate = histogram("delayjob_done_late_seconds", "From the first due time to the end of the handler.", lateness.Buckets, "job")
	m.exec = histogram("delayjob_exec_seconds", "How long a handler took.", lateness.Buckets, "job")
	m.results = counter("delayjob_exec_total", "Executions by result.", "job", "result")
	m.claims = counter("delayjob_claims_total", "Claims by whether they returned messages.", "result")
	m.batch = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "delayjob_batch_size", Help: "Messages per claim, without empty claims.",
		Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}})
	m.wakes = counter("delayjob_wakes_total", "Wake-ups of shards by cause.", "cause")
	m.extended = counter("delayjob_lease_extended_total", "Leases extended.", "job")
	m.lost = counter("delayjob_lease_lost_total", "Leases lost.", "job")
	m.breaker = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "delayjob_breaker_open", Help: "1 while the job backs off because a dependency is down."}, []string{"job"})
	m.adds = counter("delayjob_adds_total", "Messages added by result.", "job", "result")
	m.healed = prometheus.NewCounter(prometheus.CounterOpts{Name: "delayjob_load_healed_total", Help: "Messages repaired because no set of the queue contained them."})
	m.load = histogram("delayjob_load_seconds", "How long a pass of the loader took.", lateness.Buckets, "full")
	m.loadRows = counter("delayjob_load_rows_total", "Rows loaded.", "full")
	m.loadFailures = prometheus.NewCounter(prometheus.CounterOpts{Name: "delayjob_load_failures_total", Help: "Failed passes of the loader."})
	m.notifications = counter("punctual_notifications_total", "Notifications by the final state in which a worker left them.", "kind", "channel", "state")
	m.notified = histogram("punctual_notification_seconds", "From the record of a notification, or its resend, until the provider accepted it.", notifyBuckets, "kind", "channel")
	m.deleted = counter("punctual_deleted_total", "Rows and files deleted after their retention period.", "what")
	m.oldest = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "punctual_oldest_timestamp_seconds", Help: "When the oldest row that is kept was stored, or took place; 0: there is none."}, []string{"what"})
	m.http = histogram("http_request_duration_seconds", "Requests by route.", httpBuckets, "method", "route", "status")
	m.registry.MustRegister(m.batch, m.breaker, m.oldest, m.healed, m.loadFailures,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) Started(job string, late time.Duration) {
	job = m.topics.label(job)
	m.late.WithLabelValues(job).Observe(max(0, late.Seconds()))
	if m.lateness != nil {
		m.lateness.Observe(job, late)
	}
}

func (m *metrics) Finished(job string, r delayjob.Result, late, took time.Duration) {
	job = m.topics.label(job)
	m.results.WithLabelValues(job, string(r)).Inc()
	if r == delayjob.ResultOK {
		m.doneLate.WithLabelValues(job).Observe(max(0, late.Seconds()))
	}
	if r != delayjob.ResultReleased {
		m.exec.WithLabelValues(job).Observe(took.Seconds())
	}
}

func (m *metrics) Claimed(_, n int, _ time.Duration, err error) {
	switch {
	case err != nil:
		m.claims.WithLabelValues("error").Inc()
	case n == 0:
		m.claims.WithLabelValues("empty").Inc()
	default:
		m.claims.WithLabelValues("some").Inc()
		m.batch.Observe(float64(n))
	}
}

func (m *metrics) Woken(c delayjob.Cause) { m.wakes.WithLabelValues(string(c)).Inc() }

func (m *metrics) Leases(job string, extended, lost int) {
	job = m.topics.label(job)
	m.extended.WithLabelValues(job).Add(float64(extended))
	m.lost.WithLabelValues(job).Add(float64(lost))
}

func (m *metrics) Breaker(job string, open bool) {
	job = m.topics.label(job)
	v := 0.0
	if open {
		v = 1
	}
	m.breaker.WithLabelValues(job).Set(v)
}

func (m *metrics) Added(job string, r delayjob.AddResult, n int) {
	job = m.topics.label(job)
	m.adds.WithLabelValues(job, r.String()).Add(float64(n))
	if r == delayjob.Healed {
		m.healed.Add(float64(n))
	}
}

// Concluded implements [notify.Observer].
func (m *metrics) Concluded(k notify.Kind, c notify.Channel, s notify.State, took time.Duration) {
	m.notifications.WithLabelValues(string(k), string(c), string(s)).Inc()
	if s == notify.Sent {
		m.notified.WithLabelValues(string(k), string(c)).Observe(max(0, took.Seconds()))
	}
}

func (m *metrics) Loaded(full bool, rows int, took time.Duration, err error) {
	if err != nil {
		m.loadFailures.Inc()
		return
	}
	label := strconv.FormatBool(full)
	m.load.WithLabelValues(label).Observe(took.Seconds())
	m.loadRows.WithLabelValues(label).Add(float64(rows))
}

const shownTopics = 100

const otherTopics = "topic.*"

type topicLabels struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (l *topicLabels) label(job string) string {
	if !strings.HasPrefix(job, "topic.") {
		return job
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if !l.seen[job] {
		if len(l.seen) >= shownTopics {
			return otherTopics
		}
		l.seen[job] = true
	}
	return job
}

// watchLoader adds the age of the last complete pass, which grows while the loader is stuck.
// While the fall-back works its loader counts.
func (m *metrics) watchLoader(l *delayjob.Loader, f *delayjob.Fallback, since time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "delayjob_load_age_seconds", Help: "Seconds since the last complete pass of the loader, or since startup."},
		func() float64 {
			last := since
			for _, at := range []time.Time{l.LastPass(), f.LastPass()} {
				if at.After(last) {
					last = at
				}
			}
			return time.Since(last).Seconds()
		}))
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// measure is the middleware that times requests by route, not by path: ids would make a
// series each. So would the methods that clients invent for paths without a route.
func (m *metrics) measure(c *gin.Context) {
	begin := time.Now()
	c.Next()
	method, route := c.Request.Method, c.FullPath()
	if route == "" {
		route = "other"
		if method != http.MethodGet && method != http.MethodHead {
			method = "other"
		}
	}
	m.http.WithLabelValues(method, route, strconv.Itoa(c.Writer.Status())).Observe(time.Since(begin).Seconds())
}
