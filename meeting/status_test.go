package meeting

import (
	"testing"
	"time"

	"punctual/meeting/clock"
)

func TestMeeting_EffectiveStatus(t *testing.T) {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	end, deadline := start.Add(time.Hour), start.Add(-time.Hour)
	early, moment := deadline.Add(-time.Microsecond), time.Microsecond
	tests := []struct {
		stored, onTimeout Status
		at                time.Time
		want              Status
	}{
		{Pending, "", early, Pending},
		{Pending, "", deadline, Rejected},
		{Pending, Rejected, end, Rejected},
		{Pending, Confirmed, deadline, Pending},
		{Confirmed, "", start.Add(-moment), Confirmed},
		{Confirmed, "", start, InProgress},
		{Confirmed, "", end.Add(-moment), InProgress},
		{Confirmed, "", end, Ended},
		{InProgress, "", end.Add(-moment), InProgress},
		{InProgress, "", end, Ended},
		{Cancelled, "", end, Cancelled},
		{Rejected, "", end, Rejected},
		{Released, "", end, Released},
		{Ended, "", early, Ended},
	}
	for _, tt := range tests {
		m := &Meeting{Status: tt.stored, Slot: clock.Slot{Start: start, End: end}, Approval: Approval{Deadline: deadline, OnTimeout: tt.onTimeout}}
		if got := m.EffectiveStatus(tt.at); got != tt.want {
			t.Errorf("%s at %s: got %s, want %s", tt.stored, tt.at, got, tt.want)
		}
		seen := m.At(tt.at)
		if timedOut := tt.stored == Pending && tt.want == Rejected; timedOut != (seen.Approval.Reason == ReasonTimeout) {
			t.Errorf("%s at %s: reason %q", tt.stored, tt.at, seen.Approval.Reason)
		}
		if m.Status != tt.stored {
			t.Error("At changed the meeting")
		}
	}
}
