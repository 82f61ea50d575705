package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/events"
)

// Event is the data of one server-sent event. Its type is also the name of the event, and its
// id the id that Last-Event-ID names.
type Event struct {
	ID      int64     `json:"id" doc:"Increasing ID, the same for all clients"`
	Type    string    `json:"type" enum:"meeting.created,meeting.confirmed,meeting.rejected,meeting.changed,meeting.cancelled,meeting.started,meeting.ended,meeting.released,meeting.checked_in,meeting.responded"`
	At      time.Time `json:"at"`
	Left    []int64   `json:"left_room_ids,omitempty" doc:"IDs of the rooms that the meeting has left"`
	Meeting Meeting   `json:"meeting" doc:"The meeting as you may see it now, without phone numbers and comments of attendees"`
}

// Times of a stream.
const (
	heartbeat   = 15 * time.Second // so that both sides notice a lost connection
	writeWithin = 30 * time.Second // then the connection is closed
	streamLife  = 5 * time.Minute  // then the client reconnects and authenticates again
	retryAfter  = 2 * time.Second  // how long it must wait before it reconnects
)

// EventsPath is the path of the event stream, whose requests take long.
const EventsPath = "/events"

// RegisterEvents adds the stream of events to the API.
func RegisterEvents(api huma.API, svc *booking.Service, stream *events.Stream, now func() time.Time) {
	h := &eventHandlers{svc: svc, events: stream, now: now}
	op := operation("stream-events", http.MethodGet, EventsPath, "Stream changes of meetings as server-sent events", "Events")
	op.Description = "The first event is `ready`. Every change of a meeting that you may see then sends an event, named like the entry in the meeting's history. " +
		"To resume a lost connection, send `Last-Event-ID`: no event is missed or repeated. If too many events were missed, the first event is `reset`; " +
		"reload your data then. The server closes streams from time to time to check the caller's rights again; clients must reconnect."
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Event stream, open until either side closes it",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Event](), true, "")}},
	}}
	register(api, op, h.stream)
}

type eventHandlers struct {
	svc    *booking.Service
	events *events.Stream
	now    func() time.Time
}

type eventsInput struct {
	LastEventID string  `header:"Last-Event-ID" doc:"ID of the last event received; new events only if omitted"`
	After       string  `query:"after" doc:"Same as Last-Event-ID, for clients that cannot set headers"`
	RoomID      []int64 `query:"room_id,explode" maxItems:"1000" doc:"Only events of meetings that are in these rooms, leave them, or have a pending move to them"`
}

// Resolve implements [huma.Resolver].
func (in *eventsInput) Resolve(huma.Context) []error {
	if _, err := in.after(); err != nil {
		return []error{err}
	}
	return nil
}

func (in *eventsInput) after() (int64, error) {
	location, text := "header.Last-Event-ID", in.LastEventID
	if text == "" {
		location, text = "query.after", in.After
	}
	if text == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return 0, &meeting.InvalidError{Faults: []meeting.Fault{{Location: location, Code: "invalid_type", Message: "must be the id of an event"}}}
	}
	if id == 0 { // sent when no event existed yet
		return events.FromStart, nil
	}
	return id, nil
}

func (h *eventHandlers) stream(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	if by, err = h.svc.WithDeputies(ctx, by); err != nil {
		return nil, err
	}
	after, err := in.after()
	if err != nil {
		return nil, err
	}
	listener, lost, err := h.events.Listen(ctx, after)
	if err != nil {
		return nil, err
	}
	return follow(listener, lost, func(u events.Update) []byte {
		seen, sees := u.For(by)
		if seen == nil {
			return nil
		}
		u = *seen
		if len(in.RoomID) > 0 && !u.Concerns(in.RoomID, sees) {
			return nil
		}
		if !sees && u.Action == meeting.ActionResponded { // would reveal how many people are invited
			return nil
		}
		return u.Render(sees, func(by meeting.Actor) []byte { return render(u, by, h.now()) })
	}), nil
}

// follow streams what write returns for each update that the listener gets; nil: nothing.
func follow(listener *events.Listener, lost bool, write func(events.Update) []byte) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer listener.Close()
		ctx.SetHeader("Content-Type", "text/event-stream; charset=utf-8")
		ctx.SetHeader("X-Accel-Buffering", "no") // or a proxy may buffer events
		ctx.SetStatus(http.StatusOK)
		s := &stream{writer: ctx.BodyWriter().(http.ResponseWriter), write: write}
		s.control = http.NewResponseController(s.writer)
		_ = s.run(ctx.Context(), listener, lost) // the listener is gone; it knows
	}}
}

// stream writes to one client the updates that it may see.
type stream struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	write   func(events.Update) []byte
	buf     bytes.Buffer
}

func (s *stream) run(ctx context.Context, l *events.Listener, lost bool) error {
	fmt.Fprintf(&s.buf, "retry: %d\n", retryAfter.Milliseconds())
	name := "ready"
	if lost {
		name = "reset"
	}
	fmt.Fprintf(&s.buf, "id: %d\nevent: %s\ndata: {}\n\n", l.Position(), name)
	if err := s.flush(); err != nil {
		return err
	}
	if err := l.Missed(ctx, s.send); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	end := time.After(streamLife - rand.N(streamLife/5)) // not all at once
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end:
			return nil
		case <-beat.C:
			s.buf.WriteString(": still here\n\n")
		case updates, open := <-l.Updates():
			if !open {
				return errors.New("the stream ended, or the listener was too slow")
			}
			for _, u := range updates {
				if err := s.send(u); err != nil {
					return err
				}
			}
		}
		if err := s.flush(); err != nil {
			return err
		}
	}
}

func (s *stream) send(u events.Update) error {
	_, err := s.buf.Write(s.write(u))
	if err == nil && s.buf.Len() > 64<<10 {
		return s.flush()
	}
	return err
}

func (s *stream) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	_, err := s.buf.WriteTo(s.writer)
	if err != nil {
		return err
	}
	return s.control.Flush()
}

// EventTypes lists the types of an [Event].
func EventTypes() []string {
	f, _ := reflect.TypeFor[Event]().FieldByName("Type")
	return strings.Split(f.Tag.Get("enum"), ",")
}

// render returns the update as it is sent.
func render(u events.Update, by meeting.Actor, at time.Time) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", u.ID, eventType(u.Action), EventBody(u, by, at))
	return []byte(b.String())
}

func eventType(a meeting.Action) string { return "meeting." + string(a) }

// EventBody returns the JSON of an [Event], with the meeting as the actor sees it at an instant.
func EventBody(u events.Update, by meeting.Actor, at time.Time) []byte {
	m := meetingOf(u.Meeting.ViewAt(at, by, u.Rooms))
	for i := range m.Attendees {
		m.Attendees[i].Phone, m.Attendees[i].Comment = "", nil
	}
	left := slices.DeleteFunc(slices.Clone(u.Left), func(id int64) bool { return slices.Contains(u.Meeting.RoomIDs, id) })
	e := Event{ID: u.ID, Type: eventType(u.Action), At: u.At.UTC(), Left: left, Meeting: m}
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return data
}
