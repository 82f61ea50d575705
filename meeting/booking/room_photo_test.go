package booking_test

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"testing"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/photo"
)

func TestRoomPhoto_quota(t *testing.T) {
	w := newWorld(t)
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 100, 100))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.places.SetRoomPhoto(t.Context(), w.mona, w.desk.ID, nil, b.Bytes()); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager: %v", err)
	}
	w.store.photos[w.board.ID] = &photo.Photo{Large: make([]byte, 256<<20)}
	_, err := w.places.SetRoomPhoto(t.Context(), w.root, w.desk.ID, nil, b.Bytes())
	if e, ok := errors.AsType[*fault.InvalidError](err); !ok || e.Faults[0].Code != "photos_full" {
		t.Errorf("beyond the quota: %v", err)
	}
	// What it replaces does not count.
	if r, err := w.places.SetRoomPhoto(t.Context(), w.root, w.board.ID, nil, b.Bytes()); err != nil || r.Photo == "" {
		t.Errorf("in place of another: %+v, %v", r, err)
	}
}
