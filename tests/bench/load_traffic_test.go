package bench

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"punctual/tests/testenv"
)

// listeners is how many follow the events of both processes, most of them of some rooms.
const listeners = 100

// loadTraffic is what people and programs do at both processes.
type loadTraffic struct {
	l               *load
	operations      []*operation
	booked, refused bookings
	streams         *operation
	listeners       []*loadListener
	stop            context.CancelFunc // ends the listeners
	ended           sync.WaitGroup
}

// An operation is what clients of one kind do, one request after the other.
type operation struct {
	name string

	mu            sync.Mutex
	took          []time.Duration
	failed, wrong []string // requests with 5xx, 429 or no answer; answers that are wrong
}

func (o *operation) answered(took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.took = append(o.took, took)
}

func (o *operation) fail(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = append(o.failed, fmt.Sprintf(format, args...))
}

func (o *operation) mistake(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

// loadClient is one client, an actor of its own.
type loadClient struct {
	*testenv.Client
	*loadTraffic
	op  *operation
	rnd *rand.Rand
}

// call sends a request and counts it. It reports whether the answer is a success, or refused as a conflict; all
// other answers are recorded as failed or wrong.
func (c *loadClient) call(method, path string, body, out any) (ok, conflict bool) {
	begin := time.Now()
	res, err := c.Try(method, path, body)
	c.op.answered(time.Since(begin))
	switch {
	case err != nil:
		c.op.fail("%s %s: %v", method, path, err)
	case res.Status >= 500 || res.Status == http.StatusTooManyRequests:
		c.op.fail("%s %s: %d %s", method, path, res.Status, res.Body)
	case res.Status == http.StatusConflict:
		return false, true
	case res.Status >= 300:
		c.op.mistake("%s %s: %d %s", method, path, res.Status, res.Body)
	default:
		if err = res.Decode(out); err == nil {
			return true, false
		}
		c.op.mistake("%s %s: %v", method, path, err)
	}
	return false, false
}

// traffic starts listeners, then clients. stop ends the clients; the listeners go on.
func (l *load) traffic(b *testing.B) (t *loadTraffic, stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	t = &loadTraffic{l: l, streams: &operation{name: "event streams opened"}, stop: cancel}
	b.Cleanup(func() { cancel(); t.ended.Wait() })
	for i := range listeners {
		x := &loadListener{name: fmt.Sprintf("listener %d", i+1), ready: make(chan struct{})}
		if i >= listeners/10 { // of twenty rooms
			for k := range 20 {
				x.rooms = append(x.rooms, l.first+int64((i*20+k)%l.rooms))
			}
		}
		t.listeners = append(t.listeners, x)
		t.ended.Go(func() { x.follow(ctx, l.servers[i%2].URL, secret(i+1), t.streams) })
	}
	for _, x := range t.listeners {
		select {
		case <-x.ready:
		case <-time.After(time.Minute):
			b.Fatalf("%s is not ready: %v", x.name, t.streams.failed)
		}
	}

	done := make(chan struct{})
	var running sync.WaitGroup
	actor := listeners
	for _, k := range []struct {
		name    string
		clients int
		do      func(*loadClient)
	}{
		{"`POST /meetings`", 6, (*loadClient).book},
		{"`GET /grid`, a day of 50 rooms", 3, (*loadClient).grid},
		{"`GET /meetings?q=`, a page of a search in a week", 3, (*loadClient).search},
		{"`GET /availability`, 50 free rooms of a site", 3, (*loadClient).availability},
	} {
		op := &operation{name: k.name}
		t.operations = append(t.operations, op)
		for range k.clients {
			actor++
			c := &loadClient{&testenv.Client{Base: l.servers[actor%2].URL, Token: secret(actor)}, t, op, rand.New(rand.NewPCG(l.seed, uint64(actor)))}
			running.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						k.do(c)
					}
				}
			})
		}
	}
	return t, sync.OnceFunc(func() { close(done); running.Wait() })
}

func (t *loadTraffic) all() []*operation { return append(slices.Clone(t.operations), t.streams) }

// book asks for half an hour in some room: one of four times it begins within twenty seconds.
func (c *loadClient) book() {
	room := c.l.first + c.rnd.Int64N(int64(c.l.rooms))
	start := c.l.midnight.AddDate(0, 0, 1+c.rnd.IntN(355)).Add(time.Duration(c.rnd.IntN(96)) * 15 * time.Minute)
	if c.rnd.IntN(4) == 0 {
		start = time.Now().Add(2*time.Second + time.Duration(c.rnd.Int64N(int64(18*time.Second)))).UTC().Truncate(time.Millisecond)
	}
	end := start.Add(30 * time.Minute)
	fields := map[string]any{"title": title(room, start)}
	if c.rnd.IntN(10) == 0 {
		fields["attendees"] = []any{map[string]any{"email": "visitor@example.org", "name": "Visitor"}}
	}
	var m testenv.Meeting
	ok, conflict := c.call(http.MethodPost, "/meetings", testenv.Booking(start, end, []int64{room}, fields), &m)
	switch {
	case conflict:
		c.refused.add(0, room, start, end)
	case ok && (!slices.Equal(m.RoomIDs, []int64{room}) || !m.Start.Equal(start) || !m.End.Equal(end)):
		c.op.mistake("booked room %d at %v, got %+v", room, start, m)
	case ok:
		c.booked.add(m.ID, room, start, end)
	}
}

// title names no other meeting.
func title(room int64, start time.Time) string {
	return fmt.Sprintf("Review r%d-%d", room, start.UnixMilli())
}

// grid asks for a day of 50 rooms with a meeting that somebody has just booked.
func (c *loadClient) grid() {
	id, room, start, _, ok := c.booked.recent(c.rnd)
	if !ok {
		time.Sleep(time.Millisecond)
		return
	}
	rooms := make([]string, 50)
	for i := range rooms {
		rooms[i] = strconv.FormatInt(c.l.first+(room-c.l.first+int64(i))%int64(c.l.rooms), 10)
	}
	day := start.UTC().Truncate(24 * time.Hour)
	q := url.Values{"from": {day.Format(time.DateOnly)}, "to": {day.AddDate(0, 0, 1).Format(time.DateOnly)}, "room_id": {strings.Join(rooms, ",")}}
	var g struct {
		Rooms    []struct{ ID int64 }
		Meetings []struct {
			ID      int64
			RoomIDs []int64 `json:"room_ids"`
			Start   time.Time
		}
	}
	if ok, _ := c.call(http.MethodGet, "/grid?"+q.Encode(), nil, &g); !ok {
		return
	}
	for _, m := range g.Meetings {
		if m.ID == id && slices.Equal(m.RoomIDs, []int64{room}) && m.Start.Equal(start) && len(g.Rooms) == len(rooms) {
			return
		}
	}
	c.op.mistake("the grid of %v has %d rooms, and not meeting %d in room %d", day, len(g.Rooms), id, room)
}

// search looks for the title of a meeting that somebody has just booked, among those of a week. A page may be empty
// and have a successor.
func (c *loadClient) search() {
	id, room, start, _, ok := c.booked.recent(c.rnd)
	if !ok {
		time.Sleep(time.Millisecond)
		return
	}
	from := start.UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	q := url.Values{"q": {title(room, start)}, "from": {from.Format(time.RFC3339)}, "to": {from.AddDate(0, 0, 7).Format(time.RFC3339)}}
	for {
		var page testenv.Page[testenv.Meeting]
		if ok, _ := c.call(http.MethodGet, "/meetings?"+q.Encode(), nil, &page); !ok || len(page.Items) == 1 && page.Items[0].ID == id {
			return
		}
		if len(page.Items) > 0 || page.NextCursor == "" {
			c.op.mistake("the search for meeting %d found %+v", id, page.Items)
			return
		}
		q.Set("cursor", page.NextCursor)
	}
}

// availability looks for rooms at a time at which one has just been booked.
func (c *loadClient) availability() {
	id, room, start, end, ok := c.booked.recent(c.rnd)
	if !ok || !start.After(time.Now().Add(time.Minute)) {
		time.Sleep(time.Millisecond)
		return
	}
	site := (room-c.l.first)%sites + 1
	q := url.Values{"start": {start.Format(time.RFC3339)}, "end": {end.Format(time.RFC3339)}, "site_id": {strconv.FormatInt(site, 10)}, "free": {"true"}, "limit": {"50"}}
	var page testenv.Page[struct {
		Room testenv.Room
		Free bool
	}]
	if ok, _ := c.call(http.MethodGet, "/availability?"+q.Encode(), nil, &page); !ok {
		return
	}
	for _, i := range page.Items {
		if !i.Free || i.Room.ID == room {
			c.op.mistake("room %d, free: %v, is among the free ones at %v, at which meeting %d is in room %d", i.Room.ID, i.Free, start, id, room)
		}
	}
}

// loadListener follows the events of some rooms; of none: of all.
type loadListener struct {
	name  string
	rooms []int64
	from  int64 // the last event before the first that it must receive
	ready chan struct{}

	mu  sync.Mutex
	got []int64
}

// follow listens until ctx ends. A stream that ends, as all do from time to time, is resumed.
func (x *loadListener) follow(ctx context.Context, server, token string, op *operation) {
	q := url.Values{}
	for _, r := range x.rooms {
		q.Add("room_id", strconv.FormatInt(r, 10))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	last := ""
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/api/v1/events?"+q.Encode(), nil)
		if err != nil {
			op.fail("%s: %v", x.name, err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if last != "" {
			req.Header.Set("Last-Event-ID", last)
		}
		begin := time.Now()
		res, err := client.Do(req)
		if err != nil || res.StatusCode != http.StatusOK {
			if ctx.Err() == nil {
				op.fail("%s: %v, %+v", x.name, err, res)
			}
			if err == nil {
				res.Body.Close()
			}
			time.Sleep(time.Second)
			continue
		}
		op.answered(time.Since(begin))
		last = x.read(res, last)
	}
}

// read returns the ID of the last event.
func (x *loadListener) read(res *http.Response, last string) string {
	defer res.Body.Close()
	id := ""
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "id":
			id = value
		case field == "event" && strings.HasPrefix(value, "meeting."):
			n, _ := strconv.ParseInt(id, 10, 64)
			x.mu.Lock()
			x.got = append(x.got, n)
			x.mu.Unlock()
			last = id
		case field == "event": // ready, or reset: what was missed is missing
			if last == "" {
				x.from, _ = strconv.ParseInt(id, 10, 64)
				close(x.ready)
			}
			last = id
		}
	}
	return last
}

// heard waits until the listeners have received everything, or a minute without news, and notes what they received.
func (t *loadTraffic) heard(b *testing.B, l *load, r *loadRun) {
	b.Helper()
	last := query[int64](b, l.db, `SELECT max(id) FROM history`)
	for _, x := range t.listeners {
		rows, _ := l.db.Query(b.Context(), `SELECT h.id FROM history h WHERE h.id > $1 AND h.id <= $2
			AND (cardinality($3::bigint[]) = 0 OR EXISTS (SELECT FROM meeting_rooms mr WHERE mr.meeting_id = h.meeting_id AND mr.room_id = ANY ($3)))`,
			x.from, last, append([]int64{}, x.rooms...))
		want, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			b.Fatal(err)
		}
		var got []int64
		for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			x.mu.Lock()
			now := slices.DeleteFunc(slices.Clone(x.got), func(id int64) bool { return id > last })
			x.mu.Unlock()
			if len(now) > len(got) {
				got, begin = now, time.Now()
			}
			if len(got) >= len(want) || time.Since(begin) > time.Minute {
				break
			}
		}
		r.listeners = append(r.listeners, heard{x.name, want, got})
	}
	t.stop()
	t.ended.Wait()
}
