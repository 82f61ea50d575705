package redislimit

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Places limits how many operations per key run at the same time in all processes. While Redis
// does not answer it grants every place. Safe for concurrent use.
type Places struct {
	Patience time.Duration // time limit of a Redis command; NewPlaces sets 250 ms

	client redis.UniversalClient
	prefix string
	lease  time.Duration
	own    string // identifies this process
	silent silence

	mu       sync.Mutex
	taken    uint64
	held     map[heldPlace]struct{}
	renewing bool
}

type heldPlace struct{ key, id string }

// NewPlaces returns Places whose keys begin with prefix. Held places are renewed. Those of a dead
// process are free after lease. The caller keeps ownership of the client, which should respect the
// deadlines of contexts.
func NewPlaces(client redis.UniversalClient, prefix string, lease time.Duration) *Places {
	return &Places{
		Patience: defaultPatience, client: client, prefix: prefix, lease: lease,
		own: rand.Text(), held: map[heldPlace]struct{}{},
	}
}

// takePlace adds the place ARGV[3] for ARGV[2] ms if fewer than ARGV[1] are held.
var takePlace = redis.NewScript(`
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`)

// renewPlaces extends the places ARGV[2] and following to ARGV[1] ms from now, even if Redis has
// lost them.
var renewPlaces = redis.NewScript(`
local now = redis.call('TIME')
local ends = now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[1]
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], ends, ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`)

// Take takes one of limit places of key, without waiting for one. The caller must call leave if
// ok.
func (p *Places) Take(ctx context.Context, key string, limit int) (leave func(), ok bool) {
	if p.silent.now() {
		return func() {}, true
	}
	place := p.hold(key)
	redisCtx, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	granted, err := takePlace.Run(redisCtx, p.client, []string{place.key}, limit, p.lease.Milliseconds(), place.id).Bool()
	switch {
	case err == nil && granted:
		return func() { p.leave(ctx, place) }, true
	case err == nil:
		p.forget(place)
		return nil, false
	case ctx.Err() == nil: // the caller did not cancel
		p.silent.begin()
	}
	return func() { p.leave(ctx, place) }, true // Redis may have granted it
}

func (p *Places) hold(key string) heldPlace {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken++
	place := heldPlace{p.prefix + key, p.own + strconv.FormatUint(p.taken, 36)}
	p.held[place] = struct{}{}
	if !p.renewing {
		p.renewing = true
		time.AfterFunc(p.lease/3, p.renew)
	}
	return place
}

// renew extends the held places and reschedules itself while there are any. It may revive a place
// that is released meanwhile, for the time of its lease.
func (p *Places) renew() {
	p.mu.Lock()
	held := map[string][]any{}
	for place := range p.held {
		held[place.key] = append(held[place.key], place.id)
	}
	if p.renewing = len(held) > 0; p.renewing {
		defer func() { time.AfterFunc(p.lease/3, p.renew) }()
	}
	p.mu.Unlock()
	for key, ids := range held {
		if p.silent.now() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), p.Patience)
		if err := renewPlaces.Run(ctx, p.client, []string{key}, append([]any{p.lease.Milliseconds()}, ids...)...).Err(); err != nil {
			p.silent.begin()
		}
		cancel()
	}
}

func (p *Places) forget(place heldPlace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, place)
}

func (p *Places) leave(ctx context.Context, place heldPlace) {
	p.forget(place)
	if p.silent.now() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Patience) // release even if the caller is gone
	defer cancel()
	if p.client.ZRem(ctx, place.key, place.id).Err() != nil {
		p.silent.begin()
	}
}
