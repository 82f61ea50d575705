package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/account/rest"
	"punctual/delayjob/pause"
	"punctual/meeting"
	"punctual/meeting/importing"
	"punctual/meeting/itip"
)

// CalendarImport is a calendar whose events are booked.
type CalendarImport struct {
	ICS            string           `json:"ics" minLength:"1" maxLength:"1000000" doc:"An iCalendar file with at most 2,000 events. The command punctual import ics takes larger ones"`
	DryRun         bool             `json:"dry_run,omitempty" doc:"Whether to only report what would happen"`
	OnConflict     string           `json:"on_conflict,omitempty" enum:"fail,skip,other_room" default:"fail" doc:"What to do if a room is taken or a policy forbids the event. fail reports the event, skip leaves out such dates of a series, other_room books a similar room at the site"`
	From           string           `json:"from,omitempty" format:"date" doc:"Leave out dates that end before this day in UTC" example:"2027-01-01"`
	RoomID         int64            `json:"room_id,omitempty" minimum:"1" doc:"Room for events that name no known room. Without it, they fail"`
	Rooms          map[string]int64 `json:"rooms,omitempty" doc:"Rooms by the names that the calendar uses, in addition to their own"`
	OrganizerEmail string           `json:"organizer_email,omitempty" format:"email" doc:"User who becomes the organizer of events whose organizer is not a user. Without it, they fail"`
	OverrideReason string           `json:"override_reason,omitempty" maxLength:"500" doc:"Reason for booking against the policies of the rooms. Without it, the policies apply"`
}

// ImportReport is the result of each event, in the order of the file.
type ImportReport struct {
	Counts map[importing.Result]int `json:"counts" doc:"Number of events by result"`
	Items  []ImportedEvent          `json:"items" nullable:"false"`
}

// ImportedEvent is the result of one event.
type ImportedEvent struct {
	File      string           `json:"file,omitempty" doc:"Name of the file, if it has one"`
	Line      int              `json:"line" doc:"Where the event begins in the file"`
	UID       string           `json:"uid"`
	Title     string           `json:"title"`
	Start     *time.Time       `json:"start" doc:"Start of its first date, or null if it is unknown"`
	Result    importing.Result `json:"result" enum:"created,updated,unchanged,cancelled,skipped,failed" doc:"unchanged: it was imported before. cancelled: its meeting was canceled together with the event"`
	Reason    string           `json:"reason,omitempty" doc:"Why it was not imported: room_conflict, the code of a policy or of a fault, past, before_from, own, cancelled, transparent, invalid, unknown_room or unknown_organizer"`
	Message   string           `json:"message,omitempty"`
	Conflicts []DateConflict   `json:"conflicts,omitempty" nullable:"false" doc:"Times at which its rooms are taken"`
	Dates     []SkippedDate    `json:"dates,omitempty" nullable:"false" doc:"Dates that its series does not have"`
	MeetingID int64            `json:"meeting_id,omitempty"`
	SeriesID  int64            `json:"series_id,omitempty"`
}

// NewImportReport returns the report as JSON shows it.
func NewImportReport(r *importing.Report) ImportReport {
	out := ImportReport{Counts: map[importing.Result]int{}, Items: list(r.Items, importedEventOf)}
	for _, result := range importing.Results {
		out.Counts[result] = r.Count(result)
	}
	return out
}

func importedEventOf(i importing.Item) ImportedEvent {
	return ImportedEvent{
		File: i.File, Line: i.Line, UID: i.UID, Title: i.Title, Start: rest.InstantOrNull(i.Start), Result: i.Result, Reason: i.Reason, Message: i.Message,
		Conflicts: list(i.Conflicts, dateConflictOf), Dates: list(i.Dates, skippedOf), MeetingID: i.MeetingID, SeriesID: i.SeriesID,
	}
}

// uploadLimits are those of a calendar that is imported by a request, which must end in time.
var uploadLimits = func() itip.Limits {
	l := itip.ImportLimits
	l.Events = 2_000
	return l
}()

// RegisterImports adds the import of calendars to the API.
func RegisterImports(api huma.API, imports *importing.Service) {
	register(api, operation("import-ics", http.MethodPost, "/imports/ics", "Book the events of an iCalendar file; importing it again updates them", "Meetings"),
		func(ctx context.Context, in *struct{ Body Body[CalendarImport] }) (*struct{ Body ImportReport }, error) {
			by, err := actorOf(ctx)
			if err != nil {
				return nil, err
			}
			body, faults := in.Body.read(api.OpenAPI().Components.Schemas)
			if len(faults) > 0 {
				return nil, &meeting.InvalidError{Faults: faults}
			}
			calendar, err := itip.Read(strings.NewReader(body.ICS), uploadLimits)
			if syntax, ok := errors.AsType[*itip.SyntaxError](err); ok {
				return nil, fault.Invalid("ics", "malformed", "line %d: %s", syntax.Line, syntax.Message)
			}
			if err != nil {
				return nil, err
			}
			from, _ := time.Parse(time.DateOnly, body.From) // its format was checked; none is the zero time
			report, err := imports.Import(pause.Never(ctx), by, []importing.Source{{Calendar: calendar}}, importing.Options{
				OnConflict: meeting.OnConflict(body.OnConflict), DryRun: body.DryRun, From: from,
				RoomID: body.RoomID, Rooms: body.Rooms, OrganizerEmail: body.OrganizerEmail, Override: body.OverrideReason,
			})
			if err != nil {
				return nil, err
			}
			return &struct{ Body ImportReport }{NewImportReport(report)}, nil
		})
}
