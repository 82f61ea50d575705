package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// sendingLease is how long a notification stays reserved for a process that died while sending
	// it.
	sendingLease = 3 * time.Second
	// sendingBeat is the interval at which leases are extended. Shorter attempts need no
	// extension.
	sendingBeat = time.Second
	// staleLease is the age at which a lease is confirmed before sending: an extension has failed,
	// or the process or the database stalled.
	staleLease = sendingLease - sendingBeat
)

// sendings extends the leases of all open attempts, with one statement per beat. Its timer runs
// only while there are any.
type sendings struct {
	ledger Ledger
	now    func() time.Time
	log    *slog.Logger

	mu    sync.Mutex
	open  map[int64]*attempt // by ID of the row
	timer *time.Timer        // nil: no attempt is open
}

// An attempt at sending a notification, from the lease until its outcome is recorded.
type attempt struct {
	id         int64
	begun      time.Time // SendingAt of the row, which distinguishes attempts
	kept       time.Time // when its lease was last taken or extended
	cancel     context.CancelFunc
	concluding bool // its outcome is being recorded
	lost       bool // another process is sending the notification
}

func newSendings(l Ledger, now func() time.Time, log *slog.Logger) *sendings {
	return &sendings{ledger: l, now: now, log: log, open: map[int64]*attempt{}}
}

// begin extends the lease of n, which was taken at taken, until end is called. The returned
// context is canceled if another process takes over n.
func (s *sendings) begin(ctx context.Context, n Notification, taken time.Time) (context.Context, *attempt) {
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{id: n.ID, begun: n.SendingAt, kept: taken, cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.open[n.ID]; before != nil { // the lease expired, and this process took the row over from itself
		before.lost = true
		before.cancel()
	}
	s.open[n.ID] = a
	if s.timer == nil {
		s.timer = time.AfterFunc(max(0, time.Until(taken.Add(sendingBeat))), s.beat)
	}
	return ctx, a
}

func (s *sendings) end(a *attempt) {
	a.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[a.id] == a {
		delete(s.open, a.id)
	}
	if len(s.open) == 0 && s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// confirm reports whether a still has its lease. It queries the ledger if the lease is stale.
func (s *sendings) confirm(a *attempt) bool {
	s.mu.Lock()
	fresh := time.Since(a.kept) < staleLease
	s.mu.Unlock()
	if !fresh {
		s.keep(time.Now(), map[int64]time.Time{a.id: a.begun})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !a.lost && time.Since(a.kept) < staleLease
}

// conclude marks that the outcome of a is being recorded, which ends its lease. It reports whether
// the lease was already lost.
func (s *sendings) conclude(a *attempt) (lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.concluding = true
	return a.lost
}

// beat extends leases older than a beat and reschedules itself while attempts are open.
func (s *sendings) beat() {
	begun := map[int64]time.Time{}
	at := time.Now()
	s.mu.Lock()
	for id, a := range s.open {
		if at.Sub(a.kept) >= sendingBeat*9/10 && !a.lost {
			begun[id] = a.begun
		}
	}
	s.mu.Unlock()
	if len(begun) > 0 {
		s.keep(at, begun)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) > 0 && s.timer != nil {
		s.timer.Reset(max(0, time.Until(at.Add(sendingBeat))))
	}
}

func (s *sendings) keep(at time.Time, begun map[int64]time.Time) {
	ctx, cancel := context.WithTimeout(context.Background(), sendingLease/2)
	defer cancel()
	kept, err := s.ledger.Keep(ctx, begun, s.now(), sendingLease)
	if err != nil {
		s.log.Warn("extending notification leases failed, duplicates possible", "notifications", len(begun), "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, b := range begun {
		a := s.open[id]
		switch {
		case a == nil || !a.begun.Equal(b):
		case kept[id]:
			a.kept = at
		case a.concluding: // its outcome has just been recorded
		default:
			a.lost = true
			a.cancel()
			s.log.Warn("notification taken over by another process", "notification_id", id)
		}
	}
}
