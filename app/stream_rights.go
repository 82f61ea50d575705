package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"punctual/account"
	accounthttp "punctual/account/httpapi"
	"punctual/app/problem"
	"punctual/meeting"
	meetinghttp "punctual/meeting/httpapi"
)

const (
	rightsEvery   = 15 * time.Second       // all streams are checked, in case a change was not noticed
	rightsLook    = 500 * time.Millisecond // interval of reading the audit log, for changes by a command or another process
	rightsGap     = 200 * time.Millisecond // changes within it are handled together
	rightsAtOnce  = 8
	rightsTimeout = 5 * time.Second
)

// rights closes event streams whose caller has lost the rights it had when the stream began. The
// caller may have signed out, been disabled, or have an expired token, another role, other groups or
// another deputyship. The client reconnects and misses nothing if it may still listen.
type rights struct {
	log        *slog.Logger
	tellOthers func()                                      // other processes
	wake       chan struct{}                               // one slot
	history    func(context.Context, int64) (int64, error) // the latest change of rights after an entry; nil: not looked at

	mu      sync.Mutex
	streams map[*openStream]struct{}
}

type openStream struct {
	valid func(context.Context) (bool, error)
	end   context.CancelFunc
}

func newRights(log *slog.Logger) *rights {
	return &rights{log: log, tellOthers: func() {}, wake: make(chan struct{}, 1), streams: map[*openStream]struct{}{}}
}

// changed reports that rights may have changed, to this process and others. It never blocks.
func (r *rights) changed() {
	r.recheck()
	r.tellOthers()
}

// recheck makes this process check all its streams soon. It never blocks.
func (r *rights) recheck() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *rights) run(ctx context.Context) error {
	tick, look := time.NewTicker(rightsEvery), time.NewTicker(rightsLook)
	defer tick.Stop()
	defer look.Stop()
	var seen int64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-tick.C:
		case <-look.C:
			latest := r.latest(ctx, seen)
			if latest == seen {
				continue
			}
			seen = latest
		}
		r.check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rightsGap):
		}
	}
}

// latest returns the latest change of rights in the history. It returns seen if there is no later
// one, or no stream.
func (r *rights) latest(ctx context.Context, seen int64) int64 {
	r.mu.Lock()
	idle := len(r.streams) == 0
	r.mu.Unlock()
	if idle || r.history == nil {
		return seen
	}
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	latest, err := r.history(ctx, seen)
	if err != nil { // every rightsEvery streams are checked in any case
		return seen
	}
	return latest
}

// rightsHistory returns the latest change of rights after an entry of the history, or that entry if
// there is none. After 0, it returns the latest entry of any kind.
func rightsHistory(db *gorm.DB) func(ctx context.Context, after int64) (int64, error) {
	return func(ctx context.Context, after int64) (latest int64, err error) {
		q := db.WithContext(ctx).Table("audit").Select("COALESCE(MAX(id), ?)", after)
		if after != 0 {
			q = q.Where("id > ? AND (subject IN ('user', 'group') OR action IN ('token.deleted', 'session.ended'))", after)
		}
		return latest, q.Scan(&latest).Error
	}
}

func (r *rights) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	r.mu.Lock()
	open := make([]*openStream, 0, len(r.streams))
	for s := range r.streams {
		open = append(open, s)
	}
	r.mu.Unlock()
	var g errgroup.Group
	g.SetLimit(rightsAtOnce)
	for _, s := range open {
		g.Go(func() error {
			valid, err := s.valid(ctx)
			if err == nil && !valid {
				s.end()
			}
			return err
		})
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		r.log.Warn("checking rights of event streams failed, retrying", "error", err)
	}
}

func (r *rights) middleware(a *Application) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		op := ctx.Operation()
		if op.Path != meetinghttp.EventsPath && op.Path != meetinghttp.DoorEventsPath {
			next(ctx)
			if changesRights(op) && humagin.Unwrap(ctx).Writer.Status() < http.StatusBadRequest {
				r.changed()
			}
			return
		}
		secret, id := accounthttp.Secret(ctx, a.accounts), op.OperationID
		began, until, err := a.reader(ctx.Context(), secret, id)
		if err != nil {
			if p := problem.Of(err); p != nil {
				problem.Write(humagin.Unwrap(ctx), p)
				return
			}
			_ = humagin.Unwrap(ctx).Error(err)
			problem.Write(humagin.Unwrap(ctx), problem.Internal())
			return
		}
		streaming, end := context.WithCancel(ctx.Context())
		defer end()
		if p, ok := account.FromContext(ctx.Context()); ok {
			for _, ends := range []time.Time{p.Until, until} {
				if !ends.IsZero() {
					var ended context.CancelFunc
					streaming, ended = context.WithDeadline(streaming, ends)
					defer ended()
				}
			}
		}
		s := &openStream{end: end, valid: func(ctx context.Context) (bool, error) {
			now, _, err := a.reader(ctx, secret, id)
			if errors.Is(err, account.ErrUnauthorized) || errors.Is(err, account.ErrForbidden) {
				return false, nil
			}
			return err == nil && reflect.DeepEqual(began, now), err
		}}
		r.mu.Lock()
		r.streams[s] = struct{}{}
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.streams, s)
		}()
		next(huma.WithContext(ctx, streaming))
	}
}

func changesRights(op *huma.Operation) bool {
	if op.Method == http.MethodGet || op.OperationID == "login" {
		return false
	}
	for _, area := range []string{"/auth", "/me", "/users", "/door", "/groups"} {
		if op.Path == area || strings.HasPrefix(op.Path, area+"/") {
			return true
		}
	}
	return false
}

type reads struct {
	user, token     int64
	role            account.Role
	scopes          []account.Scope
	withRepresented any
	groups          []int64
	actsFor         []account.ActsFor
}

func (a *Application) reader(ctx context.Context, secret, op string) (_ reads, until time.Time, err error) {
	p, err := a.accounts.Authenticate(ctx, secret)
	if err == nil {
		err = account.Authorize(p, op)
	}
	if err != nil {
		return reads{}, time.Time{}, err
	}
	by, err := a.meetings.WithDeputies(ctx, meeting.Actor{Kind: meeting.ActorUser, ID: p.UserID, Role: meeting.Role(p.Role), Groups: &p.Groups})
	return reads{p.UserID, p.TokenID, p.Role, p.Scopes, by.RepresentedIDs, p.Groups, p.ActsFor}, by.RepresentsUntil, err
}
