package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A query time without an offset is read by the clocks of the one room that the query names,
// and refused if it names none or several.
func TestQueryTimes_withoutOffset(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.room(`{"name":"There","timezone":"America/New_York"}`)
	c.room(`{"name":"Here"}`)
	want[object](c, http.StatusCreated, ann, "POST", "/meetings", `{"room_ids":[1],"title":"T","start":"2027-02-10T10:00:00","end":"2027-02-10T11:00:00"}`)
	want[object](c, http.StatusCreated, root, "POST", "/blackouts", `{"room_id":1,"start":"2027-02-10T12:00:00","end":"2027-02-10T13:00:00","reason":"Paint"}`)

	local := strings.NewReplacer("{from}", "2027-02-10T10:00:00", "{to}", "2027-02-10T12:30")
	offset := strings.NewReplacer("{from}", "2027-02-10T15:00:00Z", "{to}", "2027-02-10t12:30:00-05:00")
	for _, path := range []string{
		"/availability?start={from}&end={to}", "/suggestions?duration=30m&from={from}&to={to}", "/meetings?from={from}&to={to}",
		"/grid?from={from}&to={to}", "/blackouts?from={from}&to={to}",
	} {
		for _, rooms := range []string{"", "&room_id=1&room_id=2"} {
			if strings.HasPrefix(path, "/meetings") || strings.HasPrefix(path, "/blackouts") {
				rooms = ""
			}
			p := want[problem](c, 422, ann, "GET", local.Replace(path)+rooms, "")
			if len(p.Errors) != 2 || p.Errors[0].Code != "offset_required" {
				t.Errorf("%s%s: %v", path, rooms, p.faults())
			}
		}
		sameAnswer(c, local.Replace(path)+"&room_id=1", offset.Replace(path)+"&room_id=1")
	}
	sameAnswer(c, local.Replace("/rooms/1/free-busy?from={from}&to={to}"), offset.Replace("/rooms/1/free-busy?from={from}&to={to}"))
	got := want[object](c, 200, ann, "GET", local.Replace("/availability?start={from}&end={to}&room_id=1"), "")
	if got["items"].([]any)[0].(object)["free"] != false {
		t.Error("the taken room is free")
	}

	// A start that clocks skip is refused, an end at the change is its instant.
	p := want[problem](c, 422, ann, "GET", "/rooms/1/free-busy?from=2027-03-14T02:00:00&to=2027-03-14T04:00:00", "")
	if diff := cmp.Diff([]string{"query.from nonexistent_time"}, p.faults()); diff != "" {
		t.Error(diff)
	}
	sameAnswer(c, "/rooms/1/free-busy?from=2027-03-13T00:00&to=2027-03-14T02:00", "/rooms/1/free-busy?from=2027-03-13T05:00:00Z&to=2027-03-14T07:00:00Z")
	want[problem](c, 422, root, "GET", "/reports/utilisation?from=2027-02-10T10:00:00", "")
	want[object](c, 404, ann, "GET", "/rooms/9/free-busy?from=2027-03-13T00:00", "")
}

// sameAnswer asserts that two queries have the same, not empty, answer.
func sameAnswer(c *client, a, b string) {
	c.Helper()
	one, other := want[json.RawMessage](c, 200, ann, "GET", a, ""), want[json.RawMessage](c, 200, ann, "GET", b, "")
	if diff := cmp.Diff(string(other), string(one)); diff != "" {
		c.Errorf("%s and %s differ (-second +first):\n%s", a, b, diff)
	}
}
