package tests

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/tests/testenv"
)

// TestSeries_choices: single dates get the rooms that were chosen for them, in a new series and
// in a change of one, and what is wrong with a choice is said at its place.
func TestSeries_choices(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		admin := testenv.Server(t, on.Config).Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		berlin := with{"timezone": "Europe/Berlin"}
		wanted, other, third := admin.NewRoom(t, "Wanted", berlin), admin.NewRoom(t, "Other", berlin), admin.NewRoom(t, "Third", berlin)
		first := monday(2)
		day := func(n int) time.Time { return first.AddDate(0, 0, 7*n) }
		alice.Book(t, testenv.Booking(day(1), day(1).Add(time.Hour), []int64{wanted.ID}))
		alice.Book(t, testenv.Booking(day(3), day(3).Add(time.Hour), []int64{third.ID}))
		choice := func(n int, rooms ...int64) with {
			return with{"original_start": day(n).UTC().Format(time.RFC3339), "room_ids": rooms}
		}
		rooms := func(ms []seriesMeeting) (ids [][]int64) {
			for _, m := range ms {
				ids = append(ids, m.RoomIDs)
			}
			return ids
		}

		// One date elsewhere, one left out: the conflict is gone.
		body := weekly(first, 4, wanted.ID, with{"choices": []with{choice(1, other.ID, third.ID)}, "exdates": []string{day(2).Format(time.DateOnly)}})
		var preview, made seriesAnswer
		alice.Want(t, http.StatusOK, http.MethodPost, "/series/preview", body, &preview)
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", body, &made)
		want := [][]int64{{wanted.ID}, {other.ID, third.ID}, {wanted.ID}}
		if d := cmp.Diff(want, rooms(preview.Meetings)); d != "" || !preview.Saved {
			t.Errorf("preview: %s", d)
		}
		if d := cmp.Diff(want, rooms(ofSeries(t, alice, made.Series.ID))); d != "" {
			t.Errorf("made: %s", d)
		}

		// A room that is chosen may be taken, too.
		path := at("/series/%d", made.Series.ID)
		alice.Want(t, http.StatusOK, http.MethodPost, path+"/preview", with{"choices": []with{choice(3, third.ID)}}, &preview)
		if preview.Saved || len(preview.Skipped) != 1 || preview.Skipped[0].Conflicts[0].RoomID != third.ID {
			t.Errorf("into a taken room: %+v", preview)
		}
		alice.Want(t, http.StatusOK, http.MethodPatch, path, with{"choices": []with{choice(3, other.ID)}}, nil)
		want[2] = []int64{other.ID}
		if d := cmp.Diff(want, rooms(ofSeries(t, alice, made.Series.ID))); d != "" {
			t.Errorf("after the change: %s", d)
		}

		p := alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/series/preview", weekly(first, 2, wanted.ID, with{"choices": []with{
			{"original_start": "", "room_ids": []int64{other.ID}}, {"original_start": "2001-01-01T09:00:00Z", "room_ids": []int64{999, other.ID, other.ID}},
			choice(0, other.ID), choice(0, third.ID), {"original_start": day(1), "room_ids": []int64{}},
		}}))
		var got []string
		for _, e := range p.Errors {
			got = append(got, e.Location+" "+e.Code)
		}
		slices.Sort(got)
		if d := cmp.Diff([]string{
			"body.choices[0].original_start required", "body.choices[1].original_start unknown_date", "body.choices[1].room_ids[0] unknown_room",
			"body.choices[1].room_ids[2] duplicate", "body.choices[3].original_start duplicate", "body.choices[4].room_ids too_few",
		}, got); d != "" {
			t.Errorf("faults: %s", d)
		}
	})
}

// TestSeries_previewUpdate: a preview of a change tells exactly what the change saves, for each
// scope and whatever becomes of conflicts, and writes nothing.
func TestSeries_previewUpdate(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		admin := testenv.Server(t, on.Config).Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Turing", with{"timezone": "Europe/Berlin"})
		admin.NewRoom(t, "Spare", with{"timezone": "Europe/Berlin"})
		first := monday(2)
		day := func(n int) time.Time { return first.AddDate(0, 0, 7*n) }
		var made seriesAnswer
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", weekly(first, 6, room.ID), &made)
		path := at("/series/%d", made.Series.ID)
		// In the way of the third date, an hour later.
		alice.Book(t, testenv.Booking(day(2).Add(time.Hour), day(2).Add(2*time.Hour), []int64{room.ID}))

		type seen struct {
			Title, Status string
			Start         time.Time
			Rooms         string
			Original      time.Time
		}
		look := func(ms []seriesMeeting) (all []seen) {
			for _, m := range ms {
				all = append(all, seen{m.Title, m.Status, m.Start, fmt.Sprint(m.RoomIDs), m.OriginalStart})
			}
			return all
		}
		later := with{"start": first.Add(time.Hour).Format(wall), "end": first.Add(2 * time.Hour).Format(wall)}
		patch := func(more with) with {
			body := with{}
			for _, m := range []with{later, more} {
				for k, v := range m {
					body[k] = v
				}
			}
			return body
		}

		// What would fail is told with all that would not.
		var preview, saved seriesAnswer
		before := stored(t, admin)
		alice.Want(t, http.StatusOK, http.MethodPost, path+"/preview", patch(nil), &preview)
		if preview.Saved || len(preview.Skipped) != 1 || !preview.Skipped[0].OriginalStart.Equal(day(2).Add(time.Hour)) || preview.Skipped[0].Reason != "room_conflict" {
			t.Errorf("with a conflict: saved %v, %+v", preview.Saved, preview.Skipped)
		}
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPatch, path, patch(nil))
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, path+"/preview", patch(nil))
		alice.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPost, path+"/preview", patch(nil), testenv.Header("If-Match", `"99"`))
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, path+"/preview", with{"title": "", "rrule": "FREQ=NEVER"})
		alice.Want(t, http.StatusOK, http.MethodPost, path+"/preview", with{"title": "Weekly"}, &preview)
		if !preview.Saved || len(preview.Meetings) != 0 || preview.Series.ID != made.Series.ID {
			t.Errorf("of a change of nothing: %+v", preview)
		}

		for _, change := range []with{
			patch(with{"on_conflict": "skip", "title": "Skipped"}),
			with{"start": first.Format(wall), "end": first.Add(time.Hour).Format(wall)}, // back
			patch(with{"on_conflict": "other_room"}),
			{"exdates": []string{day(1).Format(time.DateOnly)}, "title": "Fewer"},
			{"rrule": "FREQ=WEEKLY;COUNT=7"},
			{"scope": "following", "from": day(4).Add(time.Hour).Format(time.RFC3339), "title": "Split"},
		} {
			if d := cmp.Diff(before, stored(t, admin)); d != "" {
				t.Errorf("a preview wrote: %s", d)
			}
			preview, saved = seriesAnswer{}, seriesAnswer{}
			alice.Want(t, http.StatusOK, http.MethodPost, path+"/preview", change, &preview)
			if d := cmp.Diff(before, stored(t, admin)); d != "" {
				t.Errorf("a preview wrote: %s", d)
			}
			alice.Want(t, http.StatusOK, http.MethodPatch, path, change, &saved)
			if d := cmp.Diff(look(saved.Meetings), look(preview.Meetings)); d != "" || len(saved.Meetings) == 0 {
				t.Errorf("%v: preview and change differ: %s", change, d)
			}
			if d := cmp.Diff(saved.Skipped, preview.Skipped); d != "" || !preview.Saved {
				t.Errorf("%v: skipped: %s", change, d)
			}
			if preview.Series.RRule != saved.Series.RRule || (preview.Previous == nil) != (saved.Previous == nil) {
				t.Errorf("%v: preview %+v, change %+v", change, preview.Series, saved.Series)
			}
			before = stored(t, admin)
		}
	})
}
