package report

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob/pause"
)

// adder implements AddUpDays alone, and records its calls.
type adder struct {
	Store
	more  int // how often there are more
	asked []bool
}

func (a *adder) AddUpDays(_ context.Context, _ string, _ time.Time, all bool) (bool, error) {
	a.asked = append(a.asked, all)
	a.more--
	return a.more >= 0, nil
}

// Days that were removed are missing. Others are looked for once a minute. Between parts, it pauses.
func TestService_AddUpDays(t *testing.T) {
	synctest.Test(t, addsUpDays)
}

func addsUpDays(t *testing.T) {
	store, now := &adder{}, time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	s := NewService(store, nil, func() string { return "UTC" }, func() time.Time { return now })
	for _, row := range []struct {
		after time.Duration
		more  int
		want  []bool
	}{
		{0, 0, []bool{true}},
		{5 * time.Second, 0, []bool{false}},
		{5 * time.Second, 2, []bool{false, true, true}},
		{55 * time.Second, 0, []bool{false}},
		{5 * time.Second, 0, []bool{true}},
	} {
		began := time.Now()
		now, store.more, store.asked = now.Add(row.after), row.more, nil
		if err := s.AddUpDays(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, now.Format(time.TimeOnly), store.asked, row.want)
		same(t, "pauses", time.Since(began), time.Duration(row.more)*pause.Shortest)
	}
}
