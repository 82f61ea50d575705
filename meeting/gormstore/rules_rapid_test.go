package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Whatever people do at the same moment, no two meetings hold a room at once, buffers
// included, and nobody is over a quota. Several workers each run a list of drawn operations on
// rooms of their own round; what they left is judged afterwards.
func TestRules_underConcurrentUse(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := f.withoutDeadlocks()
		f.db.SQL.SetMaxIdleConns(8) // again: those of before are closed
		over := time.Now().Add(5 * time.Second)
		rounds := 0
		rapid.Check(t, func(t *rapid.T) {
			if time.Now().After(over) && rounds > 0 {
				return // enough was seen; how much depends on the machine
			}
			rounds++
			r := newRound(ctx, f, t)
			var wg sync.WaitGroup
			for range 4 {
				plan := rapid.SliceOfN(rapid.Custom(drawStep), 3, 8).Draw(t, "plan")
				wg.Go(func() { r.run(plan) })
			}
			wg.Wait()
			r.validate(t)
		})
		t.Logf("%d rounds", rounds)
	})
}

// step is one thing that somebody does.
type step struct {
	What     string // book, move, cancel, approve
	Who      int    // books: 0: Anna, 1: Ben
	Rooms    []int
	Quarter  int // the start, in quarters of an hour of three days
	Quarters int
	Which    int // of the meetings booked so far
}

func drawStep(t *rapid.T) step {
	return step{
		What:     rapid.SampledFrom([]string{"book", "book", "book", "move", "move", "cancel", "approve"}).Draw(t, "what"),
		Who:      rapid.IntRange(0, 1).Draw(t, "who"),
		Rooms:    rapid.SliceOfNDistinct(rapid.IntRange(0, 2), 1, 3, rapid.ID[int]).Draw(t, "rooms"),
		Quarter:  rapid.IntRange(0, 3*24*4/8).Draw(t, "quarter") * 8, // every two hours, so that they meet
		Quarters: rapid.SampledFrom([]int{2, 4, 6, 16, 40}).Draw(t, "quarters"),
		Which:    rapid.IntRange(0, 30).Draw(t, "which"),
	}
}

// round is a set of rooms and what people do with them.
type round struct {
	ctx     context.Context
	f       *fixture
	service *services
	rooms   []*meeting.Room
	from    time.Time

	mu     sync.Mutex
	booked []bookedRoom
	odd    []error // neither done nor refused in one of the known ways
}

type bookedRoom struct {
	id meeting.ID
	by meeting.Actor
}

func newRound(ctx context.Context, f *fixture, t *rapid.T) *round {
	quota := func(r *meeting.Room, per string, count int, length time.Duration) {
		r.Policy.Quota = &policy.Quota{Per: per, Count: count, Duration: length}
		r.Timezone = "Europe/Berlin"
	}
	hold := rapid.Bool().Draw(t, "hold_pending")
	r := &round{ctx: ctx, f: f, from: at("00:00").AddDate(0, 0, 1)}
	r.rooms = []*meeting.Room{
		f.room("Buffers", func(r *meeting.Room) { r.Policy.BufferBefore, r.Policy.BufferAfter = 10*time.Minute, 30*time.Minute }),
		f.room("Days", func(r *meeting.Room) { quota(r, policy.PerDay, 2, 0) }),
		f.room("Weeks", func(r *meeting.Room) {
			quota(r, policy.PerWeek, 4, 5*time.Hour)
			r.Approval.Required = true
		}),
	}
	settings := meeting.Settings{Timezone: "UTC", HoldPending: hold, ApprovalTimeout: time.Hour}
	r.service = newServices(f.store, nobody{}, nothing{}, func() meeting.Settings { return settings },
		func() time.Time { return now }, slog.New(slog.DiscardHandler))
	return r
}

func (r *round) run(plan []step) {
	for _, s := range plan {
		if err := r.do(s); err != nil {
			r.mu.Lock()
			r.odd = append(r.odd, err)
			r.mu.Unlock()
		}
	}
}

// do returns an error that no rule accounts for.
func (r *round) do(s step) error {
	start := r.from.Add(time.Duration(s.Quarter) * 15 * time.Minute)
	fields := booking.Fields{
		Start: new(clock.At(start)), End: new(clock.At(start.Add(time.Duration(s.Quarters) * 15 * time.Minute))),
		RoomIDs: &[]int64{},
	}
	for _, i := range s.Rooms {
		*fields.RoomIDs = append(*fields.RoomIDs, r.rooms[i].ID)
	}
	by := []meeting.Actor{r.f.anna, r.f.ben}[s.Who]
	var err error
	if s.What == "book" {
		fields.Title = new("Drawn")
		m, e := r.service.Book(r.ctx, by, fields)
		if err = e; err == nil {
			r.mu.Lock()
			r.booked = append(r.booked, bookedRoom{m.ID, by})
			r.mu.Unlock()
		}
	} else if b, ok := r.pick(s.Which); ok {
		switch s.What {
		case "move":
			_, err = r.service.Update(r.ctx, b.by, b.id, nil, fields)
		case "cancel":
			_, err = r.service.Cancel(r.ctx, b.by, b.id, nil, "")
		case "approve":
			_, err = r.service.approval.Approve(r.ctx, r.f.admin, b.id, nil, "")
		}
	}
	_, conflict := errors.AsType[*meeting.ConflictError](err)
	_, state := errors.AsType[*meeting.StateError](err)
	if err == nil || conflict || state || refused(err, "quota") {
		return nil
	}
	return err
}

func (r *round) pick(which int) (bookedRoom, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.booked) == 0 {
		return bookedRoom{}, false
	}
	return r.booked[which%len(r.booked)], true
}

// validate looks at what is accepted, with rules of its own.
func (r *round) validate(t *rapid.T) {
	for _, err := range r.odd {
		t.Errorf("neither done nor refused by a rule: %v", err)
	}
	for _, room := range r.rooms {
		ms, _, err := r.f.store.ListMeetings(r.ctx, meeting.MeetingQuery{RoomID: room.ID}, meeting.Page{Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		ms = slices.DeleteFunc(ms, func(m *meeting.Meeting) bool {
			return m.Status != meeting.Confirmed && (m.Status != meeting.Pending || m.Occupied == nil)
		})
		for i, a := range ms {
			for _, b := range ms[i+1:] {
				if a.Slot.Widen(room.Policy.BufferBefore, room.Policy.BufferAfter).Overlaps(b.Slot.Widen(room.Policy.BufferBefore, room.Policy.BufferAfter)) {
					t.Errorf("%s: %d %v and %d %v overlap", room.Name, a.ID, a.Slot, b.ID, b.Slot)
				}
			}
		}
		if room.Policy.Quota != nil {
			r.checkQuotas(t, room, ms)
		}
	}
}

func (r *round) checkQuotas(t *rapid.T, room *meeting.Room, ms []*meeting.Meeting) {
	type period struct {
		user int64
		name string
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	q := room.Policy.Quota
	counts, minutes := map[period]int{}, map[period]int{}
	for _, m := range ms {
		touched := map[string]bool{}
		for at := m.Slot.Start; at.Before(m.Slot.End); at = at.Add(time.Minute) { // minute by minute: slow and plain
			local := at.In(berlin)
			name := local.Format(time.DateOnly)
			if q.Per == policy.PerWeek {
				year, week := local.ISOWeek()
				name = fmt.Sprint(year, " W", week)
			}
			touched[name] = true
			minutes[period{m.Organizer.UserID, name}]++
		}
		for name := range touched {
			counts[period{m.Organizer.UserID, name}]++
		}
	}
	for p, n := range counts {
		if q.Count > 0 && n > q.Count {
			t.Errorf("%s: user %d has %d meetings in %s", room.Name, p.user, n, p.name)
		}
	}
	for p, n := range minutes {
		if q.Duration > 0 && time.Duration(n)*time.Minute > q.Duration {
			t.Errorf("%s: user %d has %d minutes in %s", room.Name, p.user, n, p.name)
		}
	}
}

// nobody is a directory without people.
type nobody struct{}

func (nobody) People(context.Context, []int64) ([]meeting.Person, error)            { return nil, nil }
func (nobody) Absences(context.Context, time.Time) ([]meeting.Absence, error)       { return nil, nil }
func (nobody) Admins(context.Context) ([]meeting.Person, error)                     { return nil, nil }
func (nobody) ByEmail(context.Context, []string) (map[string]meeting.Person, error) { return nil, nil }

// nothing is a queue that keeps nothing.
type nothing struct{}

func (nothing) Schedule(context.Context, ...delayjob.Message) {}
func (nothing) Forget(context.Context, ...string)             {}
