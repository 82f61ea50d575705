package webhook

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"punctual/delayjob"
	post "punctual/delayjob/webhook"
)

// Bodies are what is told of events.
type Bodies interface {
	// Body is the JSON of an event as somebody sees it who has no part in it; nil: what it is
	// about is no more.
	Body(ctx context.Context, event int64) ([]byte, error)
}

// Deliver is the strategy webhook.deliver: it posts one delivery. A crash between the server's
// answer and the record of it leads to one more post with the same event id.
type Deliver struct {
	store  Store
	bodies Bodies
	sender *post.Sender
	opts   DeliverOptions
	paces  paces
}

// DeliverOptions tune a Deliver; all but MaxAttempts are needed.
type DeliverOptions struct {
	MaxAttempts int              // that the consumer gives the job; not positive: a delivery is given up by its age alone
	Down        func(error) bool // tells that the database does not answer
	Now         func() time.Time
	Log         *slog.Logger
}

// NewDeliver returns the strategy.
func NewDeliver(store Store, bodies Bodies, sender *post.Sender, o DeliverOptions) *Deliver {
	return &Deliver{store: store, bodies: bodies, sender: sender, opts: o}
}

// Name implements [delayjob.DelayJob].
func (*Deliver) Name() string { return Job }

const (
	answerWithin = 10 * time.Second
	concurrency  = 24
	loadPage     = 500
)

// Options implements [delayjob.Configurer]. Unless the consumer is told otherwise a delivery is given
// up by its age, not by attempts.
func (*Deliver) Options() delayjob.Options {
	return delayjob.Options{
		Concurrency: concurrency, Lease: 30 * time.Second, MaxRuntime: time.Minute, MaxAttempts: -1,
		Backoff: delayjob.Backoff{Base: 5 * time.Second, Cap: time.Hour},
	}
}

// Load implements [delayjob.DelayJob].
func (d *Deliver) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		var after *Delivery
		for {
			page, err := d.store.Due(ctx, w, after, loadPage)
			if err != nil {
				yield(delayjob.Message{}, err)
				return
			}
			for _, one := range page {
				if !yield(one.Message(), nil) {
					return
				}
			}
			if len(page) < loadPage {
				return
			}
			after = page[len(page)-1]
		}
	}
}

// Execute implements [delayjob.DelayJob].
func (d *Deliver) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("key %q is no delivery", m.Key))
	}
	one, w, err := d.store.Delivery(ctx, id)
	switch {
	case errors.Is(err, ErrNotFound):
		return delayjob.Drop("no such delivery")
	case err != nil:
		return d.unlessDown(err)
	case one.Version != m.Version:
		return delayjob.Drop("superseded by a resend")
	case one.State == Failed && m.Attempt <= 1: // its dead letter was put back
		one.Expires = d.now().Add(Patience)
	case one.State != Pending:
		return delayjob.Drop("it is " + string(one.State))
	}
	if !w.Active {
		return d.record(ctx, one, Outcome{Error: "the webhook is not active"}, Skipped)
	}
	if !d.now().Before(one.Expires) {
		err := fmt.Errorf("given up after %s; the last time: %s", Patience, one.LastError)
		if one.LastError == "" {
			err = fmt.Errorf("given up after %s", Patience)
		}
		if err := d.record(ctx, one, Outcome{Status: one.Status, Error: err.Error()}, Failed); err != nil {
			return err
		}
		return delayjob.Dead(err)
	}
	wait, leave := d.paces.enter(w.ID, time.Now())
	if wait > 0 {
		return delayjob.Snooze(wait)
	}
	last := d.opts.MaxAttempts > 0 && m.Attempt >= d.opts.MaxAttempts
	return d.post(ctx, one, w, last, leave)
}

// post tells w of a delivery, perhaps for the last time; leave is told how that went.
func (d *Deliver) post(ctx context.Context, one *Delivery, w *Webhook, last bool, leave func(ended)) error {
	body, err := d.bodies.Body(ctx, one.EventID)
	if err != nil {
		leave(unknown)
		return d.unlessDown(err)
	}
	if body == nil {
		leave(unknown)
		return d.record(ctx, one, Outcome{Error: "the meeting is no more"}, Skipped)
	}
	one.Attempts++
	o := send(ctx, d.sender, w, one, body)
	switch {
	case o.Status >= 200 && o.Status < 300:
		leave(well)
		return d.record(ctx, one, o, Delivered)
	case o.Status == 0 && ctx.Err() != nil: // this process stops: not the server's fault
		leave(unknown)
		return context.Cause(ctx)
	case o.Status == http.StatusGone:
		leave(well)
		d.opts.Log.Warn("a webhook is switched off: its server answered 410 Gone", "webhook_id", w.ID)
		if err := d.stop(ctx, w); err != nil {
			return err
		}
		return d.record(ctx, one, o, Failed)
	}
	leave(badly)
	return d.failed(ctx, one, o, last)
}

// failed records that the server did not take a delivery, and tells how to go on.
func (d *Deliver) failed(ctx context.Context, one *Delivery, o Outcome, last bool) error {
	state, verdict := Pending, errors.New(o.Error)
	switch {
	case last:
		state, verdict = Failed, delayjob.Dead(verdict)
	case o.RetryAfter > 0:
		verdict = delayjob.After(o.RetryAfter, verdict)
	}
	if err := d.record(ctx, one, o, state); err != nil {
		return err
	}
	return verdict
}

// stop switches a webhook off whose server wants to hear nothing any more.
func (d *Deliver) stop(ctx context.Context, w *Webhook) error {
	_, err := d.store.UpdateWebhook(ctx, w.ID, func(is *Webhook) error {
		if is.URL != w.URL { // it is another server's by now
			return nil
		}
		is.Active, is.Stopped = false, "its server answered 410 Gone"
		is.Version++
		is.UpdatedAt = d.now()
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return d.unlessDown(err)
}

// record notes what became of an attempt; not that one was sent again meanwhile.
func (d *Deliver) record(ctx context.Context, one *Delivery, o Outcome, s State) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // what was answered was answered
	defer cancel()
	_, err := d.store.UpdateDelivery(ctx, one.ID, func(is *Delivery) error {
		if is.Version != one.Version || is.State == Delivered {
			return nil
		}
		is.State, is.Attempts, is.Expires, is.Status, is.LastError, is.UpdatedAt = s, one.Attempts, one.Expires, o.Status, o.Error, d.now()
		if s == Delivered {
			is.DeliveredAt = is.UpdatedAt
		}
		return nil
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return d.unlessDown(err)
}

func (d *Deliver) now() time.Time { return d.opts.Now().UTC().Truncate(time.Microsecond) }

// unlessDown keeps an outage of the database from using up attempts.
func (d *Deliver) unlessDown(err error) error {
	if err != nil && d.opts.Down(err) {
		return delayjob.Unavailable(err)
	}
	return err
}

// Outcome of a post.
type Outcome struct {
	Status     int           // of the answer; 0: there was none
	Error      string        // "": it was 2xx
	RetryAfter time.Duration // what the server asks for; 0: nothing
	Took       time.Duration
}

// send posts body as the delivery d of w.
func send(ctx context.Context, s *post.Sender, w *Webhook, d *Delivery, body []byte) Outcome {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	id := strconv.FormatInt(d.EventID, 10)
	a, err := s.Send(ctx, post.Post{
		URL: w.URL, Secret: w.Secret, Event: d.Event, ID: id, Key: strconv.FormatInt(w.ID, 10) + ":" + id, Attempt: max(1, d.Attempts), Body: body,
	})
	o := Outcome{Status: a.Status, RetryAfter: a.RetryAfter}
	switch {
	case err != nil:
		o.Error = clip(err.Error())
	case a.Status < 200 || a.Status >= 300:
		o.Error = clip("the server answered " + a.String())
	}
	return o
}
