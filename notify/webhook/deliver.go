package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/gather"
	post "punctual/delayjob/webhook"
)

// Bodies provides the content of events.
type Bodies interface {
	// Bodies returns the JSON of events by ID, as seen by a user who takes part in none of the
	// meetings. It omits events of deleted meetings.
	Bodies(ctx context.Context, events []int64) (map[int64][]byte, error)
}

// Deliver is the delay job webhook.deliver. It posts one delivery, after all older events of the
// same meeting to the same webhook are final, and then the later ones that wait for it. A crash
// before the result is recorded repeats the post with the same event ID. Up to fifty events of one
// meeting, those of the last second, are recorded at a time.
//
// Deliveries that run at the same time share their statements.
type Deliver struct {
	store   Store
	bodies  Bodies
	sender  *post.Sender
	opts    DeliverOptions
	paces   paces
	picks   gather.Gatherer[int64, pickedOrError]
	texts   gather.Gatherer[[]int64, bodiesOrError]
	records gather.Gatherer[[]*Delivery, error]
	nexts   gather.Gatherer[*Delivery, waitingOrError]
	ends    gather.Gatherer[*Delivery, error]
}

type pickedOrError struct {
	Picked // without a Delivery: it does not exist
	err    error
}

type bodiesOrError struct {
	of  map[int64][]byte // by event; none if its meeting is deleted
	err error
}

type waitingOrError struct {
	Waiting
	err error
}

// DeliverOptions configure a Deliver. All except MaxAttempts are required.
type DeliverOptions struct {
	MaxAttempts int              // of the consumer; not positive: deliveries fail only by age
	Down        func(error) bool // whether an error means that the database is down
	Now         func() time.Time
	Log         *slog.Logger
}

// NewDeliver returns the delay job.
func NewDeliver(store Store, bodies Bodies, sender *post.Sender, o DeliverOptions) *Deliver {
	d := &Deliver{store: store, bodies: bodies, sender: sender, opts: o}
	d.picks.Do, d.texts.Do, d.records.Do, d.nexts.Do, d.ends.Do = d.pickAll, d.readAll, d.recordAll, d.nextAll, d.finishAll
	return d
}

// patience is the time limit of a statement that several deliveries share.
const patience = 10 * time.Second

func (d *Deliver) pickAll(ids []int64) []pickedOrError {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	picked, err := d.store.Pick(ctx, ids)
	answers := make([]pickedOrError, len(ids))
	for i, id := range ids {
		p := picked[id]
		if p.Delivery != nil { // each handler changes its own
			p.Delivery, p.Webhook = new(*p.Delivery), new(*p.Webhook)
		}
		answers[i] = pickedOrError{p, err}
	}
	return answers
}

// readAll reads the bodies of all lists together or, if that fails, list by list, so that an event
// that cannot be read does not block others.
func (d *Deliver) readAll(lists [][]int64) []bodiesOrError {
	answer := d.read(slices.Concat(lists...))
	answers := slices.Repeat([]bodiesOrError{answer}, len(lists))
	if answer.err != nil && len(lists) > 1 && !d.opts.Down(answer.err) {
		for i := range lists {
			answers[i] = d.read(lists[i])
		}
	}
	return answers
}

const readMost = 500 // events whose bodies are read together

// read reads the body of each event once, although it may be posted to several webhooks.
func (d *Deliver) read(events []int64) (answer bodiesOrError) {
	defer func() {
		if p := recover(); p != nil {
			answer.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	answer.of = map[int64][]byte{}
	for page := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(events))), readMost) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		bodies, err := d.bodies.Bodies(ctx, page)
		cancel()
		if err != nil {
			return bodiesOrError{err: err}
		}
		maps.Copy(answer.of, bodies)
	}
	return answer
}

// recordAll stores deliveries together or, if that fails, list by list and then one by one, so that
// a rejected one does not block the others.
func (d *Deliver) recordAll(lists [][]*Delivery) []error {
	all := slices.Concat(lists...)
	err := d.recordNow(all)
	errs := slices.Repeat([]error{err}, len(lists))
	switch {
	case err == nil || len(all) == 1 || d.opts.Down(err):
	case len(lists) > 1:
		for i := range lists {
			errs[i] = d.recordAll(lists[i : i+1])[0]
		}
	default:
		errs[0] = nil
		for i := range all {
			errs[0] = cmp.Or(errs[0], d.recordNow(all[i:i+1]))
		}
	}
	return errs
}

func (d *Deliver) recordNow(ds []*Delivery) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return d.store.Record(ctx, ds)
}

func (d *Deliver) nextAll(firsts []*Delivery) []waitingOrError {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	waiting, err := d.store.Next(ctx, firsts, d.now(), pageMost)
	if err != nil {
		return slices.Repeat([]waitingOrError{{err: err}}, len(firsts))
	}
	answers := make([]waitingOrError, len(firsts))
	for i, w := range waiting {
		if w.Webhook != nil { // each handler changes its own
			w.Webhook = new(*w.Webhook)
		}
		answers[i].Waiting = w
	}
	return answers
}

func (d *Deliver) finishAll(firsts []*Delivery) []error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return slices.Repeat([]error{d.store.Finish(ctx, firsts, d.now())}, len(firsts))
}

// Name implements [delayjob.DelayJob].
func (*Deliver) Name() string { return Job }

const (
	responseTimeout = 10 * time.Second
	concurrency     = 4 * atMost // so that some servers that hang do not block others
	loadPage        = 500
)

// Options implements [delayjob.Configurer]. By default a delivery fails by its age, not by the
// number of attempts.
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
		return delayjob.Dead(fmt.Errorf("invalid delivery key %q", m.Key))
	}
	p := d.picks.Ask(id)
	one, w := p.Delivery, p.Webhook
	switch {
	case p.err != nil:
		return d.unlessDown(p.err)
	case one == nil:
		return delayjob.Drop("no such delivery")
	case one.Version != m.Version:
		return delayjob.Drop("superseded by a resend")
	case one.Leading():
		return d.takeOver(ctx, one, w)
	case one.State == Failed && m.Attempt <= 1: // its dead letter was requeued
		one.Expires = d.now().Add(Patience)
	case one.State != Pending:
		return delayjob.Drop("already " + string(one.State))
	}
	if !w.Active {
		return d.record(one, Outcome{Error: inactive}, Skipped)
	}
	if !d.now().Before(one.Expires) {
		err := fmt.Errorf("failed after %s; last error: %s", Patience, one.LastError)
		if one.LastError == "" {
			err = fmt.Errorf("failed after %s", Patience)
		}
		if err := d.record(one, Outcome{Status: one.Status, Error: err.Error()}, Failed); err != nil {
			return err
		}
		return delayjob.Dead(err)
	}
	if p.Ahead > 0 {
		return delayjob.Snooze(max(retryBehind(p.Ahead, d.now().Sub(one.Due)), d.paces.line(w.ID)))
	}
	last := d.opts.MaxAttempts > 0 && m.Attempt >= d.opts.MaxAttempts
	if wait := one.Due.Sub(d.now()); wait > 0 && one.Attempts >= m.Attempt {
		// It was posted right after an older event and failed: that was this attempt.
		return d.failed(one, Outcome{Status: one.Status, Error: one.LastError, RetryAfter: wait}, last)
	}
	wait, s := d.paces.enter(ctx, w.ID)
	if wait > 0 {
		return delayjob.Snooze(wait)
	}
	defer s.release()
	texts := d.texts.Ask([]int64{one.EventID})
	text := texts.of[one.EventID]
	switch {
	case texts.err != nil:
		return d.unlessDown(texts.err)
	case text == nil:
		return d.record(one, Outcome{Error: noMeeting}, Skipped)
	}
	concluded := Delivered
	if p.Behind && one.State == Pending && one.Version == 1 {
		concluded = Pending // it leads those that wait for it
	}
	err = d.post(ctx, one, w, text, s, concluded)
	if r, ok := errors.AsType[*rejection](err); ok {
		return d.failed(one, r.Outcome, last)
	}
	if err != nil {
		return err
	}
	if err := d.unlessDown(d.records.Ask([]*Delivery{one})); err != nil || !one.Leading() {
		return err
	}
	return d.lead(ctx, one, s)
}

// retryBehind returns when to check again whether older events of a meeting are final: later if
// there are many, and ever later while the delivery is overdue. Usually the process that posts them
// continues with this one; this is for when it does not.
func retryBehind(ahead int, late time.Duration) time.Duration {
	return min(max(time.Duration(ahead)*20*time.Millisecond, late/2), 10*time.Second)
}

const (
	leadMost   = 100 // posts per handler and message
	leadTime   = 5 * time.Second
	shortPause = 2 * latest // longer pauses end the leading; those for want of a slot never do
)

// takeOver continues a leading delivery after its handler ended, and keeps that handler from
// continuing.
func (d *Deliver) takeOver(ctx context.Context, first *Delivery, w *Webhook) error {
	wait, s := d.paces.enter(ctx, w.ID)
	switch {
	case wait > shortPause:
		return d.finish(first)
	case wait > 0:
		return delayjob.Snooze(wait)
	}
	defer s.release()
	before := first.UpdatedAt
	first.UpdatedAt = d.now()
	if !first.UpdatedAt.After(before) {
		first.UpdatedAt = before.Add(time.Microsecond)
	}
	if err := d.records.Ask([]*Delivery{first}); err != nil {
		return d.unlessDown(err)
	}
	return d.lead(ctx, first, s)
}

// lead posts the deliveries that wait for first, one after another, until none is left or one
// fails. After a while, or if others wait for the slot, it snoozes the message of first, due now, for
// the rest.
func (d *Deliver) lead(ctx context.Context, first *Delivery, s *slot) error {
	begun := time.Now()
	for n := 0; n < leadMost && time.Since(begun) < leadTime && (n == 0 || !s.wanted()); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		read := time.Now()
		next := d.nexts.Ask(first)
		if next.err != nil {
			return d.unlessDown(next.err)
		}
		if len(next.Deliveries) == 0 {
			return d.finish(first)
		}
		page := next.Deliveries[:min(len(next.Deliveries), leadMost-n)]
		posted, wait, err := d.follow(ctx, page, next.Webhook, s, read.Add(pageTime))
		n += posted
		switch {
		case err != nil:
			return err
		case wait > shortPause, posted == len(next.Deliveries) && posted < pageMost:
			return d.finish(first)
		case wait > 0:
			return delayjob.Snooze(wait)
		}
	}
	return delayjob.Snooze(0)
}

const (
	// pageMost is how many waiting deliveries are read, posted and then recorded together. A crash
	// repeats the posts.
	pageMost = 50
	// pageTime limits the posting after a read, because another process may have taken over.
	pageTime = time.Second
)

// stopLeading stops the posting until the failed delivery is retried.
const stopLeading = time.Duration(math.MaxInt64)

// follow posts waiting deliveries one after another until a deadline, and records their outcomes
// together. It returns how many are done, and how long to wait before the next.
func (d *Deliver) follow(ctx context.Context, waiting []*Delivery, w *Webhook, s *slot, until time.Time) (n int, wait time.Duration, err error) {
	var done []*Delivery
	defer func() {
		if failed := d.conclude(done); failed != nil {
			err = failed
		}
	}()
	events := make([]int64, len(waiting))
	for i, one := range waiting {
		events[i] = one.EventID
	}
	texts := d.texts.Ask(events)
	if texts.err != nil {
		return 0, 0, d.unlessDown(texts.err)
	}
	for _, one := range waiting {
		if time.Now().After(until) {
			return n, 0, nil
		}
		done = append(done, one)
		n++
		switch text := texts.of[one.EventID]; {
		case !w.Active:
			d.setOutcome(one, Outcome{Error: inactive}, Skipped)
			continue
		case text == nil:
			d.setOutcome(one, Outcome{Error: noMeeting}, Skipped)
			continue
		default:
			if wait := s.wait(); wait > 0 {
				done = done[:len(done)-1]
				return n - 1, wait, nil
			}
			err = d.post(ctx, one, w, text, s, Delivered)
		}
		if r, ok := errors.AsType[*rejection](err); ok {
			one.Due = d.now().Add(cmp.Or(r.RetryAfter, d.Options().Backoff.Delay(one.Attempts))) // retried by its own message
			d.setOutcome(one, r.Outcome, Pending)
			return n, stopLeading, nil
		}
		if err != nil { // the attempt counts in any case
			return n, 0, err
		}
	}
	return n, 0, nil
}

func (d *Deliver) conclude(ds []*Delivery) error {
	if len(ds) == 0 {
		return nil
	}
	return d.unlessDown(d.records.Ask(ds))
}

// finish records a leading delivery as delivered. The next waiting one has its own message.
func (d *Deliver) finish(first *Delivery) error { return d.unlessDown(d.ends.Ask(first)) }

const (
	inactive  = "the webhook is not active"
	noMeeting = "the meeting is deleted"
)

// A rejection reports that the server did not accept a delivery.
type rejection struct{ Outcome }

func (r *rejection) Error() string { return r.Outcome.Error }

// post posts a delivery and sets its outcome if the server accepted it. Otherwise it returns a
// [rejection] and does not set an outcome.
func (d *Deliver) post(ctx context.Context, one *Delivery, w *Webhook, text []byte, s *slot, concluded State) error {
	one.Attempts++
	begun, how := time.Now(), unknown
	o := send(ctx, d.sender, w, one, text)
	took := time.Since(begun)
	defer func() { s.ended(how, took) }()
	switch {
	case o.Status >= 200 && o.Status < 300:
		how = succeeded
		one.DeliveredAt = d.now()
		d.setOutcome(one, o, concluded)
		return nil
	case o.Status == 0 && ctx.Err() != nil: // shutdown is not the server's fault
		return context.Cause(ctx)
	case o.Status == http.StatusGone:
		how = succeeded
		d.opts.Log.Warn("webhook deactivated, server answered 410 Gone", "webhook_id", w.ID)
		if err := d.stop(ctx, w); err != nil {
			return err
		}
		d.setOutcome(one, o, Failed)
		return nil
	}
	how = failing
	return &rejection{o}
}

func (d *Deliver) failed(one *Delivery, o Outcome, last bool) error {
	state, verdict := Pending, errors.New(o.Error)
	switch {
	case last:
		state, verdict = Failed, delayjob.Dead(verdict)
	case o.RetryAfter > 0:
		verdict = delayjob.After(o.RetryAfter, verdict)
	}
	if err := d.record(one, o, state); err != nil {
		return err
	}
	return verdict
}

// stop deactivates a webhook and sets w to what it is now.
func (d *Deliver) stop(ctx context.Context, w *Webhook) error {
	now, err := d.store.UpdateWebhook(ctx, w.ID, func(is *Webhook) error {
		if is.URL != w.URL { // the URL has changed since
			return nil
		}
		is.Active, is.Stopped = false, "its server answered 410 Gone"
		is.Version++
		is.UpdatedAt = d.now()
		return nil
	})
	switch {
	case err == nil:
		*w = *now
	case errors.Is(err, ErrNotFound):
		w.Active = false
	default:
		return d.unlessDown(err)
	}
	return nil
}

func (d *Deliver) setOutcome(one *Delivery, o Outcome, s State) {
	one.State, one.Status, one.LastError, one.UpdatedAt = s, o.Status, o.Error, d.now()
}

// record sets and stores the outcome of an attempt, unless it was resent meanwhile. It continues
// during shutdown, because the server has already answered.
func (d *Deliver) record(one *Delivery, o Outcome, s State) error {
	d.setOutcome(one, o, s)
	return d.unlessDown(d.records.Ask([]*Delivery{one}))
}

func (d *Deliver) now() time.Time { return d.opts.Now().UTC().Truncate(time.Microsecond) }

// unlessDown keeps a database outage from using up attempts.
func (d *Deliver) unlessDown(err error) error {
	if err != nil && d.opts.Down(err) {
		return delayjob.Unavailable(err)
	}
	return err
}

// Outcome is the result of a post.
type Outcome struct {
	Status     int           // HTTP status; 0: no response
	Error      string        // "" for 2xx
	RetryAfter time.Duration // requested by the server; 0: none
	Took       time.Duration
}

func send(ctx context.Context, s *post.Sender, w *Webhook, d *Delivery, body []byte) Outcome {
	ctx, cancel := context.WithTimeout(ctx, responseTimeout)
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
