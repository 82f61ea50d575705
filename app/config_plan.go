package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"punctual/account/rest"
	"punctual/app/config"
	"punctual/meeting"
	"punctual/meeting/forecast"
	meetingstore "punctual/meeting/gormstore"
)

// ConfigPlan is the effect of new settings: the settings that differ and the affected bookings.
type ConfigPlan struct {
	Settings  []PlannedSetting  `json:"settings" nullable:"false" doc:"Settings that differ"`
	Meetings  int               `json:"meetings" doc:"Number of meetings checked: all that have not ended"`
	Reminders []PlannedReminder `json:"reminders" nullable:"false" doc:"Reminders that would go out at another time, through other channels, or not at all"`
	Requests  []PlannedRequest  `json:"requests" nullable:"false" doc:"Pending requests for which the new settings have another time-out; each keeps its own"`
	Refusals  []PlannedRefusal  `json:"refusals" nullable:"false" doc:"Booked meetings that break a new rule; they stay booked"`
}

// PlannedSetting is a setting that differs.
type PlannedSetting struct {
	Key     string `json:"key"`
	From    any    `json:"from"`
	To      any    `json:"to"`
	Restart bool   `json:"restart" doc:"Whether the change takes effect only after a restart"`
}

// PlannedMeeting names a meeting.
type PlannedMeeting struct {
	ID    int64     `json:"id"`
	Title string    `json:"title"`
	Start time.Time `json:"start"`
	Rooms []string  `json:"rooms" nullable:"false"`
}

func (m PlannedMeeting) String() string { return fmt.Sprintf("%d %s", m.ID, m.Title) }

// PlannedReminder is a reminder that would move.
type PlannedReminder struct {
	Meeting  PlannedMeeting    `json:"meeting"`
	Before   meeting.Anchor    `json:"before" enum:"start,end"`
	From     *time.Time        `json:"from" doc:"When the reminder goes out now; null if it is new"`
	To       *time.Time        `json:"to" doc:"When the reminder would go out; null if it would not be sent"`
	Channels []meeting.Channel `json:"channels" nullable:"false"`
	TooLate  bool              `json:"too_late" doc:"Whether the new time has passed, so that the reminder would not be sent"`
}

// PlannedRequest is a request that would end differently under the new settings.
type PlannedRequest struct {
	Meeting       PlannedMeeting `json:"meeting"`
	Deadline      time.Time      `json:"deadline" doc:"Deadline of the request, as announced to the approvers; it does not change"`
	DeadlineAnew  time.Time      `json:"deadline_anew" doc:"Deadline that the same request would have under the new settings"`
	OnTimeout     string         `json:"on_timeout" enum:"reject,approve" doc:"What happens to the request at its deadline; it does not change"`
	OnTimeoutAnew string         `json:"on_timeout_anew" enum:"reject,approve"`
}

// PlannedRefusal is a booked meeting that the new settings would reject.
type PlannedRefusal struct {
	Meeting PlannedMeeting  `json:"meeting"`
	Reasons []PlannedReason `json:"reasons" nullable:"false"`
}

// PlannedReason is a policy that a booked meeting would violate.
type PlannedReason struct {
	Code    string `json:"code" example:"max_duration"`
	Message string `json:"message"`
}

// PlanTotals counts each kind.
type PlanTotals struct {
	Reminders int `json:"reminders"`
	Requests  int `json:"requests"`
	Refusals  int `json:"refusals"`
}

// planConfig compares next with old and returns the effects on existing bookings. It returns the
// first most of each kind, and their totals.
func planConfig(ctx context.Context, forecasts *forecast.Service, by meeting.Actor, old, next *config.Config, most int) (*ConfigPlan, *PlanTotals, error) {
	f, err := forecasts.Forecast(ctx, by, *next.Booking.Settings(), most)
	if err != nil {
		return nil, nil, err
	}
	p := &ConfigPlan{
		Settings: plannedSettings(old, next), Meetings: f.Looked,
		Reminders: make([]PlannedReminder, len(f.Reminders)), Requests: make([]PlannedRequest, len(f.Requests)), Refusals: make([]PlannedRefusal, len(f.Refusals)),
	}
	for i, r := range f.Reminders {
		p.Reminders[i] = PlannedReminder{NewPlannedMeeting(r.Meeting), r.Before, rest.InstantOrNull(r.From), rest.InstantOrNull(r.To), r.Channels, r.TooLate}
	}
	for i, r := range f.Requests {
		p.Requests[i] = PlannedRequest{NewPlannedMeeting(r.Meeting), r.Deadline.UTC(), r.Anew.UTC(), outcomeWord(r.Outcome), outcomeWord(r.AnewTo)}
	}
	for i, r := range f.Refusals {
		p.Refusals[i] = PlannedRefusal{Meeting: NewPlannedMeeting(r.Meeting), Reasons: make([]PlannedReason, len(r.Faults))}
		for j, fault := range r.Faults {
			p.Refusals[i].Reasons[j] = PlannedReason{fault.Code, fault.Message}
		}
	}
	return p, &PlanTotals{f.Totals.Reminders, f.Totals.Requests, f.Totals.Refusals}, nil
}

// PlanOffline is planConfig for a process beside running servers, on the database of old. It
// migrates nothing and writes nothing. A missing database counts as empty.
func PlanOffline(ctx context.Context, old, next *config.Config, now func() time.Time) (*ConfigPlan, error) {
	if file, ok := strings.CutPrefix(old.Database.URL, "sqlite:"); ok {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return &ConfigPlan{Settings: plannedSettings(old, next), Reminders: []PlannedReminder{}, Requests: []PlannedRequest{}, Refusals: []PlannedRefusal{}}, nil
		}
	}
	db, err := OpenDatabase(ctx, old.Database)
	if err != nil {
		return nil, err
	}
	settings := *old.Booking.Settings()
	forecasts := forecast.NewService(meetingstore.New(db.Gorm, nil), func() meeting.Settings { return settings }, now)
	p, _, err := planConfig(ctx, forecasts, meeting.Actor{Kind: meeting.ActorSystem, Name: "plan"}, old, next, math.MaxInt)
	if err != nil {
		err = fmt.Errorf("read bookings (punctual migrate status shows whether the schema is up to date): %w", err)
	}
	return p, errors.Join(err, db.Close())
}

// NewPlannedMeeting names a meeting.
func NewPlannedMeeting(m *meeting.Meeting) PlannedMeeting {
	return PlannedMeeting{ID: m.ID, Title: m.Title, Start: m.Slot.Start.UTC(), Rooms: append([]string{}, m.RoomNames...)}
}

func plannedSettings(old, next *config.Config) []PlannedSetting {
	planned := []PlannedSetting{}
	for _, c := range config.Diff(old, next) {
		planned = append(planned, PlannedSetting(c))
	}
	return planned
}

func outcomeWord(s meeting.Status) string {
	if s == meeting.Confirmed {
		return "approve"
	}
	return "reject"
}
