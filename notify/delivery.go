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

// A Sender hands one notification to a provider. It must be safe for concurrent use.
type Sender interface {
	// Send returns nil once the provider has accepted n. n.MessageID is set and the same in
	// every attempt. [Permanent], [Unavailable], [After] and [Off] classify an error; any
	// other means that a later attempt may succeed, perhaps as a duplicate.
	Send(ctx context.Context, n Notification) error
}

// NoSender is the [Sender] of a channel that is switched off.
type NoSender struct{ Setting string } // that did it, e.g. "sms.driver: off"

// Send implements [Sender].
func (s NoSender) Send(context.Context, Notification) error {
	return Off("not sent: " + s.Setting)
}

// DeliveryOptions tune a [Delivery].
type DeliveryOptions struct {
	// Job overrides what is not zero of the delay job's defaults: concurrency 20, lease 60s,
	// 12 attempts spaced from 2s to 15m, at most 2m each. Its Concurrency is how many notifications
	// are sent at once; further handlers read and record others meanwhile. Its Concurrency and
	// MaxAttempts must be those that the consumer uses.
	Job    delayjob.Options
	Host   string           // right side of the Message-IDs; empty: "localhost"
	Screen Screen           // called right before each attempt; nil: everything may be sent
	Down   func(error) bool // whether an error of the ledger means that the database is away; nil: never
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: silent
}

// Delivery is the delay job that sends what the ledger holds for one channel. The key of its
// messages is the ID of the row, their version the row's.
type Delivery struct {
	channel Channel
	ledger  Ledger
	sender  Sender
	sending *sendings
	slots   *slots
	turns   *turns
	begins  gather.Gatherer[Ask, begunOrError]
	records gather.Gatherer[Outcome, recordedOrError]
	opts    delayjob.Options
	host    string
	down    func(error) bool
	now     func() time.Time
	log     *slog.Logger
}

// NewDelivery makes the delay job "notify.<channel>".
func NewDelivery(c Channel, l Ledger, s Sender, o DeliveryOptions) *Delivery {
	d := &Delivery{
		channel: c,
		ledger:  l,
		sender:  s,
		host:    o.Host,
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
	if d.host == "" {
		d.host = "localhost"
	}
	if d.down == nil {
		d.down = func(error) bool { return false }
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.sending = newSendings(l, d.now, d.log)
	d.slots = newSlots(d.opts.Concurrency)
	d.opts.Handlers = d.slots.most()
	d.turns = newTurns(d.slots.handlers)
	d.begins.Do = func(asks []Ask) []begunOrError { return d.begin(asks, o.Screen) }
	d.records.Do = d.recordAll
	d.begins.Every = together
	return d
}

// Name implements [delayjob.DelayJob].
func (d *Delivery) Name() string { return d.channel.Job() }

// Options implements [delayjob.Configurer].
func (d *Delivery) Options() delayjob.Options { return d.opts }

// Handlers implements [delayjob.Elastic].
func (d *Delivery) Handlers() int { return d.slots.handlers() }

const loadPage = 1000

// Load yields a message for each row that is pending, or that a crash left in sending.
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

// Execute sends one row if it is still to be sent, and records how that ended. Then it goes on with
// the rows of the same thread that waited for this one. A row that is being sent, here or by another
// process, comes again when its lease has run out, and one that waits for older ones of its thread
// comes again in case that the process that sends them dies. A crash before the provider's answer,
// or between it and the record, leads to another attempt with the same Message-ID.
//
// With a Rate it sends one row only, for the consumer counts messages.
func (d *Delivery) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("key %q is no notification", m.Key))
	}
	late := time.Duration(0)
	if !m.Ready.IsZero() {
		late = m.Claimed.Sub(m.Ready)
	}
	next, err := d.attempt(ctx, try{Ask: Ask{ID: id, Version: m.Version, Revive: m.Attempt <= 1}, message: m, late: late})
	for end := time.Now().Add(followFor); next.ID != 0 && d.opts.Rate <= 0 && time.Now().Before(end) && ctx.Err() == nil; {
		follow := try{Ask: Ask{ID: next.ID, Version: next.Version}, message: m, follows: true}
		next, _ = d.attempt(ctx, follow) // if it fails, it comes again by its own message
	}
	return err
}

// followFor is how long a handler goes on with the rows of a thread.
const followFor = 5 * time.Second

// A try is what an attempt is made for: a message, or the end of the older row of a thread.
type try struct {
	Ask
	message delayjob.Message // for its organizer and its failpoints; if it is the row's own, also for its attempts
	late    time.Duration
	follows bool // the row's own message is somewhere else
}

// attempt sends one row. It returns which row of its thread may be sent next, if this one is concluded.
func (d *Delivery) attempt(ctx context.Context, t try) (next Point, err error) {
	wait, end := d.turns.begin(string(t.message.Body), t.late)
	if wait > 0 {
		return next, delayjob.Snooze(wait)
	}
	defer end() // also if a Sender panics
	b := d.begins.Ask(t.Ask)
	n := b.Notification
	switch {
	case b.err != nil:
		return next, d.ledgerError(b.err)
	case n.ID == 0:
		return next, delayjob.Drop("no such notification")
	case n.Version != t.Version:
		return next, delayjob.Drop("superseded by a resend")
	case b.Objection.State != "":
		return d.skip(n, b.Objection)
	case n.State != Pending && n.State != Sending:
		return next, delayjob.Drop("it is " + string(n.State))
	case b.Wait > 0:
		return next, delayjob.Snooze(b.Wait)
	case n.Expired(d.now()):
		return d.skip(n, Objection{SkippedLate, "too late: it was to be sent before " + n.Expires.UTC().Format(time.RFC3339)})
	}
	n.MessageID = n.messageID(d.host)
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
		return next, delayjob.Snooze(sendingLease) // to see what happened to it
	}
	return d.conclude(ctx, t, n, err)
}

// postpone ends an attempt before the provider was called. It does not count. If another process
// has taken over n, this leaves n alone.
func (d *Delivery) postpone(a *attempt, n Notification, wait time.Duration) error {
	d.sending.conclude(a)
	_, err := d.record(n, Outcome{State: Pending, Begun: n.SendingAt, Uncharged: true})
	return cmp.Or(err, delayjob.Snooze(wait))
}

// together is how far apart statements that begin attempts are at least, so that under load each is
// about many of them.
const together = 10 * time.Millisecond

type begunOrError struct {
	Begun
	at  time.Time // a time before its lease was taken
	err error
}

// patience is how long the database may take over a statement about attempts. It is not cut short
// when the process stops: others may have asked in the same statement.
const patience = 10 * time.Second

// begin answers all asks, or all with the error that kept it from that.
func (d *Delivery) begin(asks []Ask, screen Screen) []begunOrError {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answers := make([]begunOrError, len(asks))
	at := time.Now()
	begun, err := d.ledger.Begin(ctx, asks, d.now(), sendingLease, screen)
	for i := range answers {
		if err != nil {
			answers[i].err = err
		} else {
			answers[i].Begun, answers[i].at = begun[i], at
		}
	}
	return answers
}

// sendingContext ends with ctx, except if the queue has delivered the message again. The lease in
// the ledger keeps the other process from sending, and breaking off would leave it open whether the
// provider accepted the notification.
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

// send hands n to the provider and notes how long it took.
func (d *Delivery) send(ctx context.Context, n Notification) error {
	begun := time.Now()
	defer func() { d.slots.note(time.Since(begun)) }() // also if a Sender panics
	return d.sender.Send(ctx, n)
}

// skip records that n is not sent.
func (d *Delivery) skip(n Notification, o Objection) (next Point, err error) {
	next, err = d.record(n, Outcome{State: o.State, Error: o.Reason})
	return next, cmp.Or(err, delayjob.Drop(o.Reason))
}

// conclude records what a Sender returned and tells the consumer how to go on.
func (d *Delivery) conclude(ctx context.Context, t try, n Notification, err error) (next Point, verdict error) {
	if err == nil {
		return d.record(n, Outcome{State: Sent, Begun: n.SendingAt})
	}
	r := classify(err)
	o := Outcome{State: Pending, Begun: n.SendingAt, Error: err.Error()}
	switch {
	case t.follows: // its own message concludes it
		o.Uncharged, verdict = r.class == off || r.class == unavailable, err
	case r.class == permanent:
		o.State, verdict = Failed, delayjob.Drop(err.Error())
	case r.class == off:
		o.State, o.Uncharged, verdict = Skipped, true, delayjob.Drop(err.Error())
	case r.class == unavailable:
		o.Uncharged, verdict = true, delayjob.Unavailable(err)
	case ctx.Err() != nil: // we are stopping: not the notification's fault
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

type recordedOrError struct {
	next Point
	err  error
}

// record writes an outcome even while the process is being stopped, for what the provider has
// accepted is accepted. Failing to write it costs a duplicate, so it is tried more than once.
func (d *Delivery) record(n Notification, o Outcome) (next Point, err error) {
	o.ID, o.Version, o.MessageID, o.At = n.ID, n.Version, n.MessageID, d.now()
	o.Error = shorten(o.Error)
	pause := 50 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		r := d.records.Ask(o)
		if r.err == nil {
			return r.next, nil
		}
		if time.Now().After(end) {
			return Point{}, d.ledgerError(fmt.Errorf("record notification %d as %s: %w", n.ID, o.State, r.err))
		}
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Second)
	}
}

// recordAll records outcomes together or, if that fails, each by itself: one that the database
// refuses keeps no other from being recorded.
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
		answers[i] = recordedOrError{one[o.ID], err}
	}
	return answers
}

// ledgerError keeps an outage of the database from using up a notification's attempts.
func (d *Delivery) ledgerError(err error) error {
	if d.down(err) {
		return delayjob.Unavailable(err)
	}
	return err
}

// maxError bounds what a provider can make us store.
const maxError = 1000

func shorten(s string) string {
	if len(s) <= maxError {
		return s
	}
	cut := maxError
	for cut > 0 && s[cut]&0xC0 == 0x80 { // not inside a rune
		cut--
	}
	return s[:cut] + "..."
}
