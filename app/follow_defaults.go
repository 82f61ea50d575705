package app

import (
	"context"
	"errors"
	"time"

	"punctual/app/config"
	"punctual/delayjob/pause"
	"punctual/meeting"
)

const defaultsRetry = time.Second

// followDefaults applies the default reminders to the meetings that follow them, until ctx ends: at
// the start, because the file may have changed while nothing ran, and after each change of the
// configuration. Only workers run it.
func (a *Application) followDefaults(ctx context.Context) error {
	for failing := false; ; {
		err := errors.Join(a.applyReminders(ctx, a.latest.Load()), a.applyCheckIn(ctx))
		switch {
		case err != nil && ctx.Err() == nil && !failing:
			a.log.Error("applying default reminders to meetings failed, retrying", "error", err)
		case err == nil && failing:
			a.log.Info("default reminders applied to meetings")
		}
		failing = err != nil
		var again <-chan time.Time
		if failing {
			again = time.After(defaultsRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.defaults:
		case <-again:
		}
	}
}

const followStep = 50

// applyReminders applies them once, and makes the loader load what became due. It takes short steps
// with pauses, so that due work does not wait for it. If the process dies in
// between, the next start does the rest. It ends early if the configuration changes again.
func (a *Application) applyReminders(ctx context.Context, c *config.Config) error {
	changed := 0
	steps := pause.Begin()
	for after := meeting.ID(0); a.latest.Load() == c; {
		n, last, err := a.meetingStore.FollowReminders(ctx, c.Booking.DefaultReminders(), time.Now(), after, followStep)
		if err != nil {
			return err
		}
		if last == 0 {
			break
		}
		if changed += n; n > 0 {
			if err := steps.Next(ctx); err != nil {
				return err
			}
		}
		after = last
	}
	if changed > 0 {
		a.log.Info("changed default reminders applied", "meetings", changed)
		a.reload()
	}
	return nil
}

func (a *Application) applyCheckIn(ctx context.Context) error {
	changed, err := a.places.FollowCheckIn(ctx)
	if err != nil {
		return err
	}
	if changed > 0 {
		a.log.Info("changed default check-in applied", "rooms", changed)
		a.reload()
	}
	return nil
}
