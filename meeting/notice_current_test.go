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
	told := Facts{Start: slot.Start, End: slot.End}
	with := func(change func(*Facts)) Facts { f := told; change(&f); return f }
	start := with(func(f *Facts) { f.Before, f.Offset = BeforeStart, 900 })
	end := with(func(f *Facts) { f.Before, f.Offset = BeforeEnd, 300 })
	over := with(func(f *Facts) { f.Before = BeforeEnd })
	request := with(func(f *Facts) { f.Request = &Requested{Number: 3} })
	confirmed := with(func(f *Facts) { f.Decision = Confirmed })
	series := with(func(f *Facts) { f.Series = &SeriesFacts{} })
	moved, shorter := clock.Slot{Start: at.Add(time.Minute), End: slot.End}, clock.Slot{Start: at, End: at.Add(time.Minute)}
	for _, c := range []struct {
		name  string
		s     Standing
		kind  NoticeKind
		f     Facts
		stale bool
	}{
		{"reminder", Standing{Confirmed, slot, 0}, NoticeReminder, start, false},
		{"reminder, to the microsecond", Standing{Confirmed, clock.Slot{Start: at.Add(time.Nanosecond), End: slot.End}, 0}, NoticeReminder, start, false},
		{"reminder, begun", Standing{InProgress, slot, 0}, NoticeReminder, start, false},
		{"reminder, cancelled", Standing{Cancelled, slot, 0}, NoticeReminder, start, true},
		{"reminder, released", Standing{Released, slot, 0}, NoticeReminder, end, true},
		{"reminder, moved", Standing{Confirmed, moved, 0}, NoticeReminder, start, true},
		{"reminder of the start, shorter", Standing{Confirmed, shorter, 0}, NoticeReminder, start, false},
		{"reminder of the end, shorter", Standing{InProgress, shorter, 0}, NoticeReminder, end, true},
		{"reminder of the end, over", Standing{Ended, slot, 0}, NoticeReminder, end, true},
		{"announced end", Standing{Ended, slot, 0}, NoticeReminder, over, false},
		{"announced end, ended early", Standing{Ended, shorter, 0}, NoticeReminder, over, true},
		{"request", Standing{Pending, slot, 3}, NoticeApprovalRequest, request, false},
		{"request, another one", Standing{Pending, slot, 4}, NoticeApprovalReminder, request, true},
		{"request, decided", Standing{Confirmed, slot, 0}, NoticeEscalation, request, true},
		{"invitation", Standing{Confirmed, slot, 0}, NoticeInvitation, told, false},
		{"invitation, cancelled", Standing{Cancelled, slot, 0}, NoticeInvitation, told, true},
		{"change, moved", Standing{Confirmed, moved, 0}, NoticeChange, told, true},
		{"series, whose first date is cancelled", Standing{Cancelled, slot, 0}, NoticeInvitation, series, false},
		{"cancellation", Standing{Cancelled, slot, 0}, NoticeCancellation, told, false},
		{"decision", Standing{Confirmed, slot, 0}, NoticeDecision, confirmed, false},
		{"decision, cancelled", Standing{Cancelled, slot, 0}, NoticeDecision, confirmed, true},
	} {
		if got := c.s.Obsolete(c.kind, c.f); (got != "") != c.stale {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
