// Package importing books the events of other calendars: it finds their rooms and people, skips what
// was imported before, and reports what could not be imported and why.
package importing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"punctual/account/fault"
	"punctual/delayjob/pause"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/itip"
	"punctual/meeting/series"
)

// Store keeps which events were imported.
type Store interface {
	// KnownObjects returns the events with these UIDs, whoever organizes them.
	KnownObjects(ctx context.Context, uids []string) ([]*Known, error)
	// SaveVersion notes the version of an event that the meeting has now.
	SaveVersion(ctx context.Context, id, sequence int64, stamp time.Time) error
	// Forget removes the note of an event, so that it can be imported anew.
	Forget(ctx context.Context, id int64) error
	// Atomically runs f in one transaction: what the stores and the use cases do with the context of f is part
	// of it.
	Atomically(ctx context.Context, f func(context.Context) error) error
}

// Known is an event that was imported before. One of MeetingID and SeriesID is set.
type Known struct {
	ID        int64
	MeetingID meeting.ID
	SeriesID  int64
	Origin    meeting.Origin
}

// Directory finds users; the keys are lower-case addresses.
type Directory interface {
	ByEmail(ctx context.Context, emails []string) (map[string]meeting.Person, error)
}

// Service imports calendars. Safe for concurrent use.
type Service struct {
	meetings *booking.Service
	series   *series.Service
	store    Store
	people   Directory
	settings func() meeting.Settings
	now      func() time.Time
	own      func(uid string) bool
	workers  int
}

// NewService returns a service that books with several workers at once. Each room belongs to one of
// them, so that of two events for the same time the first one in the file gets the room. own reports
// whether a UID is that of a meeting of this installation.
func NewService(meetings *booking.Service, recurring *series.Service, store Store, people Directory, settings func() meeting.Settings, now func() time.Time, own func(uid string) bool, workers int) *Service {
	return &Service{meetings: meetings, series: recurring, store: store, people: people, settings: settings, now: now, own: own, workers: workers}
}

// Source is a calendar that was read from a file.
type Source struct {
	Name     string // of the file; empty: none
	Calendar *itip.Calendar
}

// Options of an import.
type Options struct {
	OnConflict meeting.OnConflict // empty: fail
	DryRun     bool               // writes nothing
	From       time.Time          // dates that end before are left out; zero: none
	RoomID     int64              // of events that name no known room; 0: they fail
	Rooms      map[string]int64   // rooms by what the calendar calls them
	// OrganizerEmail is the user who organizes events whose organizer is no user; empty: they fail.
	OrganizerEmail string
	Override       string // reason for booking against the policies of the rooms; empty: they apply

	// Progress is called after each event, by one caller at a time.
	Progress func(done, total int)
}

// Result is the outcome for an event.
type Result string

const (
	Created   Result = "created"
	Updated   Result = "updated"
	Unchanged Result = "unchanged" // it was imported before
	Cancelled Result = "cancelled" // its meeting was, because the event was
	Skipped   Result = "skipped"   // see the reason
	Failed    Result = "failed"    // see the reason
)

// Results are all of them, in the order of reports.
var Results = []Result{Created, Updated, Unchanged, Cancelled, Skipped, Failed}

// Reasons besides the codes of faults and of rules.
const (
	ReasonOwn              = "own"
	ReasonCancelled        = "cancelled"
	ReasonTransparent      = "transparent"
	ReasonBefore           = "before_from"
	ReasonPast             = "past" // past meetings do not change
	ReasonInvalid          = "invalid"
	ReasonNoRoom           = "unknown_room"
	ReasonUnknownOrganizer = "unknown_organizer"
)

// Item is the outcome for one event.
type Item struct {
	File      string // empty: there is no file
	Line      int
	UID       string
	Title     string
	Start     time.Time // zero: unknown
	Result    Result
	Reason    string // a code; empty for what was imported
	Message   string
	Conflicts []meeting.Occupancy
	Dates     []meeting.Skipped // that a series does not have
	MeetingID meeting.ID        // 0: none, or a series
	SeriesID  int64             // 0: none
}

// Report lists all events in their order.
type Report struct {
	Items []Item
	Rooms map[int64]string // names of the rooms in conflicts
}

// Count returns how many events have a result.
func (r *Report) Count(of Result) int {
	n := 0
	for _, i := range r.Items {
		if i.Result == of {
			n++
		}
	}
	return n
}

// Import imports calendars, each event in a transaction of its own. If Import is interrupted, the next call
// continues. It returns [meeting.ErrForbidden] unless the actor is an admin or the system, and a
// [*meeting.InvalidError] if the options name an unknown room or user. Any other error means that the
// database failed. Errors of single events are in the report.
func (s *Service) Import(ctx context.Context, by meeting.Actor, sources []Source, o Options) (*Report, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	by.Quiet = true
	r := &run{Service: s, by: by, options: o, at: s.now(), planned: map[int64][]clock.Slot{}, latest: map[int64]*meeting.Room{}, steps: pause.Begin()}
	if err := r.prepare(ctx, sources); err != nil {
		return nil, err
	}
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	report := &Report{Rooms: map[int64]string{}}
	for _, t := range r.tasks {
		report.Items = append(report.Items, t.item)
	}
	for _, room := range r.rooms.byID {
		report.Rooms[room.ID] = room.Name
	}
	return report, nil
}

// run is one import.
type run struct {
	*Service
	by        meeting.Actor
	options   Options
	at        time.Time
	tasks     []*task
	rooms     *roomNames
	users     map[string]meeting.Person // organizers and attendees, by lower-case email
	organizer *meeting.Person           // see Options.OrganizerEmail; nil: none
	known     map[objectKey]*Known

	mu      sync.Mutex
	latest  map[int64]*meeting.Room // as last looked up
	done    int
	steps   *pause.Steps
	planned map[int64][]clock.Slot // of a dry run, by room
}

// objectKey is a UID with the email address of its organizer in lower case.
type objectKey struct{ uid, organizer string }

// task is one event to import.
type task struct {
	object *itip.Object
	method string
	item   Item
	rooms  []int64
}

// prepare looks up all that events refer to.
func (r *run) prepare(ctx context.Context, sources []Source) (err error) {
	if r.rooms, err = readRooms(ctx, r.meetings, r.options); err != nil {
		return err
	}
	var emails, uids []string
	for _, source := range sources {
		for _, o := range source.Calendar.Objects {
			head := o.Head()
			t := &task{object: o, method: source.Calendar.Method, item: Item{File: source.Name, Line: o.Line(), UID: o.UID, Title: title(head)}}
			t.rooms, _ = r.rooms.of(head)
			r.tasks = append(r.tasks, t)
			uids = append(uids, o.UID)
			emails = append(emails, strings.ToLower(head.Organizer.Email))
			for _, a := range head.Attendees {
				emails = append(emails, fault.FoldEmail(a.Email))
			}
		}
	}
	organizer := strings.ToLower(r.options.OrganizerEmail)
	if organizer != "" {
		emails = append(emails, organizer)
	}
	r.users = map[string]meeting.Person{}
	slices.Sort(emails)
	for part := range slices.Chunk(slices.Compact(emails), 500) {
		found, err := r.people.ByEmail(ctx, part)
		if err != nil {
			return err
		}
		for email, p := range found {
			r.users[email] = p
		}
	}
	if organizer != "" {
		p, ok := r.users[organizer]
		if !ok {
			return fault.Invalid("organizer_email", "unknown_user", "no user has the address %s", organizer)
		}
		r.organizer = &p
	}
	known, err := r.store.KnownObjects(ctx, uids)
	r.known = map[objectKey]*Known{}
	for _, k := range known {
		r.known[objectKey{k.Origin.UID, k.Origin.Organizer}] = k
	}
	return err
}

// all imports the events of each room in their order. Those in several rooms come last.
func (r *run) all(ctx context.Context) error {
	workers := make([][]*task, max(1, r.workers))
	var last []*task
	for i, t := range r.tasks {
		switch len(t.rooms) {
		case 0:
			workers[i%len(workers)] = append(workers[i%len(workers)], t)
		case 1:
			at := int(t.rooms[0] % int64(len(workers)))
			workers[at] = append(workers[at], t)
		default:
			last = append(last, t)
		}
	}
	group, inner := errgroup.WithContext(ctx)
	for _, tasks := range workers {
		group.Go(func() error { return r.each(inner, tasks) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return r.each(ctx, last)
}

func (r *run) each(ctx context.Context, tasks []*task) error {
	for _, t := range tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.one(ctx, t); err != nil {
			return err
		}
		if err := r.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step counts an event. In a pause it keeps the other workers waiting, too.
func (r *run) step(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.options.Progress != nil {
		r.options.Progress(r.done, len(r.tasks))
	}
	if r.options.DryRun || r.done == len(r.tasks) {
		return nil
	}
	return r.steps.Next(ctx)
}

// newer reports whether a version of an event follows another.
func newer(sequence int64, stamp time.Time, than meeting.Origin) bool {
	return cmp.Or(cmp.Compare(sequence, than.Sequence), stamp.Truncate(time.Microsecond).Compare(than.Stamp)) > 0
}
