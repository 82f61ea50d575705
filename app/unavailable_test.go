package app

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
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
	succeeds := databaseOutages(func(context.Context, []delayjob.Message) []error { return nil })
	if errs := succeeds(t.Context(), make([]delayjob.Message, 1)); errs != nil {
		t.Errorf("success became %v", errs)
	}
}

// TestDatabaseOutages_sending: a mail server, a gateway or a webhook that does not answer is no outage of the database.
// Each attempt may have sent something, so it counts.
func TestDatabaseOutages_sending(t *testing.T) {
	lost := &net.OpError{Op: "read", Err: io.EOF}
	h := databaseOutages(func(context.Context, []delayjob.Message) []error { return []error{lost} })
	for job, want := range map[string]delayjob.Result{
		"notify.email": delayjob.ResultRetry, "notify.sms": delayjob.ResultRetry, "notify.chat": delayjob.ResultRetry, "webhook.deliver": delayjob.ResultRetry,
		"waitlist.offer": delayjob.ResultUnavailable,
	} {
		if got := delayjob.ResultOf(h(t.Context(), []delayjob.Message{{Job: job}})[0]); got != want {
			t.Errorf("%s: %s, want %s", job, got, want)
		}
	}
}
