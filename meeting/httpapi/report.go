package httpapi

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting/clock"
	"punctual/meeting/report"
)

// Utilisation is the report of how rooms were used.
type Utilisation struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Group string    `json:"group" enum:"room,site,day,hour"`
	Total RoomUse   `json:"total" doc:"Total of all groups, including those on other pages"`
	Listing[RoomUse]
}

// RoomUse is how a room, the rooms of a site, or all rooms on a day were used. A meeting in two
// rooms counts in both.
type RoomUse struct {
	Room *NamedRef `json:"room,omitempty" doc:"Room; only with group=room"`
	Site *NamedRef `json:"site,omitempty" doc:"Site; only with group=room or site. Omitted for rooms without a site"`
	Day  string    `json:"day,omitempty" doc:"Day in each room's time zone; only with group=day" example:"2027-02-10"`

	Weekday string `json:"weekday,omitempty" enum:"MO,TU,WE,TH,FR,SA,SU" doc:"Day of the week in each room's time zone; only with group=hour"`
	Hour    *int   `json:"hour,omitempty" minimum:"0" maximum:"23" doc:"Hour of the day in each room's time zone; only with group=hour"`

	BookedSeconds int64    `json:"booked_seconds" doc:"Time for which rooms were booked, including no-shows"`
	UsedSeconds   int64    `json:"used_seconds" doc:"Time during which meetings took place, without no-shows and without the unused time of meetings that ended early"`
	OpenSeconds   int64    `json:"open_seconds" doc:"Opening hours of the rooms that are currently bookable; a room without opening hours is always open"`
	BookedShare   *float64 `json:"booked_share" nullable:"true" doc:"booked_seconds divided by open_seconds; null if open_seconds is 0"`
	UsedShare     *float64 `json:"used_share" nullable:"true" doc:"used_seconds divided by open_seconds; null if open_seconds is 0"`

	Meetings  int `json:"meetings" doc:"Number of booked meetings, including no-shows; cancelled, rejected and pending ones do not count"`
	NoShows   int `json:"no_shows" doc:"Number of meetings whose rooms were released because nobody checked in"`
	Cancelled int `json:"cancelled"`
	Rejected  int `json:"rejected" doc:"Number of requests rejected by an approver or by the time-out"`

	ReleasedSeconds int64 `json:"released_seconds" doc:"Booked time that no-shows and meetings that ended early released"`

	AveragePersons  *float64 `json:"average_persons" nullable:"true" doc:"Average number of people per meeting, including the organizer; null if there are no meetings. Private meetings count for admins only"`
	AverageCapacity *float64 `json:"average_capacity" nullable:"true" doc:"Average capacity of the meetings' rooms; null if unknown"`
	SeatsShare      *float64 `json:"seats_share" nullable:"true" doc:"Share of seats used, among meetings in rooms of known capacity"`
}

// NamedRef names a room or a site.
type NamedRef struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func roomUseOf(group report.Grouping, u *report.Utilization) RoomUse {
	use := RoomUse{
		Day:           u.Day,
		BookedSeconds: int64(u.Booked.Round(time.Second) / time.Second),
		UsedSeconds:   int64(u.Used.Round(time.Second) / time.Second),
		OpenSeconds:   int64(math.Round(u.OpenSeconds)),
		Meetings:      u.Meetings, NoShows: u.NoShows, Cancelled: u.Cancelled, Rejected: u.Rejected,
		ReleasedSeconds: int64(u.Freed.Round(time.Second) / time.Second),
		AveragePersons:  ratio(u.Persons, u.Counted), SeatsShare: ratio(u.Seated, u.Seats),
	}
	if u.OpenSeconds > 0 {
		use.BookedShare, use.UsedShare = rounded(u.BookedShare()), rounded(u.UsedShare())
	}
	if u.Seats > 0 {
		use.AverageCapacity = ratio(u.Seats, u.SeatedMeetings)
	}
	switch {
	case group == report.ByRoom && u.ID != 0:
		use.Room = &NamedRef{u.ID, u.Name}
		if u.SiteID != 0 {
			use.Site = &NamedRef{u.SiteID, u.SiteName}
		}
	case group == report.ByHour:
		use.Day, use.Weekday, use.Hour = "", weekdays[u.Day[0]-'1'], new(hourOf(u.Day))
	case group == report.BySite && u.ID != 0:
		use.Site = &NamedRef{u.ID, u.Name}
	}
	return use
}

var weekdays = [7]string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

// hourOf a [report.HourOfWeek].
func hourOf(s string) int {
	hour, err := strconv.Atoi(s[2:])
	if err != nil {
		panic(err) // the report made it
	}
	return hour
}

func ratio(a, b int) *float64 {
	if b == 0 {
		return nil
	}
	return rounded(float64(a) / float64(b))
}

func rounded(x float64) *float64 { return new(math.Round(x*1e4) / 1e4) }

type utilisationInput struct {
	Accept string `header:"Accept" doc:"text/csv returns all groups as a table" example:"text/csv"`
	Format string `query:"format" enum:"json,csv" doc:"csv returns all groups as a table; defaults to what Accept names"`
	From   string `query:"from" doc:"Start of the range; defaults to 30 days before to" example:"2027-02-01T00:00:00Z"`
	To     string `query:"to" doc:"End of the range, at most 366 days after from; defaults to now" example:"2027-03-01T00:00:00Z"`
	Group  string `query:"group" enum:"room,site,day,hour" default:"room" doc:"How to group the report; hour groups by hour of the week"`
	SiteID int64  `query:"site_id" minimum:"1" doc:"Only rooms of this site"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"500" doc:"Maximum number of items"`
	Cursor string `query:"cursor" maxLength:"20" doc:"The next_cursor of the previous page"`
}

func (h *handlers) registerReports(api huma.API) {
	op := heavy(operation("report-utilisation", http.MethodGet, "/reports/utilisation",
		"Get how rooms were used, by room, site, day or hour of the week", "Reports"))
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: h.registry.Schema(reflect.TypeFor[Utilisation](), true, "")},
		"text/csv":         {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
	register(api, op, h.utilisation)
	h.registerMeetingReports(api)
}

func (h *handlers) utilisation(ctx context.Context, in *utilisationInput) (*huma.StreamResponse, error) {
	var d decoder
	span := clock.Slot{Start: d.instant("from", in.From), End: d.end("to", in.To)}
	skip := d.offset(in.Cursor)
	if err := d.err(); err != nil {
		return nil, err
	}
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	if by, err = h.svc.WithDeputies(ctx, by); err != nil {
		return nil, err
	}
	group := report.Grouping(in.Group)
	groups, total, span, err := h.reports.Utilization(ctx, by, report.Query{Group: group, Span: span, SiteID: in.SiteID})
	if err != nil {
		return nil, err
	}
	uses := list(groups, func(u *report.Utilization) RoomUse { return roomUseOf(group, u) })
	all := roomUseOf("", total)
	if asTable(in.Format, in.Accept) {
		return streamed(csvType, func(w io.Writer) error { return writeUses(w, group, uses, &all) }), nil
	}
	out := Utilisation{From: span.Start.UTC(), To: span.End.UTC(), Group: in.Group, Total: all}
	out.Items = uses[min(skip, len(uses)):]
	if len(out.Items) > in.Limit {
		out.Items, out.NextCursor = out.Items[:in.Limit], new(strconv.Itoa(skip+in.Limit))
	}
	return streamed("application/json", func(w io.Writer) error { return json.NewEncoder(w).Encode(out) }), nil
}

// offset parses a cursor that is a number of rows.
func (d *decoder) offset(cursor string) int {
	if cursor == "" {
		return 0
	}
	n, err := strconv.Atoi(cursor)
	if err != nil || n < 0 {
		d.add("cursor", "invalid_cursor", "must be a cursor returned by this list")
	}
	return n
}

// streamed is a response written by write. It fails only if the client disconnects.
func streamed(contentType string, write func(io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", contentType)
		ctx.SetHeader("Vary", "Accept")
		_ = write(ctx.BodyWriter())
	}}
}

// writeUses writes a table with a line for each group, and one for the total.
func writeUses(w io.Writer, group report.Grouping, uses []RoomUse, total *RoomUse) error {
	table := csv.NewWriter(w)
	figures := []string{
		"booked_seconds", "used_seconds", "open_seconds", "booked_share", "used_share",
		"meetings", "no_shows", "cancelled", "average_persons", "average_capacity", "seats_share", "rejected", "released_seconds",
	}
	head := map[report.Grouping][]string{
		report.ByRoom: {"room_id", "room", "site_id", "site"}, report.BySite: {"site_id", "site"}, report.ByDay: {"day"}, report.ByHour: {"weekday", "hour"},
	}[group]
	_ = table.Write(append(slices.Clone(head), figures...)) // checked by Error below
	for i := range uses {
		_ = table.Write(append(uses[i].names(group), uses[i].figures()...))
	}
	_ = table.Write(append(totalCells(len(head)), total.figures()...))
	table.Flush()
	return table.Error()
}

// names are the cells of a line that say which group it is.
func (u *RoomUse) names(group report.Grouping) []string {
	switch group {
	case report.ByRoom:
		return append(u.Room.cells(), u.Site.cells()...)
	case report.BySite:
		return u.Site.cells()
	case report.ByDay:
		return []string{u.Day}
	default:
		return []string{u.Weekday, strconv.Itoa(*u.Hour)}
	}
}

func (u *RoomUse) figures() []string {
	var cells []string
	for _, n := range []int64{u.BookedSeconds, u.UsedSeconds, u.OpenSeconds} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	cells = append(cells, cell(u.BookedShare), cell(u.UsedShare))
	for _, n := range []int{u.Meetings, u.NoShows, u.Cancelled} {
		cells = append(cells, strconv.Itoa(n))
	}
	cells = append(cells, cell(u.AveragePersons), cell(u.AverageCapacity), cell(u.SeatsShare))
	return append(cells, strconv.Itoa(u.Rejected), strconv.FormatInt(u.ReleasedSeconds, 10))
}

func (r *NamedRef) cells() []string {
	if r == nil {
		return []string{"", ""}
	}
	return []string{strconv.FormatInt(r.ID, 10), plain(r.Name)}
}

// plain returns a text that spreadsheets do not evaluate as a formula, also one in Chinese or Japanese, where
// the signs are wide.
func plain(s string) string {
	if first, _ := utf8.DecodeRuneInString(s); s != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + s
	}
	return s
}

func cell(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}
