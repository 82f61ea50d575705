package caldav

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/series"
)

// ErrChanged is returned for an object or a calendar that has changed in the meantime.
var ErrChanged = errors.New("changed meanwhile")

// Limits of what a user stores.
const (
	MaxObjects = 10_000
	MaxStored  = 50 << 20 // bytes of iCalendar
)

// ErrFull is returned for an object that exceeds [MaxObjects] or [MaxStored].
var ErrFull = errors.New("the calendar is full: it keeps at most 10,000 events with 50 MB of text")

// Settings of the server. They may change while it runs.
type Settings struct {
	Schedule bool          // programs leave invitations of rooms to the server
	Past     time.Duration // how far back calendars reach
	Domain   string        // of the calendar addresses of rooms
	Mailroom string        // domain of the mail addresses of rooms; empty: they have none
	// TooMany reports whether so many dates of a series are taken that a room declines all of it.
	TooMany func(taken, of int) bool
}

// Suggest returns suitable rooms that by can book for a time within a span, best first.
type Suggest func(ctx context.Context, by meeting.Actor, need finding.Need, length time.Duration, span clock.Slot, limit int) ([]finding.Suggestion, error)

// Server serves the requests of calendar programs. Safe for concurrent use.
type Server struct {
	Store     Store
	Meetings  *booking.Service
	Series    *series.Service
	Calendars Calendars
	Busy      func(ctx context.Context, emails []string, span clock.Slot) (map[string][]clock.Slot, error) // by lower-case email, without strangers
	Suggest   Suggest
	LookUp    func(ctx context.Context, by meeting.Actor) (ok bool, retryAfter time.Duration) // charges by for a search for people
	Settings  func() Settings
	Now       func() time.Time
	Log       *slog.Logger
}

// request is a request of a user.
type request struct {
	*Server
	http.ResponseWriter
	*http.Request
	by    meeting.Actor
	place place
}

func (r *request) ctx() context.Context { return r.Request.Context() }

// within returns the request with another context.
func (r *request) within(ctx context.Context) *request {
	other := *r
	other.Request = r.Request.WithContext(ctx)
	return &other
}

// Serve answers a request of a user below [Root], or a PROPFIND of the path / that asks where that is.
func (s *Server) Serve(w http.ResponseWriter, req *http.Request, by meeting.Actor) {
	r := &request{s, w, req, by, parsePath(req.URL.Path)}
	w.Header().Set("DAV", s.capabilities())
	w.Header().Set("Cache-Control", "private, no-cache")
	if err := r.serve(); err != nil {
		r.fail(err)
	}
}

func (s *Server) capabilities() string {
	if s.Settings().Schedule {
		return "1, 3, access-control, calendar-access, calendar-auto-schedule"
	}
	return "1, 3, access-control, calendar-access"
}

// Methods are those that the server knows.
var Methods = []string{"OPTIONS", "GET", "HEAD", "PUT", "DELETE", "POST", "PROPFIND", "PROPPATCH", "REPORT", "MKCALENDAR", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "ACL"}

// IsHeavy reports whether the cost of a request depends on much data: on all of a calendar, or on those of
// others.
func IsHeavy(r *http.Request) bool {
	switch r.Method {
	case "REPORT", http.MethodPut, http.MethodPost:
		return true
	case "PROPFIND":
		return r.Header.Get("Depth") == "1"
	}
	return false
}

func (r *request) serve() error {
	if r.Method == http.MethodOptions {
		r.Header().Set("Allow", r.allowed())
		r.WriteHeader(http.StatusOK)
		return nil
	}
	if err := r.authorize(); err != nil {
		return err
	}
	switch r.Method {
	case "PROPFIND":
		return r.propfind()
	case "PROPPATCH":
		return r.proppatch()
	case "REPORT":
		return r.report()
	case http.MethodGet, http.MethodHead:
		return r.get()
	case http.MethodPut:
		return r.put()
	case http.MethodDelete:
		return r.remove()
	case http.MethodPost:
		return r.post()
	}
	r.Header().Set("Allow", r.allowed())
	return &davError{status: http.StatusMethodNotAllowed}
}

func (r *request) allowed() string {
	methods := "OPTIONS, GET, HEAD, PROPFIND, PROPPATCH, REPORT"
	switch {
	case r.place.kind == object && !r.place.room:
		methods += ", PUT, DELETE"
	case r.place.kind == outbox:
		methods += ", POST"
	}
	return methods
}

// Header of the response. The request has one of that name, too.
func (r *request) Header() http.Header { return r.ResponseWriter.Header() }

// sent is a header of the request.
func (r *request) sent(name string) string { return r.Request.Header.Get(name) }

// authorize reports places that do not exist, or that are another user's.
func (r *request) authorize() error {
	switch {
	case r.place.kind == unknown:
		return meeting.ErrNotFound
	case r.place.id == 0:
		return nil
	case !r.place.room && r.place.id != r.by.ID:
		return meeting.ErrNotFound
	case r.place.room:
		_, err := r.room(r.place.id)
		return err
	}
	return nil
}

func (r *request) room(id int64) (*meeting.Room, error) {
	return r.Meetings.VisibleRoom(r.ctx(), r.by, id)
}

func (r *request) collection() Collection {
	if r.place.room {
		return Collection{RoomID: r.place.id}
	}
	return Collection{UserID: r.by.ID, Email: r.by.Email}
}

// davError is a failure that the protocol knows.
type davError struct {
	status    int
	condition string // element of the body; empty: none
	space     string // its name space; empty: DAV:
	content   string // of the element, XML
	detail    string // for people
}

func (e *davError) Error() string { return fmt.Sprintf("%d %s %s", e.status, e.condition, e.detail) }

func precondition(local, detail string) error {
	return &davError{status: http.StatusForbidden, condition: local, space: calNS, detail: detail}
}

// fail writes an error. The program gets no details of unexpected errors.
func (r *request) fail(err error) {
	e, ok := errors.AsType[*davError](err)
	tooLarge, large := errors.AsType[*http.MaxBytesError](err)
	switch {
	case ok:
	case large:
		e = &davError{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("must not exceed %d bytes", tooLarge.Limit)}
	case errors.Is(err, meeting.ErrNotFound):
		e = &davError{status: http.StatusNotFound}
	case errors.Is(err, meeting.ErrForbidden):
		e = &davError{status: http.StatusForbidden, condition: "need-privileges"}
	case errors.Is(err, ErrChanged):
		e = &davError{status: http.StatusPreconditionFailed, detail: "changed meanwhile"}
	case errors.Is(err, ErrFull):
		e = &davError{status: http.StatusInsufficientStorage, condition: "quota-not-exceeded", detail: ErrFull.Error()}
	default:
		e = &davError{status: http.StatusInternalServerError}
		if errors.Is(err, context.DeadlineExceeded) {
			e.status = http.StatusServiceUnavailable
		}
		r.Log.ErrorContext(r.ctx(), "calendar request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if e.condition == "" {
		http.Error(r.ResponseWriter, strings.TrimSpace(http.StatusText(e.status)+"\n"+e.detail), e.status)
		return
	}
	body := `<d:error` + declarations + `>`
	if e.space == calNS {
		body += calTag(e.condition, e.content)
	} else {
		body += davTag(e.condition, e.content)
	}
	if e.detail != "" {
		body += davTag("responsedescription", escape(e.detail))
	}
	r.xml(e.status, body+`</d:error>`)
}

// xml answers with a document.
func (r *request) xml(status int, body string) {
	h := r.Header()
	h.Set("Content-Type", "application/xml; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(xmlHeader)+len(body)))
	r.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(r.ResponseWriter, xmlHeader+body) // fails only if the caller is gone
	}
}

// body reads the XML of the request; nil: none.
func (r *request) body() (*element, error) {
	e, err := readXML(r.Body)
	if err == nil {
		return e, nil
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, err
	}
	return nil, &davError{status: http.StatusBadRequest, detail: err.Error()}
}

// depth of the request. Without a header it is 0: programs that mean infinity say so, and are refused.
func (r *request) depth() (int, error) {
	switch r.sent("Depth") {
	case "", "0":
		return 0, nil
	case "1":
		return 1, nil
	}
	return 0, &davError{status: http.StatusForbidden, condition: "propfind-finite-depth", detail: "Depth: must be 0 or 1"}
}

func (r *request) get() error {
	if r.place.kind != object {
		r.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(r.ResponseWriter, "This address is for calendar programs.\n")
		return nil
	}
	o, err := r.object(r.place.name)
	if err != nil {
		return err
	}
	text, err := r.text(o)
	if err != nil {
		return err
	}
	h := r.Header()
	h.Set("ETag", o.ETag)
	h.Set("Schedule-Tag", scheduleTag(text))
	h.Set("Content-Type", contentType)
	if matches(r.sent("If-None-Match"), o.ETag) {
		r.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	r.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(r.ResponseWriter, text)
	}
	return nil
}

const contentType = "text/calendar; charset=utf-8; component=VEVENT"

// matches reports whether a list of ETags contains one; * matches all that exist.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag && tag != "" || one == "*" && tag != "" {
			return true
		}
	}
	return false
}

// object returns the record of an object by its name, or [meeting.ErrNotFound].
func (r *request) object(name string) (*Change, error) {
	found, err := r.named([]string{name})
	if err != nil {
		return nil, err
	}
	o, ok := found[name]
	if !ok {
		return nil, meeting.ErrNotFound
	}
	return &o, nil
}

// named returns the objects of the calendar that have one of the names.
func (r *request) named(names []string) (map[string]Change, error) {
	c := r.collection()
	if _, err := r.list(r.ctx(), c); err != nil {
		return nil, err
	}
	return r.live(c, names)
}

func (r *request) live(c Collection, names []string) (map[string]Change, error) {
	all, err := r.Store.ChangesNamed(r.ctx(), c.key(), names)
	if err != nil {
		return nil, err
	}
	found := make(map[string]Change, len(names))
	for _, o := range all {
		if !o.Gone {
			found[o.Name] = o
		}
	}
	return found, nil
}

// contents returns all objects of the calendar.
func (r *request) contents() (*listing, []Change, error) {
	c := r.collection()
	l, err := r.list(r.ctx(), c)
	if err != nil {
		return nil, nil, err
	}
	all, err := r.Store.Changes(r.ctx(), c.key(), 0)
	if err != nil {
		return nil, nil, err
	}
	live := all[:0]
	for _, o := range all {
		if !o.Gone {
			live = append(live, o)
		}
	}
	return l, live, nil
}

// text returns the iCalendar of an object, and sets the ETag to that of the text.
func (r *request) text(o *Change) (string, error) {
	texts, err := r.texts([]Change{*o}, nil)
	if err != nil {
		return "", err
	}
	text, ok := texts[o.Object]
	if !ok {
		return "", meeting.ErrNotFound
	}
	o.ETag = etag(text)
	return text, nil
}

// renderedAtOnce is how many events are rendered at once, and maxAnswer limits the bytes of all events of
// an answer.
const (
	renderedAtOnce = 100
	maxAnswer      = 16 << 20
)

// texts returns the iCalendar of objects by their key.
func (r *request) texts(os []Change, shape func(*Entry)) (map[string]string, error) {
	members := make([]Member, len(os))
	for i, o := range os {
		members[i] = memberOf(o.Object)
	}
	all, size := make(map[string]string, len(os)), 0
	take := func(m Member, text string) error {
		if all[m.key()], size = text, size+len(text); size > maxAnswer {
			detail := fmt.Sprintf("at most %d MB of events at once: ask for a shorter time or for fewer events", maxAnswer>>20)
			return &davError{status: http.StatusForbidden, condition: "number-of-matches-within-limits", detail: detail}
		}
		return nil
	}
	for some := range slices.Chunk(members, renderedAtOnce) {
		if err := r.render(r.ctx(), r.collection(), some, shape, take); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// memberOf reads what [Member.key] wrote.
func memberOf(key string) Member {
	kind, number, _ := strings.Cut(key, "-")
	id, _ := strconv.ParseInt(number, 10, 64)
	switch kind {
	case "series":
		return Member{SeriesID: id}
	case "meeting":
		return Member{MeetingID: id}
	}
	return Member{ObjectID: id}
}

// address of a room for calendars.
func (s *Server) address(roomID int64) string {
	return "room-" + strconv.FormatInt(roomID, 10) + "@" + s.Settings().Domain
}

// pathOf returns the path of an href, without escapes, or "".
func pathOf(href string) string {
	u, err := url.Parse(strings.TrimSpace(href))
	if err != nil {
		return ""
	}
	return u.Path
}
