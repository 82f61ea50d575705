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
	"punctual/app/database/receipt"
	"punctual/meeting"
)

// Trail records entries. It has no state, because the transactions belong to the stores.
type Trail struct{}

// Entry is one recorded action with its context.
type Entry struct {
	At      time.Time
	Action  string // subject.verb
	ID      string // of the subject
	Name    string // of the subject
	Actor   *Actor // nil: the caller of the request, or the installation itself
	Address string // empty: that of the request
	Changes map[string]Change
	Reason  string
}

// Actor is the user, timer or system that acted.
type Actor struct {
	Kind meeting.ActorKind
	ID   int64 // of a known user
	Name string
}

// Change of one field.
type Change struct {
	From any `json:"from"`
	To   any `json:"to"`
}

type actorKey struct{}

// By returns a context in which the installation itself acts under a name, for actions without a
// signed-in user.
func By(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, actorKey{}, name)
}

// Note records an action on the subject with this ID and name, in the transaction tx. before and
// after are gorm rows and maps of further fields; none: it did not exist, or was deleted. A change
// without differences is not recorded.
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
	Tx          int64 `gorm:"->"` // transaction that wrote it, set by the database; see [After]
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
		subject, verb, _ := strings.Cut(e.Action, ".")
		if verb == "created" {
			receipt.Created(tx, subject, e.ID)
		}
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

// clean returns text that both databases can store.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// silent lists columns whose changes do not matter to readers.
var silent = map[string]bool{"id": true, "version": true, "created_at": true, "updated_at": true, "closures": true, "group_ids": true, "acts_for": true, "members": true}

// fieldsOf returns the fields of rows and maps, by column and key, as in JSON. Objects are
// flattened: policy.min_duration.
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

// compare lists the differences. Null, empty text and empty lists count as equal.
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
