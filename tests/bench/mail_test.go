package bench

import (
	"cmp"
	"fmt"
	"net/smtp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"punctual/tests/testenv"
)

// mails queues n mails that are due now, each to somebody else.
func mails(b *testing.B, db *pgxpool.Pool, n int) {
	b.Helper()
	exec(b, db, `INSERT INTO notifications (dedupe_key, kind, channel, meeting_id, name, address, locale, timezone, facts, thread, scope, organizer, due_at, created_at, updated_at)
		SELECT 'bench:' || i, kind, channel, meeting_id, name, 'guest' || i || '@example.org', locale, timezone, facts,
			replace(thread, address, 'guest' || i || '@example.org'), scope, organizer, now(), now(), now()
		FROM (SELECT * FROM notifications ORDER BY id LIMIT 1) one, generate_series(1, $1) i`, n)
	if got := query[int64](b, db, `SELECT count(*) FROM notifications WHERE dedupe_key LIKE 'bench:%'`); got != int64(n) {
		b.Fatalf("%d mails are queued, want %d", got, n)
	}
}

// slow makes a mail server accept one mail a second, however many connections there are.
func slow(s *testenv.MailServer) {
	var mu sync.Mutex
	next := time.Now()
	s.OnData(func(testenv.Message) testenv.Answer {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); next.Before(now) {
			next = now
		}
		next = next.Add(time.Second)
		return testenv.Answer{Wait: time.Until(next)}
	})
}

// BenchmarkMail sends 5,000 queued mails to an SMTP server, each rendered and recorded in the
// ledger before and after. Floor: net/smtp sends one of them as often over 20 connections.
func BenchmarkMail(b *testing.B) {
	const n, connections = 5000, 20
	sink := testenv.Mail(b)
	p := startWith(b, testenv.Config{Mail: sink}, func(db *pgxpool.Pool) { mails(b, db, n) })
	var got []testenv.Message
	for begin := time.Now(); len(got) < n; time.Sleep(50 * time.Millisecond) {
		got = slices.DeleteFunc(slices.Clone(sink.Messages()), func(m testenv.Message) bool { return !strings.HasPrefix(m.To[0], "guest") })
		if time.Since(begin) > time.Minute {
			b.Fatalf("%d of %d mails came in a minute", len(got), n)
		}
	}
	b.ReportMetric(p.cpu(b).Seconds(), "cpu-s")
	p.Stop()
	slices.SortFunc(got, func(x, y testenv.Message) int { return cmp.Compare(x.At.UnixNano(), y.At.UnixNano()) })
	rate := n / got[n-1].At.Sub(got[0].At).Seconds()

	raw := got[0].Raw
	took := together(connections, func() {
		if err := sendRaw(sink.Addr(), raw, n/connections); err != nil {
			b.Error(err)
		}
	})
	floor := n / took.Seconds()
	b.ReportMetric(rate, "mails/s")
	b.ReportMetric(rate/floor, "of-floor")
	b.ReportMetric(0, "ns/op")
	tell("mails rendered and sent by SMTP, 20 at once", count(rate)+" per s", "",
		fmt.Sprintf("net/smtp, the same bytes over 20 connections: %s per s; %.2f of it", count(floor), rate/floor))
}

// sendRaw sends one mail n times over a connection.
func sendRaw(addr string, raw []byte, n int) error {
	c, err := smtp.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for range n {
		if err := c.Mail("bench@example.org"); err != nil {
			return err
		}
		if err := c.Rcpt("raw@example.org"); err != nil {
			return err
		}
		w, err := c.Data()
		if err != nil {
			return err
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return c.Quit()
}
