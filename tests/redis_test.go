package tests

import (
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestRedis_flushed: Redis may lose everything while meetings wait; nothing is missed.
func TestRedis_flushed(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	on.LoadEvery = 10 * time.Minute // a flush is noticed at once, not by the next pass
	server := testenv.Server(t, on.Config)
	began := time.Now()
	admin := server.Admin(t)
	var rooms [4]testenv.Room
	for i := range rooms {
		rooms[i] = admin.NewRoom(t, at("Room %d", i))
	}
	start := inGoodTime(began, 12)
	var ids, running []int64
	for i, room := range rooms { // one begins and another ends
		begin := start.Add(time.Duration(i) * time.Second)
		ids = append(ids, admin.Book(t, testenv.Booking(begin, begin.Add(time.Hour), []int64{room.ID})).ID)
		running = append(running, admin.Book(t, testenv.Booking(inSeconds(0), begin, []int64{room.ID})).ID)
	}
	for i := range ids {
		time.Sleep(time.Until(start.Add(time.Duration(i)*time.Second - 500*time.Millisecond)))
		on.redis.Do(t, "FLUSHALL")
	}
	for i, id := range ids {
		begin := start.Add(time.Duration(i) * time.Second)
		eventually(t, begin.Add(slack), "one started, one ended", func() bool {
			return len(entries(admin.History(t, id), "started")) == 1 && len(entries(admin.History(t, running[i]), "ended")) == 1
		})
		wantOnce(t, admin.History(t, id), "started", "timer", begin)
		wantOnce(t, admin.History(t, running[i]), "ended", "timer", begin)
	}
}

// TestRedis_restarted: while Redis is away bookings go on; when it is back, empty, what fell
// due is caught up.
func TestRedis_restarted(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	server := testenv.Server(t, on.Config)
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	start := inSeconds(2)
	waiting := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
	on.redis.Kill()
	began := time.Now()
	meanwhile := admin.Book(t, testenv.Booking(start.Add(time.Hour), start.Add(2*time.Hour), []int64{room.ID}))
	if took := time.Since(began); took > slack {
		t.Errorf("a booking took %v without Redis", took)
	}
	time.Sleep(time.Until(start.Add(time.Second)))
	on.redis.Start(t)
	eventually(t, time.Now().Add(2*slack), "started after Redis is back", func() bool {
		return len(entries(admin.History(t, waiting.ID), "started")) == 1
	})
	if m := admin.Meeting(t, meanwhile.ID); m.Status != "confirmed" {
		t.Errorf("booked meanwhile: %+v", m)
	}
	// And it is prompt again.
	soon := inSeconds(2)
	other := admin.NewRoom(t, "Hopper")
	m := admin.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{other.ID}))
	eventually(t, soon.Add(slack), "started", func() bool { return len(entries(admin.History(t, m.ID), "started")) == 1 })
	wantOnce(t, admin.History(t, m.ID), "started", "timer", soon)
}
