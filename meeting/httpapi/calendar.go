package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/feed"
)

// Calendars renders meetings as iCalendar.
type Calendars interface {
	// Calendar returns the meetings up to an instant.
	Calendar(name string, ms []*meeting.Meeting, until time.Time) []byte
	// Entry returns one meeting or series, to import.
	Entry(e *booking.CalendarItem) []byte
}

// CalendarDeps are the dependencies of calendar feeds.
type CalendarDeps struct {
	Service   *booking.Service
	Feeds     *feed.Service
	Accounts  *account.Service
	Calendars Calendars
	BaseURL   string // of the installation
}

// Feed is an address that a calendar program subscribes to.
type Feed struct {
	ID            int64      `json:"id"`
	Name          string     `json:"name"`
	Room          *RoomRef   `json:"room" doc:"Room of the feed; null for the user's own meetings"`
	PrivateTitles bool       `json:"private_titles" doc:"Whether titles of the user's private meetings are shown instead of Busy"`
	LastUsedAt    *time.Time `json:"last_used_at" nullable:"true" doc:"When the feed was last used, to the minute; null if never"`
	CreatedAt     time.Time  `json:"created_at"`
}

// FeedInput is a request for an address.
type FeedInput struct {
	Name          Field[string] `json:"name,omitempty" doc:"What the feed is for; defaults to Calendar"`
	RoomID        Field[int64]  `json:"room_id,omitempty" maximum:"9007199254740991" doc:"Room of the feed; omit or set to null for your own meetings"`
	PrivateTitles Field[bool]   `json:"private_titles,omitempty" doc:"Whether to include the titles of your private meetings; a room's feed never includes private titles"`
}

// NewFeed is an address that was created.
type NewFeed struct {
	Feed
	Token string `json:"token" doc:"Secret token; returned only once"`
	URL   string `json:"url" doc:"Subscription URL, which contains the token"`
}

// RegisterCalendars adds the calendars, and the management of their addresses, to the API.
func RegisterCalendars(api huma.API, d CalendarDeps) {
	const tag = "Calendars"
	h := &calendarHandlers{CalendarDeps: d, registry: api.OpenAPI().Components.Schemas}
	if servers := api.OpenAPI().Servers; len(servers) > 0 {
		h.base = servers[0].URL
	}
	register(api, creates(operation("create-feed", http.MethodPost, "/me/feeds", "Create a calendar feed of my meetings or of a room", tag)), h.create)
	register(api, operation("list-feeds", http.MethodGet, "/me/feeds", "List my calendar feeds", tag), h.list)
	register(api, deletes(operation("delete-feed", http.MethodDelete, "/me/feeds/{id}", "Revoke a calendar feed", tag)), h.remove)
	register(api, operation("list-user-feeds", http.MethodGet, "/users/{id}/feeds", "List the calendar feeds of a user", tag), h.listOfUser)
	register(api, deletes(operation("delete-user-feed", http.MethodDelete, "/users/{id}/feeds/{feed_id}", "Revoke a calendar feed of a user", tag)), h.removeOfUser)
	calendar := func(id, path, summary string) huma.Operation {
		op := operation(id, http.MethodGet, path, summary, tag)
		op.Errors = []int{http.StatusNotFound}
		op.Responses = map[string]*huma.Response{
			"200": {Description: "iCalendar", Content: map[string]*huma.MediaType{"text/calendar": {Schema: &huma.Schema{Type: huma.TypeString}}}},
			"304": {Description: "Not Modified"},
		}
		return op
	}
	entry := calendar("meeting-calendar", "/meetings/{id}/calendar.ics", "A meeting as iCalendar or, for a date of a series, the whole series; with the UID of its invitations")
	entry.Errors = []int{http.StatusForbidden, http.StatusNotFound, http.StatusConflict}
	register(api, entry, h.entry)
	byToken := func(id, path, summary string) huma.Operation {
		op := calendar(id, path, summary)
		op.Security = []map[string][]string{{}}
		return op
	}
	register(api, byToken("my-calendar", "/me/calendar.ics", "My meetings as iCalendar, for anyone with the token"), h.mine)
	register(api, byToken("room-calendar", "/rooms/{id}/calendar.ics", "The meetings of a room as iCalendar, for anyone with the token"), h.ofRoom)
}

type calendarHandlers struct {
	CalendarDeps
	registry huma.Registry
	base     string // of the API, below BaseURL
}

type newFeedOutput struct {
	CacheControl string `header:"Cache-Control"`
	Location     string `header:"Location"`
	Body         NewFeed
}

func (h *calendarHandlers) create(ctx context.Context, in *struct{ Body *Body[FeedInput] }) (*newFeedOutput, error) {
	p, ok := account.FromContext(ctx)
	if !ok {
		return nil, account.ErrUnauthorized
	}
	input, err := optional(h.registry, in.Body)
	if err != nil {
		return nil, err
	}
	n := account.NewFeed{Name: cmp.Or(input.Name.Value, "Calendar"), RoomID: input.RoomID.Value, PrivateTitles: input.PrivateTitles.Value}
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	names, err := h.rooms(ctx, by, n.RoomID)
	if err != nil {
		return nil, err
	}
	if n.RoomID != 0 && names[n.RoomID] == "" {
		return nil, &meeting.InvalidError{Faults: []meeting.Fault{{Location: "room_id", Code: "unknown_room", Message: "must be an existing room"}}}
	}
	f, secret, err := h.Accounts.CreateFeed(ctx, p, n)
	if err != nil {
		return nil, err
	}
	path := "/me/calendar.ics"
	if f.RoomID != 0 {
		path = "/rooms/" + strconv.FormatInt(f.RoomID, 10) + "/calendar.ics"
	}
	return &newFeedOutput{CacheControl: "no-store", Location: h.base + "/me/feeds/" + strconv.FormatInt(f.ID, 10), Body: NewFeed{
		Feed: feedOf(f, names), Token: secret, URL: strings.TrimRight(h.BaseURL, "/") + h.base + path + "?token=" + secret,
	}}, nil
}

// rooms returns the names of existing rooms that the reader may see; 0 is none.
func (h *calendarHandlers) rooms(ctx context.Context, by meeting.Actor, ids ...int64) (map[int64]string, error) {
	names := map[int64]string{}
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id int64) bool { return id == 0 })
	if len(ids) == 0 {
		return names, nil
	}
	rooms, _, err := h.Service.Rooms(ctx, meeting.RoomQuery{IDs: ids, IncludeInactive: true, Viewer: &by}, meeting.Page{Limit: len(ids)})
	for _, r := range rooms {
		names[r.ID] = r.Name
	}
	return names, err
}

func feedOf(f *account.Feed, names map[int64]string) Feed {
	v := Feed{ID: f.ID, Name: f.Name, PrivateTitles: f.PrivateTitles, LastUsedAt: instant(f.LastUsedAt), CreatedAt: f.CreatedAt}
	if f.RoomID != 0 {
		v.Room = &RoomRef{ID: f.RoomID, Name: names[f.RoomID]}
	}
	return v
}

func (h *calendarHandlers) list(ctx context.Context, in *struct{ Paging }) (*listOutput[Feed], error) {
	p, ok := account.FromContext(ctx)
	if !ok {
		return nil, account.ErrUnauthorized
	}
	return h.feeds(ctx, p, in.Paging)
}

type userFeedsInput struct {
	Target
	Paging
}

func (h *calendarHandlers) listOfUser(ctx context.Context, in *userFeedsInput) (*listOutput[Feed], error) {
	u, err := h.Accounts.User(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return h.feeds(ctx, &account.Principal{UserID: u.ID}, in.Paging)
}

type userFeedInput struct {
	Target
	FeedID int64 `path:"feed_id" minimum:"1"`
}

func (h *calendarHandlers) removeOfUser(ctx context.Context, in *userFeedInput) (*struct{}, error) {
	return nil, h.Accounts.DeleteFeed(ctx, &account.Principal{UserID: in.ID}, in.FeedID)
}

// feeds of p's user.
func (h *calendarHandlers) feeds(ctx context.Context, p *account.Principal, paging Paging) (*listOutput[Feed], error) {
	page := paging.page()
	feeds, next, err := h.Accounts.ListFeeds(ctx, p, account.Page{Limit: page.Limit, Cursor: page.Cursor})
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, f := range feeds {
		ids = append(ids, f.RoomID)
	}
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	names, err := h.rooms(ctx, by, ids...)
	if err != nil {
		return nil, err
	}
	return listed(feeds, next, func(f *account.Feed) Feed { return feedOf(f, names) }), nil
}

func (h *calendarHandlers) remove(ctx context.Context, in *Target) (*struct{}, error) {
	p, ok := account.FromContext(ctx)
	if !ok {
		return nil, account.ErrUnauthorized
	}
	return nil, h.Accounts.DeleteFeed(ctx, p, in.ID)
}

// CalendarInput is the request of a calendar program.
type CalendarInput struct {
	Token       string `query:"token" doc:"Token returned by POST /me/feeds"`
	IfNoneMatch string `header:"If-None-Match"`
}

type roomCalendarInput struct {
	Target
	CalendarInput
}

type calendarOutput struct {
	Status       int
	Disposition  string `header:"Content-Disposition"`
	ContentType  string `header:"Content-Type"`
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Robots       string `header:"X-Robots-Tag"`
	Body         []byte
}

func (h *calendarHandlers) mine(ctx context.Context, in *CalendarInput) (*calendarOutput, error) {
	return h.calendar(ctx, 0, in.Token, in.IfNoneMatch)
}

func (h *calendarHandlers) ofRoom(ctx context.Context, in *roomCalendarInput) (*calendarOutput, error) {
	return h.calendar(ctx, in.ID, in.Token, in.IfNoneMatch)
}

// calendar returns 404 for a token of another purpose.
func (h *calendarHandlers) calendar(ctx context.Context, roomID int64, token, known string) (*calendarOutput, error) {
	f, p, err := h.Accounts.OpenFeed(ctx, token)
	if err != nil {
		return nil, err
	}
	if f.RoomID != roomID {
		return nil, meeting.ErrNotFound
	}
	name := p.Name
	by := meeting.Actor{Kind: meeting.ActorUser, ID: p.UserID, Name: p.Name, Email: p.Email, Role: meeting.Role(p.Role)}
	if roomID != 0 {
		r, err := h.Service.VisibleRoom(ctx, by, roomID)
		if err != nil {
			return nil, err
		}
		name = r.Name
	}
	ms, until, err := h.Feeds.Read(ctx, by, roomID, f.PrivateTitles)
	if err != nil {
		return nil, err
	}
	return calendarOf(h.Calendars.Calendar(name, ms, until), known), nil
}

type entryInput struct {
	Target
	IfNoneMatch string `header:"If-None-Match"`
}

// entry is a file to import.
func (h *calendarHandlers) entry(ctx context.Context, in *entryInput) (*calendarOutput, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	e, err := h.Service.CalendarItem(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	out := calendarOf(h.Calendars.Entry(e), in.IfNoneMatch)
	out.Disposition = `attachment; filename="meeting-` + strconv.FormatInt(in.ID, 10) + `.ics"`
	return out, nil
}

// calendarOf answers with a calendar, unless the client knows it.
func calendarOf(body []byte, known string) *calendarOutput {
	sum := sha256.Sum256(body)
	out := &calendarOutput{
		Status: http.StatusOK, ContentType: "text/calendar; charset=utf-8", ETag: `"` + hex.EncodeToString(sum[:16]) + `"`,
		CacheControl: "private, no-cache", Robots: "noindex", Body: body,
	}
	if knows(known, out.ETag) {
		out.Status, out.Body = http.StatusNotModified, nil
	}
	return out
}
