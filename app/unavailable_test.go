package app

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	"punctual/delayjob"
)

func TestDatabaseOutages(t *testing.T) {
	down := fmt.Errorf("read: %w", driver.ErrBadConn)
	tests := []struct {
		err  error
		want delayjob.Result
	}{
		{nil, delayjob.ResultOK},
		{down, delayjob.ResultUnavailable},
		{errors.New("other"), delayjob.ResultRetry},
		{delayjob.Unavailable(down), delayjob.ResultUnavailable},
		{delayjob.Dead(down), delayjob.ResultDead},
		{delayjob.Drop("done"), delayjob.ResultDrop},
		{delayjob.Snooze(time.Second), delayjob.ResultSnooze},
	}
	var results []error
	for _, test := range tests {
		results = append(results, test.err)
	}
	h := databaseOutages(func(context.Context, []delayjob.Message) []error { return results })
	for i, err := range h(t.Context(), make([]delayjob.Message, len(tests))) {
		if got := delayjob.ResultOf(err); got != tests[i].want {
			t.Errorf("%v became %s, want %s", tests[i].err, got, tests[i].want)
		}
	}
	if errs := databaseOutages(func(context.Context, []delayjob.Message) []error { return nil })(t.Context(), nil); errs != nil {
		t.Errorf("success became %v", errs)
	}
}
