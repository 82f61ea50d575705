package app

import (
	"context"
	"crypto/sha256"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/redis/go-redis/v9"

	"punctual/account"
	"punctual/account/redislimit"
	"punctual/app/config"
	"punctual/app/database"
	"punctual/app/problem"
	meetinghttp "punctual/meeting/httpapi"
)

// heavyKey marks, in an operation's metadata, that its cost depends on much data.
const heavyKey = "heavy"

const (
	placeWait    = 5 * time.Second // for requests of the same caller to end
	placeLease   = 3 * time.Second // so that a waiting request gets the place of a process that was killed
	streamLease  = 15 * time.Second
	placeWaiters = 16 // waiting requests per running one
	streamsRetry = 30 * time.Second
)

// scrapeRate is that of one network: a scrape takes some 15 ms of a processor.
var scrapeRate = account.Rate{Count: 10, Per: time.Second}

// heavyPlaces limits the heavy operations of a process, so that light ones find a processor and a
// connection to the database.
var heavyPlaces = 2 * runtime.GOMAXPROCS(0)

// limits limits the requests of one user, of one token and, without sign-in, of one network. All
// processes share the counts. Each process also limits concurrent requests.
type limits struct {
	config    atomic.Pointer[config.RequestLimits]
	people    *sharedRate
	tokens    *sharedRate
	addresses *sharedRate
	refused   *account.MemoryLimiter // requests with a wrong token, by network
	scrapes   *account.MemoryLimiter // of metrics without a token, by network
	known     knownTokens
	secret    func(huma.Context) string // of the caller
	running   requestPlaces
	heavy     requestPlaces
	streams   requestPlaces
}

func newLimits(client redis.UniversalClient, c *config.Config, secret func(huma.Context) string) *limits {
	l := &limits{
		secret:    secret,
		people:    newSharedRate(client, c.Queue.Prefix+":people:"),
		tokens:    newSharedRate(client, c.Queue.Prefix+":tokens:"),
		addresses: newSharedRate(client, c.Queue.Prefix+":addresses:"),
		refused:   account.NewMemoryLimiter(account.Rate{}),
		scrapes:   account.NewMemoryLimiter(scrapeRate),
	}
	if client != nil {
		l.running = requestPlaces{shared: redislimit.NewPlaces(client, c.Queue.Prefix+":running:", placeLease), near: nearPart}
		l.heavy = requestPlaces{shared: redislimit.NewPlaces(client, c.Queue.Prefix+":heavy:", placeLease)}
		l.streams = requestPlaces{shared: redislimit.NewPlaces(client, c.Queue.Prefix+":streams:", streamLease)}
	}
	l.set(c.Limits)
	return l
}

func (l *limits) set(c config.RequestLimits) {
	l.config.Store(&c)
	l.people.set(burst(c.Rate, 2)) // all tokens of a user together
	l.tokens.set(burst(c.Rate, 1))
	l.addresses.set(burst(c.AnonymousRate, 1))
	l.refused.SetRate(burst(c.AnonymousRate, 1))
}

// burst allows requests of two seconds, minutes or hours at once.
func burst(r config.Rate, times int) account.Rate {
	return account.Rate{Count: 2 * times * r.Count, Per: 2 * r.Per}
}

type acceptKey struct{}

// before runs before authentication. It limits requests without a sign-in, and requests whose token
// turns out to be wrong.
func (l *limits) before(ctx huma.Context, next func(huma.Context)) {
	c := humagin.Unwrap(ctx)
	networks := account.Networks(c.ClientIP())
	network, shown := networks[0], l.secret(ctx)
	if account.Public(ctx.Operation().OperationID) || shown == "" {
		if !l.admit(c, networks) {
			return
		}
		l.inPlace(ctx, next, &l.running, network, l.config.Load().Concurrency)
		return
	}
	secret := sha256.Sum256([]byte(shown))
	known, valid := l.known.has(secret), false
	if !known {
		if ok, after := l.refused.Allow(ctx.Context(), network); !ok {
			problem.Write(c, tooMany("Too many refused requests from this address", after))
			return
		}
	}
	accept := func() {
		if valid = true; !known {
			l.refused.Forgive(ctx.Context(), network)
			l.known.add(secret)
		}
	}
	next(huma.WithValue(ctx, acceptKey{}, accept))
	switch wrong := ctx.Status() == http.StatusUnauthorized; {
	case wrong && known:
		l.known.remove(secret)
	case !wrong && !valid: // a valid token without the permission
		accept()
	}
}

func (l *limits) admit(c *gin.Context, networks []string) bool {
	for _, key := range networks {
		if ok, after := l.addresses.Allow(c.Request.Context(), key); !ok {
			problem.Write(c, tooMany("Too many requests from this address", after))
			return false
		}
	}
	return true
}

// admitScrape is admit for metrics, which cost more than other requests without sign-in.
func (l *limits) admitScrape(c *gin.Context, networks []string) bool {
	for _, key := range networks {
		if ok, after := l.scrapes.Allow(c.Request.Context(), key); !ok {
			problem.Write(c, tooMany("Too many scrapes from this address", after))
			return false
		}
	}
	return l.admit(c, networks)
}

// knownTokens are hashes of tokens that were valid when last used. Wrong tokens from the same network,
// such as an office behind one address, do not count against them. The zero value is ready.
type knownTokens struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]struct{}
}

const maxKnownTokens = 100_000 // then it starts over

func (k *knownTokens) has(token [sha256.Size]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.of[token]
	return ok
}

func (k *knownTokens) add(token [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) >= maxKnownTokens {
		k.of = map[[sha256.Size]byte]struct{}{}
	}
	k.of[token] = struct{}{}
}

func (k *knownTokens) remove(token [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, token)
}

func (l *limits) after(ctx huma.Context, next func(huma.Context)) {
	p, ok := account.FromContext(ctx.Context())
	if !ok {
		l.runPublic(ctx, next)
		return
	}
	if accept, ok := ctx.Context().Value(acceptKey{}).(func()); ok {
		accept()
	}
	token := "token " + strconv.FormatInt(p.TokenID, 10)
	person := "person " + strconv.FormatInt(p.UserID, 10)
	if p.AtDoor() { // one user may pair many doors
		person = token
	}
	c, bounds, op := humagin.Unwrap(ctx), l.config.Load(), ctx.Operation()
	allowed, after := l.tokens.Allow(ctx.Context(), token)
	if allowed {
		allowed, after = l.people.Allow(ctx.Context(), person)
	}
	switch {
	case !allowed:
		problem.Write(c, tooMany("Too many requests", after))
	case op.Path == meetinghttp.EventsPath || op.Path == meetinghttp.DoorEventsPath:
		l.stream(ctx, next, person, bounds)
	case strings.HasSuffix(op.Path, "/pop"): // waits for jobs, and has its own rate
		next(ctx)
	default:
		l.inPlace(ctx, func(ctx huma.Context) { l.run(ctx, next, person, bounds) }, &l.running, token, bounds.Concurrency)
	}
}

func (l *limits) run(ctx huma.Context, next func(huma.Context), person string, bounds *config.RequestLimits) {
	if !isHeavy(ctx) {
		l.inPlace(ctx, next, &l.running, person, 2*bounds.Concurrency) // all tokens of a user together
		return
	}
	l.inPlace(ctx, func(ctx huma.Context) {
		ctx = huma.WithContext(ctx, database.ForHeavy(ctx.Context()))
		l.inPlace(ctx, next, &l.heavy, "", heavyPlaces)
	}, &l.heavy, person, bounds.Heavy)
}

func isHeavy(ctx huma.Context) bool {
	heavy, _ := ctx.Operation().Metadata[heavyKey].(bool)
	return heavy
}

func (l *limits) runPublic(ctx huma.Context, next func(huma.Context)) {
	if !isHeavy(ctx) {
		next(ctx)
		return
	}
	c := humagin.Unwrap(ctx)
	heavy, leave, ok := l.takePublic(ctx.Context(), account.Networks(c.ClientIP())[0])
	if !ok {
		problem.Write(c, tooMany("Too many requests at the same time", time.Second))
		return
	}
	defer leave()
	next(huma.WithContext(ctx, heavy))
}

// publicKey is that of heavy work for all who are not signed in.
const publicKey = "public"

// takePublic takes the places of heavy work for a network that is not signed in, and marks the context as
// [database.ForHeavy] does. All such networks together have half the places of a process, so that users who
// are signed in always find some.
func (l *limits) takePublic(ctx context.Context, network string) (heavy context.Context, leave func(), ok bool) {
	var taken []func()
	leave = func() {
		for _, leave := range slices.Backward(taken) {
			leave()
		}
	}
	for _, at := range []struct {
		key  string
		most int
	}{{"network " + network, l.config.Load().Heavy}, {publicKey, max(1, heavyPlaces/2)}, {"", heavyPlaces}} {
		leaveOne, ok := l.heavy.take(ctx, at.key, at.most, placeWait)
		if !ok {
			leave()
			return nil, nil, false
		}
		taken = append(taken, leaveOne)
	}
	return database.ForHeavy(ctx), leave, true
}

func (l *limits) inPlace(ctx huma.Context, next func(huma.Context), at *requestPlaces, key string, most int) {
	leave, ok := at.take(ctx.Context(), key, most, placeWait)
	if !ok {
		problem.Write(humagin.Unwrap(ctx), tooMany("Too many requests at the same time", time.Second))
		return
	}
	defer leave()
	next(ctx)
}

func (l *limits) stream(ctx huma.Context, next func(huma.Context), person string, bounds *config.RequestLimits) {
	leave, ok := l.streams.take(ctx.Context(), person, bounds.Streams, 0)
	if !ok {
		problem.Write(humagin.Unwrap(ctx), tooMany("Too many open event streams", streamsRetry))
		return
	}
	defer leave()
	leaveAll, ok := l.streams.take(ctx.Context(), "", bounds.TotalStreams, 0)
	if !ok {
		problem.Write(humagin.Unwrap(ctx), tooMany("Too many open event streams in this process", streamsRetry))
		return
	}
	defer leaveAll()
	next(ctx)
}

func tooMany(title string, after time.Duration) *problem.Problem {
	p := problem.New(http.StatusTooManyRequests, "rate_limited", title)
	p.RetryAfter = max(after, time.Second)
	return p
}

// sharedRate is a rate that processes share, if they share a Redis. Callers far below the rate are
// counted in this process only, so that most requests need no call to Redis.
type sharedRate struct {
	near   *account.MemoryLimiter
	shared limiter // nil: near has the whole rate
}

// nearPart is the part of a rate that is granted without a call to Redis.
const nearPart = 10

func newSharedRate(client redis.UniversalClient, prefix string) *sharedRate {
	r := &sharedRate{near: account.NewMemoryLimiter(account.Rate{})}
	if client != nil {
		r.shared = redislimit.New(client, prefix, account.Rate{})
	}
	return r
}

func (r *sharedRate) set(rate account.Rate) {
	if r.shared == nil {
		r.near.SetRate(rate)
		return
	}
	r.shared.SetRate(rate)
	r.near.SetRate(account.Rate{Count: max(1, rate.Count/nearPart), Per: rate.Per})
}

func (r *sharedRate) Allow(ctx context.Context, key string) (ok bool, retryAfter time.Duration) {
	if ok, retryAfter = r.near.Allow(ctx, key); ok || r.shared == nil {
		return ok, retryAfter
	}
	return r.shared.Allow(ctx, key)
}

// requestPlaces limits how many requests run at once for each key. The zero value is ready to use. The key
// "" is for the whole process. All processes share the other keys if shared is set.
type requestPlaces struct {
	shared *redislimit.Places
	near   int // one of this many places is taken without shared; 0: none

	mu sync.Mutex
	of map[string]*place
}

type place struct {
	slots chan struct{}
	users int // running or waiting
}

// take waits for one of most places, in order of arrival. It returns false if no place became free
// or too many requests already wait.
func (p *requestPlaces) take(ctx context.Context, key string, most int, wait time.Duration) (leave func(), ok bool) {
	p.mu.Lock()
	if p.of == nil {
		p.of = map[string]*place{}
	}
	at := p.of[key]
	if at == nil || cap(at.slots) != most { // a changed setting starts over
		at = &place{slots: make(chan struct{}, most)}
		p.of[key] = at
	}
	if at.users >= most*(1+placeWaiters) || wait == 0 && at.users >= most {
		p.mu.Unlock()
		return nil, false
	}
	at.users++
	p.mu.Unlock()
	gone := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if at.users--; at.users == 0 && p.of[key] == at {
			delete(p.of, key)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case at.slots <- struct{}{}:
	default:
		select {
		case at.slots <- struct{}{}:
		case <-ctx.Done():
			gone()
			return nil, false
		}
	}
	leaveShared, ok := p.takeShared(ctx, key, most, len(at.slots))
	if !ok {
		<-at.slots
		gone()
		return nil, false
	}
	return func() { leaveShared(); <-at.slots; gone() }, true
}

// takeShared waits for one of the places that all processes share. This process holds here of them.
func (p *requestPlaces) takeShared(ctx context.Context, key string, most, here int) (leave func(), ok bool) {
	if p.shared == nil || key == "" || p.near > 0 && here <= max(1, most/p.near) {
		return func() {}, true
	}
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		if leave, ok = p.shared.Take(context.WithoutCancel(ctx), key, most); ok {
			return leave, true
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(pause):
		}
	}
}
