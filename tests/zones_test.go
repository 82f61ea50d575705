package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestZones: after a change of a zone's rules the check lists what would move, an edit books
// nothing twice, and the rebase keeps what clocks showed.
func TestZones(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		c := on.Config
		dir := t.TempDir()
		source := filepath.Join(dir, "source")
		const summerTime = "Zone America/Sao_Paulo -2:00 - -02\n" // all year
		if err := os.WriteFile(source, []byte(summerTime), 0o600); err != nil {
			t.Fatal(err)
		}
		zic, err := exec.LookPath("zic")
		if err != nil {
			zic = "/usr/sbin/zic"
		}
		if out, err := exec.Command(zic, "-d", filepath.Join(dir, "zones"), source).CombinedOutput(); err != nil {
			t.Fatalf("zic: %v\n%s", err, out)
		}
		c.Env = append(c.Env, "ZONEINFO="+filepath.Join(dir, "zones"))
		server := testenv.Server(t, c)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Paulista", with{"timezone": "America/Sao_Paulo"})

		first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 10).Add(10 * time.Hour) // by clocks there
		body := with{
			"title": "Weekly", "room_ids": []int64{room.ID}, "timezone": "America/Sao_Paulo", "start": first.Format(wall),
			"end": first.Add(time.Hour).Format(wall), "rrule": "FREQ=WEEKLY;COUNT=4", "attendees": []with{{"email": "guest@example.net"}},
		}
		var made seriesAnswer
		admin.Want(t, 201, "POST", "/series", body, &made)
		if got := made.Meetings[0].Start; !got.Equal(first.Add(2 * time.Hour)) {
			t.Fatalf("booked at %v, want summer time", got)
		}

		server.Stop()
		server.Setenv("ZONEINFO", "")
		server.Start(t)
		if !strings.Contains(server.Log(), "time zone rules changed") {
			t.Error("the log does not say that rules changed")
		}
		var config struct {
			Zones []struct{ Timezone string } `json:"changed_zones"`
		}
		admin.Want(t, 200, "GET", "/config", nil, &config)
		if len(config.Zones) != 1 || config.Zones[0].Timezone != "America/Sao_Paulo" {
			t.Errorf("admins are shown %v", config.Zones)
		}
		type report struct {
			Move, Moved, Stay []struct {
				ID       int64      `json:"id"`
				NewStart *time.Time `json:"new_start"`
				Reason   string     `json:"reason"`
			}
		}
		run := func(exit int, args ...string) (r report) {
			t.Helper()
			cmd := server.Command(t, append(args, "--json")...)
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != exit {
				t.Fatalf("%v: exit %d, want %d: %v\n%s", args, code, exit, err, out)
			}
			if err := json.Unmarshal(out, &r); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			return r
		}
		if r := run(1, "zones", "check"); len(r.Move) != 4 || len(r.Stay) != 0 {
			t.Errorf("check: %+v", r)
		}

		// A date that was left out by its original start, and another title: nothing is booked twice.
		series := at("/series/%d", made.Series.ID)
		admin.Want(t, 200, "PATCH", series, with{"exdates": []string{made.Meetings[3].OriginalStart.Format(time.RFC3339)}, "title": "Other"}, nil)
		// Somebody has the second date's new time.
		second := first.AddDate(0, 0, 7)
		admin.Want(t, 201, "POST", "/meetings", with{"title": "In the way", "room_ids": []int64{room.ID},
			"start": second.Add(30 * time.Minute).Add(time.Hour).Format(wall), "end": second.Add(2 * time.Hour).Format(wall),
			"timezone": "Etc/GMT+2"}, nil)

		if r := run(1, "zones", "rebase"); len(r.Moved) != 2 || len(r.Stay) != 1 || r.Stay[0].Reason != "room_conflict" {
			t.Errorf("rebase: %+v", r)
		}
		var got []time.Time
		for _, m := range ofSeries(t, admin, made.Series.ID) {
			if m.Status == "confirmed" {
				got = append(got, m.Start)
			}
		}
		want := []time.Time{first.Add(3 * time.Hour), second.Add(2 * time.Hour), first.AddDate(0, 0, 14).Add(3 * time.Hour)}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("dates are at %v, want %v", got, want)
		}
		eventually(t, time.Now().Add(slack), "the guest is told of the change", func() bool {
			return slices.ContainsFunc(admin.Notifications(t, made.Meetings[0].ID), func(n testenv.Notification) bool { return n.Kind == "change" })
		})
	})
}
