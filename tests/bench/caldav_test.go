package bench

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// BenchmarkCalDAV measures what a calendar program of a person with 5,000 meetings waits for: the first
// synchronization, in which it reads the list of meetings and then all of them, 100 at a time, and later
// ones, when nothing has changed and after one change.
func BenchmarkCalDAV(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		benchmarkCalDAV(b, "Postgres", testenv.Config{Database: testenv.PostgresServer(b, testenv.Durable).Database(b)})
	})
	b.Run("sqlite", func(b *testing.B) { benchmarkCalDAV(b, "SQLite", testenv.Config{}) })
}

func benchmarkCalDAV(b *testing.B, database string, c testenv.Config) {
	const n, batch, rounds = 5_000, 100, 50
	c.YAML = "caldav: { enabled: true }\n"
	server := testenv.Server(b, c)
	admin := server.Admin(b)
	ada := admin.NewUser(b, "Ada", "member")
	admin.NewRoom(b, "Turing")
	var token struct{ Token string }
	ada.Want(b, http.StatusCreated, http.MethodPost, "/me/tokens", map[string]any{"name": "Phone", "scopes": []string{"caldav"}}, &token)

	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	var text strings.Builder
	text.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Example//EN\r\n")
	for i := range n {
		at := first.Add(time.Duration(i) * time.Hour)
		const form = "20060102T150405Z"
		fmt.Fprintf(&text, "BEGIN:VEVENT\r\nUID:bench-%d\r\nDTSTAMP:20270101T000000Z\r\nDTSTART:%s\r\nDTEND:%s\r\nSUMMARY:Meeting about something %d\r\nLOCATION:Turing\r\n"+
			"ORGANIZER:mailto:ada@example.org\r\nATTENDEE;CN=A guest:mailto:guest%d@example.org\r\nEND:VEVENT\r\n", i, at.Format(form), at.Add(30*time.Minute).Format(form), i, i)
	}
	file := filepath.Join(b.TempDir(), "all.ics")
	if err := os.WriteFile(file, []byte(text.String()+"END:VCALENDAR\r\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	if out, err := server.Command(b, "import", "ics", file, "--config", server.ConfigFile()).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}

	calendar := fmt.Sprintf("/dav/calendars/users/%d/meetings/", ada.User.ID)
	ask := func(method, body string) string {
		req, err := http.NewRequestWithContext(b.Context(), method, server.URL+calendar, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.SetBasicAuth("ada@example.org", token.Token)
		req.Header.Set("Depth", "0")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusMultiStatus {
			b.Fatalf("%s: %v\n%.1000s", res.Status, err, answer)
		}
		return string(answer)
	}
	type status struct {
		Token string   `xml:"DAV: sync-token"`
		Hrefs []string `xml:"DAV: response>href"`
	}
	changes := func(token string) status {
		var s status
		if err := xml.Unmarshal([]byte(ask("REPORT", `<sync-collection xmlns="DAV:"><sync-token>`+token+`</sync-token><sync-level>1</sync-level><prop><getetag/></prop></sync-collection>`)), &s); err != nil {
			b.Fatal(err)
		}
		return s
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	typical := func(run func(i int)) time.Duration {
		took := make([]time.Duration, rounds)
		for i := range took {
			begin := time.Now()
			run(i)
			took[i] = time.Since(begin)
		}
		slices.Sort(took)
		return took[rounds/2]
	}

	used := cpuOf(b, server)
	begin := time.Now()
	all := changes("")
	listed := time.Since(begin)
	read := 0
	for hrefs := range slices.Chunk(all.Hrefs, batch) {
		read += strings.Count(ask("REPORT", `<c:calendar-multiget xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><getetag/><c:calendar-data/></prop><href>`+strings.Join(hrefs, "</href><href>")+`</href></c:calendar-multiget>`), "BEGIN:VEVENT")
	}
	whole, firstCPU := time.Since(begin), cpuOf(b, server)-used
	if read != n {
		b.Fatalf("read %d of %d meetings", read, n)
	}
	begin = time.Now()
	if got := len(testenv.All[testenv.Meeting](b, ada, "/meetings?organizer=me&limit=500")); got != n {
		b.Fatalf("the API lists %d meetings", got)
	}
	api := time.Since(begin)
	used = cpuOf(b, server)
	unchanged := typical(func(int) {
		if s := changes(all.Token); len(s.Hrefs) != 0 || s.Token != all.Token {
			b.Fatalf("changed: %+v", s)
		}
	})
	unchangedCPU := (cpuOf(b, server) - used) / rounds
	request := typical(func(int) { ask("PROPFIND", `<propfind xmlns="DAV:"><prop><displayname/></prop></propfind>`) })
	m := testenv.ReadPage[testenv.Meeting](b, ada, "/meetings?organizer=me&limit=1", "").Items[0]
	token2 := all.Token
	var changing time.Duration
	one := typical(func(i int) {
		begin := time.Now()
		ada.Want(b, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", m.ID), map[string]any{"title": fmt.Sprint("Changed ", i)}, nil)
		changing += time.Since(begin)
		s := changes(token2)
		if len(s.Hrefs) != 1 {
			b.Fatalf("changed: %+v", s)
		}
		token2 = s.Token
	}) - changing/rounds

	b.ReportMetric(ms(listed), "list-ms")
	b.ReportMetric(ms(whole), "first-ms")
	b.ReportMetric(ms(firstCPU), "first-ms-CPU")
	b.ReportMetric(ms(unchanged), "unchanged-ms")
	b.ReportMetric(ms(one), "one-changed-ms")
	b.ReportMetric(0, "ns/op")
	tell("first CalDAV sync of 5,000 meetings, 100 at a time: "+database, fmt.Sprintf("%.2f s; %.0f ms of it for the list; processor time %.2f s", whole.Seconds(), ms(listed), firstCPU.Seconds()), "<= 2 s",
		fmt.Sprintf("the same meetings by `GET /meetings`, 500 at a time: %.2f s, %.1f times", api.Seconds(), whole.Seconds()/api.Seconds()))
	tell("CalDAV sync with nothing changed of 5,000: "+database, fmt.Sprintf("p50 %.1f ms; %.1f ms after one change; processor time %.1f ms", ms(unchanged), ms(one), ms(unchangedCPU)), "<= 30 ms",
		fmt.Sprintf("a PROPFIND that reads no meetings: %.1f ms, %.1f times", ms(request), ms(unchanged)/ms(request)))
}
