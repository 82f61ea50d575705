package publicpages

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/public"
)

//go:embed page.html style.css
var files embed.FS

var pageTemplate = template.Must(template.ParseFS(files, "page.html"))

const (
	path      = "/public"
	stylePath = "/public.css"

	cacheControl = "public, max-age=60"
	mostDays     = 366 // from today, in both directions
	weekDays     = 7
)

// Pages serves /public, /public/sites/ID and /public/rooms/ID.
type Pages struct {
	Service *public.Service
	Limiter account.Limiter // of requests, by network
	// Places takes a place for a request of a network and returns the context of its work. ok is false if
	// too many run.
	Places       func(ctx context.Context, network string) (work context.Context, leave func(), ok bool)
	FrameOrigins func() []string // of pages that may show them in a frame
	Now          func() time.Time
}

// Register adds the pages and their style sheet to the router.
func (p *Pages) Register(r gin.IRouter) {
	style, err := files.ReadFile("style.css")
	if err != nil {
		panic(err) // embedded in the program
	}
	for _, at := range []string{path, path + "/sites/:site", path + "/rooms/:room"} {
		r.GET(at, p.show)
		r.HEAD(at, p.show)
	}
	r.GET(stylePath, func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Data(http.StatusOK, "text/css; charset=utf-8", style)
	})
}

type view struct {
	*words
	Heading, Message, Date string
	Home                   string // address of all rooms; empty: this is it
	Links                  []link
	Columns                []string
	Zone                   string // of all times; empty: each room names its own
	Rows                   []row
	Stay                   bool // the message is an error
}

type link struct {
	Text, To string
	Current  bool
}

type row struct {
	Room, Site, Zone, To string
	Cells                []cell
}

type cell struct {
	Label string
	Times []taken
}

type taken struct{ When, What string }

func (p *Pages) show(c *gin.Context) {
	w := wordsFor(c.GetHeader("Accept-Language"))
	p.frames(c)
	network := account.Networks(c.ClientIP())[0]
	if allowed, wait := p.Limiter.Allow(c.Request.Context(), "public:"+network); !allowed {
		p.refuse(c, w, wait)
		return
	}
	work, leave, ok := p.Places(c.Request.Context(), network)
	if !ok {
		p.refuse(c, w, time.Second)
		return
	}
	defer leave()
	c.Request = c.Request.WithContext(work)
	v, err := p.view(c, w)
	switch {
	case errors.Is(err, meeting.ErrNotFound):
		p.fail(c, http.StatusNotFound, w, w.Gone)
	case errors.Is(err, context.DeadlineExceeded):
		_ = c.Error(err) // for the log
		p.fail(c, http.StatusServiceUnavailable, w, w.Later)
	case err != nil:
		_ = c.Error(err)
		p.fail(c, http.StatusInternalServerError, w, w.Later)
	default:
		c.Header("Cache-Control", cacheControl)
		p.write(c, http.StatusOK, v)
	}
}

func (p *Pages) refuse(c *gin.Context, w *words, wait time.Duration) {
	c.Header("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	p.fail(c, http.StatusTooManyRequests, w, w.Later)
}

// frames lets the configured origins show the page in a frame.
func (p *Pages) frames(c *gin.Context) {
	origins := p.FrameOrigins()
	if len(origins) == 0 {
		return
	}
	const none = "frame-ancestors 'none'"
	policy := c.Writer.Header().Get("Content-Security-Policy")
	c.Header("Content-Security-Policy", strings.Replace(policy, none, "frame-ancestors "+strings.Join(origins, " "), 1))
}

func (p *Pages) fail(c *gin.Context, status int, w *words, message string) {
	c.Header("Cache-Control", "no-store")
	p.write(c, status, &view{words: w, Heading: w.Title, Message: message, Stay: true})
}

func (p *Pages) write(c *gin.Context, status int, v *view) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		_ = c.Error(err)
		c.Status(http.StatusInternalServerError)
		return
	}
	c.Header("Vary", "Accept-Language")
	c.Data(status, "text/html; charset=utf-8", b.Bytes())
}

// view reads what the page shows: a day of all rooms, or a week, from the rooms' midnight.
func (p *Pages) view(c *gin.Context, w *words) (*view, error) {
	var site, room int64
	for param, id := range map[string]*int64{"site": &site, "room": &room} {
		if text := c.Param(param); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 1 {
				return nil, meeting.ErrNotFound
			}
			*id = n
		}
	}
	rooms, err := p.Service.Rooms(c.Request.Context(), site, room)
	if err != nil {
		return nil, err
	}
	v := &view{words: w, Heading: w.Title}
	if len(rooms) == 0 {
		v.Message = w.None
		return v, nil
	}
	switch {
	case room != 0:
		v.Heading, v.Home = rooms[0].Name, path
	case site != 0:
		v.Heading, v.Home = rooms[0].Site, path
	}
	today := dateOf(p.Now().In(zoneOf(rooms[0])))
	day, err := time.Parse(time.DateOnly, c.Query("date"))
	if err != nil {
		day = today
	}
	if day.Before(today.AddDate(0, 0, -mostDays)) || day.After(today.AddDate(0, 0, mostDays)) {
		return nil, meeting.ErrNotFound
	}
	days := 1
	if c.Query("view") == "week" || c.Query("view") == "" && room != 0 {
		days = weekDays
		day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7) // Monday
	}
	v.addLinks(c.Request.URL.Path, today, day, days)
	v.Date = w.Date(day)
	if days > 1 {
		v.Date += " – " + w.Date(day.AddDate(0, 0, days-1))
	}
	return v, p.fill(c.Request.Context(), v, rooms, day, days)
}

func (v *view) addLinks(at string, today, day time.Time, days int) {
	name := map[bool]string{true: "day", false: "week"}[days == 1]
	to := func(view string, day time.Time) string {
		return at + "?" + url.Values{"view": {view}, "date": {day.Format(time.DateOnly)}}.Encode()
	}
	v.Links = []link{
		{Text: v.Before, To: to(name, day.AddDate(0, 0, -days))},
		{Text: v.Now, To: at + "?view=" + name},
		{Text: v.After, To: to(name, day.AddDate(0, 0, days))},
		{Text: v.Day, To: to("day", day), Current: days == 1},
		{Text: v.Week, To: to("week", day), Current: days > 1},
	}
	if days > 1 && !today.Before(day) && today.Before(day.AddDate(0, 0, days)) {
		v.Links[3].To = to("day", today)
	}
}

// fill adds a row for each room.
func (p *Pages) fill(ctx context.Context, v *view, rooms []meeting.PublicRoom, day time.Time, days int) error {
	var span clock.Slot
	zones := map[string]bool{}
	for _, r := range rooms {
		zones[r.Zone] = true
		from, to := clock.InstantOrShift(day, zoneOf(r)), clock.InstantOrShift(day.AddDate(0, 0, days), zoneOf(r))
		if span.Start.IsZero() || from.Before(span.Start) {
			span.Start = from
		}
		if to.After(span.End) {
			span.End = to
		}
	}
	meetings, err := p.Service.Meetings(ctx, rooms, span)
	if err != nil {
		return err
	}
	ofRoom := map[int64][]meeting.PublicMeeting{}
	for _, m := range meetings {
		ofRoom[m.RoomID] = append(ofRoom[m.RoomID], m)
	}
	if len(zones) == 1 {
		v.Zone = v.InZone(rooms[0].Zone)
	}
	for i := range days {
		v.Columns = append(v.Columns, v.words.Date(day.AddDate(0, 0, i)))
	}
	for _, r := range rooms {
		one := row{Room: r.Name, Site: r.Site, To: path + "/rooms/" + strconv.FormatInt(r.ID, 10)}
		if v.Zone == "" {
			one.Zone = r.Zone
		}
		for i := range days {
			one.Cells = append(one.Cells, v.cell(ofRoom[r.ID], zoneOf(r), day.AddDate(0, 0, i), v.Columns[i]))
		}
		v.Rows = append(v.Rows, one)
	}
	return nil
}

func (v *view) cell(meetings []meeting.PublicMeeting, loc *time.Location, day time.Time, label string) cell {
	date := clock.Slot{Start: clock.InstantOrShift(day, loc), End: clock.InstantOrShift(day.AddDate(0, 0, 1), loc)}
	c := cell{Label: label}
	for _, m := range meetings {
		if !m.Slot.Overlaps(date) {
			continue
		}
		from, to := "00:00", "24:00"
		if m.Slot.Start.After(date.Start) {
			from = m.Slot.Start.In(loc).Format("15:04")
		}
		if m.Slot.End.Before(date.End) {
			to = m.Slot.End.In(loc).Format("15:04")
		}
		what := m.Title
		if what == "" {
			what = v.Busy
		}
		c.Times = append(c.Times, taken{from + "–" + to, what})
	}
	slices.SortStableFunc(c.Times, func(a, b taken) int { return strings.Compare(a.When, b.When) })
	return c
}

func zoneOf(r meeting.PublicRoom) *time.Location {
	loc, err := fault.StoredZone(r.Zone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// dateOf is the date of a time, at midnight UTC.
func dateOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}
