package tests

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"punctual/tests/testenv"
)

// These stories prove punctual with programs of others. They alone: make interop. Postfix runs as root only; for an
// ordinary user, mails go straight to punctual.

const interopFiles = "testdata/interop/"

// foreign runs a program of somebody else and returns what it writes. It must succeed.
func foreign(t *testing.T, stdin string, name string, args ...string) string {
	t.Helper()
	return foreignIn(t, "", stdin, name, args...)
}

// foreignIn runs a program whose home is a folder.
func foreignIn(t *testing.T, home, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/bin", "HOME="+home, "LC_ALL=C.UTF-8", "TZ=Europe/Berlin", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=")
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String()
}

// readCalendar is what python3-icalendar reads in an iCalendar.
func readCalendar(t *testing.T, ics string) (found struct {
	Method string
	Events []struct {
		UID          string
		Sequence     int
		RecurrenceID string `json:"recurrence_id"`
		Organizer    string
		Attendees    map[string]string
	}
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(foreign(t, ics, "/usr/bin/python3", interopFiles+"read.py")), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// expanded are the dates of an iCalendar as python3-recurring-ical-events expands them.
func expanded(t *testing.T, ics string, from, to time.Time) (dates []string) {
	t.Helper()
	const day = "20060102"
	if err := json.Unmarshal([]byte(foreign(t, ics, "/usr/bin/python3", interopFiles+"read.py", from.Format(day), to.Format(day))), &dates); err != nil {
		t.Fatal(err)
	}
	return dates
}

const utcStamp = "20060102T150405Z"

// date is how [expanded] writes a time span.
func date(start, end time.Time) string {
	return start.UTC().Format(utcStamp) + "/" + end.UTC().Format(utcStamp)
}

// nextMonday is the Monday after next week.
func nextMonday() time.Time {
	day := time.Now().UTC().AddDate(0, 0, 14).Truncate(24 * time.Hour)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

var base64Part = regexp.MustCompile(`(?s)(Content-Transfer-Encoding: base64\n\n)(.*?)(\n\n--)`)

// invitationOf is the mail in which a program invites the room turing, in the week of a Monday. The
// files have their base64 parts in clear.
func invitationOf(t *testing.T, program string, monday time.Time) (eml, ics string) {
	t.Helper()
	b, err := os.ReadFile(interopFiles + program + ".eml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for i, name := range []string{"MON", "TUE", "WED", "THU", "FRI"} {
		text = strings.ReplaceAll(text, "{"+name+"}", monday.AddDate(0, 0, i).Format("20060102"))
	}
	_, ics, _ = strings.Cut(text, "BEGIN:VCALENDAR\n")
	ics, _, _ = strings.Cut(ics, "END:VCALENDAR\n")
	ics = "BEGIN:VCALENDAR\n" + ics + "END:VCALENDAR\n"
	if program == "apple" {
		ics = strings.NewReplacer("=\n", "", "=3D", "=").Replace(ics)
	}
	text = base64Part.ReplaceAllStringFunc(text, func(part string) string {
		m := base64Part.FindStringSubmatch(part)
		var lines strings.Builder
		for code := base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(m[2], "\n", "\r\n") + "\r\n")); code != ""; {
			n := min(76, len(code))
			lines.WriteString(code[:n] + "\n")
			code = code[n:]
		}
		return m[1] + strings.TrimSuffix(lines.String(), "\n") + m[3]
	})
	return strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(ics, "\n", "\r\n")
}

// write makes a file of a test.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// postfix is a Postfix of a test's own that relays rooms.example.org to punctual.
type postfix struct {
	dir      string // empty: there is none
	addr     string
	protocol string
}

func startPostfix(t *testing.T, lmtpPort int) *postfix {
	t.Helper()
	if os.Getuid() != 0 {
		t.Log("not root: without Postfix")
		return &postfix{addr: fmt.Sprint("127.0.0.1:", lmtpPort), protocol: "LMTP"}
	}
	p := &postfix{dir: testenv.Folder(t, "postfix"), protocol: "ESMTP"}
	for _, sub := range []string{"queue", "data"} {
		if err := os.Mkdir(filepath.Join(p.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	foreign(t, "", "chown", "postfix", filepath.Join(p.dir, "data"))
	port := testenv.Daemon(t, p.dir, func(port int) *exec.Cmd {
		write(t, filepath.Join(p.dir, "conf/main.cf"), fmt.Sprintf(`compatibility_level = 3.6
queue_directory = %[1]s/queue
data_directory = %[1]s/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
maillog_file_prefixes = %[1]s
maillog_file = %[1]s/mail.log
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
myhostname = mx.example.org
mydestination =
# Try again at once, not after minutes.
minimal_backoff_time = 1s
maximal_backoff_time = 2s
queue_run_delay = 1s
transport_retry_time = 1s
# What docs/calendars.md says.
transport_maps = inline:{ { rooms.example.org = lmtp:inet:127.0.0.1:%[2]d } }
relay_domains = rooms.example.org
relay_recipient_maps =
smtpd_recipient_restrictions = reject_unverified_recipient, permit_mynetworks, reject_unauth_destination
unverified_recipient_reject_code = 550
`, p.dir, lmtpPort))
		write(t, filepath.Join(p.dir, "conf/master.cf"), fmt.Sprintf(`127.0.0.1:%d inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
lmtp unix - - n - - lmtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
showq unix n - n - - showq
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`, port))
		foreign(t, "", "/usr/sbin/postfix", "-c", filepath.Join(p.dir, "conf"), "check")
		return exec.Command("/usr/lib/postfix/sbin/master", "-c", filepath.Join(p.dir, "conf"), "-d")
	})
	p.addr = fmt.Sprint("127.0.0.1:", port)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of Postfix:\n%s", p.log(t))
		}
	})
	return p
}

func (p *postfix) log(t *testing.T) string {
	b, err := os.ReadFile(filepath.Join(p.dir, "mail.log"))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// send hands Postfix a mail. It must accept it.
func (p *postfix) send(t *testing.T, to, eml string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mail.eml")
	write(t, file, eml)
	foreign(t, "", "swaks", "--server", p.addr, "--protocol", p.protocol, "--from", "ada@example.org", "--to", to, "--data", "@"+file, "--silent", "2")
}

// queued are the mails that wait in Postfix.
func (p *postfix) queued(t *testing.T) int {
	t.Helper()
	return strings.Count(foreign(t, "", "postqueue", "-c", filepath.Join(p.dir, "conf"), "-j"), "queue_id")
}

// retry makes Postfix deliver what waits. Its queue manager starts anew for that: with delays of a second it now and
// then meets a mail that is still being delivered, and leaves that mail alone until it starts again. The manager that
// ends may swallow what should wake the new one, so it is asked until nothing waits.
func (p *postfix) retry(t *testing.T) {
	t.Helper()
	conf := filepath.Join(p.dir, "conf")
	reloaded := time.Time{}
	eventually(t, time.Now().Add(2*slack), "Postfix delivers what waits", func() bool {
		if time.Since(reloaded) > 5*time.Second {
			foreign(t, "", "/usr/sbin/postfix", "-c", conf, "reload")
			reloaded = time.Now()
		}
		foreign(t, "", "postqueue", "-c", conf, "-f")
		time.Sleep(time.Second) // for one delivery
		return p.queued(t) == 0
	})
}

// accepted are the mails that punctual took from Postfix.
func (p *postfix) accepted(t *testing.T) int {
	return strings.Count(p.log(t), "dsn=2.0.0, status=sent (250")
}

const turing = "turing@rooms.example.org"

// TestInterop_postfix: mails of the usual programs come through Postfix, and their programs could read the
// answers. No mail is lost when the database or punctual fails.
func TestInterop_postfix(t *testing.T) {
	t.Parallel()
	port := testenv.FreePort(t)
	sink, postgres := testenv.Mail(t), testenv.PostgresServer(t, testenv.Volatile)
	server := testenv.Server(t, testenv.Config{Database: postgres.Database(t), Mail: sink, YAML: fmt.Sprintf(`mailroom:
  domain: rooms.example.org
  listen: "lmtp:127.0.0.1:%d"
  trust: { authserv_ids: [mx.example.org] }
  conflicts: { percent: 50, count: 2 }
`, port)})
	mta := startPostfix(t, port)
	admin := server.Admin(t)
	ada, bob := admin.NewUser(t, "Ada", "member"), admin.NewUser(t, "Bob", "member")
	room := admin.NewRoom(t, "Turing", with{"address": "turing", "timezone": "Europe/Berlin"})
	monday := nextMonday()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	third := time.Date(monday.Year(), monday.Month(), monday.Day()+14, 10, 0, 0, 0, zone)
	bob.Book(t, testenv.Booking(third, third.Add(time.Hour), []int64{room.ID}))

	// Each program's invitation is booked and answered.
	read := 0
	answers := func(n int) (calendars []string) {
		t.Helper()
		eventually(t, time.Now().Add(2*slack), "the answers", func() bool { return len(sink.Where("ada@example.org", "reply")) >= read+n })
		for _, m := range sink.Where("ada@example.org", "reply")[read:] {
			calendars = append(calendars, m.Part("text/calendar"))
		}
		read += n
		return calendars
	}
	for _, program := range []string{"exchange", "google", "apple", "thunderbird"} {
		eml, ics := invitationOf(t, program, monday)
		mta.send(t, turing, eml)
		invited := readCalendar(t, ics).Events
		want := map[string]string{"": "ACCEPTED"}
		switch program {
		case "exchange":
			want[third.UTC().Format(utcStamp)] = "DECLINED"
		case "apple":
			want[invited[1].RecurrenceID] = "ACCEPTED"
		}
		for _, text := range answers(len(want)) {
			got := readCalendar(t, text)
			if got.Method != "REPLY" || len(got.Events) != 1 {
				t.Fatalf("%s is answered with\n%s", program, text)
			}
			e := got.Events[0]
			if status := want[e.RecurrenceID]; e.UID != invited[0].UID || e.Sequence != invited[0].Sequence || e.Organizer != invited[0].Organizer ||
				len(e.Attendees) != 1 || status == "" || e.Attendees[turing] != status {
				t.Errorf("%s: %+v\n%s", program, e, text)
			}
			delete(want, e.RecurrenceID)
		}
		if len(want) > 0 {
			t.Errorf("%s: no answer for %v", program, want)
		}
	}
	var wanted []string
	for _, program := range []string{"exchange", "google", "apple", "thunderbird"} {
		_, ics := invitationOf(t, program, monday)
		wanted = append(wanted, expanded(t, ics, monday, monday.AddDate(0, 0, 60))...)
	}
	wanted = slices.DeleteFunc(wanted, func(d string) bool { return d == date(third, third.Add(time.Hour)) })
	var booked []string
	for _, m := range testenv.All[testenv.Meeting](t, ada, "/meetings?organizer=me&status=confirmed&limit=500") {
		booked = append(booked, date(m.Start, m.End))
	}
	slices.Sort(wanted)
	slices.Sort(booked)
	if len(wanted) != 9 || !slices.Equal(booked, wanted) {
		t.Errorf("booked\n%s\nbut the invitations expand to\n%s", strings.Join(booked, "\n"), strings.Join(wanted, "\n"))
	}

	// Postfix refuses what no room is called.
	cmd := exec.Command("swaks", "--server", mta.addr, "--protocol", mta.protocol, "--from", "ada@example.org", "--to", "nobody@rooms.example.org", "--quit-after", "RCPT")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "<** 550 5.1.1 ") {
		t.Errorf("an unknown room: %v\n%s", err, out)
	}

	if mta.dir == "" {
		return
	}
	// While the database is down, Postfix keeps the mail.
	later := time.Date(monday.Year(), monday.Month(), monday.Day()+4, 18, 0, 0, 0, zone)
	postgres.Kill()
	mta.send(t, turing, invite{uid: "down", from: "ada@example.org", to: turing, start: later}.eml())
	eventually(t, time.Now().Add(slack), "punctual asks Postfix to try again later", func() bool { return strings.Contains(mta.log(t), "status=deferred") })
	// A mail that is just moved from one of Postfix's queues to another may be missed, or counted twice.
	eventually(t, time.Now().Add(slack), "the mail waits in Postfix", func() bool { return mta.queued(t) == 1 })
	sent := sink.Counts() // what was sent right before the end, and not recorded, is sent again
	postgres.Start(t)
	mta.retry(t)
	// What was answered right before the end may be answered again.
	answered := func(uids ...string) {
		t.Helper()
		accepted, seen := map[string]string{}, map[string]bool{}
		eventually(t, time.Now().Add(2*slack), fmt.Sprint("answers to ", uids), func() bool {
			for _, m := range sink.Where("ada@example.org", "reply") {
				if !seen[m.ID()] {
					seen[m.ID()] = true
					e := readCalendar(t, m.Part("text/calendar")).Events[0]
					accepted[e.UID] = e.Attendees[turing]
				}
			}
			return !slices.ContainsFunc(uids, func(uid string) bool { return accepted[uid] == "" })
		})
		for _, uid := range uids {
			if accepted[uid] != "ACCEPTED" {
				t.Errorf("%s: %q", uid, accepted[uid])
			}
		}
	}
	answered("down")

	// punctual is killed while mails arrive.
	const n = 6
	before := mta.accepted(t)
	for i := range n {
		mta.send(t, turing, invite{uid: fmt.Sprint("kill-", i), from: "ada@example.org", to: turing, start: later.AddDate(0, 0, 7+i)}.eml())
		if i == n/2 {
			eventually(t, time.Now().Add(slack), "a mail is accepted", func() bool { return mta.accepted(t) > before })
			server.Kill()
		}
	}
	if waiting := mta.queued(t); waiting == 0 {
		t.Error("no mail waits while punctual is down")
	}
	maps.Copy(sent, sink.Counts())
	server.Start(t)
	mta.retry(t)
	var killed []string
	for i := range n {
		killed = append(killed, fmt.Sprint("kill-", i))
	}
	answered(killed...)
	eventually(t, time.Now().Add(slack), "Postfix has nothing left", func() bool { return mta.queued(t) == 0 })
	for id, n := range sink.Counts() {
		if n > 1+min(sent[id], 2) {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
}

// TestInterop_dovecot: mails are read from Dovecot over TLS as soon as they arrive, answered, and moved.
func TestInterop_dovecot(t *testing.T) {
	t.Parallel()
	dir := testenv.Folder(t, "dovecot")
	in := func(name string) string { return filepath.Join(dir, name) }
	foreign(t, "", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=mail.test",
		"-addext", "subjectAltName=IP:127.0.0.1", "-keyout", in("key.pem"), "-out", in("cert.pem"))
	owner := "mail_uid = mail\nmail_gid = mail\n"
	if os.Getuid() != 0 {
		name := strings.Fields(foreign(t, "", "id", "-un") + foreign(t, "", "id", "-gn"))
		owner = fmt.Sprintf("default_internal_user = %[1]s\ndefault_login_user = %[1]s\ndefault_internal_group = %[2]s\nservice anvil {\n  chroot =\n}\n", name[0], name[1])
	}
	port := testenv.Daemon(t, dir, func(port int) *exec.Cmd {
		write(t, in("dovecot.conf"), fmt.Sprintf(`protocols = imap lmtp
listen = 127.0.0.1
base_dir = %[1]s/run
state_dir = %[1]s/state
log_path = /dev/stderr
ssl = required
ssl_cert = <%[1]s/cert.pem
ssl_key = <%[1]s/key.pem
auth_username_format = %%n
mail_location = maildir:%[1]s/mail
first_valid_uid = 1
%[3]spassdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = allow_all_users=yes home=%[1]s/mail
}
service imap-login {
  chroot =
  inet_listener imap {
    port = 0
  }
  inet_listener imaps {
    port = %[2]d
    ssl = yes
  }
}
service lmtp {
  unix_listener lmtp {
    mode = 0600
  }
}
`, dir, port, owner))
		if err := os.MkdirAll(in("mail"), 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			foreign(t, "", "chown", "mail:mail", in("mail"))
		}
		return exec.Command("/usr/sbin/dovecot", "-F", "-c", in("dovecot.conf"))
	})
	sink := testenv.Mail(t)
	server := testenv.Server(t, testenv.Config{Mail: sink, Env: []string{"SSL_CERT_FILE=" + in("cert.pem")}, YAML: fmt.Sprintf(`mailroom:
  domain: rooms.example.org
  listen: ""
  imap: { host: 127.0.0.1, port: %d, username: rooms, password: secret, poll: 1h }
  trust: { authserv_ids: [mx.example.org], unauthenticated: confirm }
log: { level: info }
`, port)})
	admin := server.Admin(t)
	admin.NewUser(t, "Ada", "member")
	admin.NewUser(t, "Bob", "member")
	admin.NewRoom(t, "Turing", with{"address": "turing", "timezone": "Europe/Berlin"})
	eventually(t, time.Now().Add(slack), "the mailbox is read", func() bool { return strings.Contains(server.Log(), "reading the mailbox") })
	programs := []string{"exchange", "google", "thunderbird"}
	for i, program := range programs { // one after another: each interrupts a wait for mails
		eml, ics := invitationOf(t, program, nextMonday())
		file := filepath.Join(t.TempDir(), "mail.eml")
		write(t, file, eml)
		foreign(t, "", "swaks", "--socket", in("run/lmtp"), "--protocol", "LMTP", "--from", "ada@example.org", "--to", "rooms@example.org", "--data", "@"+file, "--silent", "2")
		eventually(t, time.Now().Add(slack), "an answer", func() bool { return len(sink.Where("ada@example.org", "reply")) == i+1 })
		got := readCalendar(t, sink.Where("ada@example.org", "reply")[i].Part("text/calendar"))
		if e := got.Events[0]; got.Method != "REPLY" || e.UID != readCalendar(t, ics).Events[0].UID || e.Attendees[turing] != "ACCEPTED" {
			t.Errorf("%s: %+v", program, got)
		}
	}

	// Senders whom nothing proves are asked here, too, but not those of reports about other mails.
	for _, from := range []string{"<>", "zoe@example.org"} {
		file := filepath.Join(t.TempDir(), "mail.eml")
		write(t, file, invite{uid: "unproven" + from, from: "zoe@example.org", to: turing, start: nextMonday(), proven: "none"}.eml())
		foreign(t, "", "swaks", "--socket", in("run/lmtp"), "--protocol", "LMTP", "--from", from, "--to", "rooms@example.org", "--data", "@"+file, "--silent", "2")
	}
	eventually(t, time.Now().Add(slack), "the sender is asked", func() bool { return len(sink.Where("zoe@example.org", "reply")) > 0 })
	if asked := sink.Where("zoe@example.org", "reply"); len(asked) != 1 || !strings.Contains(asked[0].Part("text/plain"), "/confirm-invitation?token=") {
		t.Errorf("asked %d times: %s", len(asked), asked[0].Part("text/plain"))
	}
	eventually(t, time.Now().Add(slack), "one is refused as a report", func() bool {
		received := testenv.All[receivedMail](t, admin, "/mailroom/messages")
		return len(slices.DeleteFunc(received, func(m receivedMail) bool { return m.Verdict != "loop" })) == 1
	})

	ca, err := os.ReadFile(in("cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c, err := imapclient.DialTLS(fmt.Sprint("127.0.0.1:", port), &imapclient.Options{TLSConfig: &tls.Config{RootCAs: roots}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Login("rooms", "secret").Wait(); err != nil {
		t.Fatal(err)
	}
	count := func(folder string) uint32 {
		t.Helper()
		status, err := c.Status(folder, &imap.StatusOptions{NumMessages: true}).Wait()
		if err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		return *status.NumMessages
	}
	eventually(t, time.Now().Add(slack), "all mails are in Done", func() bool { return count("INBOX") == 0 && count("Done") == uint32(len(programs)+2) })
}

// TestInterop_caldav: programs find the calendars from the address of the server alone, book rooms, read the
// rooms' answers, change and delete meetings, and learn what others changed.
func TestInterop_caldav(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		c := on.Config
		c.YAML += davOn + mailroomYAML
		server := testenv.Server(t, c)
		admin := server.Admin(t)
		ada := admin.NewUser(t, "Ada", "member")
		room := admin.NewRoom(t, "Turing", with{"address": "turing", "timezone": "Europe/Berlin"})
		dav := newDavUser(t, ada, "ada@example.org")
		monday := nextMonday()
		at := func(day, hour int) time.Time { return monday.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour) }
		titles := func() (found []string) {
			for _, m := range testenv.All[testenv.Meeting](t, ada, "/meetings?organizer=me&status=confirmed&limit=500") {
				found = append(found, m.Title)
			}
			slices.Sort(found)
			return found
		}
		want := func(what string, want ...string) {
			t.Helper()
			if got := titles(); !slices.Equal(got, want) {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		home := t.TempDir()
		in := func(name string) string { return filepath.Join(home, name) }

		// python3-caldav does everything by itself.
		foreign(t, "", "/usr/bin/python3", interopFiles+"caldav_client.py", server.URL, dav.email, dav.password, turing, at(0, 9).Format(utcStamp), at(0, 10).Format(utcStamp))
		want("after python3-caldav")

		// vdirsyncer keeps a folder of files in step.
		write(t, in("vdirsyncer"), fmt.Sprintf(`[general]
status_path = "%[1]s/status"
[pair meetings]
a = "local"
b = "remote"
collections = ["from b"]
[storage local]
type = "filesystem"
path = "%[1]s/calendars"
fileext = ".ics"
[storage remote]
type = "caldav"
url = "%[2]s/"
username = "%[3]s"
password = "%[4]s"
`, home, server.URL, dav.email, dav.password))
		vdirsyncer := func(args ...string) string {
			t.Helper()
			return foreignIn(t, home, "y\ny\n", "vdirsyncer", append([]string{"-c", in("vdirsyncer")}, args...)...)
		}
		vdirsyncer("discover")
		local := in("calendars/meetings")
		files := func() (all string) {
			t.Helper()
			names, err := filepath.Glob(local + "/*.ics")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				all += strings.ReplaceAll(string(b), "\r\n ", "")
			}
			return all
		}
		m := ada.Book(t, testenv.Booking(at(1, 9), at(1, 10), []int64{room.ID}, with{"title": "From the page"}))
		vdirsyncer("sync")
		if text := files(); strings.Count(text, "BEGIN:VEVENT") != 1 || !strings.Contains(text, "SUMMARY:From the page") || !strings.Contains(text, "PARTSTAT=ACCEPTED") {
			t.Fatalf("vdirsyncer reads %s", text)
		}
		inRoom := []string{"ORGANIZER:mailto:ada@example.org", "ATTENDEE;CUTYPE=ROOM;PARTSTAT=NEEDS-ACTION:mailto:" + turing}
		write(t, local+"/mine.ics", eventText("mine", "From a file", at(2, 9), at(2, 10), inRoom...))
		write(t, local+"/taken.ics", eventText("taken", "Too late", at(1, 9), at(1, 10), inRoom...))
		vdirsyncer("sync")
		want("after vdirsyncer", "From a file", "From the page")
		vdirsyncer("sync")
		if text := files(); strings.Count(text, "PARTSTAT=ACCEPTED") != 2 || strings.Count(text, "PARTSTAT=DECLINED") != 1 || !strings.Contains(text, "X-MINE:kept") {
			t.Errorf("vdirsyncer reads the rooms' answers %s", text)
		}
		ada.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/meetings/%d", m.ID), with{"title": "Renamed here"}, nil)
		mine, err := os.ReadFile(local + "/mine.ics")
		if err != nil {
			t.Fatal(err)
		}
		write(t, local+"/mine.ics", strings.Replace(string(mine), "From a file", "Renamed there", 1))
		vdirsyncer("sync")
		want("after changes on both sides", "Renamed here", "Renamed there")
		if text := files(); !strings.Contains(text, "SUMMARY:Renamed here") {
			t.Errorf("vdirsyncer does not read a change: %s", text)
		}

		// khal shows what vdirsyncer read.
		write(t, in("khal"), fmt.Sprintf("[calendars]\n[[meetings]]\npath = %s\n[locale]\nlocal_timezone = Europe/Berlin\ndefault_timezone = Europe/Berlin\n"+
			"timeformat = %%H:%%M\ndateformat = %%Y-%%m-%%d\nlongdateformat = %%Y-%%m-%%d\ndatetimeformat = %%Y-%%m-%%d %%H:%%M\nlongdatetimeformat = %%Y-%%m-%%d %%H:%%M\n[sqlite]\npath = %s\n", local, in("khal.db")))
		if out := foreignIn(t, home, "", "khal", "-c", in("khal"), "list", "--format", "{title} at {location}", monday.Format(time.DateOnly), "7d"); !strings.Contains(out, "Renamed here at Turing") || !strings.Contains(out, "Renamed there at Turing") {
			t.Errorf("khal shows %s", out)
		}

		// calcurse writes events without UID, and cannot name rooms.
		write(t, in("calcurse/config"), fmt.Sprintf("[General]\nHostname = %s\nPath = %s\nHTTPS = No\nDryRun = No\nAuthMethod = basic\nSyncFilter = cal\n[Auth]\nUsername = %s\nPassword = %s\n",
			strings.TrimPrefix(server.URL, "http://"), dav.calendar, dav.email, dav.password))
		write(t, in("data/apts"), "")
		write(t, in("data/todo"), "")
		calcurse := func(args ...string) string {
			t.Helper()
			return foreignIn(t, home, "", "calcurse-caldav", append([]string{"--config", in("calcurse/config"), "--syncdb", in("calcurse/sync.db"), "--lockfile", in("calcurse/lock"), "--datadir", in("data")}, args...)...)
		}
		calcurse("--init=keep-remote")
		appointments := func() string {
			t.Helper()
			b, err := os.ReadFile(in("data/apts"))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		if text := appointments(); !strings.Contains(text, "Renamed here") || !strings.Contains(text, "Renamed there") {
			t.Errorf("calcurse reads %s", text)
		}
		write(t, in("data/apts"), appointments()+at(3, 9).Format("01/02/2006 @ 15:04")+" -> "+at(3, 10).Format("01/02/2006 @ 15:04")+" |From calcurse\n")
		calcurse()
		vdirsyncer("sync")
		if text := files(); !strings.Contains(text, "SUMMARY:From calcurse") {
			t.Errorf("vdirsyncer does not read what calcurse wrote: %s", text)
		}
		var lines []string
		for line := range strings.Lines(appointments()) {
			if !strings.Contains(line, "Renamed there") {
				lines = append(lines, line)
			}
		}
		write(t, in("data/apts"), strings.Join(lines, ""))
		calcurse()
		want("after calcurse deleted one", "Renamed here")
		cancel(t, ada, m.ID)
		vdirsyncer("sync")
		if text := files(); strings.Contains(text, "Renamed") || !strings.Contains(text, "SUMMARY:Too late") {
			t.Errorf("vdirsyncer keeps what is gone: %s", text)
		}
	})
}
