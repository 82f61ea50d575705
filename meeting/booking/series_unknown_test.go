package booking_test

import (
	"errors"
	"testing"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/series"
)

// A private series is unknown to strangers, whatever they ask of it and whether or not it waits.
func TestService_privateSeriesAreUnknown(t *testing.T) {
	w := newWorld(t)
	f := w.weekly("FREQ=WEEKLY;COUNT=3", w.board)
	f.Visibility = new(meeting.Private)
	f.Attendees = &[]meeting.Person{}
	id := w.bookSeries(t, w.ann, f).Series.ID
	wrong := new(int64(99))
	for name, ask := range map[string]func(id int64) error{
		"read": func(id int64) error { _, err := w.series.Series(t.Context(), w.bob, id); return err },
		"change": func(id int64) error {
			_, err := w.series.Update(t.Context(), w.bob, id, wrong, series.Fields{})
			return err
		},
		"preview": func(id int64) error {
			_, err := w.series.PreviewUpdate(t.Context(), w.bob, id, wrong, series.Fields{})
			return err
		},
		"cancel": func(id int64) error {
			_, err := w.series.Cancel(t.Context(), w.bob, id, wrong, "", nil, "")
			return err
		},
		"approve": func(id int64) error {
			_, err := w.approval.ApproveSeries(t.Context(), w.bob, id, wrong, "")
			return err
		},
		"reject": func(id int64) error { _, err := w.approval.RejectSeries(t.Context(), w.max, id, nil, ""); return err },
		"respond": func(id int64) error {
			_, err := w.RespondSeries(t.Context(), w.bob, id, wrong, meeting.Accepted, "")
			return err
		},
		"add": func(id int64) error {
			_, err := w.series.AddDate(t.Context(), w.bob, id, wrong, new(clock.Parse("2027-02-11T10:00:00")), "")
			return err
		},
	} {
		for _, id := range []int64{id, 4711} {
			if err := ask(id); !errors.Is(err, meeting.ErrNotFound) {
				t.Errorf("%s %d: %v", name, id, err)
			}
		}
	}
	if _, err := w.approval.RejectSeries(t.Context(), w.mona, id, nil, ""); err != nil {
		t.Errorf("its approver: %v", err)
	}
	public := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk)).Series.ID
	if _, err := w.series.Cancel(t.Context(), w.max, public, nil, "", nil, ""); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a public one: %v", err)
	}
}
