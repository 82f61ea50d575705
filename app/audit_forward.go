package app

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/audit"
	"punctual/app/syslog"
	"punctual/delayjob"
)

// jobAuditForward sends the audit log to a syslog server. Its key is "syslog", its version the number of
// entries that were sent.
const jobAuditForward = "audit.forward"

const (
	forwardBatch   = 500
	forwardTimeout = 20 * time.Second // for a batch
)

type forwardingRow struct {
	Destination string `gorm:"primaryKey"`
	Tx, EntryID int64
	Sent        int64
	UpdatedAt   time.Time
}

func (forwardingRow) TableName() string { return "audit_forwarding" }

func (r *forwardingRow) place() audit.Place { return audit.Place{Tx: r.Tx, ID: r.EntryID} }

// auditForward is the delay job audit.forward.
type auditForward struct {
	db   *gorm.DB
	name string              // of the destination, under which the place is stored
	to   *syslog.Destination // nil: nothing is sent
}

func (*auditForward) Name() string { return jobAuditForward }

// Options: what could not be sent is sent later, however long that takes.
func (*auditForward) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 1, MaxRuntime: 2 * time.Minute, MaxAttempts: -1}
}

// Load returns a message if there is something to send. Forwarding begins with what is written after
// the first call, and with what the oldest transaction then open may precede.
func (f *auditForward) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		if f.to == nil {
			return
		}
		r, err := f.begin(ctx)
		var lines []audit.Line
		if err == nil {
			lines, _, err = audit.After(ctx, f.db, r.place(), 1)
		}
		switch {
		case err != nil:
			yield(delayjob.Message{}, err)
		case len(lines) > 0:
			yield(delayjob.Message{Job: jobAuditForward, Key: "syslog", Version: r.Sent + 1, Due: lines[0].At}, nil)
		}
	}
}

func (f *auditForward) begin(ctx context.Context) (*forwardingRow, error) {
	tx := f.db.WithContext(ctx)
	var rows []forwardingRow
	if err := tx.Where("destination = ?", f.name).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("audit forwarding: %w", err)
	}
	if len(rows) > 0 {
		return &rows[0], nil
	}
	end, err := audit.End(ctx, f.db)
	if err != nil {
		return nil, fmt.Errorf("audit forwarding: %w", err)
	}
	r := &forwardingRow{Destination: f.name, Tx: end.Tx, EntryID: end.ID, UpdatedAt: time.Now().UTC()}
	if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(r).Error; err != nil {
		return nil, fmt.Errorf("audit forwarding: %w", err)
	}
	return r, nil
}

// Execute sends all that there is. If it is interrupted after sending, a batch is sent twice.
func (f *auditForward) Execute(ctx context.Context, m delayjob.Message) error {
	if f.to == nil {
		return delayjob.Drop("no syslog server is configured")
	}
	r, err := f.begin(ctx)
	if err == nil && r.Sent+1 != m.Version {
		return delayjob.Drop("sent before")
	}
	for more := true; more && err == nil; {
		more, err = f.step(ctx, r)
	}
	return err
}

func (f *auditForward) step(ctx context.Context, r *forwardingRow) (more bool, err error) {
	lines, last, err := audit.After(ctx, f.db, r.place(), forwardBatch)
	if err != nil || len(lines) == 0 {
		return false, err
	}
	ms := make([]syslog.Message, len(lines))
	for i := range lines {
		if ms[i], err = f.message(&lines[i]); err != nil {
			return false, err
		}
	}
	sending, cancel := context.WithTimeout(ctx, forwardTimeout)
	defer cancel()
	if err := f.to.Send(sending, "punctual", ms); err != nil {
		return false, fmt.Errorf("syslog server: %w", err)
	}
	r.Tx, r.EntryID, r.Sent, r.UpdatedAt = last.Tx, last.ID, r.Sent+int64(len(lines)), time.Now().UTC()
	if err := f.db.WithContext(ctx).Save(r).Error; err != nil {
		return false, fmt.Errorf("audit forwarding: %w", err)
	}
	return len(lines) == forwardBatch, nil
}

// message returns an entry as the API does. If it is too large for a datagram, its changes are left out.
func (f *auditForward) message(l *audit.Line) (syslog.Message, error) {
	e := viewLine(l)
	text, err := json.Marshal(e)
	if err == nil && f.to.Datagrams() && len(text) > syslog.MaxDatagram {
		e.Changes = map[string]auditChange{"left_out": {To: len(e.Changes)}}
		text, err = json.Marshal(e)
	}
	m := syslog.Message{At: l.At, Severity: syslog.Info, ID: l.Action, Text: string(text)}
	if l.Action == "session.refused" {
		m.Severity = syslog.Warning
	}
	return m, err
}
