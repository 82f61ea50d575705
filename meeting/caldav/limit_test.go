package caldav

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/meeting"
)

// bigSeries is a store and a renderer of series with large texts. It counts what is read.
type bigSeries struct {
	Store
	Calendars
	read, rendered int
}

func (b *bigSeries) Objects(context.Context, int64) ([]*Stored, error) { return nil, nil }

func (b *bigSeries) ObjectsByID(context.Context, []int64) ([]*Stored, error) { return nil, nil }

func (b *bigSeries) MeetingsByID(context.Context, []meeting.ID) ([]*meeting.Meeting, error) {
	return nil, nil
}

func (b *bigSeries) Origins(context.Context, []int64, []int64) (ofMeetings, ofSeries map[int64]meeting.Origin, err error) {
	return nil, nil, nil
}

func (b *bigSeries) Series(_ context.Context, id int64) (*meeting.Series, error) {
	return &meeting.Series{ID: id, Timezone: "UTC"}, nil
}

func (b *bigSeries) SeriesMeetings(context.Context, int64) ([]*meeting.Meeting, error) {
	b.read++
	return []*meeting.Meeting{
		{ID: 1, Status: meeting.Confirmed, Organizer: meeting.Person{UserID: 2}}, // is not the user's
		{ID: 2, Status: meeting.Confirmed, Organizer: meeting.Person{UserID: 1}, OriginalStart: time.Now()},
	}, nil
}

func (b *bigSeries) UID(int64, int64) string { return "uid" }

func (b *bigSeries) Render(Entry, func(int64) string) []byte {
	b.rendered++
	return []byte(strings.Repeat("x", maxAnswer/3))
}

// An answer that would be too large is refused before the rest of the series is read, however many were asked for at once.
func TestTexts_limit(t *testing.T) {
	b := &bigSeries{}
	s := &Server{Store: b, Calendars: b, Now: time.Now}
	r := &request{Server: s, Request: httptest.NewRequestWithContext(t.Context(), "REPORT", "/", nil), by: meeting.Actor{ID: 1, Email: "ada@example.org"}}
	objects := make([]Change, renderedAtOnce)
	for i := range objects {
		objects[i] = Change{Object: Member{SeriesID: int64(i + 1)}.key(), Name: strconv.Itoa(i)}
	}
	if texts, err := r.texts(objects[:3], nil); err != nil || len(texts) != 3 {
		t.Fatalf("three: %d %v", len(texts), err)
	}
	*b = bigSeries{}
	_, err := r.texts(objects, nil)
	if e, ok := err.(*davError); !ok || e.status != http.StatusForbidden || e.condition != "number-of-matches-within-limits" {
		t.Errorf("%d series: %v", len(objects), err)
	}
	if b.read != 4 || b.rendered != 4 {
		t.Errorf("%d series were read and %d rendered, want the 4 that show that it is too much", b.read, b.rendered)
	}
}
