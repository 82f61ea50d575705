package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// attackers is how many connections an attack uses at once.
const attackers = 20

// BenchmarkAttacks measures what another person notices while one member, or nobody in particular, does what
// costs most: GET /me and bookings of that person, and the memory of the program, with 1,000,000 meetings.
// The aims are 100 ms and 300 ms for the slowest in a hundred, and 512 MB.
func BenchmarkAttacks(b *testing.B) {
	p := start(b, largeOrganisation(b))
	attacker := p.admin.NewUser(b, "Mallory", "member")
	manager := p.admin.NewUser(b, "Manager", "manager")
	victim := p.admin.NewUser(b, "Victim", "member")
	first := query[int64](b, p.db, `SELECT min(id) FROM rooms`)
	now := time.Now().UTC().Truncate(time.Hour)
	rfc := func(at time.Time) string { return url.QueryEscape(at.Format(time.RFC3339)) }
	span := func(from, to string, days int) string {
		return fmt.Sprintf("%s=%s&%s=%s", from, rfc(now), to, rfc(now.AddDate(0, 0, days)))
	}
	keys := func(n int) string {
		var body strings.Builder
		for i := range n {
			fmt.Fprintf(&body, `%q:1,`, fmt.Sprintf("k%d", i))
		}
		return "{" + strings.TrimSuffix(body.String(), ",") + "}"
	}
	large := keys(10_000)
	rooms := make([]int64, 50)
	for i := range rooms {
		rooms[i] = first + int64(i)
	}
	people := make([]any, 500)
	for i := range people {
		people[i] = map[string]any{"email": fmt.Sprintf("guest%d@example.org", i)}
	}
	at := now.AddDate(0, 0, 30)
	series := func(attendees []any) map[string]any {
		return map[string]any{"title": "x", "room_ids": rooms, "start": at.Format("2006-01-02T15:04:05"), "end": at.Add(time.Hour).Format("2006-01-02T15:04:05"),
			"timezone": "Europe/Berlin", "rrule": "FREQ=DAILY;COUNT=350", "on_conflict": "other_room", "attendees": attendees}
	}
	get := func(c *testenv.Client, path string) func(int) {
		return func(int) { _, _ = c.Try(http.MethodGet, path, nil) }
	}
	post := func(c *testenv.Client, path string, body any) func(int) {
		return func(n int) {
			_, _ = c.Try(http.MethodPost, path, body, testenv.Header("Idempotency-Key", fmt.Sprintf("%p-%d-%d", c, n, time.Now().UnixNano())))
		}
	}
	nobody := p.Anonymous()
	for _, attack := range []struct {
		name string
		do   func(n int)
	}{
		{"none", nil},
		{"unknown-keys", func(int) { // C1: the connection is closed before the answer
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/api/v1/auth/login", strings.NewReader(large))
			req.Header.Set("Content-Type", "application/json")
			if res, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}},
		{"availability-of-a-year", get(attacker, "/availability?limit=500&"+span("start", "end", 365))},
		{"availability-of-31-days", get(attacker, "/availability?limit=500&"+span("start", "end", 31))},
		{"grid-of-a-week", get(attacker, "/grid?limit=500&"+span("from", "to", 7))},
		{"search-without-dates", get(attacker, "/meetings?q=zzzzzz")},
		{"suggestions", get(attacker, "/suggestions?duration=1h&limit=50&"+span("from", "to", 31))},
		{"utilisation-of-a-year", get(manager, "/reports/utilisation?group=room&"+span("from", "to", 360))},
		{"series-preview", post(attacker, "/series/preview", series(nil))},
		{"series-preview-people", post(attacker, "/series/preview", series(people))},
		{"keys-kept", post(attacker, "/series/preview", map[string]any{"title": "x", "room_ids": rooms[:1], "start": at, "end": at.Add(time.Hour), "timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=300"})},
		{"sign-in", func(n int) {
			_, _ = nobody.Try(http.MethodPost, "/auth/login", map[string]any{"email": fmt.Sprintf("u%d@example.org", n%1000+1), "password": "not this"})
		}},
		{"streams", func() func(int) {
			var open sync.WaitGroup
			return func(int) {
				req, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, p.URL+"/api/v1/events", nil)
				req.Header.Set("Authorization", "Bearer "+attacker.Token)
				if res, err := http.DefaultClient.Do(req); err == nil {
					if res.StatusCode != http.StatusOK {
						res.Body.Close()
						return
					}
					open.Go(func() { _, _ = io.Copy(io.Discard, res.Body) })
				}
			}
		}()},
	} {
		b.Run(attack.name, func(b *testing.B) {
			for range b.N {
				stop := make(chan struct{})
				var all sync.WaitGroup
				if attack.do != nil {
					for n := range attackers {
						all.Go(func() {
							for i := n; ; i += attackers {
								select {
								case <-stop:
									return
								default:
									attack.do(i)
								}
							}
						})
					}
					time.Sleep(time.Second)
				}
				var me, booked []time.Duration
				var refused int
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					begin := time.Now()
					victim.Want(b, http.StatusOK, http.MethodGet, "/me", nil, nil)
					me = append(me, time.Since(begin))
					if len(me)%5 == 0 {
						begin = time.Now()
						start := now.AddDate(0, 0, 340).Add(time.Duration(len(booked)) * time.Hour)
						res := victim.Do(b, http.MethodPost, "/meetings", testenv.Booking(start, start.Add(30*time.Minute), []int64{first + 9000 + int64(len(booked)%900)}))
						if res.Status >= 500 || res.Status == http.StatusTooManyRequests {
							refused++
						}
						booked = append(booked, time.Since(begin))
					}
				}
				resident := p.resident(b) >> 20
				close(stop)
				all.Wait()
				p99 := func(d []time.Duration) float64 {
					slices.Sort(d)
					return float64(d[len(d)*99/100].Microseconds()) / 1000
				}
				b.ReportMetric(p99(me), "me-p99-ms")
				b.ReportMetric(p99(booked), "book-p99-ms")
				b.ReportMetric(float64(resident), "rss-MB")
				b.ReportMetric(float64(refused), "refused")
				tell("another user under attack: "+attack.name, fmt.Sprintf("GET /me p99 %.0f ms, booking p99 %.0f ms, %d MB", p99(me), p99(booked), resident), "100 ms, 300 ms, 512 MB", "")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
