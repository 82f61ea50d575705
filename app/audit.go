package app

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"punctual/account"
	"punctual/app/audit"
	"punctual/app/config"
	"punctual/meeting"
)

// refusals limits the audit entries of refused sign-ins, which anyone can cause: entries per
// account (or per network for unknown accounts), and entries of either kind. It counts the rest.
type refusals struct {
	each, all *account.MemoryLimiter
	leftOut   atomic.Int64
}

func newRefusals() *refusals {
	return &refusals{
		each: account.NewMemoryLimiter(account.Rate{Count: 10, Per: time.Hour}),
		all:  account.NewMemoryLimiter(account.Rate{Count: 300, Per: time.Hour}),
	}
}

func (r *refusals) note(ctx context.Context, kind, key string) (leftOut int64, ok bool) {
	if ok, _ := r.each.Allow(ctx, kind+key); ok {
		if ok, _ := r.all.Allow(ctx, kind); ok {
			return r.leftOut.Swap(0), true
		}
	}
	r.leftOut.Add(1)
	return 0, false
}

// noteRefused records a failed sign-in. It includes the typed address only if it looks like one,
// because it may be a password.
func (a *Application) noteRefused(ctx context.Context, u *account.User, email string, reason error) {
	if !errors.Is(reason, account.ErrWrongCredentials) { // somebody whom only the log can help
		a.log.Info("sign-in refused", "user_id", u.ID, "error", reason)
	}
	kind, key := "user ", strconv.FormatInt(u.ID, 10)
	if u.ID == 0 {
		kind, key = "nobody ", account.Networks(meeting.Client(ctx))[0]
	}
	leftOut, ok := a.refusals.note(ctx, kind, key)
	if !ok {
		return
	}
	e := audit.Entry{Action: "session.refused", Actor: &audit.Actor{Kind: meeting.ActorUser, ID: u.ID, Name: u.Name}}
	if u.ID != 0 {
		e.ID = strconv.FormatInt(u.ID, 10)
	}
	if strings.Contains(email, "@") && !strings.ContainsAny(email, " \t\r\n") && len(email) <= 254 {
		e.Name = email
	}
	if leftOut > 0 {
		e.Changes = map[string]audit.Change{"left_out": {To: leftOut}}
	}
	a.addEntry(ctx, e)
}

// noteReload records the differences of a changed configuration file. It masks secrets, but shows
// that they changed.
func (a *Application) noteReload(ctx context.Context, old, now *config.Config) {
	host, _ := os.Hostname() // each process reads its own file
	ctx = audit.By(ctx, "configuration")
	e := audit.Entry{Action: "config.changed", ID: host, Name: host, Changes: map[string]audit.Change{}}
	for _, c := range config.Diff(old, now) {
		e.Changes[c.Key] = audit.Change{From: c.From, To: c.To}
		if c.Restart {
			e.Reason = "restart"
		}
	}
	if len(e.Changes) == 0 { // only templates of mails changed
		return
	}
	a.addEntry(ctx, e)
}

func (a *Application) addEntry(ctx context.Context, e audit.Entry) {
	if err := audit.Add(a.db.Gorm.WithContext(ctx), e); err != nil {
		a.log.Error("storing an audit entry failed", "action", e.Action, "error", err)
	}
}
