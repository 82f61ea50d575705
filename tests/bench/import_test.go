package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// BenchmarkImport imports a calendar of 20,000 events in 50 rooms by the command, while the server runs.
func BenchmarkImport(b *testing.B) {
	const events, rooms, organizers = 20_000, 50, 20
	server := testenv.Server(b, testenv.Config{Database: testenv.Postgres(b), Queue: testenv.RedisServer(b).URL(), YAML: "email: { driver: off }\n"})
	admin := server.Admin(b)
	var people []string
	for i := range organizers {
		people = append(people, admin.NewUser(b, fmt.Sprint("Organizer-", i), "member").User.Email)
	}
	for i := range rooms {
		admin.NewRoom(b, fmt.Sprint("Room ", i))
	}
	first := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Hour)
	var text strings.Builder
	text.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n")
	for i := range events {
		start := first.Add(time.Duration(i/rooms) * time.Hour)
		fmt.Fprintf(&text, "BEGIN:VEVENT\r\nUID:%d@example.org\r\nDTSTAMP:20270101T000000Z\r\nSUMMARY:Meeting %d\r\nORGANIZER:mailto:%s\r\nLOCATION:Room %d\r\n",
			i, i, people[i%organizers], i%rooms)
		fmt.Fprintf(&text, "ATTENDEE;PARTSTAT=ACCEPTED:mailto:guest-%d@example.net\r\nDTSTART:%s\r\nDURATION:PT1H\r\nEND:VEVENT\r\n", i%1000, start.Format("20060102T150405Z"))
	}
	text.WriteString("END:VCALENDAR\r\n")
	file := filepath.Join(b.TempDir(), "all.ics")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	cmd := server.Command(b, "import", "ics", file)
	out, err := cmd.CombinedOutput()
	took := time.Since(begin)
	if err != nil || !strings.Contains(string(out), fmt.Sprintf("%d created", events)) && !strings.Contains(string(out), "20,000 created") {
		b.Fatalf("%v: %.2000s", err, out)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	b.ReportMetric(took.Seconds(), "s")
	b.ReportMetric(cpu.Seconds(), "s-CPU")
	b.ReportMetric(0, "ns/op")
	tell("import of 20,000 events", fmt.Sprintf("%.1f s", took.Seconds()), "<= 30 s", fmt.Sprintf("processor time of the command: %.1f s, %.2f ms for an event", cpu.Seconds(), cpu.Seconds()*1000/events))
}
