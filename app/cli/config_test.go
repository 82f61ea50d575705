package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"punctual/app"
	"punctual/meeting"
)

func TestConfigPlan_ofNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("next.yaml", []byte("booking: { limits: { max_duration: 1h } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runCommand(t, "", "config", "plan", "next.yaml")
	if err != nil || !strings.Contains(out, "0 current and upcoming meetings") {
		t.Errorf("%s %v", out, err)
	}
	if _, err := os.Stat("data"); err == nil {
		t.Error("it made a database")
	}
	if err := os.WriteFile("bad.yaml", []byte("bookng: {}\nlog: {level: x}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	if code := Main([]string{"punctual", "config", "plan", "bad.yaml"}, nil, &errs, &errs); code != exitFailed ||
		!strings.Contains(errs.String(), "bad.yaml:1:1") || !strings.Contains(errs.String(), "bad.yaml:2:") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
	if code := Main([]string{"punctual", "config", "plan"}, nil, &errs, &errs); code != exitUsage {
		t.Errorf("without a file: exit %d", code)
	}
}

func TestWritePlan(t *testing.T) {
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	m := app.PlannedMeeting{ID: 7, Title: "Review", Start: at, Rooms: []string{"Turing"}}
	var out strings.Builder
	err := writePlan(&out, &app.ConfigPlan{
		Settings:  []app.PlannedSetting{{Key: "queue.prefix", From: "a", To: "", Restart: true}},
		Meetings:  3,
		Reminders: []app.PlannedReminder{{Meeting: m, Before: meeting.BeforeStart, From: &at, Channels: []meeting.Channel{meeting.Email}}},
		Requests:  []app.PlannedRequest{{Meeting: m, Deadline: at, DeadlineAnew: at.Add(time.Hour), OnTimeout: "reject", OnTimeoutAnew: "approve"}},
		Refusals:  []app.PlannedRefusal{{Meeting: m, Reasons: []app.PlannedReason{{Message: "a meeting can last at most 1h"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Changed settings: 1", `queue.prefix  a     ""  after a restart`, "Rescheduled reminders: 1", "before the start  email", "never",
		"they keep theirs): 1", "7 Review  2026-11-23 09:00:00Z  Turing  a meeting can last at most 1h", "3 current and upcoming meetings", "Nothing was changed",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
