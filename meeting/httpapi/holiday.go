package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/itip"
	"punctual/meeting/places"
)

// HolidayCalendar is a list of whole days on which sites are closed.
type HolidayCalendar struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	SiteIDs   []int64   `json:"site_ids" nullable:"false" doc:"Sites that are closed; empty for all sites, including future ones, and rooms without a site"`
	Days      []Holiday `json:"days" nullable:"false" doc:"Sorted by first. Each closes the sites from midnight to midnight in the time zone of the site, as a blackout"`
	Version   int64     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Holiday is a span of whole days.
type Holiday struct {
	UID   string `json:"uid" doc:"UID of the event in the file"`
	First string `json:"first" format:"date"`
	Last  string `json:"last" format:"date" doc:"Last day, included"`
	Name  string `json:"name" doc:"The reason of its blackouts"`
}

// EffectiveHolidays is a holiday calendar with what a change of it did, or would do.
type EffectiveHolidays struct {
	HolidayCalendar
	Added        []Holiday     `json:"added" nullable:"false" doc:"Days that are added or changed"`
	Removed      []Holiday     `json:"removed" nullable:"false" doc:"Days that are removed or changed"`
	LeftOut      []LeftOutDate `json:"left_out" nullable:"false" doc:"Events of the file that are left out; the first 100"`
	Affected     []Meeting     `json:"affected" nullable:"false" doc:"First 500 meetings on the days, sorted by start. They are not changed"`
	AffectedMore bool          `json:"affected_more" doc:"Whether there are more affected meetings than listed"`
}

// LeftOutDate is an event that is no holiday.
type LeftOutDate struct {
	Line   int    `json:"line" doc:"Where the event begins in the file"`
	Name   string `json:"name"`
	Reason string `json:"reason" enum:"not_whole_days,invalid"`
}

// HolidaysPatch changes a holiday calendar. Fields that are left out stay unchanged.
type HolidaysPatch struct {
	Name    Field[string]  `json:"name,omitempty" example:"Public holidays in Bavaria"`
	SiteIDs Field[[]int64] `json:"site_ids,omitempty" doc:"Sites that are closed; empty for all sites, including future ones, and rooms without a site"`
	ICS     Field[string]  `json:"ics,omitempty" maxLength:"1000000" doc:"An iCalendar file. Its all-day events become the days of the calendar: known UIDs are updated, others are added, missing ones are removed. Recurring events are expanded for three years"`
}

// HolidaysInput is a new holiday calendar.
type HolidaysInput HolidaysPatch

// TransformSchema names what a new calendar must have.
func (HolidaysInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "ics"}
	return s
}

// HolidaysPreview asks what a file would do.
type HolidaysPreview struct {
	CalendarID int64   `json:"calendar_id,omitempty" minimum:"1" doc:"Calendar whose days the file would replace; omit for a new one"`
	SiteIDs    []int64 `json:"site_ids,omitempty" nullable:"false" doc:"Sites that would be closed; empty for all, omitted for those of the calendar"`
	ICS        string  `json:"ics" minLength:"1" maxLength:"1000000"`
}

const holidayYears = 3 // for which recurring events are followed

func holidayCalendarOf(c *meeting.HolidayCalendar) HolidayCalendar {
	return HolidayCalendar{
		ID: c.ID, Name: c.Name, SiteIDs: list(c.SiteIDs, func(id int64) int64 { return id }), Days: list(c.Days, holidayOf), Version: c.Version,
		CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC(),
	}
}

func holidayOf(d meeting.Holiday) Holiday { return Holiday(d) }

// daysIn reads the holidays of a file.
func daysIn(ics string, at time.Time) (days []meeting.Holiday, out []itip.LeftOut, err error) {
	calendar, err := itip.Read(strings.NewReader(ics), uploadLimits)
	if syntax, ok := errors.AsType[*itip.SyntaxError](err); ok {
		return nil, nil, fault.Invalid("ics", "malformed", "line %d: %s", syntax.Line, syntax.Message)
	}
	if err != nil {
		return nil, nil, err
	}
	today := at.UTC().Truncate(24 * time.Hour)
	found, out := calendar.WholeDays(today.AddDate(0, 0, -1), today.AddDate(holidayYears, 0, 0), places.MaxHolidays)
	for _, d := range found {
		days = append(days, meeting.Holiday{UID: d.UID, First: d.First.Format(time.DateOnly), Last: d.Last.Format(time.DateOnly), Name: d.Name})
	}
	return days, out, nil
}

func (p HolidaysPatch) fields(faults []meeting.Fault, at time.Time) (f places.HolidayFields, out []itip.LeftOut, err error) {
	f = places.HolidayFields{Name: p.Name.ptr(), SiteIDs: p.SiteIDs.ptr(), Faults: faults}
	if !p.ICS.Set {
		return f, nil, nil
	}
	days, out, err := daysIn(p.ICS.Value, at)
	if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok {
		f.Faults = append(f.Faults, invalid.Faults...)
	} else if err != nil {
		return f, nil, err
	}
	f.Days = &days
	return f, out, nil
}

func (h *handlers) registerHolidays(api huma.API) {
	const tag = "Rooms"
	register(api, operation("list-holidays", http.MethodGet, "/holidays", "List holiday calendars by name", tag), h.listHolidays)
	register(api, heavy(operation("preview-holidays", http.MethodPost, "/holidays/preview", "Preview a holiday calendar: its days, and the meetings on them", tag)), h.previewHolidays)
	register(api, creates(heavy(operation("create-holidays", http.MethodPost, "/holidays", "Close sites on the days of an iCalendar file; booked meetings stay booked", tag))), h.createHolidays)
	register(api, operation("get-holidays", http.MethodGet, "/holidays/{id}", "Get a holiday calendar", tag), h.holidays)
	register(api, heavy(operation("update-holidays", http.MethodPatch, "/holidays/{id}", "Change a holiday calendar, or replace its days by those of a file", tag)), h.updateHolidays)
	register(api, deletes(operation("delete-holidays", http.MethodDelete, "/holidays/{id}", "Delete a holiday calendar and its coming blackouts", tag)), h.deleteHolidays)
}

func (h *handlers) listHolidays(ctx context.Context, _ *struct{}) (*listOutput[HolidayCalendar], error) {
	calendars, err := h.places.HolidayCalendars(ctx)
	if err != nil {
		return nil, err
	}
	return listed(calendars, "", holidayCalendarOf), nil
}

func (h *handlers) holidays(ctx context.Context, in *Target) (*one[HolidayCalendar], error) {
	c, err := h.places.HolidayCalendar(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &one[HolidayCalendar]{ETag: etag(c.Version), Body: holidayCalendarOf(c)}, nil
}

func effectiveHolidays(c *meeting.HolidayCalendar, e places.HolidayEffect, out []itip.LeftOut) EffectiveHolidays {
	return EffectiveHolidays{
		HolidayCalendar: holidayCalendarOf(c), Added: list(e.Added, holidayOf), Removed: list(e.Removed, holidayOf),
		LeftOut:  list(out[:min(len(out), 100)], func(o itip.LeftOut) LeftOutDate { return LeftOutDate(o) }),
		Affected: list(e.Affected.Meetings, meetingOf), AffectedMore: e.Affected.More,
	}
}

func (h *handlers) previewHolidays(ctx context.Context, in *struct{ Body Body[HolidaysPreview] }) (*struct{ Body EffectiveHolidays }, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	body, faults := in.Body.read(h.registry)
	patch := HolidaysPatch{ICS: Field[string]{Value: body.ICS, Set: true}}
	if body.SiteIDs != nil {
		patch.SiteIDs = Field[[]int64]{Value: body.SiteIDs, Set: true}
	}
	f, out, err := patch.fields(faults, h.svc.Now())
	if err != nil {
		return nil, err
	}
	c, effect, err := h.places.PreviewHolidays(ctx, by, body.CalendarID, f)
	if err != nil {
		return nil, err
	}
	return &struct{ Body EffectiveHolidays }{effectiveHolidays(c, effect, out)}, nil
}

func (h *handlers) createHolidays(ctx context.Context, in *struct{ Body Body[HolidaysInput] }) (*made[EffectiveHolidays], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	f, out, err := HolidaysPatch(input).fields(faults, h.svc.Now())
	if err != nil {
		return nil, err
	}
	c, effect, err := h.places.CreateHolidays(ctx, by, f)
	if err != nil {
		return nil, err
	}
	return &made[EffectiveHolidays]{ETag: etag(c.Version), Location: h.locate("holidays", c.ID), Body: effectiveHolidays(c, effect, out)}, nil
}

type updateHolidaysInput struct {
	Target
	Guard
	Body Body[HolidaysPatch]
}

func (h *handlers) updateHolidays(ctx context.Context, in *updateHolidaysInput) (*one[EffectiveHolidays], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	patch, faults := in.Body.read(h.registry)
	f, out, err := patch.fields(faults, h.svc.Now())
	if err != nil {
		return nil, err
	}
	c, effect, err := h.places.UpdateHolidays(ctx, by, in.ID, in.version(), f)
	if err != nil {
		return nil, err
	}
	return &one[EffectiveHolidays]{ETag: etag(c.Version), Body: effectiveHolidays(c, effect, out)}, nil
}

func (h *handlers) deleteHolidays(ctx context.Context, in *guardedInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.places.DeleteHolidays(ctx, by, in.ID, in.version())
}
