package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting/httpapi"
)

func TestGrid(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	site := fmt.Sprint(want[object](c, http.StatusCreated, root, "POST", "/sites", `{"name":"Berlin","timezone":"Europe/Berlin"}`)["id"])
	small := c.room(`{"name":"Attic","site_id":` + site + `,"capacity":4,"features":["video"],"policy":{"step":"15m","buffer_after":"10m",
		"opening_hours":[{"days":["MO","TU","WE","TH","FR"],"from":"08:00","to":"18:00"}]}}`)
	hall := c.room(`{"name":"Hall","capacity":40,"timezone":"Asia/Tokyo","approval":{"required":true,"approver_ids":[3]}}`)
	c.room(`{"name":"Shut","active":false}`)
	book := func(as int, rooms, start, end, more string) string {
		t.Helper()
		return fmt.Sprint(want[object](c, http.StatusCreated, as, "POST", "/meetings",
			fmt.Sprintf(`{"room_ids":[%s],"title":"Meeting","start":%q,"end":%q%s}`, rooms, start, end, more))["id"])
	}
	book(ann, small, "2027-02-10T09:00:00Z", "2027-02-10T10:00:00Z", `,"title":"Design review"`)
	book(bob, small+","+hall, "2027-02-10T11:00:00Z", "2027-02-10T12:00:00Z", `,"title":"Layoffs","visibility":"private"`)
	gone := book(ann, hall, "2027-02-10T13:00:00Z", "2027-02-10T14:00:00Z", "")
	want[object](c, 200, ann, "POST", "/meetings/"+gone+"/cancel", "")
	book(ann, small, "2027-02-11T09:00:00Z", "2027-02-11T10:00:00Z", "")
	want[object](c, http.StatusCreated, root, "POST", "/blackouts", `{"room_id":`+hall+`,"start":"2027-02-10T20:00:00Z","end":"2027-02-11T20:00:00Z","reason":"Paint"}`)
	want[object](c, http.StatusCreated, root, "POST", "/blackouts", `{"room_id":`+hall+`,"start":"2027-03-10T20:00:00Z","end":"2027-03-11T20:00:00Z","reason":"Later"}`)

	const day = "/grid?from=2027-02-10T00:00:00Z&to=2027-02-11T00:00:00Z"
	g := want[httpapi.Grid](c, 200, ann, "GET", day, "")
	if len(g.Rooms) != 2 || g.Rooms[0].Name != "Attic" || g.Rooms[1].Name != "Hall" || len(g.Sites) != 1 || g.Sites[0].Name != "Berlin" || g.NextCursor != nil {
		t.Fatalf("%+v", g)
	}
	attic, tokyo := g.Rooms[0], g.Rooms[1]
	if attic.Timezone != "Europe/Berlin" || *attic.Step != "15m" || attic.BufferAfter != "10m" || attic.NeedsApproval || !tokyo.NeedsApproval {
		t.Errorf("%+v %+v", attic, tokyo)
	}
	var closed []string
	for _, s := range attic.Closed {
		closed = append(closed, s.Start.Format("15:04")+" "+s.End.Format("15:04"))
	}
	if diff := cmp.Diff([]string{"00:00 07:00", "17:00 00:00"}, closed); diff != "" || len(tokyo.Closed) != 0 {
		t.Errorf("closed (-want +got)\n%s%v", diff, tokyo.Closed)
	}
	if len(tokyo.Blackouts) != 1 || tokyo.Blackouts[0].Reason != "Paint" || len(attic.Blackouts) != 0 {
		t.Errorf("blackouts %v", tokyo.Blackouts)
	}
	if titles := titlesOf(g); !slices.Equal(titles, []string{"Design review", "Busy"}) {
		t.Errorf("meetings %q", titles)
	}
	review, private := g.Meetings[0], g.Meetings[1]
	if len(review.Occupied) != 1 || review.Occupied[0].End.Format("15:04") != "10:10" || review.Organizer.Name != "Ann" || review.Status != "confirmed" {
		t.Errorf("%+v", review)
	}
	if private.Organizer != (httpapi.GridOrganizer{}) || len(private.RoomIDs) != 2 || private.Status != "pending" {
		t.Errorf("%+v", private)
	}
	if titles := titlesOf(want[httpapi.Grid](c, 200, mona, "GET", day, "")); !slices.Contains(titles, "Layoffs") {
		t.Errorf("the hall's approver sees %q", titles)
	}

	// By date each room has its own day.
	byDate := want[httpapi.Grid](c, 200, ann, "GET", "/grid?from=2027-02-10&to=2027-02-11", "")
	if s := byDate.Rooms[0].Closed; len(s) != 2 || s[0].Start.Format("02 15:04") != "09 23:00" || s[1].End.Format("02 15:04") != "10 23:00" {
		t.Errorf("the attic's day: %v", s)
	}
	if titles := titlesOf(byDate); !slices.Equal(titles, []string{"Design review", "Busy"}) {
		t.Errorf("meetings %q", titles)
	}
	if b := want[httpapi.Grid](c, 200, ann, "GET", "/grid?from=2027-02-13&to=2027-02-14", "").Rooms[1].Blackouts; len(b) != 0 {
		t.Errorf("two days later in Tokyo: %v", b)
	}

	for query, rooms := range map[string]string{
		"&q=design":               "Attic",
		"&q=VIDEO":                "Attic",
		"&q=hall":                 "Hall",
		"&q=layoffs":              "", // private
		"&q=nothing":              "",
		"&min_capacity=10":        "Hall",
		"&features=video":         "Attic",
		"&site_id=" + site:        "Attic",
		"&room_id=" + hall:        "Hall",
		"&room_id=" + hall + ",3": "Hall", // the other is inactive
		"&room_id=" + hall + "," + small + "," + hall:         "Attic Hall",
		"&room_id=" + hall + "," + small + "&site_id=" + site: "Attic",
		"&room_id=" + hall + "," + small + "&min_capacity=10": "Hall",
		"&room_id=" + hall + "," + small + "&features=video":  "Attic",
		"&limit=1": "Attic",
	} {
		var names []string
		got := want[httpapi.Grid](c, 200, ann, "GET", day+query, "")
		for _, r := range got.Rooms {
			names = append(names, r.Name)
		}
		if strings.Join(names, " ") != rooms {
			t.Errorf("%s: %q, want %q", query, names, rooms)
		}
		if query == "&limit=1" {
			next := want[httpapi.Grid](c, 200, ann, "GET", day+query+"&cursor="+*got.NextCursor, "")
			if len(next.Rooms) != 1 || next.Rooms[0].Name != "Hall" || next.NextCursor != nil {
				t.Errorf("the next page is %+v", next)
			}
		}
	}
	for query, fault := range map[string]string{
		"": "query.from required, query.to required",
		"?from=soon&to=2027-02-11T00:00:00Z&room_id=x":                "query.from invalid_time, query.room_id invalid_type",
		"?from=2027-02-10T00:00:00Z&to=2027-02-10T00:00:00Z":          "query.to invalid_span",
		"?from=2027-02-10&to=2027-02-11T00:00:00Z":                    "query.to invalid_date",
		"?from=2027-02-10&to=2027-06-11":                              "query.to invalid_span",
		"?from=2027-02-10T00:00:00Z&to=2027-05-10T00:00:00Z":          "query.to invalid_span",
		"?from=2027-02-10T00:00:00Z&to=2027-02-11T00:00:00Z&cursor=x": "query.cursor invalid_cursor",
	} {
		if p := want[problem](c, 422, ann, "GET", "/grid"+query, ""); strings.Join(p.faults(), ", ") != fault {
			t.Errorf("%q: %q, want %q", query, p.faults(), fault)
		}
	}

	// What has not changed is not sent again.
	first := c.do(ann, "GET", day, "")
	tag := first.Header().Get("ETag")
	again := c.do(ann, "GET", day, "", "If-None-Match: "+tag)
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("ETag") != tag || first.Header().Get("Cache-Control") != "private, no-cache" {
		t.Errorf("%d with %d bytes, %v", again.Code, again.Body.Len(), again.Header())
	}
	book(ann, hall, "2027-02-10T15:00:00Z", "2027-02-10T16:00:00Z", "")
	if changed := c.do(ann, "GET", day, "", "If-None-Match: "+tag); changed.Code != 200 || changed.Header().Get("ETag") == tag {
		t.Errorf("after a booking: %d %v", changed.Code, changed.Header())
	}
}

func titlesOf(g httpapi.Grid) (titles []string) {
	for _, m := range g.Meetings {
		titles = append(titles, m.Title)
	}
	return titles
}
