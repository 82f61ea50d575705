package app

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	accounthttp "punctual/account/httpapi"
	"punctual/app/config"
	"punctual/delayjob"
	"punctual/delayjob/topics"
	meetinghttp "punctual/meeting/httpapi"
	notifyhttp "punctual/notify/httpapi"
	"punctual/notify/outbox"
	webhookhttp "punctual/notify/webhook/httpapi"
)

// register adds every operation of the REST API, behind the authentication. It panics on an
// operation that the table of authorisation does not know: nobody could call it.
func (a *application) register(api huma.API) {
	api.UseMiddleware(a.limits.before, accounthttp.Authenticate(api, a.accounts), a.limits.after, a.rights.middleware(a),
		receiveBody, accounthttp.Reauthenticate(api, a.accounts), a.idempotency.middleware)
	clientIP := func(ctx huma.Context) string { return humagin.Unwrap(ctx).ClientIP() } // knows http.trusted_proxies
	accounthttp.Register(api, a.accounts, accounthttp.Options{ClientIP: clientIP})
	meetinghttp.Register(api, a.meetings, noticesAdapter{a.notifications}, a.newLimiter("people:", meetinghttp.PeopleRate))
	meetinghttp.RegisterDoor(api, meetinghttp.DoorDeps{
		Service: a.meetings, Accounts: a.accounts, Links: a.links, Feed: a.feed, ClientIP: clientIP, Now: time.Now,
	})
	meetinghttp.RegisterCalendars(api, meetinghttp.CalendarDeps{
		Service: a.meetings, Accounts: a.accounts, Calendars: calendarAdapter{a.senders.render}, BaseURL: a.config.HTTP.BaseURL,
	})
	meetinghttp.RegisterEvents(api, a.meetings, a.feed, time.Now)
	notifyhttp.Register(api, a.notifications, a.nextTry)
	notifyhttp.RegisterOutbox(api, outbox.At(outboxDir))
	jobs := &jobsAPI{
		queue: a.inForce, jobs: a.jobs, settings: settingsOf(a.jobs, a.config.Queue.Options()),
		dead: &deadLetters{a.failures, a.queue}, pauses: a.pauses, reload: a.reload,
		coming:  &comingHour{jobs: a.jobs, most: comingMost, now: time.Now},
		pending: &pendingCounts{jobs: a.jobs, dead: a.failures.Count, horizon: a.config.Queue.Horizon, most: comingMost, now: time.Now},
		unknown: a.unknown, mode: a.queueMode, ledger: a.notifications,
	}
	jobs.register(api)
	(&punctualityAPI{kept: a.lateness, pending: a.metrics.kept, meetings: a.meetings}).register(api)
	(&auditAPI{a.db.Gorm}).register(api)
	topics.Register(api, a.topics, a.topicsRate)
	webhookhttp.Register(api, a.webhooks)
	registerConfig(api, a.currentConfig, a.source, a.meetings.ChangedZones)
	a.registerPlan(api)
	accounthttp.MustCover(api)
}

// nextTry is when a message is handed out; zero if the queue holds none or does not answer.
func (a *application) nextTry(ctx context.Context, job, key string) time.Time {
	info, err := a.inForce().Get(ctx, delayjob.MessageID(job, key))
	if err != nil || info.State == delayjob.StateDead {
		return time.Time{}
	}
	return info.WaitsUntil
}

// queueMode tells what the queue that is in force lives in.
func (a *application) queueMode() queueMode {
	switch {
	case a.redis == nil:
		return inMemory
	case a.standIn() != nil:
		return onFallback
	}
	return onRedis
}

// currentConfig is the file as it was last accepted, and the keys in which this process still
// runs with what it was started with.
func (a *application) currentConfig() (c *config.Config, restart []string) {
	c = a.latest.Load()
	_, restart = config.Keys(config.Diff(a.config, c))
	return c, restart
}
