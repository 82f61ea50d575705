package httpapi

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// Body is a JSON body whose faults of form are reported together with those of its content, so that
// a client gets all of them in one response.
type Body[T any] struct {
	value T
	raw   any
}

// UnmarshalJSON decodes what it can; read finds the rest.
func (b *Body[T]) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &b.raw); err != nil {
		return err
	}
	_ = json.Unmarshal(data, &b.value)
	return nil
}

// Schema returns the schema of the content.
func (Body[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// read returns the content, and the differences from its schema. Messages do not repeat values.
// Missing fields are left to the domain, which reports them too.
func (b *Body[T]) read(r huma.Registry) (T, []meeting.Fault) {
	res := &huma.ValidateResult{}
	huma.Validate(r, b.Schema(r), huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, b.raw, res)
	var faults []meeting.Fault
	for _, err := range res.Errors {
		if len(faults) == fault.MaxFaults {
			break
		}
		detail, ok := err.(*huma.ErrorDetail)
		if !ok || strings.HasPrefix(detail.Message, "expected required property") {
			continue
		}
		faults = append(faults, meeting.Fault{Location: detail.Location, Code: formCode(detail.Message), Message: detail.Message})
	}
	return b.value, faults
}

// formCode is the stable code of a message of huma's.
func formCode(message string) string {
	for _, known := range []struct{ prefix, code string }{
		{"unexpected property", "unknown_field"},
		{"expected value to be one of", "unknown_value"},
		{"expected number <=", "out_of_range"},
		{"expected number >=", "out_of_range"},
	} {
		if strings.HasPrefix(message, known.prefix) {
			return known.code
		}
	}
	return "invalid_type"
}

// Field is an optional field of a body. Leaving it out differs from null, which clears it.
type Field[T any] struct {
	Value T // the zero value for null
	Set   bool
	Null  bool
}

// UnmarshalJSON never fails: a value of the wrong type is found by the schema.
func (f *Field[T]) UnmarshalJSON(data []byte) error {
	f.Set, f.Null = true, string(data) == "null"
	_ = json.Unmarshal(data, &f.Value)
	return nil
}

// Schema returns the schema of the value, or null. For a reference, huma has only the mark.
func (Field[T]) Schema(r huma.Registry) *huma.Schema {
	c := *r.Schema(reflect.TypeFor[T](), true, "")
	if c.Ref != "" {
		c.Extensions = map[string]any{"x-nullable": true}
	} else {
		c.Nullable = true
	}
	return &c
}

// ptr returns nil unless the field was given.
func (f Field[T]) ptr() *T {
	if !f.Set {
		return nil
	}
	return &f.Value
}

// or returns the value, with null for the given default.
func (f Field[T]) or(null T) Field[T] {
	if f.Null {
		f.Value = null
	}
	return f
}

// object returns the value of a field that holds an object of fields; null clears each of them.
func object[T any](f Field[T]) T {
	if f.Null {
		v := reflect.ValueOf(&f.Value).Elem()
		for i := range v.NumField() {
			_ = v.Field(i).Addr().Interface().(json.Unmarshaler).UnmarshalJSON([]byte("null"))
		}
	}
	return f.Value
}

// mapField converts the value of a field that was given.
func mapField[T, U any](f Field[T], convert func(T) U) *U {
	if !f.Set {
		return nil
	}
	u := convert(f.Value)
	return &u
}

// decoder converts values whose format a schema cannot describe, and collects their faults.
type decoder struct {
	faults []meeting.Fault
	zone   *time.Location // for local times of a query; nil: they are rejected
}

// duration parses "15m"; empty is 0.
func (d *decoder) duration(location, s string) time.Duration {
	if s == "" {
		return 0
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		d.add(location, "invalid_duration", "must be a duration like 90s, 15m or 24h")
	}
	return v
}

func (d *decoder) field(location string, f Field[string]) *time.Duration {
	return mapField(f, func(s string) time.Duration { return d.duration(location, s) })
}

func (d *decoder) add(location, code, message string) {
	if len(d.faults) >= fault.MaxFaults {
		return
	}
	d.faults = append(d.faults, meeting.Fault{Location: location, Code: code, Message: message})
}

// err returns all faults that were found.
func (d *decoder) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	return &meeting.InvalidError{Faults: d.faults}
}

// resolved returns the faults of a query as a list for huma, which reports them with its own.
func resolved(err error) []error {
	if err == nil {
		return nil
	}
	return []error{placed(err, "query")}
}

// commas splits what is separated by commas.
func commas(in []string) []string {
	var out []string
	for _, s := range in {
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// Duration on the wire: "15m", "1h30m", "24h", "0s".
func duration(d time.Duration) string { return fault.FormatDuration(d) }

// limit returns a duration, or null for 0, which means no limit.
func limit(d time.Duration) *string {
	if d == 0 {
		return nil
	}
	return new(duration(d))
}

// instant returns null for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// timeOf parses a time; empty is nil.
func timeOf(s string) *clock.Time {
	if s == "" {
		return nil
	}
	return new(clock.Parse(s))
}

// text returns null for an empty string.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// number returns null for 0.
func number(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// list never returns null.
func list[T, U any](from []T, convert func(T) U) []U {
	out := make([]U, len(from))
	for i, v := range from {
		out[i] = convert(v)
	}
	return out
}
