package app

import (
	"context"
	"time"
)

// remindersRetry is how soon a database that did not take the default reminders is tried again.
const remindersRetry = time.Second

// followReminders gives the default reminders to the meetings that follow them, at the start, for
// the file may have changed while nothing ran, and after each change of the configuration, until
// ctx ends. It is the workers' task.
func (a *application) followReminders(ctx context.Context) error {
	for failing := false; ; {
		err := a.applyReminders(ctx, a.latest.Load().Booking)
		switch {
		case err != nil && ctx.Err() == nil && !failing:
			a.log.Error("meetings still follow earlier default reminders; trying on", "error", err)
		case err == nil && failing:
			a.log.Info("meetings follow the default reminders now")
		}
		failing = err != nil
		var again <-chan time.Time
		if failing {
			again = time.After(remindersRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.reminders:
		case <-again:
		}
	}
}

// applyReminders does so once, and has the loader look for what that made due.
func (a *application) applyReminders(ctx context.Context, c BookingConfig) error {
	changed, err := a.meetingStore.SetDefaultReminders(ctx, c.reminders(), time.Now())
	if err != nil {
		return err
	}
	if changed > 0 {
		a.log.Info("meetings follow the changed default reminders", "meetings", changed)
		a.reload()
	}
	return nil
}
