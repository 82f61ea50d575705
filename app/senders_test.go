package app

import (
	"context"
	"errors"
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
