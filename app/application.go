// Package app wires the packages of punctual, which do not know each other, and serves HTTP.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/redis/go-redis/v9"

	"punctual/account"
	"punctual/account/fault"
	accountstore "punctual/account/gormstore"
	accounthttp "punctual/account/httpapi"
	"punctual/account/oidc"
	"punctual/account/webauthn"
	"punctual/app/audit"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/app/idempotency"
	"punctual/app/leaving"
	"punctual/app/syslog"
	"punctual/app/traces"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	jobstore "punctual/delayjob/gormstore"
	"punctual/delayjob/lateness"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/redisqueue"
	"punctual/delayjob/topics"
	"punctual/delayjob/webhook"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/branding"
	"punctual/meeting/door"
	"punctual/meeting/events"
	"punctual/meeting/finding"
	"punctual/meeting/forecast"
	meetingstore "punctual/meeting/gormstore"
	meetinghttp "punctual/meeting/httpapi"
	"punctual/meeting/importing"
	meetingjobs "punctual/meeting/jobs"
	"punctual/meeting/linkpages"
	"punctual/meeting/mailroom"
	"punctual/meeting/places"
	"punctual/meeting/public"
	"punctual/meeting/report"
	"punctual/meeting/scheduling"
	"punctual/meeting/series"
	"punctual/meeting/waitlist"
	"punctual/meeting/zones"
	"punctual/migrations"
	"punctual/notify"
	"punctual/notify/chat"
	ledger "punctual/notify/gormstore"
	"punctual/notify/outbox"
	"punctual/notify/render"
	eventhook "punctual/notify/webhook"
	eventhookstore "punctual/notify/webhook/gormstore"
)

// Application is one process of punctual, with all areas wired together.
type Application struct {
	config *config.Config // at the start
	role   Role
	log    *slog.Logger
	level  *slog.LevelVar

	source   *config.State                    // origin of the settings
	environ  []string                         // overrides the file
	latest   atomic.Pointer[config.Config]    // last accepted
	settings atomic.Pointer[meeting.Settings] // in force now

	defaults chan struct{} // one slot: default reminders or check-in settings may have changed

	db          *database.DB
	queue       Queue
	redis       redis.UniversalClient // nil: the queue lives in memory
	held        *memqueue.Journal     // nil unless the queue is in memory and the database is SQLite
	scheduler   *delayjob.Scheduler
	metrics     *metrics
	tracer      *traces.Tracer // nil: nothing is traced
	idempotency *idempotency.Middleware

	people        *accountstore.Store
	leaving       *leaving.Service
	accounts      *account.Service
	providers     []*oidc.Provider     // to sign in with
	passkeys      *webauthn.Ceremonies // nil: there are no passkeys
	keys          *signingKeys
	certificates  *certificates       // nil: of files, or plain HTTP
	syslog        *syslog.Destination // nil: the audit log goes nowhere else
	linkSecrets   account.LinkSecrets
	limiter       limiter // of failed sign-ins
	wideLimiter   limiter
	meetings      *booking.Service
	approval      *approval.Service
	series        *series.Service
	waitlist      *waitlist.Service
	door          *door.Service
	zones         *zones.Service
	places        *places.Service
	branding      *branding.Service
	public        *public.Service
	finding       *finding.Service
	imports       *importing.Service
	scheduling    *scheduling.Service // answers calendar messages
	mailroom      mailroomParts
	reports       *report.Service
	forecasts     *forecast.Service
	stream        *events.Stream
	broadcasts    *broadcasts // to and from other processes
	meetingStore  *meetingstore.Store
	ledger        *ledger.Ledger
	notifications *notify.Service
	bounces       *notify.Bounces
	bounceStore   *ledger.Bounces
	preferences   *notify.PreferenceService
	chats         *chat.Connections
	senders       *senders
	links         *linkpages.Links // which mail readers follow to decide
	deadLetters   *jobstore.DeadLetters
	lateness      *jobstore.Lateness
	topics        *topics.Service
	poster        *webhook.Sender    // to other systems
	webhooks      *eventhook.Service // receivers of events
	deliveries    *eventhookstore.Store
	watcher       *eventhook.Watcher // finds the events to send
	topicsRate    limiter            // of requests about topics
	lookups       limiter            // of searches for people
	limits        *limits            // of requests
	rights        *rights            // of event stream clients
	refusals      *refusals          // refused sign-ins in the installation's history
	pauses        *admin.Pauses
	unknown       *admin.UnknownJobs
	clock         *clockWatch // nil: there is only one clock

	jobs     []delayjob.DelayJob
	loader   *delayjob.Loader   // nil unless the role works
	consumer *delayjob.Consumer // nil unless the role works
	pusher   *topics.Pusher     // nil unless the role works
	fallback *delayjob.Fallback // nil unless the role works, on Redis
}

// New opens what the role needs, migrates the database and wires the areas. The caller
// must call Close.
func New(ctx context.Context, c *config.Config, r Role, log *slog.Logger, level *slog.LevelVar) (_ *Application, err error) {
	a := &Application{config: c, role: r, log: log, level: level, metrics: newMetrics(), source: config.NewState(time.Now), defaults: make(chan struct{}, 1)}
	a.latest.Store(c)
	a.settings.Store(a.meetingSettings(c))
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if a.db, err = OpenDatabase(ctx, c.Database); err != nil {
		return nil, err
	}
	if to := c.Traces; to.URL != "" {
		if a.tracer, err = traces.Start(ctx, traces.Config{URL: to.URL, Headers: to.Headers, Sample: to.Sample, Version: version}, log); err != nil {
			return nil, err
		}
		if err = a.tracer.Statements(a.db.Gorm); err != nil {
			return nil, err
		}
	}
	if a.db.Pooled {
		log.InfoContext(ctx, "connection pooler in use, session settings left to the role", "setting", "database.pooler")
	}
	if err = a.db.Migrate(ctx); err != nil {
		return nil, err
	}
	if a.queue, a.redis, err = OpenQueue(ctx, c.Queue, log, redisqueue.WithPatience()); err != nil {
		return nil, err
	}
	if r.works() && c.Queue.URL == "memory:" && a.db.File != "" {
		a.keepHeld(a.db.File + "-held")
	}
	if a.keys, err = openSigningKeys(ctx, a.db.Gorm); err != nil {
		return nil, err
	}
	a.links = linkpages.NewLinks(c.HTTP.BaseURL, a.keys.rings[linkKeys])
	a.linkSecrets = account.NewLinkSecrets(a.keys.rings[passwordKeys])
	if a.senders, err = newSenders(ctx, a.db.Gorm, c, a.mailLinks(), smsBudget{a, time.Now}, a.refusedRecipient, a.log); err != nil {
		return nil, err
	}
	if to := c.Audit.Syslog; to.URL != "" {
		if a.syslog, err = syslog.Parse(to.URL, to.CAFile); err != nil {
			return nil, fmt.Errorf("audit.syslog: %w", err)
		}
	}
	if a.passkeys, err = passkeysOf(c); err != nil {
		return nil, err
	}
	a.wireAreas()
	a.wireEngine()
	if indexed, err := a.meetingStore.SearchIndexed(ctx); err == nil && !indexed {
		log.Warn("extension pg_trgm missing, meeting searches have no index")
	}
	if r.works() {
		if err := a.pauses.Apply(ctx); err != nil { // the first pass of the loader retries
			log.Warn("applying pauses failed, paused jobs may run until the first load", "error", err)
		}
	}
	return a, nil
}

// keepHeld makes the in-memory queue record the messages that it hands out. Without this journal, a
// message that crashes the process each time would be retried indefinitely. Nothing else would
// break.
func (a *Application) keepHeld(file string) {
	journal, err := memqueue.OpenJournal(file, a.log)
	if err != nil {
		a.log.Warn("crash journal unavailable, a message that crashes the process will be retried indefinitely", "file", file, "error", err)
		return
	}
	a.held = journal
	a.queue = memqueue.New(memqueue.WithJournal(journal))
}

// Accounts are the users and their sign-ins.
func (a *Application) Accounts() *account.Service { return a.accounts }

// Leaving takes leave of users.
func (a *Application) Leaving() *leaving.Service { return a.leaving }

// Meetings are the meetings, rooms and sites.
func (a *Application) Meetings() *booking.Service { return a.meetings }

// Series, Zones and Places are further use cases of meetings.
func (a *Application) Series() *series.Service { return a.series }
func (a *Application) Zones() *zones.Service   { return a.zones }
func (a *Application) Places() *places.Service { return a.places }

// Mailroom is what became of the mails that rooms received.
func (a *Application) Mailroom() *mailroom.Process { return a.mailroom.process }

// Imports books the events of other calendars.
func (a *Application) Imports() *importing.Service { return a.imports }

// importers returns how many workers import at once. SQLite has one writer.
func (a *Application) importers() int {
	if a.db.Dialect == migrations.Postgres {
		return 4
	}
	return 1
}

func (a *Application) wireAreas() {
	db := a.db.Gorm
	scheduler := delayjob.NewScheduler(a.queue, delayjob.SchedulerOptions{
		Horizon: a.config.Queue.Horizon, Fallback: a.fallbackQueue, Headers: a.traceHeaders(), Observer: a.metrics, Logger: a.log,
	})
	a.scheduler = scheduler
	var trail audit.Trail
	guarded := accountstore.GuardedTrail{Trail: trail}
	notices := ledger.New(db).Noting(guarded).WithQuota(a.quota)
	a.deadLetters = jobstore.NewDeadLetters(db).Noting(guarded)
	a.lateness = jobstore.NewLateness(db)
	a.metrics.lateness = lateness.NewRecorder(a.lateness, time.Now, a.log)
	a.poster = webhook.NewSender("punctual/"+version, a.config.Topics.Networks())
	a.topics = topics.New(jobstore.NewTopics(db).Noting(guarded), a.queue, scheduler, a.poster, a.reload, a.log)
	a.topics.SetLimits(a.config.Topics.Limits())
	a.topicsRate = a.newLimiter("topics:", account.Rate(a.config.Topics.Rate))
	a.lookups = a.newLimiter("people:", meetinghttp.PeopleRate)
	secret := func(ctx huma.Context) string { return accounthttp.Secret(ctx, a.accounts) }
	a.limits = newLimits(a.redis, a.config, secret)
	a.idempotency = idempotency.New(db, handlerTimeout, secret, a.log)
	a.refusals = newRefusals()
	a.wideLimiter = a.newLimiter("wide:", wide(a.config.Auth.LoginRate))
	a.limiter = a.newLimiter("", account.Rate(a.config.Auth.LoginRate))
	people := accountstore.New(db).Noting(trail).Mailing(linkMails{notices, scheduler})
	a.people = people
	var directories []account.Directory
	for _, d := range directoriesOf(a.config, a.log) {
		directories = append(directories, d)
	}
	accounts := account.Config{
		SessionTTL: a.config.Auth.SessionTTL, Timezone: a.config.Booking.Timezone, Limiter: a.limiter, Wide: a.wideLimiter, Codes: a.newLimiter("codes:", account.CodeRate), Refused: a.noteRefused,
		DeviceKeys: a.keys.rings[deviceKeys], Links: a.linkSecrets, Secure: a.config.HTTP.Secure(), Directories: directories, Sources: sourcesOf(a.config),
		Begins: a.newLimiter("passkeys:", account.CeremonyRate),
	}
	if a.passkeys != nil { // a nil pointer would not be a nil interface
		accounts.Passkeys = a.passkeys
	}
	a.accounts = account.New(people, accounts)
	a.accounts.SetTokenTTL(a.config.Auth.TokenTTL, a.config.Auth.MaxTokenTTL)
	a.accounts.SetSecondFactor(account.SecondFactorMode(a.config.Auth.SecondFactor))
	a.providers = providersOf(a.config)
	a.ledger = notices
	a.notifications = notify.NewService(notices, scheduler, time.Now)
	a.bounceStore = ledger.NewBounces(db, guarded)
	a.bounces = notify.NewBounces(a.bounceStore, notices, a.keys.rings[linkKeys].Verify, time.Now, a.log)
	chats := ledger.NewChats(db, guarded)
	chatEnabled := func() bool { return a.latest.Load().Chat.Enabled }
	a.meetingStore = meetingstore.New(db, outboxAdapter{notices, chats, chatEnabled}).Noting(trail).Guarded(accountstore.Guard{})
	a.stream = events.New(a.meetingStore, events.Options{Logger: a.log})
	a.broadcasts = newBroadcasts(a.redis, a.log)
	hooks := eventhookstore.New(db).Noting(guarded)
	a.deliveries = hooks
	a.webhooks = eventhook.NewService(hooks, scheduler, a.poster, meetinghttp.EventTypes(), time.Now)
	a.watcher = eventhook.NewWatcher(hooks, scheduler, a.log)
	poke := func() { a.stream.Poke(); a.watcher.Poke() }
	happened := a.broadcasts.add(a.config.Queue.Prefix+":events", true, poke)
	changed := func() { poke(); happened.send() }
	a.rights = newRights(a.log)
	a.rights.history = rightsHistory(db)
	a.rights.tellOthers = a.broadcasts.add(a.config.Queue.Prefix+":rights", a.role.serves(), a.rights.recheck).send
	a.topics.TellOthers(a.broadcasts.add(a.config.Queue.Prefix+":webhooks", a.role.works(), a.topics.WebhooksChanged).send)
	inForce := func() meeting.Settings { return *a.settings.Load() }
	directory := directoryAdapter{people, a.newLimiter("invite:", unknownRate)}
	queue := notifyingScheduler{scheduler, changed}
	a.meetings = booking.NewService(a.meetingStore, directory, queue, inForce, time.Now, a.log)
	a.approval = approval.NewService(a.meetings, a.meetingStore)
	a.series = series.NewService(a.meetings, a.meetingStore)
	a.waitlist = waitlist.NewService(a.meetings, a.meetingStore, directory, queue)
	a.door = door.NewService(a.meetings, a.meetingStore)
	a.zones = zones.NewService(a.meetings, a.meetingStore, a.series, queue)
	a.places = places.NewService(a.meetings, a.meetingStore, directory, queue, a.log)
	a.branding = branding.NewService(a.meetings, a.meetingStore)
	a.public = public.NewService(a.meetings, a.meetingStore)
	a.imports = importing.NewService(a.meetings, a.series, a.meetingStore, directory, inForce, time.Now, a.senders.render.OwnUID, a.importers())
	a.finding = finding.NewService(a.meetingStore, a.meetings, inForce, time.Now)
	a.scheduling = scheduling.NewService(scheduling.Deps{
		Meetings: a.meetings, Series: a.series, Finding: a.finding, Store: a.meetingStore, People: guestDirectory{directory, a.accounts}, Scheduler: scheduler,
		UID: a.senders.render.UID, Settings: a.schedulingSettings, Now: time.Now, Log: a.log,
	})
	a.reports = report.NewService(a.meetingStore, a.meetings, func() string { return inForce().Timezone }, time.Now)
	a.forecasts = forecast.NewService(a.meetingStore, inForce, time.Now)

	over := a.config.Queue.Options()
	a.jobs = meetingjobs.New(meetingjobs.Deps{
		Service: a.meetings, Approval: a.approval, Waitlist: a.waitlist, Store: a.meetingStore, Scheduler: scheduler, Now: time.Now, Changed: changed, Down: database.Unavailable,
	})
	a.jobs = append(a.jobs, a.scheduling.Jobs()...)
	preferences := ledger.NewPreferences(db, notices).Noting(guarded)
	policy := func() notify.Policy { return a.latest.Load().Policy() }
	a.preferences = notify.NewPreferenceService(preferences, scheduler, policy, time.Now)
	chatting := chatSender{chat.NewSender(chats, a.poster, a.senders.render), chatEnabled}
	a.chats = chat.NewConnections(chats, a.poster, func() *chat.Sender {
		if !chatEnabled() {
			return nil
		}
		return chatting.Sender
	})
	screen := noticeScreen{a.meetingStore, people.Disabled, a.bounces.Marked, preferences.Wishes, policy, a.copyNotices, time.Now}
	delivery := func(channel notify.Channel, sender notify.Sender) delayjob.DelayJob {
		return notify.NewDelivery(channel, notices, sender, notify.DeliveryOptions{
			Job: over[channel.Job()], Host: a.senders.host, Sign: a.keys.rings[linkKeys].Sign, Screen: screen.objections,
			Observer: a.metrics, Down: database.Unavailable, Now: time.Now, Log: a.log,
		})
	}
	a.jobs = append(a.jobs, delivery(notify.Email, &a.senders.email), delivery(notify.SMS, &a.senders.sms), delivery(notify.Chat, chatting),
		&notify.Digests{Store: preferences, Agenda: a.agenda, Scheduler: scheduler, Now: time.Now},
		eventhook.NewDeliver(hooks, eventBodies{a.stream}, a.poster, eventhook.DeliverOptions{
			MaxAttempts: over[eventhook.Job].MaxAttempts, Down: database.Unavailable, Now: time.Now, Log: a.log,
		}))
	a.leaving = leaving.NewService(leaving.NewStore(db, notices), a.accounts, a.meetings, a.series, a.waitlist, scheduler, time.Now)
	a.leaving.Log, a.leaving.Exports = a.log, a.newLimiter("exports:", account.Rate{Count: 5, Per: time.Hour})
	a.leaving.Files = outbox.At(outboxDir).Delete
	a.jobs = append(a.jobs, a.leaving.Job(database.Unavailable), a.leaving.EraseJob(),
		&auditForward{db: a.db.Gorm, name: a.config.Audit.Syslog.URL, to: a.syslog})
	a.wireMailroom(scheduler)
}

func (a *Application) quota(c notify.Channel) int {
	if c == notify.SMS {
		return a.latest.Load().SMS.Quota
	}
	return a.latest.Load().Email.Quota
}

func (a *Application) wireEngine() {
	names := make([]string, len(a.jobs))
	for i, j := range a.jobs {
		names[i] = j.Name()
	}
	a.pauses = &admin.Pauses{Decisions: jobstore.NewPauses(a.db.Gorm).Noting(audit.Trail{}), Queue: a.queue, Fallback: a.standIn, Jobs: names}
	a.unknown = &admin.UnknownJobs{Queue: a.inForce, Known: config.IsJob, Log: a.log}
	a.metrics.registry.MustRegister(newQueueCollector(a.inForce, names, jobstore.NewTopics(a.db.Gorm), a.unknown))
	if a.clock = newClockWatch(a.db, a.redis, a.queue, a.log); a.clock != nil {
		a.metrics.registry.MustRegister(a.clock.offset)
	}
	if !a.role.works() {
		return
	}
	c := a.config.Queue
	loaded := append(slices.Clone(a.jobs), a.topics.Loading()) // topics are popped, or pushed by their own consumer
	a.consumer = delayjob.NewConsumer(a.queue, a.jobs, delayjob.ConsumerOptions{
		Jobs: c.Options(), SafetyPoll: c.SafetyPoll, Grace: stopGrace, Failures: a.deadLetters, OnEmpty: a.reload,
		Paused: a.pauses.Paused, Middleware: a.jobMiddleware(), Observer: a.metrics, Logger: a.log,
	})
	a.loader = delayjob.NewLoader(a.queue, loaded, delayjob.LoaderOptions{
		Incremental: c.LoadEvery.Cron(), Full: c.ReloadEvery.Cron(), Horizon: c.Horizon, Near: max(30*time.Second, 2*c.LoadEvery.Longest()),
		Before: a.beforeLoad, Guard: loaderGuard(a.db, 3*c.LoadEvery.Longest(), a.log), Health: a.consumer.Health(),
		Observer: a.metrics, Logger: a.log,
	})
	a.pusher = topics.NewPusher(a.topics, delayjob.ConsumerOptions{
		SafetyPoll: c.SafetyPoll, Grace: stopGrace, OnEmpty: a.reload, Observer: a.metrics, Logger: a.log,
	})
	if a.redis != nil {
		a.fallback = a.newFallback()
		a.metrics.registry.MustRegister(fallbackActive(a.fallback))
	}
	a.metrics.watchLoader(a.loader, a.fallback, time.Now())
}

func (a *Application) beforeLoad(ctx context.Context) error {
	if a.clock != nil {
		a.clock.look(ctx)
	}
	err := a.pauses.Apply(ctx)
	if errors.Is(err, admin.ErrQueueDown) { // in a cluster, the other shards may answer
		return fmt.Errorf("%w: %w", delayjob.ErrPartly, err)
	}
	return err
}

// apply applies the settings that may change while the process runs. If it fails, nothing has
// changed. followDefaults applies changed default reminders to booked meetings.
func (a *Application) apply(ctx context.Context, old, now *config.Config) error {
	templates, err := render.ReadOverrides(now.Notifications.Templates)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(old.Email, now.Email) || !reflect.DeepEqual(old.SMS, now.SMS) {
		if err := a.senders.apply(now); err != nil {
			return err
		}
	}
	a.senders.render.Use(templates)
	a.level.Set(now.Level())
	a.settings.Store(a.meetingSettings(now))
	a.accounts.SetSessionTTL(now.Auth.SessionTTL)
	a.accounts.SetTokenTTL(now.Auth.TokenTTL, now.Auth.MaxTokenTTL)
	a.accounts.SetSecondFactor(account.SecondFactorMode(now.Auth.SecondFactor))
	a.limiter.SetRate(account.Rate(now.Auth.LoginRate))
	a.wideLimiter.SetRate(wide(now.Auth.LoginRate))
	a.topics.SetLimits(now.Topics.Limits())
	a.topicsRate.SetRate(account.Rate(now.Topics.Rate))
	a.mailroom.apply(now)
	a.limits.set(now.Limits)
	a.poster.Allow(now.Topics.Networks())
	a.latest.Store(now)
	a.noteReload(ctx, old, now)
	select {
	case a.defaults <- struct{}{}:
	default:
	}
	return nil
}

// firstAdmin creates the first admin of an empty database, with the given address and password.
// Without them, it returns a setup link.
func (a *Application) firstAdmin(ctx context.Context, email, password string) (link string, err error) {
	if !a.role.serves() {
		return "", nil
	}
	b, err := a.accounts.Bootstrap(ctx, email, password)
	if _, invalid := errors.AsType[*account.InvalidError](err); invalid {
		return "", fmt.Errorf("first admin (%s, %s): %w", config.EnvAdminEmail, config.EnvAdminPassword, fault.Plain(err))
	}
	if err != nil {
		return "", err
	}
	if b.Admin != nil {
		a.log.Info("created the first admin", "email", b.Admin.Email)
	}
	if b.SetupToken == "" {
		return "", nil
	}
	return strings.TrimSuffix(a.config.HTTP.BaseURL, "/") + "/setup?token=" + b.SetupToken, nil
}

func (a *Application) reload() {
	if a.loader != nil {
		a.loader.Trigger()
	}
}

// Close releases all resources. Nothing may run at this point.
func (a *Application) Close() error {
	var errs []error
	if a.mailroom.server != nil {
		errs = append(errs, a.mailroom.server.Close())
	}
	if a.senders != nil {
		errs = append(errs, a.senders.Close())
	}
	if a.poster != nil {
		a.poster.Close()
	}
	if a.scheduler != nil {
		a.scheduler.Close()
	}
	if a.queue != nil {
		errs = append(errs, a.queue.Close())
	}
	if a.held != nil {
		errs = append(errs, a.held.Close())
	}
	if a.redis != nil {
		errs = append(errs, a.redis.Close())
	}
	if a.accounts != nil {
		a.accounts.Close()
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	if a.tracer != nil { // last, so that it sends what the others did
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // a process ends within 10 s
		defer cancel()
		_ = a.tracer.Close(ctx) // traces may be lost
	}
	return errors.Join(errs...)
}

// jobMiddleware wraps the executions of all jobs, the first one outermost.
func (a *Application) jobMiddleware() []delayjob.Middleware {
	if a.tracer == nil {
		return []delayjob.Middleware{databaseOutages}
	}
	return []delayjob.Middleware{a.tracer.Jobs, databaseOutages}
}

// traceHeaders returns what messages carry to continue the trace that schedules them; nil without traces.
func (a *Application) traceHeaders() func(context.Context) map[string]string {
	if a.tracer == nil {
		return nil
	}
	return a.tracer.Headers
}
