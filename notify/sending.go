package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// sendingLease is how long a notification stays with a process that has died while it sent it.
	sendingLease = 3 * time.Second
	// sendingBeat is how often the leases of what is still being sent are extended. What takes
	// less time costs no statement.
	sendingBeat = time.Second
)

// sendings keeps the leases of the attempts that are under way, all in one statement a beat. It
// runs only while there are any.
type sendings struct {
	ledger Ledger
	now    func() time.Time
	log    *slog.Logger

	mu    sync.Mutex
	open  map[int64]*attempt // by ID of the row
	timer *time.Timer        // nil: nothing is open
}

// An attempt is a notification that is being sent.
type attempt struct {
	begun  time.Time          // the row's, which tells attempts apart
	kept   time.Time          // when its lease was last taken or extended
	cancel context.CancelFunc // ends it
	lost   bool               // somebody else sends it now
}

func newSendings(l Ledger, now func() time.Time, log *slog.Logger) *sendings {
	return &sendings{ledger: l, now: now, log: log, open: map[int64]*attempt{}}
}

// begin keeps the lease of n until end is called, which reports whether it was lost meanwhile.
// The context is cancelled when that happens.
func (s *sendings) begin(ctx context.Context, n Notification) (_ context.Context, end func() (lost bool)) {
	ctx, cancel := context.WithCancel(ctx)
	a := &attempt{begun: n.SendingAt, kept: time.Now(), cancel: cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[n.ID] = a
	if s.timer == nil {
		s.timer = time.AfterFunc(sendingBeat, s.beat)
	}
	return ctx, func() bool {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open[n.ID] == a {
			delete(s.open, n.ID)
		}
		if len(s.open) == 0 && s.timer != nil {
			s.timer.Stop()
			s.timer = nil
		}
		return a.lost
	}
}

// beat extends what is older than a beat and comes again while anything is open.
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
		s.log.Warn("notifications may be sent twice: it cannot be recorded that they are being sent", "notifications", len(begun), "error", err)
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
		default:
			a.lost = true
			a.cancel()
			s.log.Warn("somebody else took over a notification that was being sent", "notification_id", id)
		}
	}
}
