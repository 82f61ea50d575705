package app

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"punctual/notify"
)

// slowSender sends until it is let go, and must not be closed before.
type slowSender struct {
	begun, finish chan struct{}
	closed        chan struct{}
}

func newSlowSender() *slowSender {
	return &slowSender{make(chan struct{}), make(chan struct{}), make(chan struct{})}
}

func (s *slowSender) Send(context.Context, notify.Notification) error {
	close(s.begun)
	<-s.finish
	select {
	case <-s.closed:
		return errors.New("closed while sending")
	default:
		return nil
	}
}

func (s *slowSender) Close() error { close(s.closed); return nil }

// Who is disabled is told nothing, and that nobody knows whether they are is no failure of the mail.
func TestActiveOnly(t *testing.T) {
	down := errors.New("the database is down")
	for _, c := range []struct {
		name  string
		gone  bool
		err   error
		wants error
		sent  int
	}{{"active", false, nil, nil, 1}, {"disabled", true, nil, notify.Off("not sent: the account is disabled"), 0}, {"unknown", false, down, notify.Unavailable(down), 0}} {
		sent := sentTimes(0)
		s := &activeOnly{&sent, func(_ context.Context, id int64, email string) (bool, error) {
			if id != 7 || email != "ann@example.org" {
				t.Errorf("%s: asked for %d %s", c.name, id, email)
			}
			return c.gone, c.err
		}}
		err := s.Send(t.Context(), notify.Notification{To: notify.Recipient{UserID: 7, Address: "ann@example.org"}})
		if !reflect.DeepEqual(err, c.wants) || int(sent) != c.sent {
			t.Errorf("%s: %v, sent %d", c.name, err, sent)
		}
	}
}

type sentTimes int

func (c *sentTimes) Send(context.Context, notify.Notification) error { *c++; return nil }

func TestSwitchSender_theOldOneFinishesWhatItBegan(t *testing.T) {
	var s switchSender
	old, next := newSlowSender(), newSlowSender()
	s.use(old)
	result := make(chan error)
	go func() { result <- s.Send(t.Context(), notify.Notification{}) }()
	<-old.begun
	s.use(next)
	close(next.finish)
	if err := s.Send(t.Context(), notify.Notification{}); err != nil {
		t.Error(err)
	}
	<-next.begun
	close(old.finish)
	if err := <-result; err != nil {
		t.Error(err)
	}
	<-old.closed
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-next.closed
}

func TestSwitchSender_anIdleOneIsClosedAtOnce(t *testing.T) {
	var s switchSender
	old := newSlowSender()
	s.use(old)
	s.use(notify.NoSender{Setting: "email.driver is off"})
	<-old.closed
	if err := s.Send(t.Context(), notify.Notification{}); err == nil {
		t.Error("a channel that is off sends")
	}
}
