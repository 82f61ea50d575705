package httpapi

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"punctual/account/fault"
	"punctual/delayjob/topics"
)

type newTopicJob struct {
	ID          *string         `json:"id,omitempty" maxLength:"128" pattern:"^[A-Za-z0-9._~-]+$" doc:"ID of the job; generated if omitted"`
	Due         *time.Time      `json:"due,omitempty" doc:"When the job becomes due, at most 5 years ahead; cannot be combined with delay_ms"`
	DelayMs     *int64          `json:"delay_ms,omitempty" minimum:"0"`
	Body        json.RawMessage `json:"body" doc:"Any JSON value, up to 64 KiB"`
	TTRMs       *int64          `json:"ttr_ms,omitempty" minimum:"1" maximum:"86400000" default:"30000" doc:"How long a pop reserves the job"`
	MaxAttempts *int            `json:"max_attempts,omitempty" minimum:"-1" maximum:"1000" default:"8" doc:"Maximum number of deliveries; -1 for no limit"`
	TTLMs       *int64          `json:"ttl_ms,omitempty" minimum:"1" maximum:"158112000000" doc:"How long after its due time the job may still be delivered"`
	Version     *int64          `json:"version,omitempty" minimum:"0" default:"1" doc:"A higher version replaces the stored job; a lower one is refused"`
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9._~-]{1,128}$`)

func isID(s string) bool { return idPattern.MatchString(s) }

func itoa(i int) string { return strconv.Itoa(i) }

func isArray(raw []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("[")) }

// parse reads a job and returns all its faults. at is its location in the request.
func parse(topic string, raw []byte, at string, now time.Time) (*topics.Job, []fault.Fault) {
	j := &topics.Job{Key: topics.Key{Topic: topic}, Version: 1, TTR: topics.DefaultTTR, MaxAttempts: topics.DefaultMaxAttempts}
	var in newTopicJob
	if f := decode(raw, &in, at); f != nil {
		return j, []fault.Fault{*f}
	}
	var faults []fault.Fault
	wrong := func(field, code, message string) {
		faults = append(faults, fault.New(at+"."+field, code, "%s", message))
	}
	switch {
	case in.ID == nil:
		j.ID = rand.Text()
	case isID(*in.ID):
		j.ID = *in.ID
	default:
		wrong("id", "malformed", "must be 1 to 128 letters, digits or . _ ~ -")
	}
	due, more := dueTime(in.Due, in.DelayMs, at, now)
	j.Due, faults = due, append(faults, more...)
	switch {
	case in.Body == nil:
		wrong("body", "required", "is required")
	case len(in.Body) > topics.MaxBody:
		wrong("body", "too_long", "must be at most 64 KiB of JSON")
	case !utf8.Valid(in.Body):
		wrong("body", "malformed", "must be valid UTF-8")
	}
	j.Body = in.Body
	ranged := func(field string, v *int64, least, most int64) (int64, bool) {
		if v == nil {
			return 0, false
		}
		if *v < least || *v > most {
			wrong(field, "out_of_range", "must be from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
			return 0, false
		}
		return *v, true
	}
	if v, ok := ranged("ttr_ms", in.TTRMs, 1, topics.MaxTTR.Milliseconds()); ok {
		j.TTR = millis(v)
	}
	if v, ok := ranged("ttl_ms", in.TTLMs, 1, topics.MaxTTL.Milliseconds()); ok {
		j.TTL = millis(v)
	}
	if v, ok := ranged("version", in.Version, 0, 1<<53); ok {
		j.Version = v
	}
	if in.MaxAttempts != nil {
		if n := *in.MaxAttempts; n != -1 && (n < 1 || n > 1000) {
			wrong("max_attempts", "out_of_range", "must be from 1 to 1000, or -1 for no limit")
		} else {
			j.MaxAttempts = n
		}
	}
	return j, faults
}

func dueTime(due *time.Time, delayMs *int64, at string, now time.Time) (time.Time, []fault.Fault) {
	field, t := ".due", now
	switch {
	case due == nil && delayMs == nil:
		return now, []fault.Fault{fault.New(at+".due", "required", "is required, or delay_ms")}
	case due != nil && delayMs != nil:
		return now, []fault.Fault{fault.New(at+".delay_ms", "conflict", "must not be combined with due")}
	case due != nil:
		t = *due
	case *delayMs < 0 || *delayMs > topics.MaxAhead.Milliseconds():
		return now, []fault.Fault{fault.New(at+".delay_ms", "out_of_range", "must be from 0 to 5 years")}
	default:
		field, t = ".delay_ms", now.Add(millis(*delayMs))
	}
	if t.After(now.AddDate(5, 0, 0)) {
		return now, []fault.Fault{fault.New(at+field, "out_of_range", "must be at most 5 years ahead")}
	}
	if t.Year() < 1970 {
		return now, []fault.Fault{fault.New(at+field, "out_of_range", "must be after 1970")}
	}
	return t.UTC().Truncate(time.Microsecond), nil
}

func decode(raw []byte, into any, at string) *fault.Fault {
	wrong := func(location, code, message string) *fault.Fault {
		return new(fault.New(location, code, "%s", message))
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return wrong(at, "malformed", "must be one JSON value")
		}
		if !bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{")) {
			return wrong(at, "wrong_type", "must be an object")
		}
		return nil
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return wrong(at, "wrong_type", "must be an object")
		}
		kind, _, _ := strings.Cut(e.Value, " ") // followed by a number
		return wrong(at+"."+e.Field, "wrong_type", "must not be a "+kind)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return wrong(at+"."+strings.Trim(name, `"`), "unknown_field", "is not known")
	}
	if strings.HasPrefix(err.Error(), "parsing time ") {
		return wrong(at+".due", "malformed", "must be an RFC 3339 time")
	}
	return wrong(at, "malformed", "must be valid JSON")
}
