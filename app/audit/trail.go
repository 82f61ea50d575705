package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/account"
	"punctual/meeting"
)

// Trail notes what is done. It has no state: the transactions are those of the stores.
type Trail struct{}

// Entry is one thing that was done, with the context of who did it.
type Entry struct {
	At      time.Time
	Action  string // subject.verb
	ID      string // of the subject
	Name    string // of the subject
	Actor   *Actor // nil: who makes the request of the context, or the installation itself
	Address string // empty: that of the request
	Changes map[string]Change
	Reason  string
}

// Actor is who did something.
type Actor struct {
	Kind meeting.ActorKind
	ID   int64 // of a user that is known
	Name string
}

// Change of one field.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

type actorKey struct{}

// By returns a context in which the installation itself acts under a name, where nobody is signed in.
func By(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Note that something was done to what has this id and name, in the transaction tx. What it was and
// what it is are rows of gorm and maps of further fields, together; none: it was not there, or is
// no more. A change that changes nothing is none.
func (Trail) Note(tx *gorm.DB, action, id, name string, before, after []any) error {
	was, err := fieldsOf(tx, before)
	if err != nil {
		return fmt.Errorf("note %s: %w", action, err)
	}
	is, err := fieldsOf(tx, after)
	if err != nil {
		return fmt.Errorf("note %s: %w", action, err)
	}
	changes := compare(was, is)
	if len(before) > 0 && len(after) > 0 && len(changes) == 0 {
		return nil
	}
	return Add(tx, Entry{Action: action, ID: id, Name: name, Changes: changes})
}

type row struct {
	ID          int64
	At          time.Time
	Action      string
	ActorKind   string
	ActorID     *int64
	ActorName   string
	Address     string
	Subject     string
	SubjectID   string
	SubjectName string
	Changes     *string
	Reason      string
}

func (row) TableName() string { return "audit" }

// Add writes entries with tx, in one statement for some hundred of them.
func Add(tx *gorm.DB, entries ...Entry) error {
	ctx := tx.Statement.Context
	rows := make([]row, len(entries))
	for i, e := range entries {
		if e.Actor == nil {
			e.Actor = actorOf(ctx)
		}
		subject, _, _ := strings.Cut(e.Action, ".")
		rows[i] = row{
			At: cmp.Or(e.At, time.Now()).UTC().Truncate(time.Microsecond), Action: e.Action,
			ActorKind: string(e.Actor.Kind), ActorName: clean(e.Actor.Name), Address: cmp.Or(e.Address, meeting.Client(ctx)),
			Subject: subject, SubjectID: clean(e.ID), SubjectName: clean(e.Name), Reason: clean(e.Reason),
		}
		if e.Actor.ID != 0 {
			rows[i].ActorID = &e.Actor.ID
		}
		if len(e.Changes) > 0 {
			b, err := json.Marshal(masked(e.Changes))
			if err != nil {
				return fmt.Errorf("changes of %s: %w", e.Action, err)
			}
			rows[i].Changes = new(string(b))
		}
	}
	if err := tx.Omit("id").CreateInBatches(rows, 500).Error; err != nil {
		return fmt.Errorf("note what was done: %w", err)
	}
	return nil
}

func actorOf(ctx context.Context) *Actor {
	if p, ok := account.FromContext(ctx); ok {
		return &Actor{Kind: meeting.ActorUser, ID: p.UserID, Name: p.Name}
	}
	name, _ := ctx.Value(actorKey{}).(string)
	return &Actor{Kind: meeting.ActorSystem, Name: cmp.Or(name, "punctual")}
}

// clean is what both databases keep as a text.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// silent are columns whose changes are of no interest to readers.
var silent = map[string]bool{"id": true, "version": true, "created_at": true, "updated_at": true, "closures": true}

// fieldsOf rows and maps, by column and key, as JSON would show them. Objects are taken apart:
// policy.min_duration.
func fieldsOf(tx *gorm.DB, parts []any) (map[string]any, error) {
	fields := map[string]any{}
	for _, part := range parts {
		m, ok := part.(map[string]any)
		if !ok {
			var err error
			if m, err = columnsOf(tx, part); err != nil {
				return nil, err
			}
		}
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		var plain map[string]any
		if err := json.Unmarshal(b, &plain); err != nil {
			return nil, err
		}
		flatten(fields, "", plain)
	}
	return fields, nil
}

func columnsOf(tx *gorm.DB, record any) (map[string]any, error) {
	stmt := &gorm.Statement{DB: tx}
	if err := stmt.Parse(record); err != nil {
		return nil, err
	}
	v := reflect.Indirect(reflect.ValueOf(record))
	m := map[string]any{}
	for _, f := range stmt.Schema.Fields {
		if f.DBName != "" && !silent[f.DBName] {
			m[f.DBName] = f.ReflectValueOf(tx.Statement.Context, v).Interface()
		}
	}
	return m, nil
}

func flatten(into map[string]any, path string, m map[string]any) {
	for key, v := range m {
		name := key
		if path != "" {
			name = path + "." + key
		}
		if inner, ok := v.(map[string]any); ok {
			flatten(into, name, inner)
			continue
		}
		into[name] = v
	}
}

// compare lists what differs. Nothing, no text and no list are alike.
func compare(was, is map[string]any) map[string]Change {
	changes := map[string]Change{}
	for name := range was {
		if !alike(was[name], is[name]) {
			changes[name] = Change{was[name], is[name]}
		}
	}
	for name := range is {
		if _, known := was[name]; !known && !alike(nil, is[name]) {
			changes[name] = Change{nil, is[name]}
		}
	}
	return changes
}

func alike(a, b any) bool { return isNothing(a) && isNothing(b) || reflect.DeepEqual(a, b) }

func isNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}
