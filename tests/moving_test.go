package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// mrbsColumns are the columns of MRBS's tables that the import reads, in SQL that MariaDB, Postgres and
// the reader of dumps understand alike.
const mrbsColumns = `CREATE TABLE mrbs_area (id integer NOT NULL PRIMARY KEY, disabled smallint, area_name varchar(30), timezone varchar(50), area_admin_email text, resolution integer,
	morningstarts integer, morningstarts_minutes integer, eveningends integer, eveningends_minutes integer, max_duration_enabled smallint, max_duration_secs integer,
	max_per_week_enabled smallint, max_per_week integer, approval_enabled smallint, enable_periods smallint, periods text);
CREATE TABLE mrbs_room (id integer NOT NULL PRIMARY KEY, disabled smallint, area_id integer, room_name varchar(25), description varchar(60), capacity integer, room_admin_email text, coffee_machine smallint);
CREATE TABLE mrbs_users (id integer NOT NULL PRIMARY KEY, level smallint, name varchar(30), display_name varchar(191), password_hash varchar(255), email varchar(75));
CREATE TABLE mrbs_repeat (id integer NOT NULL PRIMARY KEY, start_time integer, end_time integer, rep_type integer, end_date integer, rep_opt varchar(32), room_id integer, create_by varchar(80), name varchar(80),
	type char(1), description text, rep_interval smallint, month_absolute smallint, month_relative varchar(4), status smallint, ical_uid varchar(255), cost_centre varchar(20), catering smallint);
CREATE TABLE mrbs_entry (id integer NOT NULL PRIMARY KEY, start_time integer, end_time integer, entry_type integer, repeat_id integer, room_id integer, create_by varchar(80), name varchar(80),
	type char(1), description text, status smallint, ical_uid varchar(255), ical_recur_id varchar(16), cost_centre varchar(20), catering smallint);
CREATE TABLE mrbs_participants (id integer NOT NULL PRIMARY KEY, entry_id integer, username varchar(191));
`

// mrbs is a database of MRBS: places, people, a weekly series with a deleted, a moved and a double-booked
// date, and single bookings of each kind.
func mrbs(monday time.Time) string {
	var b strings.Builder
	b.WriteString(mrbsColumns)
	b.WriteString(`INSERT INTO mrbs_area VALUES
		(1,0,'London','Europe/London','',900,7,0,20,45,0,0,1,10,0,0,NULL), (2,0,'Berlin','Europe/Berlin','judy@example.org',1800,8,0,17,30,1,28800,0,0,1,0,NULL),
		(3,0,'School','Europe/Berlin','',1800,8,0,17,30,0,0,0,0,0,1,'{"First":["08:00","08:45"],"Second":["08:50","09:35"]}'), (4,0,'Gym','Europe/Berlin','',1800,8,0,17,30,0,0,0,0,0,1,'["A","B"]');
	INSERT INTO mrbs_room VALUES (1,0,1,'Turing','Floor 1; projector',4,NULL,1), (2,1,1,'Hopper','',0,NULL,0), (3,0,2,'Spree',NULL,8,NULL,0), (4,0,3,'Lab','',20,NULL,0), (5,0,4,'Hall','',20,NULL,0);
	INSERT INTO mrbs_users VALUES (1,2,'alice','Alice Ödegård','x','alice@example.org'), (2,1,'bob','Bob O''Hara','x','bob@example.org'), (3,1,'dave','Dave','x','');
`)
	unix := func(days, hour, minute int) int64 {
		return monday.AddDate(0, 0, days).Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute).Unix()
	}
	fmt.Fprintf(&b, "INSERT INTO mrbs_repeat VALUES (1,%d,%d,2,%d,'0100000',1,'bob','Stand-up','I','Bring \"pens\"; and more',1,NULL,NULL,0,'series@mrbs',NULL,0);\n", unix(0, 9, 0), unix(0, 10, 0), unix(35, 9, 0))
	entry := func(id int, start, end int64, kind int, repeat string, room int, by, name, letter string, status int, uid, original, cost string, catering int) {
		fmt.Fprintf(&b, "INSERT INTO mrbs_entry VALUES (%d,%d,%d,%d,%s,%d,'%s','%s','%s','%s',%d,'%s',%s,%s,%d);\n", id, start, end, kind, repeat, room, by, name, letter,
			map[bool]string{true: `Bring "pens"; and more`}[name == "Stand-up"], status, uid, original, cost, catering)
	}
	recur := func(days int) string {
		return "'" + monday.AddDate(0, 0, days).Add(9*time.Hour).Format("20060102T150405Z") + "'"
	}
	entry(1, unix(0, 9, 0), unix(0, 10, 0), 1, "1", 1, "bob", "Stand-up", "I", 0, "series@mrbs", recur(0), "NULL", 0)
	entry(2, unix(7, 9, 0), unix(7, 10, 0), 1, "1", 1, "bob", "Stand-up", "I", 0, "series@mrbs", recur(7), "NULL", 0)
	// The third Monday was deleted. The fourth was moved, by a version that then forgets the series.
	entry(3, unix(21, 14, 0), unix(21, 15, 0), 0, "NULL", 1, "bob", "Stand-up", "I", 0, "series@mrbs", recur(21), "NULL", 0)
	entry(4, unix(28, 9, 0), unix(28, 10, 0), 1, "1", 1, "bob", "Stand-up", "I", 0, "series@mrbs", recur(28), "NULL", 0)
	entry(5, unix(35, 9, 0), unix(35, 10, 0), 2, "1", 1, "bob", "Stand-up, the last", "I", 0, "series@mrbs", recur(35), "NULL", 0)
	entry(10, unix(1, 9, 0), unix(1, 10, 0), 0, "NULL", 1, "dave", "Board", "E", 1, "private@mrbs", "NULL", "'CC-7'", 1)
	entry(11, unix(1, 9, 30), unix(1, 11, 0), 0, "NULL", 1, "alice", "Late", "E", 0, "late@mrbs", "NULL", "NULL", 0)      // double-booked
	entry(12, unix(28, 9, 45), unix(28, 10, 45), 0, "NULL", 1, "alice", "Clash", "E", 0, "clash@mrbs", "NULL", "NULL", 0) // with a date of the series
	entry(13, unix(2, 9, 0), unix(2, 10, 0), 0, "NULL", 3, "bob", "Asked", "I", 2, "asked@mrbs", "NULL", "NULL", 0)       // waits
	entry(19, unix(2, 11, 0), unix(2, 12, 0), 0, "NULL", 3, "bob", "Asked too", "I", 2, "asked2@mrbs", "NULL", "NULL", 0)
	entry(14, unix(3, 9, 0), unix(3, 10, 0), 0, "NULL", 3, "gone", "Perhaps", "I", 4, "perhaps@mrbs", "NULL", "NULL", 0)    // tentative, of somebody who left
	entry(15, unix(-700, 9, 0), unix(-700, 10, 0), 0, "NULL", 1, "bob", "Long ago", "I", 2, "past@mrbs", "NULL", "NULL", 0) // asked, and never decided
	entry(16, unix(-699, 9, 0), unix(-699, 10, 0), 0, "NULL", 2, "bob", "History", "I", 0, "history@mrbs", "NULL", "NULL", 0)
	noon := func(days, minute int) int64 { // of a day in Berlin: MRBS counts periods in minutes from there
		y, m, d := monday.AddDate(0, 0, days).Date()
		berlin, _ := time.LoadLocation("Europe/Berlin")
		return time.Date(y, m, d, 12, minute, 0, 0, berlin).Unix()
	}
	entry(17, noon(4, 0), noon(4, 2), 0, "NULL", 4, "bob", "Both periods", "I", 0, "periods@mrbs", "NULL", "NULL", 0)
	entry(18, noon(4, 0), noon(4, 1), 0, "NULL", 5, "bob", "Sports", "I", 0, "sports@mrbs", "NULL", "NULL", 0) // periods without times
	b.WriteString("INSERT INTO mrbs_participants VALUES (1,10,'alice');\n")
	return b.String()
}

// movingReport is the report of an import, in part.
type movingReport struct {
	Counts   map[string]map[string]int `json:"counts"`
	Problems []struct {
		Result    string `json:"result"`
		Kept      string `json:"kept"`
		MeetingID int64  `json:"meeting_id"`
		Message   string `json:"message"`
		Booking   struct {
			Ref       string `json:"ref"`
			Title     string `json:"title"`
			Organizer string `json:"organizer"`
		} `json:"booking"`
	} `json:"problems"`
	Notes []struct{ About, Message string } `json:"notes"`
}

// moveIn runs an import and returns its report.
func moveIn(t *testing.T, s *testenv.ServerInstance, wantCode int, args ...string) (r movingReport) {
	t.Helper()
	cmd := s.Command(t, append(append([]string{"import"}, args...), "--json")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != wantCode {
		t.Fatalf("import %v: exit code %d, want %d\n%s%s", args, code, wantCode, out, stderr.Bytes())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("import %v: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	return r
}

func counts(r movingReport) string {
	var texts []string
	for _, section := range []string{"sites", "rooms", "people", "types", "fields", "series", "meetings"} {
		for _, result := range []string{"created", "updated", "unchanged", "conflict", "failed"} {
			if n := r.Counts[section][result]; n > 0 {
				texts = append(texts, fmt.Sprintf("%s %d %s", section, n, result))
			}
		}
	}
	return strings.Join(texts, ", ")
}

// winterMonday is one in winter, so that London and UTC agree.
func winterMonday() time.Time {
	at := time.Date(time.Now().UTC().Year()+1, 11, 1, 0, 0, 0, 0, time.UTC)
	for at.Weekday() != time.Monday {
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// TestMoving_mrbs: an administrator moves from MRBS on MariaDB, on Postgres, and from dumps of both.
// Whatever comes second finds everything unchanged.
func TestMoving_mrbs(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		monday := winterMonday()
		dump := mrbs(monday)
		file := filepath.Join(server.Dir, "mrbs.sql")
		if err := os.WriteFile(file, []byte(dump), 0o644); err != nil {
			t.Fatal(err)
		}
		address, inMariaDB := testenv.MariaDB(t, dump)

		const fresh = "sites 4 created, rooms 5 created, people 4 created, types 2 created, fields 2 created, series 1 created, meetings 12 created, meetings 2 conflict, meetings 1 failed"
		if got := counts(moveIn(t, server, 1, "mrbs", address, "--dry-run")); got != fresh {
			t.Errorf("dry run:\n%s\nwant\n%s", got, fresh)
		}
		if rooms := testenv.All[testenv.Room](t, admin, "/rooms"); len(rooms) != 0 {
			t.Errorf("a dry run made %d rooms", len(rooms))
		}
		if out, err := server.Command(t, "import", "mrbs", address, "--on-conflict", "fail").CombinedOutput(); err == nil || !strings.Contains(string(out), "2 bookings conflict") {
			t.Errorf("--on-conflict fail: %v\n%s", err, out)
		}
		report := moveIn(t, server, 1, "mrbs", address, "--report", "report.html")
		if got := counts(report); !strings.HasPrefix(got, "sites 4 ") || !strings.HasSuffix(got, strings.Split(fresh, "fields 2 created, ")[1]) {
			t.Errorf("import:\n%s\nwant\n%s", got, fresh)
		}
		page, err := os.ReadFile(filepath.Join(server.Dir, "report.html"))
		if err != nil || !bytes.Contains(page, []byte("Late")) || !bytes.Contains(page, []byte("double booking in MRBS: Turing has a private booking (Dave)")) {
			t.Errorf("the page with the report: %v\n%s", err, page)
		}
		checkMoved(t, admin, monday, report)

		const again = "sites 4 unchanged, rooms 5 unchanged, people 4 unchanged, types 2 unchanged, fields 2 unchanged, series 1 unchanged, meetings 14 unchanged, meetings 1 failed"
		sources := []string{address, file, testenv.Postgres(t)}
		load := exec.Command(testenv.PostgresProgram(t, "psql"), "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+sources[2])
		load.Stdin = strings.NewReader(dump)
		if out, err := load.CombinedOutput(); err != nil {
			t.Fatalf("psql: %v\n%s", err, out)
		}
		for name, flags := range map[string][]string{"copy.sql": nil, "inserts.sql": {"--inserts"}} {
			path := filepath.Join(server.Dir, name)
			if out, err := exec.Command(testenv.PostgresProgram(t, "pg_dump"), append(flags, "--file="+path, "--dbname="+sources[2])...).CombinedOutput(); err != nil {
				t.Fatalf("pg_dump: %v\n%s", err, out)
			}
			sources = append(sources, path)
		}
		for _, source := range sources {
			if got := counts(moveIn(t, server, 1, "mrbs", source)); got != again {
				t.Errorf("%s once more:\n%s\nwant\n%s", source, got, again)
			}
		}

		inMariaDB(fmt.Sprintf("UPDATE mrbs_entry SET name = 'Agreed', status = 0 WHERE id = 13; UPDATE mrbs_entry SET start_time = start_time + 3600, end_time = end_time + 3600 WHERE id IN (2, 19); UPDATE mrbs_entry SET name = 'Still asked' WHERE id = 19; INSERT INTO mrbs_entry SELECT 99, %d, %d, 0, NULL, 3, 'bob', 'New', 'I', '', 0, 'new@mrbs', NULL, NULL, 0;",
			monday.AddDate(0, 0, 50).Unix(), monday.AddDate(0, 0, 50).Unix()+3600))
		if got := counts(moveIn(t, server, 1, "mrbs", address)); !strings.Contains(got, "series 1 updated, meetings 1 created, meetings 7 updated, meetings 7 unchanged, meetings 1 failed") {
			t.Errorf("after changes there: %s", got)
		}
		asked := meetingTitled(t, admin, monday, "Agreed")
		if asked.Status != "confirmed" {
			t.Errorf("approved there, here it is %s", asked.Status)
		}
		if m := meetingTitled(t, admin, monday, "Still asked"); m.Status != "pending" || m.Start.Sub(monday) != 60*time.Hour {
			t.Errorf("a request that moved there is %s at %s", m.Status, m.Start)
		}
		var moved []string
		for _, m := range testenv.All[testenv.Meeting](t, admin, at("/meetings?from=%s&to=%s", monday.Format(time.DateOnly)+"T00:00:00Z", monday.AddDate(0, 0, 60).Format(time.DateOnly)+"T00:00:00Z")) {
			if strings.HasPrefix(m.Title, "Stand-up") {
				moved = append(moved, m.Start.Format("01-02 15:04"))
			}
		}
		if want := monday.AddDate(0, 0, 7).Format("01-02") + " 10:00"; !slices.Contains(moved, want) || len(moved) != 5 {
			t.Errorf("the dates of the series are %v, want one at %s", moved, want)
		}
		var ledger struct {
			Items []struct{ Kind string } `json:"items"`
		}
		admin.Want(t, http.StatusOK, http.MethodGet, "/notifications", nil, &ledger)
		if len(ledger.Items) != 0 {
			t.Errorf("the import notified people: %v", ledger.Items)
		}
	})
}

func meetingTitled(t *testing.T, c *testenv.Client, monday time.Time, title string) (found testenv.Meeting) {
	t.Helper()
	for _, span := range [][2]time.Time{{monday.AddDate(0, 0, -1), monday.AddDate(0, 0, 60)}, {monday.AddDate(0, 0, -720), monday.AddDate(0, 0, -680)}} {
		for _, m := range testenv.All[testenv.Meeting](t, c, at("/meetings?from=%s&to=%s", span[0].Format(time.RFC3339), span[1].Format(time.RFC3339))) {
			if m.Title == title {
				return m
			}
		}
	}
	t.Fatalf("there is no meeting %q", title)
	return found
}

// checkMoved checks what came over.
func checkMoved(t *testing.T, admin *testenv.Client, monday time.Time, report movingReport) {
	t.Helper()
	var room struct {
		Capacity int      `json:"capacity"`
		Floor    string   `json:"floor"`
		Features []string `json:"features"`
		Active   bool     `json:"active"`
		Timezone string   `json:"timezone"`
		Approval struct {
			Required bool `json:"required"`
		} `json:"approval"`
		Policy struct {
			OpeningHours []struct{ From, To string } `json:"opening_hours"`
			MaxDuration  string                      `json:"max_duration"`
		} `json:"policy"`
	}
	rooms := map[string]testenv.Room{}
	for _, r := range testenv.All[testenv.Room](t, admin, "/rooms?include_inactive=true") {
		rooms[r.Name] = r
	}
	admin.Want(t, http.StatusOK, http.MethodGet, at("/rooms/%d", rooms["Turing"].ID), nil, &room)
	if room.Capacity != 4 || room.Floor != "1" || strings.Join(room.Features, ",") != "projector,coffee machine" || !room.Active || len(room.Policy.OpeningHours) != 1 || room.Policy.OpeningHours[0].To != "21:00" {
		t.Errorf("Turing: %+v", room)
	}
	admin.Want(t, http.StatusOK, http.MethodGet, at("/rooms/%d", rooms["Spree"].ID), nil, &room)
	if !room.Approval.Required || room.Policy.MaxDuration != "8h" {
		t.Errorf("Spree: %+v", room)
	}
	roles := map[string]string{}
	for _, u := range testenv.All[testenv.User](t, admin, "/users") {
		roles[u.Email] = u.Role
	}
	if roles["alice@example.org"] != "admin" || roles["bob@example.org"] != "member" || roles["dave@mrbs.invalid"] != "member" || roles["gone@mrbs.invalid"] != "member" {
		t.Errorf("people: %v", roles)
	}
	for title, want := range map[string]string{
		"Board": "confirmed dave@mrbs.invalid alice@example.org accepted", "Asked": "pending bob@example.org", "Perhaps": "confirmed gone@mrbs.invalid",
		"Long ago": "rejected bob@example.org", "History": "ended bob@example.org", "Late": "rejected alice@example.org", "Clash": "rejected alice@example.org",
	} {
		m := meetingTitled(t, admin, monday, title)
		got := m.Status + " " + m.Organizer.Email
		for _, a := range m.Attendees {
			got += " " + a.Email + " " + a.Response
		}
		if got != want {
			t.Errorf("%s: %s, want %s", title, got, want)
		}
	}
	if m := meetingTitled(t, admin, monday, "Asked"); m.Approval.Deadline == nil || !m.Approval.Deadline.Equal(m.Start) {
		t.Errorf("the request has the deadline %v, want its start %s", m.Approval.Deadline, m.Start)
	}
	if m := meetingTitled(t, admin, monday, "Perhaps"); m.Description != "Tentative: yes" {
		t.Errorf("the tentative booking has the description %q", m.Description)
	}
	if m := meetingTitled(t, admin, monday, "Late"); !strings.Contains(m.Approval.Comment, "double booking in MRBS") {
		t.Errorf("the double booking says %q", m.Approval.Comment)
	}
	if m := meetingTitled(t, admin, monday, "Both periods"); m.Start.Format("15:04") != "07:00" || m.End.Format("15:04") != "08:35" { // UTC
		t.Errorf("the periods are from %s to %s", m.Start, m.End)
	}
	var board struct {
		Visibility string         `json:"visibility"`
		Fields     map[string]any `json:"fields"`
		TypeID     int64          `json:"type_id"`
	}
	admin.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", meetingTitled(t, admin, monday, "Board").ID), nil, &board)
	if board.Visibility != "private" || board.Fields["cost_centre"] != "CC-7" || board.Fields["catering"] != true || board.TypeID == 0 {
		t.Errorf("the private booking: %+v", board)
	}
	var refs []string
	for _, p := range report.Problems {
		refs = append(refs, p.Booking.Ref+" "+p.Result+" "+p.Kept)
	}
	slices.Sort(refs)
	if got := strings.Join(refs, ", "); got != "entry 11 conflict rejected, entry 12 conflict rejected, entry 18 failed " {
		t.Errorf("problems: %s", got)
	}
	notes := fmt.Sprint(report.Notes)
	for _, want := range []string{"person dave", "person gone", "area Gym", "judy@example.org", "10 bookings per week"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note about %s: %s", want, notes)
		}
	}
}

// TestMoving_killed: an import that is killed again and again continues, and in the end everything is
// there once.
func TestMoving_killed(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		const n = 4000
		var b strings.Builder
		b.WriteString(mrbsColumns)
		b.WriteString("INSERT INTO mrbs_area VALUES (1,0,'London','Europe/London','',900,7,0,20,45,0,0,0,0,0,0,NULL);\nINSERT INTO mrbs_users VALUES (1,1,'bob','Bob','x','bob@example.org');\nINSERT INTO mrbs_room VALUES (1,0,1,'R1','',4,NULL,0), (2,0,1,'R2','',4,NULL,0);\nINSERT INTO mrbs_entry VALUES ")
		start := winterMonday().AddDate(-1, 0, 0)
		for i := range n {
			if i > 0 {
				b.WriteString(",\n")
			}
			from := start.Add(time.Duration(i/2) * time.Hour).Unix()
			fmt.Fprintf(&b, "(%d,%d,%d,0,NULL,%d,'bob','M%d','I','',0,'m%d@mrbs',NULL,NULL,0)", i+1, from, from+3600, i%2+1, i, i)
		}
		b.WriteString(";\n")
		file := filepath.Join(server.Dir, "many.sql")
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		sawPart := false
		for try := 0; try < 30 && !sawPart; try++ {
			cmd := server.Command(t, "import", "mrbs", file)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(3 * slack)
			for time.Now().Before(deadline) && cmd.ProcessState == nil {
				var page struct{ Items []testenv.Meeting }
				admin.Want(t, http.StatusOK, http.MethodGet, "/meetings?limit=1&from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z", nil, &page)
				if len(page.Items) > 0 {
					break
				}
			}
			cmd.Process.Kill()
			sawPart = cmd.Wait() != nil
		}
		if !sawPart {
			t.Error("no import was killed in the middle")
		}
		r := moveIn(t, server, 0, "mrbs", file)
		created, unchanged := r.Counts["meetings"]["created"], r.Counts["meetings"]["unchanged"]
		if created+unchanged != n || unchanged == 0 {
			t.Errorf("after the kill: %s", counts(r))
		}
		if got := counts(moveIn(t, server, 0, "mrbs", file)); got != fmt.Sprintf("sites 1 unchanged, rooms 2 unchanged, people 1 unchanged, types 1 unchanged, fields 1 unchanged, meetings %d unchanged", n) {
			t.Errorf("once more: %s", got)
		}
	})
}

// TestMoving_list: an administrator imports bookings from a CSV file. Rooms and people must exist.
func TestMoving_list(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		admin.NewRoom(t, "Turing")
		list := fmt.Sprintf(`title,room,start,end,organizer,timezone,attendees,private,id
Review,turing,2099-02-10 09:00,2099-02-10 10:00,%[1]s,Europe/Berlin,guest@example.net,yes,7
Clash,Turing,2099-02-10T08:30:00Z,2099-02-10T09:30:00Z,%[1]s,,,,
Nowhere,Hopper,2099-02-10 09:00,2099-02-10 10:00,%[1]s,,,,
Nobody,Turing,2099-02-11 09:00,2099-02-11 10:00,nobody@example.net,,,,
Never,Turing,tomorrow,2099-02-10 10:00,%[1]s,,,,
`, alice.User.Email)
		file := filepath.Join(server.Dir, "list.csv")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write(list)
		const want = "meetings 1 created, meetings 1 conflict, meetings 3 failed"
		for _, flags := range [][]string{{"--dry-run"}, nil} {
			r := moveIn(t, server, 1, append([]string{"csv", file, "--bookings"}, flags...)...)
			if got := counts(r); got != want {
				t.Errorf("%v: %s, want %s", flags, got, want)
			}
			var problems []string
			for _, p := range r.Problems {
				problems = append(problems, p.Booking.Ref+": "+p.Message)
			}
			slices.Sort(problems)
			for i, part := range []string{"line 3: double booking", `line 4: no room is named "Hopper"`, "line 5: no user has the address nobody@example.net", `line 6: start is "tomorrow"`} {
				if len(problems) != 4 || !strings.HasPrefix(problems[i], part) {
					t.Errorf("problems %q, want %s", problems, part)
				}
			}
		}
		ms := testenv.All[testenv.Meeting](t, admin, "/meetings?from=2099-01-01T00:00:00Z&to=2100-01-01T00:00:00Z")
		if len(ms) != 1 || ms[0].Title != "Review" || !ms[0].Start.Equal(time.Date(2099, 2, 10, 8, 0, 0, 0, time.UTC)) || len(ms[0].Attendees) != 1 || ms[0].Organizer.ID != alice.User.ID {
			t.Fatalf("imported %+v", ms)
		}
		write(strings.Replace(list, "Review", "Second review", 1))
		if got := counts(moveIn(t, server, 1, "csv", file, "--bookings")); got != "meetings 1 updated, meetings 1 conflict, meetings 3 failed" {
			t.Errorf("a changed line: %s", got)
		}
		if m := admin.Meeting(t, ms[0].ID); m.Title != "Second review" {
			t.Errorf("the meeting is %q", m.Title)
		}
	})
}
