package jobs

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	"punctual/delayjob"
	"punctual/meeting"
)

// look gives what has become free of a room to those who wait for it. Its key is the room. It
// is sent right after the commit that freed something; a full pass of the loader makes up for
// a process that died in between, and for what became free in a way that nobody noticed.
type look struct{ Deps }

func (j *look) Name() string { return meeting.JobWaitlistLook }

func (j *look) Options() delayjob.Options { return delayjob.Options{MaxRuntime: maxRuntime} }

func (j *look) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		if !w.From.IsZero() {
			return // nothing of this has a time of its own
		}
		at := j.Now()
		rooms, number, err := j.Store.FreeAndAwaited(ctx, at)
		if err != nil {
			yield(delayjob.Message{}, j.classify(err))
			return
		}
		for _, m := range meeting.Looks(rooms, number, at) {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (j *look) Execute(ctx context.Context, m delayjob.Message) error {
	room, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("message %s: %w", m.ID(), err))
	}
	return j.classify(j.Service.Look(ctx, room))
}

// waitExpire ends waits and offers whose time is over. It meets an acceptance made at the same
// moment at the row's lock: one of them wins, and the other finds it done.
type waitExpire struct{ Deps }

func (j *waitExpire) Name() string { return meeting.JobWaitlistExpire }

func (j *waitExpire) Options() delayjob.Options { return delayjob.Options{MaxRuntime: maxRuntime} }

func (j *waitExpire) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return j.load(ctx, meeting.JobWaitlistExpire, w)
}

func (j *waitExpire) Execute(ctx context.Context, m delayjob.Message) error {
	ref, err := readRef(m)
	if err != nil {
		return err
	}
	outcome, err := j.Service.ExpireWait(ctx, ref)
	if err != nil {
		return j.classify(err)
	}
	if outcome == meeting.Stale {
		return delayjob.Drop("the wait has another state")
	}
	return nil
}
