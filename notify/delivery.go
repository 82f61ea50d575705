package notify

import (
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
	// 12 attempts spaced from 2s to 15m, at most 2m each. Its MaxAttempts must be the one the
	// consumer uses, for after the last attempt the ledger says failed.
	Job  delayjob.Options
	Host string // right side of the Message-IDs; empty: "localhost"
	// Obsolete is asked right before each attempt; nil: nothing ever is.
	Obsolete Obsolete
	Down     func(error) bool // whether an error of the ledger means that the database is away; nil: never
	Now      func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: silent
}

// Delivery is the delay job that sends what the ledger holds for one channel. The key of its
// messages is the ID of the row, their version the row's.
type Delivery struct {
	channel Channel
	ledger  Ledger
	sender  Sender
	sending *sendings
	turns   *turns
	origins gather.Gatherer[int64, originOrError]
	begins  gather.Gatherer[Ask, begunOrError]
	records gather.Gatherer[Outcome, error]
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
	d.turns = newTurns(d.opts.Concurrency)
	d.origins.Do = d.originsOf
	d.begins.Do = func(asks []Ask) []begunOrError { return d.begin(asks, o.Obsolete) }
	d.records.Do = d.recordAll
	return d
}

// Name implements [delayjob.DelayJob].
func (d *Delivery) Name() string { return d.channel.Job() }

// Options implements [delayjob.Configurer].
func (d *Delivery) Options() delayjob.Options { return d.opts }

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
				n := Notification{ID: p.ID, Channel: d.channel, Version: p.Version, Due: p.Due}
				if !yield(n.Message(), nil) {
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

// Execute sends one row if it is still to be sent, and records how that ended. One that is being
// sent, here or by another process, comes again when its lease has run out, and one that is in
// line when the older ones may be concluded. A crash before the provider's answer, or between it
// and the record, leads to another attempt with the same Message-ID.
func (d *Delivery) Execute(ctx context.Context, m delayjob.Message) error {
	id, err := strconv.ParseInt(m.Key, 10, 64)
	if err != nil {
		return delayjob.Dead(fmt.Errorf("key %q is no notification", m.Key))
	}
	if wait, err := d.turn(id, m); err != nil {
		return d.ledgerError(err)
	} else if wait > 0 {
		return delayjob.Snooze(wait)
	}
	// A failed row comes again with attempts left only if an operator put its dead message back.
	b := d.begins.Ask(Ask{ID: id, Version: m.Version, Revive: m.Attempt <= 1})
	n := b.Notification
	switch {
	case b.err != nil:
		return d.ledgerError(b.err)
	case n.ID == 0:
		return delayjob.Drop("no such notification")
	case n.Version != m.Version:
		return delayjob.Drop("superseded by a resend")
	case n.State != Pending && n.State != Sending:
		return delayjob.Drop("it is " + string(n.State))
	case b.Wait > 0:
		return delayjob.Snooze(b.Wait)
	case n.Expired(d.now()):
		return d.skipLate(n)
	}
	n.MessageID = n.messageID(d.host)
	defer d.turns.begin(n.Organizer())()
	failpoint.Reach("send.before", m.Job)
	lost, err := d.send(ctx, n)
	failpoint.Reach("send.after", m.Job)
	if lost && err != nil {
		return delayjob.Snooze(sendingLease) // to see what became of it
	}
	return d.conclude(ctx, m, n, err)
}

// turn is how long a message waits so that those of other organizers come up; 0: it may be sent.
// Reminders never wait, for they are of use at their time alone.
func (d *Delivery) turn(id int64, m delayjob.Message) (time.Duration, error) {
	now, late := time.Now(), time.Duration(0)
	if !m.Ready.IsZero() {
		late = m.Claimed.Sub(m.Ready)
	}
	if !d.turns.crowd(late, now) {
		return 0, nil
	}
	o := d.origins.Ask(id)
	if o.err != nil || o.Organizer == "" || o.Kind == Reminder {
		return 0, o.err
	}
	return d.turns.wait(o.Organizer, now), nil
}

type originOrError struct {
	Origin
	err error
}

func (d *Delivery) originsOf(ids []int64) []originOrError {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	origins, err := d.ledger.Origins(ctx, ids)
	answers := make([]originOrError, len(ids))
	for i, id := range ids {
		answers[i] = originOrError{origins[id], err}
	}
	return answers
}

type begunOrError struct {
	Begun
	err error
}

// patience is how long the database may take over a statement about attempts. It is not cut short
// when the process stops: others may have asked in the same statement.
const patience = 10 * time.Second

// begin answers all asks, or all with the error that kept it from that.
func (d *Delivery) begin(asks []Ask, obsolete Obsolete) []begunOrError {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answers := make([]begunOrError, len(asks))
	begun, err := d.ledger.Begin(ctx, asks, d.now(), sendingLease, obsolete)
	for i := range answers {
		if err != nil {
			answers[i].err = err
		} else {
			answers[i].Begun = begun[i]
		}
	}
	return answers
}

// send hands n to the provider and keeps its lease meanwhile; lost tells that somebody else took
// it over. That the queue gave the message to somebody else does not matter: the lease in the
// ledger keeps them from sending, and breaking off would leave it open whether the provider
// accepted n.
func (d *Delivery) send(ctx context.Context, n Notification) (lost bool, err error) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if end, ok := ctx.Deadline(); ok {
		sending, cancel = context.WithDeadline(sending, end)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), delayjob.ErrLeaseLost) {
			cancel()
		}
	})
	defer stop()
	sending, end := d.sending.begin(sending, n)
	defer func() { lost = end() }() // a Sender may panic
	return false, d.sender.Send(sending, n)
}

func (d *Delivery) skipLate(n Notification) error {
	reason := "too late: it was to be sent before " + n.Expires.UTC().Format(time.RFC3339)
	if err := d.record(n, Outcome{State: SkippedLate, Error: reason}); err != nil {
		return err
	}
	return delayjob.Drop(reason)
}

// conclude records what a Sender returned and tells the consumer how to go on.
func (d *Delivery) conclude(ctx context.Context, m delayjob.Message, n Notification, err error) error {
	if err == nil {
		return d.record(n, Outcome{State: Sent, Begun: n.SendingAt})
	}
	r := classify(err)
	o := Outcome{State: Pending, Begun: n.SendingAt, Error: err.Error()}
	var verdict error
	switch {
	case r.class == permanent:
		o.State, verdict = Failed, delayjob.Drop(err.Error())
	case r.class == off:
		o.State, o.Uncharged, verdict = Skipped, true, delayjob.Drop(err.Error())
	case r.class == unavailable:
		o.Uncharged, verdict = true, delayjob.Unavailable(err)
	case ctx.Err() != nil: // we are stopping: not the notification's fault
		verdict = err
	case d.opts.MaxAttempts > 0 && m.Attempt >= d.opts.MaxAttempts:
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
	if err := d.record(n, o); err != nil {
		return err
	}
	return verdict
}

// record writes an outcome even while the process is being stopped, for what the provider has
// accepted is accepted. Failing to write it costs a duplicate, so it is tried more than once.
func (d *Delivery) record(n Notification, o Outcome) error {
	o.ID, o.Version, o.MessageID, o.At = n.ID, n.Version, n.MessageID, d.now()
	o.Error = shorten(o.Error)
	pause := 50 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		err := d.records.Ask(o)
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			return d.ledgerError(fmt.Errorf("record notification %d as %s: %w", n.ID, o.State, err))
		}
		time.Sleep(pause)
		pause = min(2*pause, 2*time.Second)
	}
}

// recordAll records outcomes together or, if that fails, each by itself: one that the database
// refuses keeps no other from being recorded.
func (d *Delivery) recordAll(os []Outcome) []error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	errs := make([]error, len(os))
	err := d.ledger.Record(ctx, os)
	for i := range os {
		if errs[i] = err; err != nil && len(os) > 1 && !d.down(err) {
			errs[i] = d.ledger.Record(ctx, os[i:i+1])
		}
	}
	return errs
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
