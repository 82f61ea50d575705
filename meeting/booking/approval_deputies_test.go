package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
)

func TestAbsences_chain(t *testing.T) {
	tests := []struct {
		name  string
		away  meeting.Absences
		chain []int64 // of 1
		for4  []int64 // for whom 4 stands in
	}{
		{"nobody", nil, nil, nil},
		{"one", meeting.Absences{{UserID: 1, DeputyID: 4}}, []int64{4}, []int64{1}},
		{"a deputy who is away", meeting.Absences{{UserID: 1, DeputyID: 2}, {UserID: 2, DeputyID: 4}}, []int64{2, 4}, []int64{1, 2}},
		{"a deputy without one", meeting.Absences{{UserID: 1, DeputyID: 2}}, []int64{2}, nil},
		{"a circle ends", meeting.Absences{{UserID: 1, DeputyID: 2}, {UserID: 2, DeputyID: 1}}, []int64{2}, nil},
		{"a longer circle", meeting.Absences{{UserID: 1, DeputyID: 2}, {UserID: 2, DeputyID: 4}, {UserID: 4, DeputyID: 2}}, []int64{2, 4}, []int64{1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			same(t, "chain", tt.away.Chain(1), tt.chain)
			same(t, "stands for", tt.away.RepresentedBy(4), tt.for4)
		})
	}
}

func TestService_deputies(t *testing.T) {
	t.Run("is asked instead, and decides", func(t *testing.T) {
		w := newWorld(t)
		w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		if f := w.store.notices[0].Facts.Request; !slices.Equal(f.For, []string{"mona"}) {
			t.Errorf("for %v", f.For)
		}
		same(t, "told", w.notified(), []string{"approval_request max@example.org"})
		m, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, "")
		if err != nil || m.Status != meeting.Confirmed || m.Approval.DecidedBy != w.max.ID {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("who is away may decide all the same", func(t *testing.T) {
		w := newWorld(t)
		w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Error(err)
		}
	})
	t.Run("not once the other is back", func(t *testing.T) {
		w := newWorld(t)
		w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		w.away = nil
		if _, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a member cannot stand in, so the one who is away is asked", func(t *testing.T) {
		w := newWorld(t)
		w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.bob.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		same(t, "told", w.notified(), []string{"approval_request mona@example.org"})
		if _, err := w.approval.Approve(t.Context(), w.bob, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("sees a private request", func(t *testing.T) {
		w := newWorld(t)
		w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
		f := w.fields(time.Hour, w.board)
		f.Visibility = new(meeting.Private)
		m := w.book(t, w.ann, f)
		if got, err := w.Meeting(t.Context(), w.max, m.ID); err != nil || got.Title == meeting.Busy || got.Request == nil {
			t.Errorf("%+v, %v", got, err)
		}
		w.away = nil
		if got, err := w.Meeting(t.Context(), w.max, m.ID); err != nil || got.Title != meeting.Busy || got.Request != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
