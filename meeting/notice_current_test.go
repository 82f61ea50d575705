package meeting

import (
	"testing"
	"time"

	"punctual/meeting/clock"
)

func TestStanding_Obsolete(t *testing.T) {
	t.Parallel()
	at := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	slot := clock.Slot{Start: at, End: at.Add(time.Hour)}
	notified := Facts{Start: slot.Start, End: slot.End}
	with := func(change func(*Facts)) Facts { f := notified; change(&f); return f }
	start := with(func(f *Facts) { f.Before, f.Offset = BeforeStart, 900 })
	end := with(func(f *Facts) { f.Before, f.Offset = BeforeEnd, 300 })
	over := with(func(f *Facts) { f.Before = BeforeEnd })
	request := with(func(f *Facts) { f.Request = &Requested{Number: 3} })
	confirmed := with(func(f *Facts) { f.Decision = Confirmed })
	series := with(func(f *Facts) { f.Series = &SeriesFacts{} })
	moved, shorter := clock.Slot{Start: at.Add(time.Minute), End: slot.End}, clock.Slot{Start: at, End: at.Add(time.Minute)}
	for _, c := range []struct {
		name  string
		s     NoticeState
		kind  NoticeKind
		f     Facts
		stale bool
	}{
		{"reminder", NoticeState{Confirmed, slot, 0}, NoticeReminder, start, false},
		{"reminder, to the microsecond", NoticeState{Confirmed, clock.Slot{Start: at.Add(time.Nanosecond), End: slot.End}, 0}, NoticeReminder, start, false},
		{"reminder, begun", NoticeState{InProgress, slot, 0}, NoticeReminder, start, false},
		{"reminder, cancelled", NoticeState{Cancelled, slot, 0}, NoticeReminder, start, true},
		{"reminder, released", NoticeState{Released, slot, 0}, NoticeReminder, end, true},
		{"reminder, moved", NoticeState{Confirmed, moved, 0}, NoticeReminder, start, true},
		{"reminder of the start, shorter", NoticeState{Confirmed, shorter, 0}, NoticeReminder, start, false},
		{"reminder of the end, shorter", NoticeState{InProgress, shorter, 0}, NoticeReminder, end, true},
		{"reminder of the end, over", NoticeState{Ended, slot, 0}, NoticeReminder, end, true},
		{"announced end", NoticeState{Ended, slot, 0}, NoticeReminder, over, false},
		{"announced end, ended early", NoticeState{Ended, shorter, 0}, NoticeReminder, over, true},
		{"request", NoticeState{Pending, slot, 3}, NoticeApprovalRequest, request, false},
		{"request, another one", NoticeState{Pending, slot, 4}, NoticeApprovalReminder, request, true},
		{"request, decided", NoticeState{Confirmed, slot, 0}, NoticeEscalation, request, true},
		{"invitation", NoticeState{Confirmed, slot, 0}, NoticeInvitation, notified, false},
		{"invitation, cancelled", NoticeState{Cancelled, slot, 0}, NoticeInvitation, notified, true},
		{"change, moved", NoticeState{Confirmed, moved, 0}, NoticeChange, notified, true},
		{"series, whose first date is cancelled", NoticeState{Cancelled, slot, 0}, NoticeInvitation, series, false},
		{"cancellation", NoticeState{Cancelled, slot, 0}, NoticeCancellation, notified, false},
		{"decision", NoticeState{Confirmed, slot, 0}, NoticeDecision, confirmed, false},
		{"decision, cancelled", NoticeState{Cancelled, slot, 0}, NoticeDecision, confirmed, true},
	} {
		if got := c.s.Obsolete(c.kind, c.f); (got != "") != c.stale {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
