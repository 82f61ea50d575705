package httpapi

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/report"
)

// maxListBytes limits the table of a list of meetings, and maxListed the meetings of its calendar, which is
// rendered as a whole.
const (
	maxListBytes = 16 << 20
	maxListed    = 10_000
)

// MeetingReport is the report of what rooms were booked for.
type MeetingReport struct {
	From  time.Time  `json:"from"`
	To    time.Time  `json:"to"`
	Group string     `json:"group" enum:"room,site,type,organizer,title,field"`
	Total MeetingSum `json:"total" doc:"Total of all groups, including those on other pages; each meeting counts once"`
	Listing[MeetingSum]
}

// MeetingSum is how many meetings a group has, and for how long they book rooms.
type MeetingSum struct {
	Room      *NamedRef `json:"room,omitempty" doc:"Room; only with group=room"`
	Site      *NamedRef `json:"site,omitempty" doc:"Site; only with group=room or site. Omitted for rooms without a site"`
	Type      *NamedRef `json:"type,omitempty" doc:"Meeting type; only with group=type. Omitted for ordinary meetings, and for private ones that you may not see"`
	Organizer *NamedRef `json:"organizer,omitempty" doc:"Organizer; only with group=organizer. Omitted for private meetings that you may not see"`
	Title     string    `json:"title,omitempty" doc:"Title; only with group=title"`
	Value     string    `json:"value,omitempty" doc:"Value of the custom field; only with group=field. Omitted for meetings without one"`

	Meetings      int   `json:"meetings"`
	BookedSeconds int64 `json:"booked_seconds" doc:"Time within the range for which the meetings book rooms; a meeting in two rooms books each of them"`
}

func meetingSumOf(group report.Grouping, s *report.Sum) MeetingSum {
	sum := MeetingSum{Meetings: s.Meetings, BookedSeconds: int64(math.Round(s.Seconds))}
	ref := func(id int64, name string) *NamedRef {
		if id == 0 {
			return nil
		}
		return &NamedRef{id, name}
	}
	switch group {
	case report.ByRoom:
		sum.Room, sum.Site = ref(s.ID, s.Name), ref(s.SiteID, s.SiteName)
	case report.BySite:
		sum.Site = ref(s.ID, s.Name)
	case report.ByType:
		sum.Type = ref(s.ID, s.Name)
	case report.ByOrganizer:
		sum.Organizer = ref(s.ID, s.Name)
	case report.ByTitle:
		sum.Title = s.Name
	case report.ByField:
		sum.Value = s.Name
	}
	return sum
}

// MeetingFilter selects the meetings of a report.
type MeetingFilter struct {
	From      string   `query:"from" doc:"Meetings that end after this time; defaults to 30 days before to" example:"2027-02-01T00:00:00Z"`
	To        string   `query:"to" doc:"Meetings that start before this time, at most 366 days after from; defaults to now" example:"2027-03-01T00:00:00Z"`
	RoomID    []int64  `query:"room_id,explode" maxItems:"100" doc:"Only these rooms; repeat the parameter"`
	SiteID    []int64  `query:"site_id,explode" maxItems:"100" doc:"Only rooms of these sites; repeat the parameter"`
	TypeID    int64    `query:"type_id" minimum:"1" doc:"Only meetings of this type"`
	Organizer string   `query:"organizer" doc:"me, or a user ID"`
	Status    []string `query:"status,explode" doc:"Meetings with any of these statuses; repeat the parameter or separate values with commas. Defaults to booked meetings: confirmed, in_progress, ended and released"`
	Q         string   `query:"q" maxLength:"200" doc:"Text in the title, the description or the values of custom fields that you may see, ignoring case and accents"`
	Field     []string `query:"field,explode" maxItems:"10" doc:"Name and value of a custom field, such as cost_center:4711; repeat the parameter for several. Texts need only contain the value"`
}

// query reads the filter, and adds to the faults of d.
func (in *MeetingFilter) query(by meeting.Actor, d decoder) (report.MeetingQuery, error) {
	listed := listMeetingsInput{From: in.From, To: in.To, TypeID: in.TypeID, Organizer: in.Organizer, Status: in.Status, Q: in.Q}
	q, err := listed.query(by, nil)
	if e, ok := errors.AsType[*meeting.InvalidError](err); ok {
		d.faults = append(d.faults, e.Faults...)
	}
	q.RoomIDs, q.SiteIDs = in.RoomID, in.SiteID
	out := report.MeetingQuery{MeetingQuery: q}
	for i, f := range in.Field {
		name, value, ok := strings.Cut(f, ":")
		if !ok || value == "" {
			d.add(fault.Index("field", i), "malformed", "must be the name and a value of a custom field, such as cost_center:4711")
			continue
		}
		out.Fields = append(out.Fields, report.FieldFilter{Name: name, Value: value})
	}
	return out, d.err()
}

type meetingReportInput struct {
	Accept string `header:"Accept" doc:"text/csv returns all groups as a table" example:"text/csv"`
	MeetingFilter
	Group      string `query:"group" enum:"room,site,type,organizer,title,field" default:"room" doc:"How to group the meetings"`
	GroupField string `query:"group_field" maxLength:"40" doc:"Name of the custom field; only with group=field" example:"cost_center"`
	Format     string `query:"format" enum:"json,csv" doc:"csv returns all groups as a table; defaults to what Accept names"`
	Limit      int    `query:"limit" minimum:"1" maximum:"500" default:"500" doc:"Maximum number of items"`
	Cursor     string `query:"cursor" maxLength:"20" doc:"The next_cursor of the previous page"`
}

type meetingListInput struct {
	Accept string `header:"Accept" doc:"text/csv or text/calendar" example:"text/csv"`
	MeetingFilter
	Format string `query:"format" enum:"csv,ics" doc:"Table or iCalendar; defaults to what Accept names, otherwise csv"`
}

func (h *handlers) registerMeetingReports(api huma.API) {
	op := heavy(operation("report-meetings", http.MethodGet, "/reports/meetings",
		"Get how many meetings took place and for how long they booked rooms, by room, site, type, organizer, title or custom field", "Reports"))
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: h.registry.Schema(reflect.TypeFor[MeetingReport](), true, "")},
		"text/csv":         {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
	register(api, op, h.meetingReport)
	op = heavy(operation("report-meeting-list", http.MethodGet, "/reports/meetings/list", "Get the meetings of a report as a table or as iCalendar", "Reports"))
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"text/csv":      {Schema: &huma.Schema{Type: huma.TypeString}},
		"text/calendar": {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
	register(api, op, h.meetingList)
}

// asTable reports whether a client wants a table: by the parameter format or else by the header Accept.
func asTable(format, accept string) bool {
	return format == "csv" || format == "" && strings.Contains(strings.ToLower(accept), "text/csv")
}

func (h *handlers) meetingReport(ctx context.Context, in *meetingReportInput) (*huma.StreamResponse, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	var d decoder
	skip := d.offset(in.Cursor)
	q, err := in.query(by, d)
	if err != nil {
		return nil, err
	}
	q.Group, q.Field = report.Grouping(in.Group), in.GroupField
	groups, total, span, err := h.reports.MeetingSums(ctx, by, q)
	if err != nil {
		return nil, err
	}
	sums := list(groups, func(s *report.Sum) MeetingSum { return meetingSumOf(q.Group, s) })
	all := meetingSumOf("", &total)
	if asTable(in.Format, in.Accept) {
		return streamed(csvType, func(w io.Writer) error { return writeSums(w, q.Group, sums, all) }), nil
	}
	out := MeetingReport{From: span.Start.UTC(), To: span.End.UTC(), Group: in.Group, Total: all}
	out.Items = sums[min(skip, len(sums)):]
	if len(out.Items) > in.Limit {
		out.Items, out.NextCursor = out.Items[:in.Limit], new(strconv.Itoa(skip+in.Limit))
	}
	return streamed("application/json", func(w io.Writer) error { return json.NewEncoder(w).Encode(out) }), nil
}

// writeSums writes a line for each group, and one for the total.
func writeSums(w io.Writer, group report.Grouping, sums []MeetingSum, total MeetingSum) error {
	head := map[report.Grouping][]string{
		report.ByRoom: {"room_id", "room", "site_id", "site"}, report.BySite: {"site_id", "site"}, report.ByType: {"type_id", "type"},
		report.ByOrganizer: {"organizer_id", "organizer"}, report.ByTitle: {"title"}, report.ByField: {"value"},
	}[group]
	table := csv.NewWriter(w)
	_ = table.Write(append(slices.Clone(head), "meetings", "booked_seconds", "hours")) // checked by Error below
	line := func(cells []string, s MeetingSum) {
		_ = table.Write(append(cells, strconv.Itoa(s.Meetings), strconv.FormatInt(s.BookedSeconds, 10), hoursText(float64(s.BookedSeconds))))
	}
	for _, s := range sums {
		var cells []string
		switch group {
		case report.ByRoom:
			cells = append(s.Room.cells(), s.Site.cells()...)
		case report.BySite:
			cells = s.Site.cells()
		case report.ByType:
			cells = s.Type.cells()
		case report.ByOrganizer:
			cells = s.Organizer.cells()
		case report.ByTitle:
			cells = []string{plain(s.Title)}
		case report.ByField:
			cells = []string{plain(s.Value)}
		}
		line(cells, s)
	}
	line(totalCells(len(head)), total)
	table.Flush()
	return table.Error()
}

// totalCells begin the line of the total in a table.
func totalCells(n int) []string {
	cells := make([]string, n)
	cells[min(1, n-1)] = "Total"
	return cells
}

// hoursText is a number of hours, with two digits after the point.
func hoursText(seconds float64) string {
	return strconv.FormatFloat(math.Round(seconds/36)/100, 'f', -1, 64)
}

// meetingList renders the whole list before it answers, so that a list that is too long is a problem and not
// half a file.
func (h *handlers) meetingList(ctx context.Context, in *meetingListInput) (*huma.StreamResponse, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	q, err := in.query(by, decoder{})
	if err != nil {
		return nil, err
	}
	if in.Format == "ics" || in.Format == "" && strings.Contains(strings.ToLower(in.Accept), "text/calendar") {
		return h.listAsCalendar(ctx, by, q)
	}
	var out bytes.Buffer
	table := csv.NewWriter(&out)
	var fields []*meeting.CustomField
	begin := func(_ clock.Slot, all []*meeting.CustomField) error {
		fields = all
		head := []string{
			"id", "title", "room", "site", "start", "end", "timezone", "hours", "type", "organizer", "organizer_email", "attendees", "status", "private", "series_id", "description",
		}
		return table.Write(append(head, list(fields, func(f *meeting.CustomField) string { return plain(f.Name) })...))
	}
	err = h.reports.MeetingList(ctx, by, q, begin, func(l report.Line) error {
		if out.Len() > maxListBytes {
			return fault.Invalid("to", "too_many", "must leave fewer meetings: choose a shorter time, or other filters")
		}
		return table.Write(meetingLine(l, fields))
	})
	if err != nil {
		return nil, err
	}
	table.Flush()
	return attached(csvType, "meetings.csv", out.Bytes()), nil
}

func (h *handlers) listAsCalendar(ctx context.Context, by meeting.Actor, q report.MeetingQuery) (*huma.StreamResponse, error) {
	var ms []*meeting.Meeting
	var span clock.Slot
	size := 0
	begin := func(s clock.Slot, _ []*meeting.CustomField) error { span = s; return nil }
	err := h.reports.MeetingList(ctx, by, q, begin, func(l report.Line) error {
		if size += len(l.Title) + len(l.Description); len(ms) >= maxListed || size > maxListBytes {
			return fault.Invalid("to", "too_many", "must leave at most %d meetings: choose a shorter time, or other filters", maxListed)
		}
		m := *l.Meeting
		m.Attendees, m.Custom = nil, nil // which a calendar does not name
		ms = append(ms, &m)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return attached("text/calendar; charset=utf-8", "meetings.ics", h.calendars.Calendar("Meetings", ms, span.End)), nil
}

// meetingLine has times as spreadsheets understand them, in the zone of the meeting.
func meetingLine(l report.Line, fields []*meeting.CustomField) []string {
	in := clock.ZoneOrUTC(l.Timezone)
	const local = "2006-01-02 15:04"
	series := ""
	if l.SeriesID != 0 {
		series = strconv.FormatInt(l.SeriesID, 10)
	}
	cells := []string{
		strconv.FormatInt(l.ID, 10), plain(l.Title), plain(strings.Join(l.RoomNames, ", ")), plain(strings.Join(l.Sites, ", ")),
		l.Slot.Start.In(in).Format(local), l.Slot.End.In(in).Format(local), l.Timezone, hoursText(l.Seconds),
		plain(l.TypeName), plain(l.Organizer.Name), plain(l.Organizer.Email), strconv.Itoa(len(l.Attendees)), string(l.Status),
		map[bool]string{true: "yes", false: "no"}[l.Visibility == meeting.Private], series, plain(l.Description),
	}
	for _, f := range fields {
		value := ""
		if i := slices.IndexFunc(l.Custom, func(v meeting.FieldValue) bool { return v.Name == f.Name }); i >= 0 {
			value = report.FieldText(l.Custom[i].Value)
			if _, text := l.Custom[i].Value.(string); text { // a negative number is no formula
				value = plain(value)
			}
		}
		cells = append(cells, value)
	}
	return cells
}

const csvType = "text/csv; charset=utf-8"

// attached is a file to save.
func attached(contentType, name string, body []byte) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", contentType)
		ctx.SetHeader("Content-Disposition", `attachment; filename="`+name+`"`)
		ctx.SetHeader("Vary", "Accept")
		_, _ = ctx.BodyWriter().Write(body)
	}}
}
