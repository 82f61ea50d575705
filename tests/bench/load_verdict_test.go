package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// A loadRun is what [BenchmarkLoad] found, before it is judged.
type loadRun struct {
	operations []*operation
	lost       []string // bookings that were confirmed and are not in the database, or refused without a conflict
	overlaps   []string // double bookings
	unstarted  []string // meetings of the burst that have not begun
	state      *audit.Report
	reminders  []string       // addresses that a reminder was due for
	reminded   map[string]int // mails with a reminder, by address
	accepted   map[string]int // mails by Message-ID
	unsent     []string       // Message-IDs recorded as sent that no mail server accepted
	listeners  []heard
}

// heard are the IDs of the events that a listener should have received, and those that it received.
type heard struct {
	name      string
	want, got []int64
}

// faults lists what must not be; empty if the run passes. The text of each begins with its kind.
func (r *loadRun) faults() (all []string) {
	add := func(kind string, what ...string) {
		if len(what) > 0 {
			all = append(all, fmt.Sprintf("%s: %d, such as %s", kind, len(what), what[0]))
		}
	}
	for _, o := range r.operations {
		if len(o.took) == 0 {
			all = append(all, "no answers: "+o.name)
		}
		add("failed requests", o.failed...)
		add("wrong answers", o.wrong...)
	}
	add("wrong bookings", r.lost...)
	add("double bookings", r.overlaps...)
	add("not started", r.unstarted...)
	add("not done", r.state.Open...)
	add("faults", r.state.Faults...)
	if r.state.Never > 0 {
		all = append(all, fmt.Sprintf("never started: %d meetings", r.state.Never))
	}
	if r.state.TooLate > 0 {
		all = append(all, fmt.Sprintf("skipped as too late: %d notifications", r.state.TooLate))
	}
	for _, address := range r.reminders {
		if n := r.reminded[address]; n != 1 {
			all = append(all, fmt.Sprintf("reminders: %s got %d, want 1", address, n))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.accepted)) {
		if n := r.accepted[id]; n > 1 {
			all = append(all, fmt.Sprintf("mails: %s came %d times", id, n))
		}
	}
	add("mails recorded as sent that did not come", r.unsent...)
	for _, l := range r.listeners {
		counts := map[int64]int{}
		for _, id := range l.got {
			counts[id]++
		}
		for _, id := range l.want {
			if counts[id] != 1 {
				all = append(all, fmt.Sprintf("events: %s received %d %d times, want once", l.name, id, counts[id]))
			}
			delete(counts, id)
		}
		for id := range counts {
			all = append(all, fmt.Sprintf("events: %s received %d, which was not meant for it", l.name, id))
		}
	}
	return all
}

// overlapping lists the double bookings of a database, without relying on the constraint against them.
func overlapping(ctx context.Context, c *pgx.Conn) ([]string, error) {
	rows, _ := c.Query(ctx, `SELECT 'room ' || room_id || ' at ' || starts_at FROM (
			SELECT room_id, starts_at, max(ends_at) OVER (PARTITION BY room_id ORDER BY starts_at, ends_at
				ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS taken_until FROM occupancies) o
		WHERE starts_at < taken_until ORDER BY room_id, starts_at`)
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// TestLoad_verdict plants each fault into a run that passes.
func TestLoad_verdict(t *testing.T) {
	t.Parallel()
	passing := func() *loadRun {
		return &loadRun{
			operations: []*operation{{name: "grid", took: []time.Duration{1}}, {name: "booking", took: []time.Duration{1}}},
			state:      &audit.Report{},
			reminders:  []string{"a@example.org", "b@example.org"},
			reminded:   map[string]int{"a@example.org": 1, "b@example.org": 1, "other@example.org": 2},
			accepted:   map[string]int{"<1>": 1},
			listeners:  []heard{{"listener 1", []int64{1, 2, 3}, []int64{1, 3, 2}}, {"listener 2", nil, nil}},
		}
	}
	if got := passing().faults(); len(got) > 0 {
		t.Fatalf("a run without faults: %q", got)
	}
	for _, c := range []struct {
		want  string
		plant func(*loadRun)
	}{
		{"no answers: grid", func(r *loadRun) { r.operations[0].took = nil }},
		{"failed requests", func(r *loadRun) { r.operations[0].failed = []string{"500"} }},
		{"wrong answers", func(r *loadRun) { r.operations[1].wrong = []string{"not that room"} }},
		{"wrong bookings", func(r *loadRun) { r.lost = []string{"meeting 7"} }},
		{"double bookings", func(r *loadRun) { r.overlaps = []string{"room 7"} }},
		{"not started", func(r *loadRun) { r.unstarted = []string{"meeting 7"} }},
		{"not done", func(r *loadRun) { r.state.Open = []string{"meeting 7 should have begun"} }},
		{"faults", func(r *loadRun) { r.state.Faults = []string{"meeting 7: 2 times started"} }},
		{"never started", func(r *loadRun) { r.state.Never = 1 }},
		{"skipped as too late", func(r *loadRun) { r.state.TooLate = 1 }},
		{"reminders: a@example.org got 0", func(r *loadRun) { delete(r.reminded, "a@example.org") }},
		{"reminders: b@example.org got 2", func(r *loadRun) { r.reminded["b@example.org"] = 2 }},
		{"mails: <1> came 2 times", func(r *loadRun) { r.accepted["<1>"] = 2 }},
		{"mails recorded as sent that did not come", func(r *loadRun) { r.unsent = []string{"<2>"} }},
		{"events: listener 1 received 2 0 times", func(r *loadRun) { r.listeners[0].got = []int64{1, 3} }},
		{"events: listener 1 received 3 2 times", func(r *loadRun) { r.listeners[0].got = []int64{1, 3, 2, 3} }},
		{"events: listener 2 received 9, which was not meant", func(r *loadRun) { r.listeners[1].got = []int64{9} }},
	} {
		r := passing()
		c.plant(r)
		if got := r.faults(); len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s: the verdict is %q", c.want, got)
		}
	}
}

// TestLoad_overlapping: a double booking is found though another meeting lies between the two.
func TestLoad_overlapping(t *testing.T) {
	t.Parallel()
	c, err := pgx.Connect(t.Context(), testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), `CREATE TABLE occupancies (room_id bigint, starts_at timestamptz, ends_at timestamptz);
		INSERT INTO occupancies VALUES (1, '2027-01-01 09:00Z', '2027-01-01 10:00Z'), (1, '2027-01-01 10:00Z', '2027-01-01 11:00Z'),
			(2, '2027-01-01 09:00Z', '2027-01-01 10:00Z')`); err != nil {
		t.Fatal(err)
	}
	if got, err := overlapping(t.Context(), c); err != nil || len(got) > 0 {
		t.Errorf("without double bookings: %q, %v", got, err)
	}
	if _, err := c.Exec(t.Context(), `INSERT INTO occupancies VALUES (3, '2027-01-01 09:00Z', '2027-01-01 12:00Z'),
		(3, '2027-01-01 09:30Z', '2027-01-01 09:45Z'), (3, '2027-01-01 11:59Z', '2027-01-01 13:00Z')`); err != nil {
		t.Fatal(err)
	}
	if got, err := overlapping(t.Context(), c); err != nil || len(got) != 2 || !strings.Contains(got[1], "room 3 at 2027-01-01 11:59") {
		t.Errorf("two double bookings: %q, %v", got, err)
	}
}
