package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/failpoint"
	"punctual/delayjob/gather"
)

// A Sender sends one notification through a provider. Safe for concurrent use.
type Sender interface {
	// Send returns nil once the provider has accepted n. n.MessageID is set and the same in every
	// attempt. [Permanent], [Unavailable], [After], [Later] and [Off] classify errors. Other errors mean
	// that a retry may succeed, perhaps as a duplicate.
	Send(ctx context.Context, n Notification) error
}

// An Observer counts. Its methods must not block.
type Observer interface {
	// Concluded is called for each notification that reached a final state, with the time since it was
	// recorded, or since it was resent.
	Concluded(k Kind, c Channel, s State, took time.Duration)
}

// NoSender is the [Sender] of a channel that is switched off.
type NoSender struct{ Setting string } // such as "sms.driver: off"

// Send implements [Sender].
func (s NoSender) Send(context.Context, Notification) error {
	return Off("not sent: " + s.Setting)
}

// DeliveryOptions configure a [Delivery].
type DeliveryOptions struct {
	// Job overrides the defaults of the delay job: concurrency 20, lease 60s, 12 attempts with a
	// backoff from 2s to 15m, at most 2m each. Concurrency limits how many notifications are sent
	// at once. More handlers read and record others meanwhile. The consumer must use the same
	// Concurrency and MaxAttempts.
	Job  delayjob.Options
	Host string // domain of Message-IDs; "": "localhost"
	// Sign signs a text with a secret, for [Notification.Proof]; nil: mails have no proof.
	Sign     func(text []byte) []byte
	Observer Observer         // nil: none
	Screen   Screen           // called right before each attempt; nil: everything may be sent
	Down     func(error) bool // whether an error means that the database is down; nil: never
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: discard
}

// Delivery is the delay job that sends the notifications of one channel. The key of a message is
// the ID of the row, its version that of the row.
type Delivery struct {
	channel Channel
	ledger  Ledger
	sender  Sender
	sending *sendings
	slots   *slots
	turns   *turns
	begins  gather.Gatherer[BeginRequest, beginResultOrError]
	records gather.Gatherer[Outcome, recordedOrError]
	opts    delayjob.Options
	host    string
	sign    func([]byte) []byte
	observe Observer
	down    func(error) bool
	now     func() time.Time
	log     *slog.Logger
}

// NewDelivery returns the delay job "notify.<channel>".
func NewDelivery(c Channel, l Ledger, s Sender, o DeliveryOptions) *Delivery {
	d := &Delivery{
		channel: c,
		ledger:  l,
		sender:  s,
		host:    o.Host,
		sign:    o.Sign,
		observe: o.Observer,
		down:    o.Down,
		now:     o.Now,
		log:     o.Log,
		opts: delayjob.Options{
			Concurrency: 20,
			Lease:       time.Minute,
			MaxRuntime:  2 * time.Minute,
			MaxAttempts: 12,
			Backoff:     delayjob.Backoff{Base: 2 * time.Second, Cap: 15 * time.Minute},
		}.Merge(o.Job).WithDefaults(false),
	}
	d.host = cmp.Or(d.host, "localhost")
	if d.down == nil {
		d.down = func(error) bool { return false }
	}
	if d.now == nil {
		d.now = time.Now
	}
	d.log = cmp.Or(d.log, slog.New(slog.DiscardHandler))
	d.sending = newSendings(l, d.now, d.log)
	d.slots = newSlots(d.opts.Concurrency)
	d.opts.Handlers = d.slots.maxHandlers()
	d.turns = newTurns(d.slots.handlers)
	d.begins.Do = func(requests []BeginRequest) []beginResultOrError { return d.begin(requests, o.Screen) }
	d.records.Do = d.recordAll
	d.begins.Every = beginInterval
	return d
}

// Name implements [delayjob.DelayJob].
func (d *Delivery) Name() string { return d.channel.Job() }

// Options implements [delayjob.Configurer].
func (d *Delivery) Options() delayjob.Options { return d.opts }

// Handlers implements [delayjob.Elastic].
func (d *Delivery) Handlers() int { return d.slots.handlers() }

const loadPage = 1000

// Load yields a message for each row that is pending or that a crash left sending.
func (d *Delivery) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		var after Point
		for {
			page, err := d.ledger.Due(ctx, d.channel, w, after, loadPage)
			if err != nil {
				yield(delayjob.Message{}, fmt.Errorf("load due notifications: %w", err))
				return
			}
			for _, p := range page {
				if !yield(message(d.channel, p), nil) {
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

// Execute sends one row and records the outcome. It then continues with the rows of the same
// thread that waited for this one, or sends first what this one would have overtaken. A row that is being sent, by any process, is retried when its
// lease expires. A row that waits for older rows of its thread is retried too, in case the process
// that sends them dies. A crash before the outcome is recorded leads to another attempt with the
// same Message-ID.
//
// With a Rate it sends only one row, because the consumer counts messages.
func (d *Delivery) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("invalid notification key %q", m.Key))
	}
	late := time.Duration(0)
	if !m.Ready.IsZero() {
		late = m.Claimed.Sub(m.Ready)
	}
	next, err := d.attempt(ctx, try{BeginRequest: BeginRequest{ID: id, Version: m.Version, Revive: m.Attempt <= 1}, message: m, late: late})
	for end := time.Now().Add(followFor); next.ID != 0 && d.opts.Rate <= 0 && time.Now().Before(end) && ctx.Err() == nil; {
		follow := try{BeginRequest: BeginRequest{ID: next.ID, Version: next.Version}, message: m, follows: true}
		next, _ = d.attempt(ctx, follow) // on failure, its own message retries it
	}
	return err
}

// followFor is how long a handler continues with the rows of a thread.
const followFor = 5 * time.Second

type try struct {
	BeginRequest
	message delayjob.Message // provides the organizer and failpoints; and the attempts, if it is the row's own
	late    time.Duration
	follows bool // the row has its own message elsewhere
}

// attempt sends one row. If the row is then final, it returns the next row of its thread.
func (d *Delivery) attempt(ctx context.Context, t try) (next Point, err error) {
	wait, end := d.turns.begin(string(t.message.Body), t.late)
	if wait > 0 {
		return next, delayjob.Snooze(wait)
	}
	defer end() // also if a Sender panics
	b := d.begins.Ask(t.BeginRequest)
	n := b.Notification
	switch {
	case b.err != nil:
		return next, d.ledgerError(b.err)
	case n.ID == 0:
		return next, delayjob.Drop("no such notification")
	case n.Version != t.Version:
		return next, delayjob.Drop("superseded by a resend")
	case b.Objection.State == Pending:
		return next, d.wait(n, b.Objection)
	case b.Objection.State != "":
		return d.skip(n, b.Objection)
	case n.State != Pending && n.State != Sending:
		return next, delayjob.Drop("already " + string(n.State))
	case b.Wait > 0:
		return b.First, delayjob.Snooze(b.Wait)
	case n.Expired(d.now()):
		return d.skip(n, Objection{State: SkippedLate, Reason: "expired: was to be sent before " + n.Expires.UTC().Format(time.RFC3339)})
	}
	n.MessageID, n.Except = n.messageID(d.host), b.Objection.Except
	if b.Objection.Facts != nil {
		n.Facts = *b.Objection.Facts
	}
	if d.sign != nil {
		n.Proof = n.proof(d.sign)
	}
	sending, cancel := sendingContext(ctx)
	defer cancel()
	sending, a := d.sending.begin(sending, n, b.at)
	defer d.sending.end(a) // once the outcome is recorded, or if a Sender panics
	free, ok := d.slots.take(sending)
	if !ok {
		return next, d.postpone(a, n, longWait)
	}
	defer free()
	failpoint.Reach("send.before", t.message.Job)
	if !d.sending.confirm(a) {
		return next, d.postpone(a, n, sendingLease)
	}
	err = d.send(sending, n)
	lost := d.sending.conclude(a)
	failpoint.Reach("send.after", t.message.Job)
	if lost && err != nil {
		return next, delayjob.Snooze(sendingLease) // check its state again later
	}
	return d.conclude(ctx, t, n, err)
}

// postpone ends an attempt before the provider was called. The attempt does not count. If another
// process has taken over n, it leaves n alone.
func (d *Delivery) postpone(a *attempt, n Notification, wait time.Duration) error {
	d.sending.conclude(a)
	_, err := d.record(n, Outcome{State: Pending, Begun: n.SendingAt, Uncharged: true})
	return cmp.Or(err, delayjob.Snooze(wait))
}

// beginInterval is the minimum interval between statements that begin attempts, so that under load
// each covers many.
const beginInterval = 10 * time.Millisecond

type beginResultOrError struct {
	BeginResult
	at  time.Time // before the lease was taken
	err error
}

// patience is the time limit of a statement for many attempts. It is independent of shutdown,
// because others share the statement.
const patience = 10 * time.Second

// begin returns a result for each of requests, or the same error for all.
func (d *Delivery) begin(requests []BeginRequest, screen Screen) []beginResultOrError {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answers := make([]beginResultOrError, len(requests))
	at := time.Now()
	begun, err := d.ledger.Begin(ctx, requests, d.now(), sendingLease, screen)
	for i := range answers {
		if err != nil {
			answers[i].err = err
		} else {
			answers[i].BeginResult, answers[i].at = begun[i], at
		}
	}
	return answers
}

// sendingContext ends with ctx, unless the queue has delivered the message again. In that case the
// lease in the ledger keeps the other process from sending, and canceling would leave the outcome
// unknown.
func sendingContext(ctx context.Context) (context.Context, context.CancelFunc) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if end, ok := ctx.Deadline(); ok {
		sending, cancel = context.WithDeadline(context.WithoutCancel(ctx), end)
	}
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), delayjob.ErrLeaseLost) {
			cancel()
		}
	})
	return sending, func() { stop(); cancel() }
}

func (d *Delivery) send(ctx context.Context, n Notification) error {
	begun := time.Now()
	defer func() { d.slots.observe(time.Since(begun)) }() // also if a Sender panics
	return d.sender.Send(ctx, n)
}

func (d *Delivery) skip(n Notification, o Objection) (next Point, err error) {
	next, err = d.record(n, Outcome{State: o.State, Error: o.Reason})
	return next, cmp.Or(err, delayjob.Drop(o.Reason))
}

// nearWait is how long a notification waits in the queue. If it waits longer, the loader finds it in the
// ledger when it is due.
const nearWait = 10 * time.Minute

// wait moves the due time of a notification. A message that is delivered again after a crash finds the same
// objection.
func (d *Delivery) wait(n Notification, o Objection) error {
	if _, err := d.record(n, Outcome{State: Pending, Error: o.Reason, Due: o.Until}); err != nil {
		return err
	}
	if wait := o.Until.Sub(d.now()); wait < nearWait {
		return delayjob.Snooze(max(wait, 0))
	}
	return delayjob.Drop(o.Reason)
}

// longestLater is how long after its due time a notification may be put off by [Later]. Then attempts count.
const longestLater = 24 * time.Hour

// conclude records the outcome of a Sender and returns the verdict for the consumer.
func (d *Delivery) conclude(ctx context.Context, t try, n Notification, err error) (next Point, verdict error) {
	if err == nil {
		return d.record(n, Outcome{State: Sent, Begun: n.SendingAt})
	}
	r := classify(err)
	o := Outcome{State: Pending, Begun: n.SendingAt, Error: err.Error()}
	switch {
	case t.follows: // its own message concludes it
		o.Uncharged, verdict = r.class == off || r.class == unavailable || r.class == later, err
	case r.class == permanent:
		o.State, verdict = Failed, delayjob.Drop(err.Error())
	case r.class == off:
		o.State, o.Uncharged, verdict = Skipped, true, delayjob.Drop(err.Error())
	case r.class == later && d.now().Sub(n.Due) < longestLater:
		o.Uncharged, verdict = true, delayjob.Snooze(r.after)
	case r.class == unavailable:
		o.Uncharged, verdict = true, delayjob.Unavailable(err)
	case ctx.Err() != nil: // shutdown is not the notification's fault
		verdict = err
	case d.opts.MaxAttempts > 0 && t.message.Attempt >= d.opts.MaxAttempts:
		o.State, verdict = Failed, delayjob.Dead(err)
	case r.after > 0:
		verdict = delayjob.After(r.after, err)
	default:
		verdict = err
	}
	if o.State == Failed {
		d.log.WarnContext(ctx, "notification failed",
			"notification_id", n.ID, "kind", n.Kind, "channel", n.Channel, "attempts", n.Attempts, "error", err)
	}
	next, err = d.record(n, o)
	return next, cmp.Or(err, verdict)
}

// count reports a final state to the observer.
func (d *Delivery) count(n Notification, s State) {
	if d.observe == nil || s == Pending {
		return
	}
	since := n.CreatedAt
	if n.Version > 1 { // a resend begins at its due time
		since = n.Due
	}
	d.observe.Concluded(n.Kind, n.Channel, s, d.now().Sub(since))
}

type recordedOrError struct {
	next   Point
	stored bool // false also if another process has taken over
	err    error
}

// record stores an outcome, even during shutdown. It retries, because a lost outcome causes a
// duplicate.
func (d *Delivery) record(n Notification, o Outcome) (next Point, err error) {
	o.ID, o.Version, o.MessageID, o.At = n.ID, n.Version, n.MessageID, d.now()
	o.Error = shorten(o.Error)
	pause := 50 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		r := d.records.Ask(o)
		if r.err == nil {
			if r.stored {
				d.count(n, o.State)
			}
			return r.next, nil
		}
		if time.Now().After(end) {
			return Point{}, d.ledgerError(fmt.Errorf("record notification %d as %s: %w", n.ID, o.State, r.err))
		}
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Second)
	}
}

// recordAll stores outcomes together or, if that fails, one by one, so that a rejected outcome
// does not block the others.
func (d *Delivery) recordAll(os []Outcome) []recordedOrError {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answers := make([]recordedOrError, len(os))
	next, err := d.ledger.Record(ctx, os)
	for i, o := range os {
		one, err := next, err
		if err != nil && len(os) > 1 && !d.down(err) {
			one, err = d.ledger.Record(ctx, os[i:i+1])
		}
		next, stored := one[o.ID]
		answers[i] = recordedOrError{next, stored, err}
	}
	return answers
}

// ledgerError keeps a database outage from using up attempts.
func (d *Delivery) ledgerError(err error) error {
	if d.down(err) {
		return delayjob.Unavailable(err)
	}
	return err
}

const maxError = 1000

func shorten(s string) string { return shortenTo(maxError, s) }

func shortenTo(most int, s string) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not inside a rune
		cut--
	}
	return s[:cut] + "..."
}
