package meeting

import (
	"strings"
	"testing"
	"time"
)

// What a meeting becomes is not for those who are taken off it.
func TestService_theRemovedLearnNothingNew(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.store.notices = nil
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, Fields{Title: new("Layoffs"), Attendees: &[]Person{{Email: "guest@example.net"}}}); err != nil {
		t.Fatal(err)
	}
	notified := 0
	for _, n := range w.store.notices {
		if strings.EqualFold(n.To.Email, "bob@example.org") {
			notified++
			same(t, "kind", n.Kind, NoticeCancellation)
			same(t, "title", n.Facts.Title, "Review")
		}
	}
	same(t, "told", notified, 1)
}
