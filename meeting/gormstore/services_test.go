package gormstore_test

import (
	"log/slog"
	"time"

	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/door"
	"punctual/meeting/gormstore"
	"punctual/meeting/places"
	"punctual/meeting/series"
	"punctual/meeting/waitlist"
)

// services are the use cases on one store.
type services struct {
	*booking.Service
	approval *approval.Service
	series   *series.Service
	waitlist *waitlist.Service
	door     *door.Service
	places   *places.Service
}

func newServices(store *gormstore.Store, directory booking.Directory, scheduler booking.Scheduler, settings func() meeting.Settings, now func() time.Time, log *slog.Logger) *services {
	b := booking.NewService(store, directory, scheduler, settings, now, log)
	return &services{
		Service: b, approval: approval.NewService(b, store), series: series.NewService(b, store),
		waitlist: waitlist.NewService(b, store, directory, scheduler), door: door.NewService(b, store), places: places.NewService(b, store, directory, scheduler, log),
	}
}
