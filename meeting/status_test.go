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

// A meeting to which nobody checked in is released when its grace period ends, even if the timer is
// late, and stays so after its end.
func TestMeeting_EffectiveStatus_nobodyChecksIn(t *testing.T) {
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	end, grace := start.Add(time.Hour), start.Add(10*time.Minute)
	room := []Occupancy{{RoomID: 1, Slot: clock.Slot{Start: start, End: end}}}
	for _, tt := range []struct {
		stored    Status
		until     time.Time // of check-in
		checkedIn bool
		at        time.Time
		want      Status
	}{
		{Confirmed, grace, false, grace.Add(-time.Microsecond), InProgress},
		{Confirmed, grace, false, grace, Released},
		{InProgress, grace, false, grace, Released},
		{InProgress, grace, false, end.Add(time.Hour), Released},
		{InProgress, grace, true, grace, InProgress},
		{InProgress, grace, true, end, Ended},
		{InProgress, end, false, end, Ended}, // nothing is left to release
		{Cancelled, grace, false, grace, Cancelled},
		{Ended, grace, false, end, Ended},
	} {
		m := &Meeting{Status: tt.stored, Slot: clock.Slot{Start: start, End: end}, CheckIn: CheckInWindow{Until: tt.until}, Occupied: room}
		if tt.checkedIn {
			m.CheckedInAt = start
		}
		if got := m.EffectiveStatus(tt.at); got != tt.want {
			t.Errorf("%s, check-in until %s, checked in: %v, at %s: got %s, want %s", tt.stored, tt.until, tt.checkedIn, tt.at, got, tt.want)
		}
		if tt.want == Released {
			if seen := m.At(tt.at); !seen.EndedAt.Equal(grace) || len(seen.Occupied) > 0 {
				t.Errorf("at %s: ended at %s and holds %v", tt.at, seen.EndedAt, seen.Occupied)
			}
		}
	}
}
