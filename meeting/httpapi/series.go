package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// Series is a recurring meeting: a rule, and what all its dates have in common.
type Series struct {
	ID               int64          `json:"id" doc:"ID of the series; 0 in a preview"`
	PreviousID       *int64         `json:"previous_id" doc:"ID of the series from which this one was split"`
	RRule            string         `json:"rrule" doc:"RFC 5545 recurrence rule" example:"FREQ=WEEKLY;COUNT=10"`
	Timezone         string         `json:"timezone" doc:"IANA time zone name; the rule repeats in local time there"`
	DTStart          string         `json:"dtstart" doc:"Start of the first date, as local time in timezone" example:"2027-02-10T09:00:00"`
	DTEnd            string         `json:"dtend" doc:"End of the first date, as local time in timezone" example:"2027-02-10T10:00:00"`
	Start            time.Time      `json:"start" doc:"Start of the first date"`
	ExDates          []string       `json:"exdates" nullable:"false" doc:"Excluded dates, as local time in timezone; a date without a time excludes the whole day"`
	RDates           []string       `json:"rdates" nullable:"false" doc:"Additional dates, as local time in timezone; a date without a time uses the time of day of the start"`
	RoomIDs          []int64        `json:"room_ids" nullable:"false"`
	Rooms            []RoomRef      `json:"rooms" nullable:"false"`
	Title            string         `json:"title" doc:"Title; Busy if the series is private and you may not see it"`
	Description      string         `json:"description"`
	Organizer        Organizer      `json:"organizer"`
	Attendees        []Attendee     `json:"attendees" nullable:"false"`
	Reminders        []Reminder     `json:"reminders" nullable:"false"`
	DefaultReminders bool           `json:"default_reminders" doc:"Whether the reminders follow the installation's defaults"`
	Visibility       string         `json:"visibility" enum:"public,private"`
	TypeID           *int64         `json:"type_id" doc:"Meeting type; null for ordinary meetings"`
	Fields           map[string]any `json:"fields" nullable:"false" doc:"Values of custom fields by name"`
	CancelledAt      *time.Time     `json:"cancelled_at" nullable:"true" doc:"When the whole series was cancelled"`
	Version          int64          `json:"version"`
	CreatedAt        time.Time      `json:"created_at"`
	UpdatedAt        time.Time      `json:"updated_at"`
}

// SeriesState is a series with the state of its occurrences.
type SeriesState struct {
	Series
	Counts map[string]int `json:"counts" doc:"Number of meetings by status"`
	// NoShows and Flagged show series that people may have forgotten.
	NoShows int          `json:"no_shows_in_row" doc:"Number of consecutive no-shows up to now"`
	Flagged bool         `json:"flagged" doc:"Whether there were three or more consecutive no-shows"`
	Next    []Meeting    `json:"next" nullable:"false" doc:"The next five meetings"`
	Absent  []AbsentDate `json:"absent" nullable:"false" doc:"Future dates of the rule that have no meeting; POST /series/{id}/dates adds them"`
}

// AbsentDate is a date of the rule without a meeting.
type AbsentDate struct {
	OriginalStart time.Time `json:"original_start"`
	Reason        string    `json:"reason" enum:"cancelled,skipped,left_out" doc:"Why the date has no meeting; left_out if exdates excludes it"`
}

// SeriesResult is the result of a change of a series, or of its preview.
type SeriesResult struct {
	Series    Series        `json:"series"`
	Previous  *Series       `json:"previous,omitempty" doc:"The series that was split, which now ends before the first changed date"`
	Meetings  []Meeting     `json:"meetings" nullable:"false" doc:"Meetings that were created or changed, sorted by start"`
	Skipped   []SkippedDate `json:"skipped" nullable:"false" doc:"Dates that could not be booked as requested"`
	UndoUntil *time.Time    `json:"undo_until,omitempty" doc:"Until when you can undo the change with POST /series/{id}/undo, with the ID of previous if there is one; omitted if you cannot"`
	Saved     bool          `json:"saved" doc:"Whether the change was saved. In a preview, whether it would be: false if on_conflict is fail and there is a conflict"`
}

// SkippedDate is a date that cannot be booked, and the reason.
type SkippedDate struct {
	OriginalStart time.Time      `json:"original_start"`
	Reason        string         `json:"reason" doc:"room_conflict, or the code of the policy that the date violates, such as opening_hours or max_advance"`
	Conflicts     []DateConflict `json:"conflicts" nullable:"false" doc:"Times at which the rooms are taken"`
	Errors        []DateError    `json:"errors,omitempty" nullable:"false" doc:"Policies that the date violates"`
}

// DateConflict is a time at which a room is taken. It does not say by whom.
type DateConflict struct {
	RoomID int64     `json:"room_id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
}

// DateError is a policy violation of a date, with the allowed and the actual value.
type DateError struct {
	Location   string     `json:"location"`
	Message    string     `json:"message"`
	Code       string     `json:"code"`
	RoomID     int64      `json:"room_id,omitempty" doc:"Room whose rule was broken; omitted for a rule of the installation"`
	Limit      any        `json:"limit,omitempty" doc:"What the rule allows"`
	Actual     any        `json:"actual,omitempty" doc:"The requested value, in the same form as limit"`
	Used       any        `json:"used,omitempty" doc:"What the person's other meetings use of the quota"`
	Per        string     `json:"per,omitempty" doc:"Period of the quota: day, week or month"`
	Start      *time.Time `json:"start,omitempty" doc:"Start of the blackout, or of the quota's period"`
	End        *time.Time `json:"end,omitempty"`
	BlackoutID int64      `json:"blackout_id,omitempty"`
	Reason     string     `json:"reason,omitempty" doc:"Reason of the blackout"`
}

func dateErrorOf(f meeting.Fault) DateError {
	of := f.Figures
	return DateError{
		Location: f.Location, Message: f.Message, Code: f.Code, RoomID: of.RoomID, Limit: of.Limit, Actual: of.Actual, Used: of.Used,
		Per: of.Per, Start: instant(of.Span.Start), End: instant(of.Span.End), BlackoutID: of.BlackoutID, Reason: of.Reason,
	}
}

func seriesOf(s *meeting.Series) Series {
	texts := func(ws []recurrence.WallTime) []string { return list(ws, recurrence.WallTime.String) }
	m := meetingOf(&meeting.Meeting{RoomIDs: s.RoomIDs, RoomNames: s.RoomNames})
	const wall = "2006-01-02T15:04:05"
	return Series{
		ID: s.ID, PreviousID: number(s.PreviousID), RRule: s.Rule.String(), Timezone: s.Timezone,
		DTStart: s.Start.Format(wall), DTEnd: s.End.Format(wall), Start: s.First(),
		ExDates: texts(s.ExDates), RDates: texts(s.RDates), RoomIDs: m.RoomIDs, Rooms: m.Rooms,
		Title: s.Title, Description: s.Description,
		Organizer: Organizer{ID: s.Organizer.UserID, Name: s.Organizer.Name, Email: s.Organizer.Email},
		Attendees: list(s.Attendees, attendeeOf), Reminders: list(s.Reminders, reminderOf), DefaultReminders: s.DefaultReminders,
		Visibility: string(s.Visibility), TypeID: number(s.TypeID), Fields: fieldsOf(s.Custom), CancelledAt: instant(s.CancelledAt),
		Version: s.Version, CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(),
	}
}

func seriesResultOf(r *booking.SeriesResult) SeriesResult {
	out := SeriesResult{
		Series: seriesOf(r.Series), Meetings: list(r.Meetings, meetingOf), Skipped: list(r.Skipped, skippedOf), Saved: r.Saved,
		UndoUntil: undoUntil(r.Undoable),
	}
	if r.Previous != nil {
		out.Previous = new(seriesOf(r.Previous))
	}
	return out
}

func skippedOf(s meeting.Skipped) SkippedDate {
	return SkippedDate{
		OriginalStart: s.OriginalStart.UTC(), Reason: s.Reason,
		Conflicts: list(s.Conflicts, dateConflictOf),
		Errors:    list(fault.At("body", s.Violations), dateErrorOf),
	}
}

func dateConflictOf(o meeting.Occupancy) DateConflict {
	return DateConflict{RoomID: o.RoomID, Start: o.Slot.Start.UTC(), End: o.Slot.End.UTC()}
}

// Recurrence holds the fields that a series has in addition to a meeting.
type Recurrence struct {
	RRule      Field[string]        `json:"rrule,omitempty" doc:"RFC 5545 recurrence rule: DAILY, WEEKLY, MONTHLY or YEARLY, with COUNT or UNTIL. The start must be one of its dates" example:"FREQ=WEEKLY;COUNT=10"`
	ExDates    Field[[]string]      `json:"exdates,omitempty" doc:"Dates to exclude: a day, or a time with an offset or local in timezone" example:"[\"2027-02-17\"]"`
	RDates     Field[[]string]      `json:"rdates,omitempty" doc:"Dates to add: a day, which uses the time of day of the start, or a time with an offset or local in timezone"`
	Choices    Field[[]ChoiceInput] `json:"choices,omitempty" doc:"Other rooms for individual dates"`
	OnConflict Field[string]        `json:"on_conflict,omitempty" enum:"fail,skip,other_room" doc:"What to do if a date conflicts with another meeting or breaks a policy. fail saves nothing, skip saves the other dates, other_room books a comparable room at the same site"`
}

// ChoiceInput assigns different rooms to one date.
type ChoiceInput struct {
	OriginalStart string  `json:"original_start" doc:"The original_start returned by a preview" example:"2027-02-17T08:00:00Z"`
	RoomIDs       []int64 `json:"room_ids" maximum:"9007199254740991" doc:"1 to 50 room IDs that replace the rooms of the series"`
}

// SeriesInput is a new series: a new meeting, which is its first date, and a rule.
type SeriesInput struct {
	MeetingPatch
	Recurrence
}

// TransformSchema names what a new series must have.
func (SeriesInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"room_ids", "title", "start", "end", "rrule"}
	return s
}

// RepeatInput is the rule by which a meeting repeats, with changes of the meeting itself. Fields
// that are left out stay unchanged.
type RepeatInput struct {
	MeetingPatch
	Recurrence
}

// TransformSchema names what must be there.
func (RepeatInput) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"rrule"}
	return s
}

// SeriesPatch changes dates of a series. Fields that are left out stay unchanged. Start and end are
// those of the first date that changes; without a new start all dates keep theirs.
type SeriesPatch struct {
	MeetingPatch
	Recurrence
	Scoped
}

// Scoped says which dates a change covers.
type Scoped struct {
	Scope string `json:"scope,omitempty" enum:"all,following" doc:"Which dates to change. Defaults to all unless from is set; dates that have started never change"`
	From  string `json:"from,omitempty" doc:"The original_start of the first date to change; only with following"`
}

// from returns the first date that a change covers, or nil.
func (s Scoped) from() *clock.Time {
	if s.From == "" {
		return nil
	}
	return new(clock.Parse(strings.TrimSpace(s.From)))
}

func (in Recurrence) fields(f booking.Fields) series.Fields {
	return series.Fields{
		Fields: f, Rule: in.RRule.ptr(), ExDates: mapField(in.ExDates, dates), RDates: mapField(in.RDates, dates),
		OnConflict: meeting.OnConflict(in.OnConflict.Value),
		Choices: list(in.Choices.Value, func(c ChoiceInput) series.Choice {
			return series.Choice{OriginalStart: timeOf(c.OriginalStart), RoomIDs: c.RoomIDs}
		}),
	}
}

func dates(texts []string) []clock.Time { return list(texts, clock.ParseDate) }

// SeriesReason is which dates to cancel, and why.
type SeriesReason struct {
	Reason
	Scoped
}

// DateInput is a date to add.
type DateInput struct {
	OriginalStart string `json:"original_start" doc:"The date's start according to the rule" example:"2027-02-17T08:00:00Z"`
	OnConflict    string `json:"on_conflict,omitempty" enum:"fail,other_room"`
}

func (h *handlers) registerSeries(api huma.API) {
	const tag = "Series"
	register(api, heavy(operation("preview-series", http.MethodPost, "/series/preview", "Preview POST /series: all dates, and those that cannot be booked", tag)), h.previewSeries)
	register(api, creates(heavy(operation("create-series", http.MethodPost, "/series", "Book a series of meetings by a recurrence rule", tag))), h.createSeries)
	register(api, heavy(operation("preview-repeat", http.MethodPost, "/meetings/{id}/repeat/preview", "Preview POST /meetings/{id}/repeat: all dates, and those that cannot be booked", tag)), h.previewRepeat)
	register(api, creates(heavy(operation("repeat-meeting", http.MethodPost, "/meetings/{id}/repeat", "Make a meeting the first date of a new series; it keeps its ID and, in calendars, its UID", tag))), h.repeat)
	register(api, operation("list-series", http.MethodGet, "/series", "List my series, newest first; admins list those of all users", tag), h.listSeries)
	register(api, operation("get-series", http.MethodGet, "/series/{id}", "Get a series with its counts and next meetings", tag), h.showSeries)
	register(api, heavy(operation("update-series", http.MethodPatch, "/series/{id}", "Change all future dates, or those from a date on, which become a new series", tag)), h.updateSeries)
	register(api, heavy(operation("preview-series-update", http.MethodPost, "/series/{id}/preview", "Preview PATCH /series/{id}: all dates that change, and those that cannot be booked", tag)), h.previewUpdate)
	register(api, operation("cancel-series", http.MethodPost, "/series/{id}/cancel", "Cancel all future dates, or those from a date on", tag), h.cancelSeries)
	register(api, operation("undo-series", http.MethodPost, "/series/{id}/undo", "Undo your latest change of a series, without notifying anyone", tag), h.undoSeries)
	register(api, operation("approve-series", http.MethodPost, "/series/{id}/approve", "Approve all pending requests of a series, or none if one fails", tag), h.approveSeries)
	register(api, operation("reject-series", http.MethodPost, "/series/{id}/reject", "Reject all pending requests of a series", tag), h.rejectSeries)
	register(api, creates(operation("add-series-date", http.MethodPost, "/series/{id}/dates", "Restore a date that was skipped, cancelled or excluded", tag)), h.addDate)
}

type seriesInput struct{ Body Body[SeriesInput] }

func (h *handlers) newSeries(in *seriesInput) series.Fields {
	input, faults := in.Body.read(h.registry)
	return input.Recurrence.fields(input.MeetingPatch.fields(faults))
}

func (h *handlers) previewSeries(ctx context.Context, in *seriesInput) (*struct{ Body SeriesResult }, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := h.series.Preview(ctx, by, h.newSeries(in))
	if err != nil {
		return nil, err
	}
	return &struct{ Body SeriesResult }{seriesResultOf(r)}, nil
}

func (h *handlers) createSeries(ctx context.Context, in *seriesInput) (*made[SeriesResult], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := h.series.Book(ctx, by, h.newSeries(in))
	if err != nil {
		return nil, err
	}
	return &made[SeriesResult]{ETag: etag(r.Series.Version), Location: h.locate("series", r.Series.ID), Body: seriesResultOf(r)}, nil
}

type repeatInput struct {
	Target
	Guard
	Body Body[RepeatInput]
}

func (h *handlers) repeated(in *repeatInput) series.Fields {
	input, faults := in.Body.read(h.registry)
	return input.Recurrence.fields(input.MeetingPatch.fields(faults))
}

func (h *handlers) previewRepeat(ctx context.Context, in *repeatInput) (*struct{ Body SeriesResult }, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := h.series.PreviewRepeat(ctx, by, in.ID, in.version(), h.repeated(in))
	if err != nil {
		return nil, err
	}
	return &struct{ Body SeriesResult }{seriesResultOf(r)}, nil
}

func (h *handlers) repeat(ctx context.Context, in *repeatInput) (*made[SeriesResult], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := h.series.Repeat(ctx, by, in.ID, in.version(), h.repeated(in))
	if err != nil {
		return nil, err
	}
	return &made[SeriesResult]{ETag: etag(r.Series.Version), Location: h.locate("series", r.Series.ID), Body: seriesResultOf(r)}, nil
}

type listSeriesInput struct {
	Paging
	OrganizerID int64 `query:"organizer_id" doc:"Only series of this user"`
	Flagged     bool  `query:"flagged" doc:"Only series with three or more consecutive no-shows"`
}

func (h *handlers) listSeries(ctx context.Context, in *listSeriesInput) (*listOutput[Series], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	series, next, err := h.series.List(ctx, by, meeting.SeriesQuery{OrganizerID: in.OrganizerID, Flagged: in.Flagged}, in.page())
	if err != nil {
		return nil, err
	}
	return listed(series, next, seriesOf), nil
}

func (h *handlers) showSeries(ctx context.Context, in *Target) (*one[SeriesState], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	s, err := h.series.Series(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	state := SeriesState{Series: seriesOf(s.Series), Counts: map[string]int{}, NoShows: s.NoShows, Flagged: s.NoShows >= meeting.FlaggedAfter, Next: list(s.Next, meetingOf)}
	for status, n := range s.Counts {
		state.Counts[string(status)] = n
	}
	state.Absent = list(s.Absent, func(d meeting.Skipped) AbsentDate {
		return AbsentDate{OriginalStart: d.OriginalStart.UTC(), Reason: d.Reason}
	})
	return &one[SeriesState]{ETag: etag(s.Version), Body: state}, nil
}

type updateSeriesInput struct {
	Target
	Guard
	Body Body[SeriesPatch]
}

func (h *handlers) updateSeries(ctx context.Context, in *updateSeriesInput) (*one[SeriesResult], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answerSeries(h.series.Update(ctx, by, in.ID, in.version(), h.changed(in)))
}

func (h *handlers) changed(in *updateSeriesInput) series.Fields {
	patch, faults := in.Body.read(h.registry)
	f := patch.Recurrence.fields(patch.MeetingPatch.fields(faults))
	f.Scope, f.From = meeting.Scope(patch.Scope), patch.from()
	return f
}

func (h *handlers) previewUpdate(ctx context.Context, in *updateSeriesInput) (*struct{ Body SeriesResult }, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	r, err := h.series.PreviewUpdate(ctx, by, in.ID, in.version(), h.changed(in))
	if err != nil {
		return nil, err
	}
	return &struct{ Body SeriesResult }{seriesResultOf(r)}, nil
}

type cancelSeriesInput struct {
	Target
	Guard
	Body *Body[SeriesReason]
}

func (h *handlers) cancelSeries(ctx context.Context, in *cancelSeriesInput) (*one[SeriesResult], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	said, err := optional(h.registry, in.Body)
	if err != nil {
		return nil, err
	}
	return answerSeries(h.series.Cancel(ctx, by, in.ID, in.version(), meeting.Scope(said.Scope), said.from(), said.Reason.Reason))
}

func (h *handlers) undoSeries(ctx context.Context, in *guardedInput) (*one[SeriesResult], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answerSeries(h.svc.UndoSeries(ctx, by, in.ID, in.version()))
}

func (h *handlers) approveSeries(ctx context.Context, in *decideInput) (*one[SeriesResult], error) {
	return h.decideSeries(ctx, in, h.approval.ApproveSeries)
}

func (h *handlers) rejectSeries(ctx context.Context, in *decideInput) (*one[SeriesResult], error) {
	return h.decideSeries(ctx, in, h.approval.RejectSeries)
}

type seriesDecision func(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, comment string) (*booking.SeriesResult, error)

func (h *handlers) decideSeries(ctx context.Context, in *decideInput, how seriesDecision) (*one[SeriesResult], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	said, err := optional(h.registry, in.Body)
	if err != nil {
		return nil, err
	}
	return answerSeries(how(ctx, by, in.ID, in.version(), said.Comment))
}

func answerSeries(r *booking.SeriesResult, err error) (*one[SeriesResult], error) {
	if err != nil {
		return nil, err
	}
	return &one[SeriesResult]{ETag: etag(r.Series.Version), Body: seriesResultOf(r)}, nil
}

type addDateInput struct {
	Target
	Guard
	Body Body[DateInput]
}

func (h *handlers) addDate(ctx context.Context, in *addDateInput) (*made[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	input, faults := in.Body.read(h.registry)
	if len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	m, err := h.series.AddDate(ctx, by, in.ID, in.version(), timeOf(input.OriginalStart), meeting.OnConflict(input.OnConflict))
	if err != nil {
		return nil, err
	}
	return &made[Meeting]{ETag: etag(m.Version), Location: h.locate("meetings", m.ID), Body: meetingOf(m)}, nil
}
