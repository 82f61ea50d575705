package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"punctual/app/config"
	"punctual/migrations"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

// gaugeValues are what a metric without histograms shows, one value for each series.
func gaugeValues(t *testing.T, g prometheus.Gatherer, name string) (values []float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				values = append(values, m.GetGauge().GetValue())
			}
		}
	}
	return values
}

func TestClockWatch(t *testing.T) {
	log := &testenv.LogBuffer{}
	var offset, corrected time.Duration
	var down error
	w := &clockWatch{
		measure: func(context.Context) (time.Duration, error) { return offset, down },
		correct: func(d time.Duration) { corrected = d },
		offset:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "offset"}),
		log:     NewLogger(log, "text", slog.LevelInfo),
	}
	shown := prometheus.NewRegistry()
	shown.MustRegister(w.offset)
	lines := 0
	for _, step := range []struct {
		name            string
		offset          time.Duration
		down            error
		correct, metric time.Duration
		says            string // the new line of the log; "": none
	}{
		{"they agree", time.Millisecond, nil, 0, time.Millisecond, ""},
		{"a little off", -249 * time.Millisecond, nil, 0, -249 * time.Millisecond, ""},
		{"off", 250 * time.Millisecond, nil, 250 * time.Millisecond, 250 * time.Millisecond, "level=WARN"},
		{"as before", 280 * time.Millisecond, nil, 280 * time.Millisecond, 280 * time.Millisecond, ""},
		{"nobody answers", time.Hour, errors.New("down"), 280 * time.Millisecond, 280 * time.Millisecond, ""},
		{"the other way", -time.Hour, nil, -time.Hour, -time.Hour, "offset=-1h0m0s"},
		{"they agree again", 0, nil, 0, 0, "agree again"},
		{"and go on to", 0, nil, 0, 0, ""},
	} {
		offset, down = step.offset, step.down
		w.look(t.Context())
		if v := gaugeValues(t, shown, "offset"); corrected != step.correct || len(v) != 1 || v[0] != step.metric.Seconds() {
			t.Errorf("%s: corrected by %v, shown as %v", step.name, corrected, v)
		}
		all := strings.Split(strings.TrimSpace(log.String()), "\n")
		if log.String() == "" {
			all = nil
		}
		news := strings.Join(all[lines:], "\n")
		if lines = len(all); (step.says == "") != (news == "") || !strings.Contains(news, step.says) {
			t.Errorf("%s: logged %q, want %q", step.name, news, step.says)
		}
	}
}

// Slow answers and one that was held up do not count as an offset.
func TestMedianOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		clock := func(ahead time.Duration) func() (time.Time, error) {
			return func() (time.Time, error) {
				if calls++; calls == 4 {
					time.Sleep(time.Second)
				}
				time.Sleep(20 * time.Millisecond) // there
				now := time.Now().Add(ahead)
				time.Sleep(20 * time.Millisecond) // and back
				return now, nil
			}
		}
		if d, err := medianOffset(clock(time.Minute), clock(-time.Minute)); err != nil || d != -2*time.Minute {
			t.Errorf("%v %v", d, err)
		}
		down := errors.New("down")
		if _, err := medianOffset(clock(0), func() (time.Time, error) { return time.Time{}, down }); !errors.Is(err, down) {
			t.Error(err)
		}
	})
}

// Two servers of one machine agree, and a correction reaches the queue.
func TestClockWatch_onServers(t *testing.T) {
	a, _ := startApplication(t, func(c *config.Config) {
		c.Database.URL = testdb.URL(t, migrations.Postgres)
		c.Queue.URL = testenv.Redis(t)
	})
	if d, err := a.clock.measure(t.Context()); err != nil || d.Abs() > 10*time.Second {
		t.Errorf("%v %v", d, err)
	}
	if err := a.beforeLoad(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := gaugeValues(t, a.metrics.registry, "delayjob_clock_offset_seconds"); len(v) != 1 {
		t.Errorf("series: %v", v)
	}
	a.clock.measure = func(context.Context) (time.Duration, error) { return time.Hour, nil }
	a.clock.look(t.Context())
	if d := time.Until(a.queue.Now()); (d - time.Hour).Abs() > time.Minute {
		t.Errorf("the queue's clock is %v ahead, want an hour", d)
	}
	if embedded, _ := startApplication(t, nil); embedded.clock != nil {
		t.Error("there is one clock, and yet they are compared")
	}
}
