package booking_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// fakeWaits keeps the waiting list; what an offer holds is not refused to others.
type fakeWaits struct{ waits map[int64]*meeting.Wait }

func (s *fakeStore) CreateWait(_ context.Context, w *meeting.Wait, fn func(open int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := 0
	for _, o := range s.waits {
		if o.Open() && o.Person.UserID == w.Person.UserID {
			open++
		}
	}
	if err := fn(open); err != nil {
		return err
	}
	if s.waits == nil {
		s.waits = map[int64]*meeting.Wait{}
	}
	w.ID, w.Version, w.Position = s.next(), 1, 1
	s.waits[w.ID] = new(*w)
	return nil
}

func (s *fakeStore) Wait(_ context.Context, id int64) (*meeting.Wait, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.waits[id]; ok {
		return new(*w), nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) UpdateWait(ctx context.Context, id int64, fn func(*meeting.Wait) (*meeting.Meeting, error)) (*meeting.Wait, *meeting.Meeting, []meeting.Notice, error) {
	w, err := s.Wait(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	m, err := fn(w)
	if err != nil {
		return nil, nil, nil, err
	}
	var notices []meeting.Notice
	if m != nil {
		notices = m.Notices
		if err := s.CreateMeeting(ctx, m); err != nil {
			return nil, nil, nil, err
		}
		w.MeetingID = m.ID
	}
	w.Version++
	notified := w.TakeNotices()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range notified {
		notified[i].ID = s.next()
	}
	s.notices = append(s.notices, notified...)
	s.waits[id] = new(*w)
	return w, m, append(notices, notified...), nil
}

func (s *fakeStore) UpdateWaits(ctx context.Context, ids []int64, fn func(*meeting.Wait) (*meeting.Meeting, bool, error)) ([]meeting.Notice, error) {
	var notices []meeting.Notice
	for _, id := range ids {
		_, _, ns, err := s.UpdateWait(ctx, id, func(w *meeting.Wait) (*meeting.Meeting, error) {
			m, changed, err := fn(w)
			if err == nil && !changed {
				err = booking.ErrUnchanged
			}
			return m, err
		})
		if err != nil && !errors.Is(err, booking.ErrUnchanged) && !errors.Is(err, meeting.ErrNotFound) {
			return nil, err
		}
		notices = append(notices, ns...)
	}
	return notices, nil
}

func (s *fakeStore) ListWaits(_ context.Context, q meeting.WaitQuery, _ meeting.Page) ([]*meeting.Wait, string, error) {
	var ws []*meeting.Wait
	for _, w := range s.waits {
		if q.UserID == 0 || q.UserID == w.Person.UserID {
			ws = append(ws, new(*w))
		}
	}
	slices.SortFunc(ws, func(a, b *meeting.Wait) int { return cmp.Compare(a.ID, b.ID) })
	return ws, "", nil
}

func (s *fakeStore) Awaited(_ context.Context, free []meeting.Occupancy, _ time.Time) ([]int64, int64, error) {
	var rooms []int64
	for _, w := range s.waits {
		for _, want := range w.Wants {
			for _, o := range free {
				if w.State == meeting.Waiting && o.RoomID == want.RoomID && o.Slot.Overlaps(want.Slot) {
					rooms = append(rooms, o.RoomID)
				}
			}
		}
	}
	slices.Sort(rooms)
	return slices.Compact(rooms), s.next(), nil
}

func (s *fakeStore) FirstInLine(ctx context.Context, rooms []int64, at time.Time, after int64, limit int) ([]*meeting.Wait, error) {
	ws, _, _ := s.ListWaits(ctx, meeting.WaitQuery{}, meeting.Page{})
	line := slices.DeleteFunc(ws, func(w *meeting.Wait) bool {
		wants := func(id int64) bool { return slices.Contains(rooms, id) }
		return w.ID <= after || w.State != meeting.Waiting || !slices.ContainsFunc(w.Wished.RoomIDs, wants) || len(s.overlapping(w.Wants, at)) > 0
	})
	return line[:min(limit, len(line))], nil
}

func (s *fakeStore) FreeAndAwaited(context.Context, time.Time) ([]int64, int64, error) {
	return nil, 0, nil
}

// overlapping are meetings that hold some of this.
func (s *fakeStore) overlapping(wants []meeting.Occupancy, at time.Time) []*meeting.Meeting {
	var found []*meeting.Meeting
	for _, m := range s.meetings {
		for _, o := range meeting.Unlapsed(takenBy(m), at) {
			if slices.ContainsFunc(wants, func(w meeting.Occupancy) bool { return w.RoomID == o.RoomID && w.Slot.Overlaps(o.Slot) }) {
				found = append(found, m)
			}
		}
	}
	return found
}
