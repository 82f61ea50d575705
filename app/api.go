package app

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"punctual/account"
	"punctual/account/fault"
	accounthttp "punctual/account/httpapi"
	"punctual/account/rest"
	"punctual/app/config"
	"punctual/app/leaving"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	jobhttp "punctual/delayjob/httpapi"
	topichttp "punctual/delayjob/topics/httpapi"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/feed"
	meetinghttp "punctual/meeting/httpapi"
	mailroomhttp "punctual/meeting/mailroom/httpapi"
	notifyhttp "punctual/notify/httpapi"
	"punctual/notify/outbox"
	webhookhttp "punctual/notify/webhook/httpapi"
)

// register adds every operation of the REST API, with authentication. It panics if the
// authorization table lacks an operation, because nobody could call it.
func (a *Application) register(api huma.API) {
	api.UseMiddleware(a.limits.before, accounthttp.Authenticate(api, a.accounts), a.limits.after, a.rights.middleware(a),
		receiveBody, accounthttp.Reauthenticate(api, a.accounts), a.idempotency.Handle)
	clientIP := func(ctx huma.Context) string { return humagin.Unwrap(ctx).ClientIP() } // knows http.trusted_proxies
	accounthttp.Register(api, a.accounts, accounthttp.Options{ClientIP: clientIP, Providers: a.providers})
	faults := a.newLimiter("faults:", meetinghttp.FaultRate)
	meetinghttp.Register(api, meetinghttp.Deps{
		Meetings: a.meetings, Approval: a.approval, Series: a.series, Waitlist: a.waitlist, Places: a.places,
		Branding: a.branding, Public: a.public, Finding: a.finding, Reports: a.reports, Notices: noticesAdapter{a.notifications}, State: a.state,
		Calendars: calendarAdapter{a.senders.render}, Lookups: a.lookups, Faults: faults,
	})
	meetinghttp.RegisterImports(api, a.imports)
	meetinghttp.RegisterDoor(api, meetinghttp.DoorDeps{
		Service: a.meetings, Door: a.door, Places: a.places, Accounts: a.accounts, Links: a.links, Stream: a.stream, ClientIP: clientIP, Now: time.Now, Faults: faults,
	})
	meetinghttp.RegisterCalendars(api, meetinghttp.CalendarDeps{
		Service: a.meetings, Feeds: feed.NewService(a.meetings, time.Now), Accounts: a.accounts,
		Calendars: calendarAdapter{a.senders.render}, BaseURL: a.config.HTTP.BaseURL,
	})
	meetinghttp.RegisterEvents(api, a.meetings, a.stream, time.Now)
	notifyhttp.Register(api, a.notifications, a.nextTry)
	notifyhttp.RegisterBounces(api, a.bounces)
	notifyhttp.RegisterPreferences(api, a.preferences)
	tests := a.newLimiter("chat-tests:", account.Rate{Count: 10, Per: time.Minute})
	notifyhttp.RegisterChat(api, a.chats, func(ctx context.Context, userID int64) error {
		if ok, after := tests.Allow(ctx, strconv.FormatInt(userID, 10)); !ok {
			return &account.RateLimitError{RetryAfter: after}
		}
		return nil
	})
	a.registerTestMail(api)
	notifyhttp.RegisterOutbox(api, outbox.At(outboxDir))
	jobhttp.Register(api, jobhttp.Options{
		Queue: a.inForce, Mode: a.queueMode, Jobs: a.jobs, Overrides: a.config.Queue.Options(), Horizon: a.config.Queue.Horizon,
		DeadLetters: &admin.DeadLetters{Records: a.deadLetters, Queue: a.queue}, Pauses: a.pauses, Unknown: a.unknown,
		Reload: a.reload, MeetingOf: a.meetingOf, Suggest: func(job string) string { return config.Suggest(job, config.JobNames) },
		Lateness: a.lateness, Flush: a.metrics.lateness.Flush, Meetings: a.meetingLateness,
	})
	leaving.Register(api, a.leaving)
	(&auditAPI{a.db.Gorm, a.log}).register(api)
	topichttp.Register(api, a.topics, a.topicsRate)
	webhookhttp.Register(api, a.webhooks)
	mailroomhttp.Register(api, a.mailroom.process)
	registerConfig(api, a.currentConfig, a.source, a.zones.Changed)
	a.registerPlan(api)
	accounthttp.MustCover(api)
}

// nextTry returns when a message is delivered next; zero if the queue does not hold it or does not
// answer.
func (a *Application) nextTry(ctx context.Context, job, key string) time.Time {
	info, err := a.inForce().Get(ctx, delayjob.MessageID(job, key))
	if err != nil || info.State == delayjob.StateDead {
		return time.Time{}
	}
	return info.WaitsUntil
}

func (a *Application) queueMode() jobhttp.QueueMode {
	switch {
	case a.redis == nil:
		return jobhttp.InMemory
	case a.standIn() != nil:
		return jobhttp.Fallback
	}
	return jobhttp.OnRedis
}

// state is a [meetinghttp.State]: of the database, and the settings.
func (a *Application) state(ctx context.Context) (any, error) {
	stored, err := a.db.State(ctx)
	return struct {
		stored   string
		settings *meeting.Settings
	}{stored, a.settings.Load()}, err
}

// currentConfig returns the last accepted settings, and the keys for which this process still uses
// its settings from the start.
func (a *Application) currentConfig() (c *config.Config, restart []string) {
	c = a.latest.Load()
	_, restart = config.Keys(config.Diff(a.config, c))
	return c, restart
}

func (a *Application) meetingOf(ctx context.Context, job, key string) *int64 {
	id, err := strconv.ParseInt(delayjob.Entity(key), 10, 64)
	if err != nil {
		return nil
	}
	switch area, _, _ := strings.Cut(job, "."); area {
	case "meeting", "approval":
		return &id
	case "notify":
		if n, err := a.notifications.Get(ctx, id); err == nil {
			return rest.OrNull(n.MeetingID)
		}
	}
	return nil
}

// meetingLateness counts how late the meetings of a span were started and ended.
func (a *Application) meetingLateness(ctx context.Context, from, to string, bounds []time.Duration) (started, ended jobhttp.Histogram, since, until time.Time, err error) {
	var faults fault.List
	span := clock.Slot{Start: queryInstant(&faults, "query.from", from), End: queryInstant(&faults, "query.to", to)}
	if err := faults.Err(); err != nil {
		return started, ended, since, until, err
	}
	s, e, span, err := a.reports.Punctuality(ctx, span, bounds)
	return jobhttp.Histogram(s), jobhttp.Histogram(e), span.Start, span.End, err
}
