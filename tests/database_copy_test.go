package tests

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestDatabaseCopy: an installation on SQLite goes on on Postgres, with the same content and IDs.
func TestDatabaseCopy(t *testing.T) {
	t.Parallel()
	old := testenv.PrepareServer(t, testenv.Config{})
	old.Start(t)
	admin := old.Admin(t)
	alice := admin.NewUser(t, "Alice", "member")
	room := admin.NewRoom(t, "Turing", with{"features": []string{"projector"}, "approval": with{"required": true}})
	start := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Hour)
	alice.Want(t, http.StatusCreated, http.MethodPost, "/series", with{
		"room_ids": []int64{room.ID}, "title": "Weekly ü 会议", "start": start.Format(time.RFC3339), "end": start.Add(time.Hour).Format(time.RFC3339),
		"rrule": "FREQ=WEEKLY;COUNT=5", "timezone": "Europe/Berlin", "attendees": []with{{"email": "guest@example.net"}},
	}, nil)
	gone := admin.NewRoom(t, "Gone")
	admin.Want(t, http.StatusNoContent, http.MethodDelete, at("/rooms/%d", gone.ID), nil, nil)
	meetings := "/meetings?from=" + start.Add(-time.Hour).Format(time.RFC3339) + "&to=" + start.AddDate(0, 3, 0).Format(time.RFC3339)
	read := func(c *testenv.Client, path string) string {
		return string(c.Want(t, http.StatusOK, http.MethodGet, path, nil, nil).Body)
	}
	paths := []string{meetings, "/rooms", "/users", at("/rooms/%d", room.ID), "/series/1", "/audit"}
	before := map[string]string{}
	for _, path := range paths[:5] {
		before[path] = read(admin, path)
	}
	old.Stop()

	target := testenv.Postgres(t)
	copyTo := func(target string) (string, int) {
		t.Helper()
		cmd := old.Command(t, "database", "copy", "--from", "sqlite:data/punctual.db", "--to", target)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := copyTo(target)
	if code != 0 || !strings.Contains(out, "both sides match") || !strings.Contains(out, "attendees") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if out, code := copyTo(target); code != 1 || !strings.Contains(out, "the target is not empty") {
		t.Errorf("once more: exit code %d\n%s", code, out)
	}
	if out, code := copyTo("mysql://x"); code != 2 {
		t.Errorf("a wrong target: exit code %d\n%s", code, out)
	}

	server := testenv.Server(t, testenv.Config{Database: target})
	admin = server.Admin(t)
	for _, path := range paths[:5] {
		if after := read(admin, path); after != before[path] && path != "/users" {
			t.Errorf("%s was\n%s\nis\n%s", path, before[path], after)
		}
	}
	next := admin.NewRoom(t, "New")
	if next.ID <= gone.ID {
		t.Errorf("a new room has ID %d, which a deleted one had", next.ID)
	}
	ms := testenv.All[testenv.Meeting](t, admin, meetings)
	admin.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/approve", ms[0].ID), with{}, nil)
	admin.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
}

// TestExportAll: an export of everything goes into an empty installation, on either database, without
// secrets, and an export of that is the same.
func TestExportAll(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Turing", with{"features": []string{"projector"}})
		start := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Hour)
		alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"title": "Review", "attendees": []with{{"email": "guest@example.net"}}}))
		export := func(s *testenv.ServerInstance, flags ...string) string {
			t.Helper()
			cmd := s.Command(t, append([]string{"export", "all", "--format", "jsonl"}, flags...)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("export: %v\n%s", err, stderr.Bytes())
			}
			return string(out)
		}
		all := export(server)
		if strings.Contains(all, "argon2id") || strings.Contains(all, `"table":"tokens"`) || !strings.Contains(all, "guest@example.net") {
			t.Errorf("the export has secrets, or lacks content:\n%s", all)
		}
		full := export(server, "--passwords")
		if !strings.Contains(full, "argon2id") {
			t.Error("an export with passwords has none")
		}
		half := full[:strings.LastIndex(full[:len(full)/2], `"`)] // in the middle of a line, wherever lines end
		for name, config := range map[string]testenv.Config{"sqlite": {}, "postgres": {Database: testenv.Postgres(t)}} {
			config.NoAdmin = true
			empty := testenv.PrepareServer(t, config)
			read := func(text string) (string, int) {
				cmd := empty.Command(t, "import", "jsonl", "-")
				cmd.Stdin = strings.NewReader(text)
				out, _ := cmd.CombinedOutput()
				return string(out), cmd.ProcessState.ExitCode()
			}
			for text, want := range map[string]string{
				half: "line ", strings.Replace(full, `"schema":`, `"schema":1`, 1): "use the same version", `{"x":1}`: "must begin with the header",
				full[:strings.LastIndex(strings.TrimSpace(full), "\n")+1]: "not complete",
			} {
				if out, code := read(text); code != 1 || !strings.Contains(out, want) {
					t.Errorf("%s: exit code %d, want %q: %s", name, code, want, out)
				}
			}
			if out, code := read(full); code != 0 {
				t.Fatalf("%s: exit code %d\n%s", name, code, out)
			}
			body := func(text string) string { _, rest, _ := strings.Cut(text, "\n"); return rest }
			if again := export(empty, "--passwords"); len(strings.Split(again, "\n")) != len(strings.Split(full, "\n")) || strings.Count(again, "guest@example.net") != strings.Count(body(full), "guest@example.net") {
				t.Errorf("%s: the export of the import differs:\n%s\nwas\n%s", name, again, full)
			}
			if out, code := read(full); code != 1 || !strings.Contains(out, "not empty") {
				t.Errorf("%s: once more: exit code %d\n%s", name, code, out)
			}
			empty.Start(t)
			moved := empty.Admin(t)
			if m := testenv.All[testenv.Meeting](t, moved, "/meetings?from="+start.Format(time.RFC3339)+"&to="+start.Add(time.Hour).Format(time.RFC3339)); len(m) != 1 || m[0].Organizer.ID != alice.User.ID {
				t.Errorf("%s: meetings %+v", name, m)
			}
			if next := moved.NewRoom(t, "New"); next.ID <= room.ID {
				t.Errorf("%s: a new room has ID %d", name, next.ID)
			}
		}
	})
}
