package app

import (
	"context"
	"strings"
)

// watchZones logs the zones whose rules changed since the last start: meetings that were booked
// before are not at their local times.
func (a *Application) watchZones(ctx context.Context) error {
	if err := a.zones.NoteClocks(ctx); err != nil {
		return err
	}
	changed, unknown, err := a.zones.Watch(ctx)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		a.log.Warn("time zone rules changed since meetings were booked, run punctual zones check", "zones", strings.Join(changed, ", "))
	}
	if len(unknown) > 0 {
		a.log.Error("time zone data missing, meetings booked in it cannot be changed", "zones", strings.Join(unknown, ", "))
	}
	return nil
}
