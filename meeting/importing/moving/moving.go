package moving

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/delayjob/pause"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/importing"
	"punctual/meeting/places"
	"punctual/meeting/series"
)

// Store keeps which bookings were imported.
type Store interface {
	KnownObjects(ctx context.Context, uids []string) ([]*importing.Known, error)
	SaveVersion(ctx context.Context, id, sequence int64, stamp time.Time) error
	Forget(ctx context.Context, id int64) error
	// Atomically runs f in one transaction: what the stores and the use cases do with the context of f is part
	// of it.
	Atomically(ctx context.Context, f func(context.Context) error) error
}

// People creates users. It never sends mails.
type People interface {
	// Ensure returns the users with these addresses, by lower-case address, and creates those that do
	// not exist, without a password. It returns how many it created, or would.
	Ensure(ctx context.Context, people []Person, dryRun bool) (users map[string]meeting.Person, created int, faults map[string]error, err error)
}

// OnConflict says what happens to a booking whose room is taken.
type OnConflict string

const (
	Fail      OnConflict = "fail"       // nothing is imported if there is any
	Keep      OnConflict = "keep"       // it becomes a rejected meeting, which keeps all but the room
	Skip      OnConflict = "skip"       // it is in the report only
	OtherRoom OnConflict = "other_room" // another free room of the site with enough places, else as Keep
)

// OnConflicts lists all.
var OnConflicts = []OnConflict{Keep, Skip, OtherRoom, Fail}

// Options of an import.
type Options struct {
	OnConflict OnConflict // empty: Keep
	DryRun     bool
	From       time.Time // bookings that end before are left out; zero: none
	MailDomain string    // of people without an address: LOGIN@domain; empty: an address that gets no mail
	Addresses  map[string]string
	Existing   bool // rooms and people are not made: bookings of unknown ones fail
	Progress   func(done, total int)
}

// ConflictsError says that nothing was imported because of double bookings.
type ConflictsError struct{ N int }

func (e *ConflictsError) Error() string {
	return fmt.Sprintf("%d bookings conflict with others; nothing was imported", e.N)
}

// Service imports data from other programs. Safe for concurrent use.
type Service struct {
	meetings *booking.Service
	approval *approval.Service
	series   *series.Service
	places   *places.Service
	store    Store
	people   People
	now      func() time.Time
}

// NewService returns a service that books and administers through those of meetings.
func NewService(meetings *booking.Service, a *approval.Service, s *series.Service, p *places.Service, store Store, people People, now func() time.Time) *Service {
	return &Service{meetings: meetings, approval: a, series: s, places: p, store: store, people: people, now: now}
}

// batch is how many meetings are saved in one transaction.
const batch = 500

// Move imports data. Bookings from an earlier run are updated if they have changed, otherwise unchanged. If
// Move is interrupted, the next call continues. With [Fail], all is one transaction. It returns [meeting.ErrForbidden] unless the actor is an
// admin or the system. Errors of single bookings are in the report.
func (s *Service) Move(ctx context.Context, by meeting.Actor, data *Data, o Options) (*Report, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	by.Quiet = true
	o.OnConflict = cmp.Or(o.OnConflict, Keep)
	if o.OnConflict != Fail || o.DryRun {
		return s.move(ctx, by, data, o)
	}
	dry := o
	dry.DryRun, dry.Progress = true, nil
	if _, err := s.move(ctx, by, data, dry); err != nil { // before much is written
		return nil, err
	}
	var report *Report
	err := s.store.Atomically(ctx, func(ctx context.Context) (err error) {
		report, err = s.move(pause.Never(ctx), by, data, o)
		return err
	})
	return report, err
}

func (s *Service) move(ctx context.Context, by meeting.Actor, data *Data, o Options) (*Report, error) {
	r := &run{
		Service: s, by: by, options: o, data: data, at: s.now().UTC().Truncate(time.Microsecond),
		rooms: map[string]*meeting.Room{}, roomNames: map[string]string{}, missing: map[string]string{}, people: map[string]meeting.Person{}, types: map[string]int64{},
		fields: map[string]*meeting.CustomField{}, personNames: map[string]string{}, steps: pause.Begin(),
	}
	if o.DryRun {
		ctx = pause.Never(ctx)
	}
	r.report = &Report{Program: data.Program, At: r.at, DryRun: o.DryRun, Counts: map[string]Counts{}, Notes: slices.Clone(data.Notes), Problems: []Problem{}}
	for _, step := range []func(context.Context) error{r.ensurePeople, r.ensurePlaces, r.ensureTypes, r.ensureFields, r.book} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	r.report.sort()
	return r.report, nil
}

// run is one import.
type run struct {
	*Service
	by      meeting.Actor
	options Options
	data    *Data
	at      time.Time
	report  *Report

	rooms       map[string]*meeting.Room // by key; in a dry run, new ones have no ID
	roomNames   map[string]string
	missing     map[string]string         // why a room is not there, by key
	people      map[string]meeting.Person // by key
	personNames map[string]string
	byEmail     map[string]meeting.Person
	types       map[string]int64 // by key
	typeNames   map[string]string
	fields      map[string]*meeting.CustomField // by name

	done, total int
	steps       *pause.Steps
}

func (r *run) note(about, format string, args ...any) {
	r.report.Notes = append(r.report.Notes, Note{about, fmt.Sprintf(format, args...)})
}

// book imports the bookings and series.
func (r *run) book(ctx context.Context) error {
	var rows []*Booking
	for i := range r.data.Bookings {
		b := &r.data.Bookings[i]
		if b.Slot.End.After(r.options.From) {
			rows = append(rows, b)
		}
	}
	r.report.Bookings = len(rows)
	rows = r.bookable(rows)
	conflicts, lost := resolve(rows, r.at)
	if len(conflicts) > 0 && r.options.OnConflict == Fail {
		return &ConflictsError{len(conflicts)}
	}
	items := r.items(rows, lost)
	r.total = len(rows)
	var group []*item
	n := 0
	flush := func() error {
		err := r.save(ctx, group)
		group, n = nil, 0
		return err
	}
	for _, it := range items {
		if n+it.size() > batch && n > 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		group, n = append(group, it), n+it.size()
	}
	if err := flush(); err != nil {
		return err
	}
	// The losers come last: another room may only be found once all others are booked.
	for part := range slices.Chunk(conflicts, batch) {
		if err := r.lose(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// bookable leaves out bookings that cannot be imported, and reports them.
func (r *run) bookable(rows []*Booking) (kept []*Booking) {
	for _, b := range rows {
		problem := b.Problem
		switch {
		case problem != "":
		case !b.Slot.Start.Before(b.Slot.End):
			problem = "it ends before it starts"
		case b.Slot.Duration() > 366*24*time.Hour:
			problem = "it is longer than 366 days"
		case len(b.Rooms) == 0:
			problem = "it has no room"
		case b.Organizer == "":
			problem = "organizer is required"
		case r.people[b.Organizer].UserID == 0 && r.options.Existing:
			problem = fmt.Sprintf("no user has the address %s", b.Organizer)
		case r.people[b.Organizer].UserID == 0 && !r.options.DryRun:
			problem = fmt.Sprintf("its organizer %s could not be added", b.Organizer)
		}
		for _, room := range b.Rooms {
			if r.rooms[room] == nil && problem == "" {
				problem = cmp.Or(r.missing[room], fmt.Sprintf("its room %s could not be added", cmp.Or(r.roomNames[room], room)))
			}
		}
		if problem != "" {
			r.failed(b, "%s", problem)
			continue
		}
		kept = append(kept, b)
	}
	return kept
}

func (r *run) failed(b *Booking, format string, args ...any) {
	r.report.count("meetings", Failed, 1)
	r.report.Problems = append(r.report.Problems, Problem{Result: Failed, Message: fmt.Sprintf(format, args...), Booking: r.shown(b)})
}
