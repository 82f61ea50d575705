package httpapi

import (
	"testing"
	"time"

	"punctual/delayjob/lateness"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	of := func(latest time.Duration, at map[time.Duration]int64) LatenessView {
		l := Histogram{Counts: make([]int64, len(lateness.Bounds)+1), Max: latest}
		for i, b := range lateness.Bounds {
			l.Counts[i] = at[b]
		}
		l.Counts[len(lateness.Bounds)] = at[0]
		return viewLateness(l)
	}
	if v := of(0, nil); v.Count != 0 || v.P50 != nil || v.Max != nil {
		t.Errorf("of nothing: %+v", v)
	}
	v := of(18*time.Millisecond, map[time.Duration]int64{time.Millisecond: 90, 20 * time.Millisecond: 10})
	if v.Count != 100 || *v.P50 != 0.0006 || *v.P90 != 0.001 || *v.P99 != 0.0172 || *v.Max != 0.018 {
		t.Errorf("p50 %v, p90 %v, p99 %v, max %v", *v.P50, *v.P90, *v.P99, *v.Max)
	}
	v = of(time.Hour, map[time.Duration]int64{0: 4})
	if *v.P50 != 1950 || *v.Max != 3600 {
		t.Errorf("behind the last bound: p50 %v, max %v", *v.P50, *v.Max)
	}
}
