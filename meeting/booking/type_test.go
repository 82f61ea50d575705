package booking_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

func (w *world) kind(t *testing.T, f places.TypeFields) *meeting.Type {
	t.Helper()
	k, err := w.places.CreateType(t.Context(), w.root, f)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// ofType are the world's fields for a meeting of a type.
func (w *world) ofType(k *meeting.Type, in time.Duration, rooms ...*meeting.Room) booking.Fields {
	f := w.fields(in, rooms...)
	f.TypeID = &k.ID
	return f
}

func TestTypes_rules(t *testing.T) {
	w := newWorld(t)
	exam := w.kind(t, places.TypeFields{Name: new("Exam"), MinRole: new(meeting.Manager), RoomIDs: &[]int64{w.desk.ID}})
	m := w.book(t, w.mona, w.ofType(exam, time.Hour, w.desk))
	same(t, "type", m.TypeID, exam.ID)
	_, err := w.Book(t.Context(), w.ann, w.ofType(exam, 3*time.Hour, w.desk, w.board))
	same(t, "a member, elsewhere, too", violations(t, err), []string{"type_role", "type_room"})

	own := w.book(t, w.ann, w.fields(5*time.Hour, w.desk))
	_, err = w.Update(t.Context(), w.ann, own.ID, nil, booking.Fields{TypeID: &exam.ID})
	same(t, "a change to the type", violations(t, err), []string{"type_role"})
	if _, err := w.Update(t.Context(), w.root, own.ID, nil, booking.Fields{TypeID: &exam.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.ann, own.ID, nil, booking.Fields{Title: new("Same type")}); err != nil {
		t.Errorf("a change beside the type: %v", err)
	}
	_, err = w.Update(t.Context(), w.ann, own.ID, nil, booking.Fields{RoomIDs: &[]int64{w.board.ID}})
	same(t, "a room without the type", violations(t, err), []string{"type_room"})
	got, err := w.Update(t.Context(), w.ann, own.ID, nil, booking.Fields{TypeID: new(int64(0))})
	if err != nil || got.TypeID != 0 {
		t.Errorf("without a type: %d, %v", got.TypeID, err)
	}
	h := w.store.history[own.ID]
	same(t, "history", h[len(h)-1].Changes["type_id"], meeting.Change{From: exam.ID})

	if _, err := w.places.UpdateType(t.Context(), w.root, exam.ID, nil, places.TypeFields{Active: new(false)}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{exam.ID, 4711} {
		f := w.fields(8*time.Hour, w.desk)
		f.TypeID = &id
		_, err = w.Book(t.Context(), w.root, f)
		invalid, _ := errors.AsType[*meeting.InvalidError](err)
		if invalid == nil || codes(invalid.Faults)[0] != "type_id unknown_type" {
			t.Errorf("type %d: %v", id, err)
		}
	}
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, booking.Fields{TypeID: &exam.ID, Title: new("Keeps it")}); err != nil {
		t.Errorf("a meeting of an inactive type: %v", err)
	}
}

func TestTypes_exemptFromQuotas(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), Quota: &policy.Quota{Per: policy.PerDay, Count: 1}})
	clean := w.kind(t, places.TypeFields{Name: new("Cleaning"), QuotaExempt: new(true)})
	w.book(t, w.ann, w.ofType(clean, time.Hour, lab))
	w.book(t, w.ann, w.fields(2*time.Hour, lab)) // the first one that counts
	w.book(t, w.ann, w.ofType(clean, 3*time.Hour, lab))
	_, err := w.Book(t.Context(), w.ann, w.fields(4*time.Hour, lab))
	same(t, "a second one that counts", violations(t, err), []string{"quota"})
	f := w.weekly("FREQ=DAILY;COUNT=3", lab)
	f.TypeID = &clean.ID
	r := w.bookSeries(t, w.ann, f)
	same(t, "of a date", r.Meetings[2].TypeID, clean.ID)
	if _, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Fields: booking.Fields{Title: new("Sweeping")}}); err != nil {
		t.Errorf("a change of the series: %v", err)
	}
	if _, err := w.Update(t.Context(), w.ann, r.Meetings[1].ID, nil, booking.Fields{TypeID: new(int64(0))}); err != nil {
		t.Errorf("a date that counts now: %v", err)
	}
	changed, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Fields: booking.Fields{Description: new("With water")}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "of the series", changed.Series.TypeID, clean.ID)
	ms, _ := w.store.SeriesMeetings(t.Context(), r.Series.ID)
	same(t, "of the dates", []int64{ms[0].TypeID, ms[1].TypeID, ms[2].TypeID}, []int64{clean.ID, 0, clean.ID})
}

func TestTypes_hiddenInPrivateMeetings(t *testing.T) {
	w := newWorld(t)
	secret := w.kind(t, places.TypeFields{Name: new("Dismissal")})
	f := w.ofType(secret, time.Hour, w.desk)
	f.Visibility = new(meeting.Private)
	m := w.book(t, w.ann, f)
	seen, err := w.Meeting(t.Context(), w.max, m.ID)
	if err != nil || seen.TypeID != 0 {
		t.Errorf("a stranger sees type %d, %v", seen.TypeID, err)
	}
	if !(meeting.MeetingQuery{TypeID: secret.ID}).Reveals() {
		t.Error("a list by type would reveal it")
	}
}

func TestTypes_fields(t *testing.T) {
	w := newWorld(t)
	bad := places.TypeFields{
		Name: new(" "), Names: &map[string]string{"fr": "Examen"}, Color: new(meeting.Color("#ff0000")), MinRole: new(meeting.Role("king")),
		SiteIDs: &[]int64{4711}, RoomIDs: &[]int64{4712},
	}
	_, err := w.places.CreateType(t.Context(), w.root, bad)
	invalid, _ := errors.AsType[*meeting.InvalidError](err)
	if invalid == nil || len(invalid.Faults) != 6 {
		t.Errorf("%v, want six faults", err)
	}
	if _, err := w.places.CreateType(t.Context(), w.mona, places.TypeFields{Name: new("Exam")}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager: %v", err)
	}
	k := w.kind(t, places.TypeFields{Name: new("Exam")})
	same(t, "defaults", []any{k.Color, k.MinRole, k.Active, k.QuotaExempt}, []any{meeting.Color("gray"), meeting.Member, true, false})
	got, err := w.places.UpdateType(t.Context(), w.root, k.ID, new(int64(1)), places.TypeFields{Name: new("Exam")})
	if err != nil || got.Version != 1 {
		t.Errorf("no change: version %d, %v", got.Version, err)
	}
}
