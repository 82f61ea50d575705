package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/fault"
	"punctual/account/rest"
	"punctual/notify"
)

// RegisterPreferences adds the operations by which users choose their notifications.
func RegisterPreferences(api huma.API, svc *notify.PreferenceService) {
	h := &preferences{svc}
	op := func(id, method, summary string, errors ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Method: method, Path: "/me/preferences", Summary: summary, Tags: []string{"People"},
			Errors: append(errors, http.StatusUnauthorized, http.StatusForbidden),
		}
	}
	huma.Register(api, op("get-preferences", http.MethodGet, "Get which notifications I want"), h.get)
	change := op("update-preferences", http.MethodPatch, "Change which notifications I want",
		http.StatusPreconditionFailed, http.StatusUnprocessableEntity)
	change.Description = "Changes only the fields and kinds that it names. Notifications that wait to be sent follow the new choice too."
	huma.Register(api, change, h.update)
}

type preferences struct{ svc *notify.PreferenceService }

// KindPreference is what a user chose for one kind of notification.
type KindPreference struct {
	Kind     string   `json:"kind" example:"reminder"`
	Channels []string `json:"channels" nullable:"true" enum:"email,sms,chat" doc:"Channels that I chose; empty if none; null if the default applies"`
	Default  []string `json:"default" nullable:"true" enum:"email,sms,chat" doc:"Channels without a choice; null if these are email, and for reminders what the meeting names"`
	Required bool     `json:"required" doc:"Whether administrators require a channel"`
}

// QuietHours are a daily span in local time.
type QuietHours struct {
	From  string `json:"from" example:"22:00" doc:"Start in local time, HH:MM"`
	Until string `json:"until" example:"07:00" doc:"End in local time, HH:MM; may be on the next day"`
}

// Digest is a list of meetings that arrives at a local time.
type Digest struct {
	Period  string `json:"period" enum:"off,today,tomorrow,week" doc:"What it covers: the rest of the day, the next day, or seven days"`
	At      string `json:"at" example:"17:00" doc:"When it is sent in local time, HH:MM"`
	Weekday string `json:"weekday" enum:"MO,TU,WE,TH,FR,SA,SU" doc:"On which day it is sent if the period is week"`
}

type preferencesBody struct {
	Kinds      []KindPreference `json:"kinds" nullable:"false"`
	Channels   []string         `json:"channels" nullable:"false" enum:"email,sms,chat" doc:"Channels that users may choose"`
	QuietHours *QuietHours      `json:"quiet_hours" doc:"When notifications that are not urgent wait; null if they never do"`
	Digest     Digest           `json:"digest"`
	NextDigest *time.Time       `json:"next_digest" doc:"When the next digest is due; null if it is off"`
	Timezone   string           `json:"timezone" doc:"Time zone of quiet hours and digest: that of my account"`
	BouncedAt  *time.Time       `json:"bounced_at" doc:"When mails to my address bounced, so that none are sent; null if they arrive"`
	Version    int64            `json:"version"`
}

type preferencesOutput struct {
	ETag string `header:"ETag"`
	Body preferencesBody
}

func (h *preferences) get(ctx context.Context, _ *struct{}) (*preferencesOutput, error) {
	p, err := h.svc.Of(ctx, caller(ctx))
	if err != nil {
		return nil, err
	}
	return h.output(p), nil
}

// caller returns the ID of the user who is signed in.
func caller(ctx context.Context) int64 {
	p, ok := account.FromContext(ctx)
	if !ok {
		panic("notify/httpapi: the middleware Authenticate is missing")
	}
	return p.UserID
}

func (h *preferences) output(p notify.Preferences) *preferencesOutput {
	policy := h.svc.Policy()
	b := preferencesBody{
		Channels: texts(policy.Open()), Timezone: p.Timezone, Version: p.Version, NextDigest: rest.InstantOrNull(p.Planned.Due),
		Digest: Digest{Period: string(p.Digest.Period), At: clockOf(p.Digest.At), Weekday: weekdays[p.Digest.Weekday]},
	}
	if p.Digest.Off() {
		b.Digest.Period = string(notify.NoDigest)
	}
	if p.Bounced != nil {
		b.BouncedAt = rest.InstantOrNull(p.Bounced.At)
	}
	if !p.Quiet.None() {
		b.QuietHours = &QuietHours{clockOf(p.Quiet.From), clockOf(p.Quiet.Until)}
	}
	for _, k := range notify.Choosable() {
		one := KindPreference{Kind: string(k), Required: policy.Requires(k)}
		if cs, ok := p.Choices[k]; ok {
			one.Channels = texts(slices.DeleteFunc(slices.Clone(cs), func(c notify.Channel) bool { return c == notify.NotEmail }))
		}
		if cs, ok := policy.Default(k); ok {
			one.Default = texts(cs)
		}
		b.Kinds = append(b.Kinds, one)
	}
	return &preferencesOutput{ETag: rest.ETag(p.Version), Body: b}
}

func texts(cs []notify.Channel) []string {
	all := make([]string, len(cs))
	for i, c := range cs {
		all[i] = string(c)
	}
	return all
}

var weekdays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

func clockOf(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

type updatePreferencesInput struct {
	IfMatch string `header:"If-Match" doc:"ETag of the version to change; the request fails with 412 if the preferences have changed since" example:"\"3\""`
	Body    struct {
		Kinds      kindChoices  `json:"kinds,omitempty" doc:"Channels by kind; an empty list turns the kind off, null restores the default"`
		QuietHours quietInput   `json:"quiet_hours,omitempty" doc:"Quiet hours; null turns them off"`
		Digest     *DigestInput `json:"digest,omitempty"`
	}
}

// DigestInput changes the digest.
type DigestInput struct {
	Period  string `json:"period" enum:"off,today,tomorrow,week" doc:"What it covers: the rest of the day, the next day, or seven days"`
	At      string `json:"at,omitempty" example:"17:00" doc:"When it is sent in local time, HH:MM; without it, the time stays"`
	Weekday string `json:"weekday,omitempty" enum:"MO,TU,WE,TH,FR,SA,SU" doc:"On which day it is sent if the period is week; without it, the day stays"`
}

// kindChoices are channels by kind; nil: the default.
type kindChoices map[string][]string

// quietInput distinguishes a missing field from null.
type quietInput struct {
	present bool
	value   *QuietHours
}

// UnmarshalJSON is called only if the field is present, including null.
func (i *quietInput) UnmarshalJSON(b []byte) error {
	i.present = true
	return json.Unmarshal(b, &i.value)
}

// Schema implements [huma.SchemaProvider].
func (quietInput) Schema(r huma.Registry) *huma.Schema {
	s := *huma.SchemaFromType(r, reflect.TypeFor[QuietHours]())
	s.Nullable = true
	return &s
}

// Schema implements [huma.SchemaProvider]: huma has no null for the values of a map.
func (kindChoices) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:                 huma.TypeObject,
		AdditionalProperties: &huma.Schema{Type: huma.TypeArray, Nullable: true, Items: &huma.Schema{Type: huma.TypeString}},
	}
}

// inBody names the fields of a fault as clients know them.
func inBody(err error) error {
	if e, ok := errors.AsType[*fault.InvalidError](err); ok {
		return &fault.InvalidError{Faults: fault.At("body", e.Faults)}
	}
	return err
}

func (h *preferences) update(ctx context.Context, in *updatePreferencesInput) (*preferencesOutput, error) {
	var faults fault.List
	minute := func(at, s string) int {
		t, err := time.Parse("15:04", s)
		if err != nil || len(s) != len("15:04") {
			faults.Add(at, "invalid_time", "must be a time of day from 00:00 to 23:59, such as 07:30")
		}
		return t.Hour()*60 + t.Minute()
	}
	patch := notify.PreferencesPatch{Choices: map[notify.Kind]*[]notify.Channel{}}
	for k, cs := range in.Body.Kinds {
		patch.Choices[notify.Kind(k)] = nil
		if cs != nil {
			chosen := make([]notify.Channel, len(cs))
			for i, c := range cs {
				chosen[i] = notify.Channel(c)
			}
			patch.Choices[notify.Kind(k)] = &chosen
		}
	}
	if q := in.Body.QuietHours; q.present {
		patch.Quiet = &notify.QuietHours{}
		if q.value != nil {
			*patch.Quiet = notify.QuietHours{From: minute("body.quiet_hours.from", q.value.From), Until: minute("body.quiet_hours.until", q.value.Until)}
			if len(faults) == 0 && patch.Quiet.None() {
				faults.Add("body.quiet_hours.until", "not_after_from", "must differ from quiet_hours.from")
			}
		}
	}
	if d := in.Body.Digest; d != nil {
		patch.Digest = &notify.DigestPatch{Period: notify.Period(d.Period)}
		if d.At != "" {
			patch.Digest.At = new(minute("body.digest.at", d.At))
		}
		if i := slices.Index(weekdays, d.Weekday); i >= 0 {
			patch.Digest.Weekday = new(time.Weekday(i))
		}
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	p, err := h.svc.Update(ctx, caller(ctx), rest.IfMatch(in.IfMatch), patch)
	if err != nil {
		return nil, inBody(err)
	}
	return h.output(p), nil
}
