package bench

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"punctual/tests/testenv"
)

const mailroomYAML = `mailroom:
  domain: rooms.example.org
  listen: "lmtp+unix:mail.sock"
  trust: { mode: network }
  limits: { per_sender: 1000/s }
`

// BenchmarkMailroom delivers invitations over LMTP, 50 per second, and measures from the acceptance of each
// until its reply reaches the mail server.
func BenchmarkMailroom(b *testing.B) {
	const n, perSecond = 1000, 50
	sink := testenv.Mail(b)
	server := testenv.Server(b, testenv.Config{Database: testenv.Postgres(b), Queue: testenv.RedisServer(b).URL(), Mail: sink, YAML: mailroomYAML})
	admin := server.Admin(b)
	ada := admin.NewUser(b, "Ada", "member").User.Email
	const rooms = 20
	for i := range rooms {
		admin.NewRoom(b, fmt.Sprint("Room ", i), map[string]any{"address": fmt.Sprint("room-", i)})
	}
	conn, err := net.Dial("unix", filepath.Join(server.Dir, "mail.sock"))
	if err != nil {
		b.Fatal(err)
	}
	c := smtp.NewClientLMTP(conn)
	defer c.Close()
	start := time.Now().UTC().Add(48 * time.Hour).Truncate(time.Hour)
	before, accepted := cpuOf(b, server), make(map[string]time.Time, n)
	ticks := time.NewTicker(time.Second / perSecond)
	defer ticks.Stop()
	for i := range n {
		<-ticks.C
		to, uid := fmt.Sprintf("room-%d@rooms.example.org", i%rooms), fmt.Sprintf("bench-%04d", i)
		at := start.Add(time.Duration(i/rooms) * time.Hour)
		if err := invite(c, ada, to, uid, at); err != nil {
			b.Fatal(err)
		}
		accepted[uid] = time.Now()
	}
	var took []time.Duration
	for begin := time.Now(); len(took) < n; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			b.Fatalf("%d of %d replies came in a minute", len(took), n)
		}
		took = took[:0]
		for _, m := range sink.Where(ada, "reply") {
			_, uid, _ := strings.Cut(m.Subject(), "bench-")
			took = append(took, m.At.Sub(accepted["bench-"+uid]))
		}
	}
	cpu := float64((cpuOf(b, server) - before).Microseconds()) / 1000 / n
	slices.Sort(took)
	p50, p99 := took[n/2], took[n*99/100]
	b.ReportMetric(float64(p50.Milliseconds()), "p50-ms")
	b.ReportMetric(float64(p99.Milliseconds()), "p99-ms")
	b.ReportMetric(cpu, "ms-CPU/op")
	b.ReportMetric(0, "ns/op")
	tell("invitations by LMTP, 50 per s: accepted to the reply at the mail server, p99", fmt.Sprintf("%d ms", p99.Milliseconds()), "150 ms",
		fmt.Sprintf("p50 %d ms; %d invitations to %d rooms; processor time of the program: %.1f ms each", p50.Milliseconds(), n, rooms, cpu))
}

func invite(c *smtp.Client, from, to, uid string, at time.Time) error {
	const stamp = "20060102T150405Z"
	if err := c.Mail("bounces@example.org", nil); err != nil {
		return err
	}
	if err := c.Rcpt(to, nil); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.Join([]string{
		"From: <" + from + ">", "To: <" + to + ">", "Subject: " + uid, "Message-ID: <" + uid + "@example.org>", "MIME-Version: 1.0",
		"Content-Type: text/calendar; charset=UTF-8; method=REQUEST", "",
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Example//EN", "METHOD:REQUEST", "BEGIN:VEVENT", "UID:" + uid, "DTSTAMP:20270101T000000Z",
		"DTSTART:" + at.Format(stamp), "DTEND:" + at.Add(time.Hour).Format(stamp), "SUMMARY:" + uid,
		"ORGANIZER:mailto:" + from, "ATTENDEE;CUTYPE=ROOM;PARTSTAT=NEEDS-ACTION:mailto:" + to, "END:VEVENT", "END:VCALENDAR", "",
	}, "\r\n"))
	if err != nil {
		return err
	}
	return w.Close()
}
