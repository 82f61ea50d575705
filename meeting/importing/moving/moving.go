package moving

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
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
		report, err = s.move(ctx, by, data, o)
		return err
	})
	return report, err
}

func (s *Service) move(ctx context.Context, by meeting.Actor, data *Data, o Options) (*Report, error) {
	r := &run{
		Service: s, by: by, options: o, data: data, at: s.now().UTC().Truncate(time.Microsecond),
		rooms: map[string]*meeting.Room{}, roomNames: map[string]string{}, missing: map[string]string{}, people: map[string]meeting.Person{}, types: map[string]int64{},
		fields: map[string]*meeting.CustomField{}, personNames: map[string]string{},
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

// item is a meeting or a series that is saved as one.
type item struct {
	uid      string
	booking  *Booking // of a single meeting
	series   *formed
	transfer *series.Transfer
	known    *importing.Known
}

func (i *item) size() int {
	if i.series != nil {
		return len(i.series.dates)
	}
	return 1
}

// items forms series and single meetings of the bookings that get their rooms.
func (r *run) items(rows []*Booking, lost map[*Booking]*Conflict) (items []*item) {
	byKey := map[string]*Series{}
	for i := range r.data.Series {
		byKey[r.data.Series[i].Key] = &r.data.Series[i]
	}
	dates := map[string][]*Booking{}
	for _, b := range rows {
		if byKey[b.Series] != nil {
			dates[b.Series] = append(dates[b.Series], b)
		} else if lost[b] == nil {
			items = append(items, &item{uid: b.UID, booking: b})
		}
	}
	for i := range r.data.Series {
		s := &r.data.Series[i]
		if len(dates[s.Key]) == 0 {
			continue
		}
		f, err := form(s, dates[s.Key])
		if err == nil {
			f = f.without(func(_ time.Time, b *Booking) bool { return lost[b] != nil })
			if f != nil {
				items = append(items, &item{uid: s.UID, series: f})
			}
			continue
		}
		r.note(s.Ref, "%q becomes %d single meetings: %v", s.Title, len(dates[s.Key]), err)
		for _, b := range dates[s.Key] {
			if lost[b] == nil {
				items = append(items, &item{uid: b.UID, booking: b})
			}
		}
	}
	return items
}

// save imports a group of items in one transaction, as far as they are new.
func (r *run) save(ctx context.Context, group []*item) error {
	if len(group) == 0 {
		return nil
	}
	uids := make([]string, len(group))
	for i, it := range group {
		uids[i] = it.uid
	}
	known, err := r.known(ctx, uids)
	if err != nil {
		return err
	}
	var fresh []*item
	for _, it := range group {
		if it.series != nil {
			it.transfer = r.seriesTransfer(it.series, it.uid)
		} else {
			it.transfer = r.transfer(it.booking, it.uid)
		}
		it.known = known[it.uid]
		switch {
		case it.known == nil:
			fresh = append(fresh, it)
		case it.known.Origin.Sequence == it.transfer.Fields.Import.Origin.Sequence:
			r.counted(it, Unchanged)
		default:
			if err := r.update(ctx, it); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if err := r.create(ctx, fresh); err != nil {
		return err
	}
	for _, it := range group {
		r.progress(it.size())
	}
	return nil
}

func (r *run) progress(n int) {
	r.done += n
	if r.options.Progress != nil {
		r.options.Progress(min(r.done, r.total), r.total)
	}
}

func (r *run) known(ctx context.Context, uids []string) (map[string]*importing.Known, error) {
	found, err := r.store.KnownObjects(ctx, uids)
	known := map[string]*importing.Known{}
	for _, k := range found {
		if k.Origin.Organizer == "" && k.Origin.Kind == meeting.OriginImport {
			known[k.Origin.UID] = k
		}
	}
	return known, err
}

func (r *run) counted(it *item, result Result) {
	if it.series != nil {
		r.report.count("series", result, 1)
	}
	r.report.count("meetings", result, it.size())
}

// create saves new items. Dates whose rooms are taken by meetings that were here before are conflicts.
func (r *run) create(ctx context.Context, items []*item) error {
	if len(items) == 0 {
		return nil
	}
	if r.options.DryRun {
		return r.tryOut(ctx, items)
	}
	ts := make([]*series.Transfer, len(items))
	for i, it := range items {
		ts[i] = it.transfer
	}
	results, err := r.series.Transfer(ctx, r.by, ts)
	if err != nil {
		return err
	}
	var again []*item
	var lost []*Conflict
	for i, it := range items {
		err := results[i].Err
		taken, conflict := errors.AsType[*meeting.SeriesConflictError](err)
		switch {
		case err == nil:
			r.counted(it, Created)
		case errors.Is(err, meeting.ErrOriginTaken):
			r.counted(it, Unchanged)
		case conflict:
			rest, gone := it.without(taken.Dates)
			lost = append(lost, gone...)
			if rest != nil {
				rest.transfer = r.seriesTransfer(rest.series, rest.uid)
				again = append(again, rest)
			}
		case it.series != nil:
			r.note(it.series.series.Ref, "%q becomes %d single meetings: %v", it.series.series.Title, it.size(), fault.Plain(err))
			for _, b := range it.bookings() {
				single := &item{uid: b.UID, booking: b, transfer: r.transfer(b, b.UID)}
				again = append(again, single)
			}
		default:
			r.failed(it.booking, "%v", fault.Plain(err))
		}
	}
	if r.options.OnConflict == Fail && len(lost) > 0 {
		return &ConflictsError{len(lost)}
	}
	if err := r.create(ctx, again); err != nil {
		return err
	}
	return r.lose(ctx, lost)
}

// tryOut counts new items, and reports those whose rooms are taken by meetings that were here before.
func (r *run) tryOut(ctx context.Context, items []*item) error {
	var wanted []meeting.Occupancy
	var of []Conflict // of each wanted occupancy
	for _, it := range items {
		for _, b := range it.bookings() {
			if b.Pending && !b.Slot.Start.After(r.at) {
				continue // holds no room
			}
			for _, key := range b.Rooms {
				if room := r.rooms[key]; room.ID != 0 { // else it is new
					slot := b.Slot.Widen(room.Policy.BufferBefore, room.Policy.BufferAfter)
					wanted, of = append(wanted, meeting.Occupancy{RoomID: room.ID, Slot: slot}), append(of, Conflict{Lost: b, Room: key})
				}
			}
		}
	}
	held, err := r.series.Taken(ctx, wanted)
	if err != nil {
		return err
	}
	taken := map[*Booking]*Conflict{}
	for i, by := range held {
		if c := of[i]; len(by) > 0 && taken[c.Lost] == nil {
			c.Slot = by[0].Slot
			taken[c.Lost] = &c
		}
	}
	var lost []*Conflict
	for _, it := range items {
		n := 0
		for _, b := range it.bookings() {
			if c := taken[b]; c != nil {
				lost, n = append(lost, c), n+1
			}
		}
		r.report.count("meetings", Created, it.size()-n)
		if it.series != nil && n < it.size() {
			r.report.count("series", Created, 1)
		}
	}
	if r.options.OnConflict == Fail && len(lost) > 0 {
		return &ConflictsError{len(lost)}
	}
	return r.lose(ctx, lost)
}

func (i *item) bookings() []*Booking {
	if i.series == nil {
		return []*Booking{i.booking}
	}
	var bs []*Booking
	for _, wall := range i.series.walls() {
		bs = append(bs, i.series.dates[wall])
	}
	return bs
}

// without splits an item: what is left of it, and the dates whose rooms are taken.
func (i *item) without(taken []meeting.Skipped) (*item, []*Conflict) {
	at := map[int64]meeting.Skipped{}
	for _, d := range taken {
		at[d.OriginalStart.UnixMicro()] = d
	}
	conflictOf := func(b *Booking, d meeting.Skipped) *Conflict {
		c := &Conflict{Lost: b, Room: b.Rooms[0]}
		if len(d.Conflicts) > 0 {
			c.Slot = d.Conflicts[0].Slot
		}
		return c
	}
	if i.series == nil {
		return nil, []*Conflict{conflictOf(i.booking, taken[0])}
	}
	zone := clock.ZoneOrUTC(i.series.series.Zone)
	var lost []*Conflict
	rest := i.series.without(func(wall time.Time, b *Booking) bool {
		d, is := at[clock.InstantOrShift(wall, zone).UnixMicro()]
		if is {
			lost = append(lost, conflictOf(b, d))
		}
		return is
	})
	slices.SortFunc(lost, func(a, b *Conflict) int { return cmp.Compare(a.Lost.ID, b.Lost.ID) })
	if rest == nil || len(lost) == 0 {
		if len(lost) == 0 { // not found again: all of them, to avoid an endless loop
			for _, b := range i.bookings() {
				lost = append(lost, conflictOf(b, taken[0]))
			}
		}
		return nil, lost
	}
	return &item{uid: i.uid, series: rest}, lost
}

// lostUID returns the UID of the rejected meeting that is kept for a booking without its room.
func lostUID(b *Booking) string { return b.UID + "#lost" }

// lose keeps bookings that lost their rooms visible, as the options say.
func (r *run) lose(ctx context.Context, conflicts []*Conflict) error {
	if len(conflicts) == 0 {
		return nil
	}
	uids := make([]string, len(conflicts))
	for i, c := range conflicts {
		uids[i] = lostUID(c.Lost)
	}
	known, err := r.known(ctx, uids)
	if err != nil {
		return err
	}
	for _, c := range conflicts {
		p := Problem{Result: Taken, Booking: r.shown(c.Lost), Room: r.roomNames[c.Room], Message: r.describe(c)}
		if c.Won != nil {
			won := r.shown(c.Won)
			p.Holder = &won
		}
		if err := r.loseOne(ctx, c, known[lostUID(c.Lost)], &p); err != nil {
			return err
		}
		r.report.Problems = append(r.report.Problems, p)
		r.progress(1)
	}
	return nil
}

func (r *run) loseOne(ctx context.Context, c *Conflict, known *importing.Known, p *Problem) error {
	switch {
	case r.options.OnConflict == Skip:
		r.report.count("meetings", Taken, 1)
		return nil
	case known != nil:
		p.Kept, p.MeetingID = "rejected", known.MeetingID
		r.report.count("meetings", Unchanged, 1)
		return nil
	case r.options.OnConflict == OtherRoom:
		found, err := r.elsewhere(ctx, c, p)
		if found || err != nil {
			return err
		}
	}
	r.report.count("meetings", Taken, 1)
	p.Kept = "rejected"
	if r.options.DryRun {
		return nil
	}
	t := r.transfer(c.Lost, lostUID(c.Lost))
	t.Status, t.Reason = meeting.Rejected, fault.AsLine(p.Message, 900)
	results, err := r.series.Transfer(ctx, r.by, []*series.Transfer{t})
	if err != nil {
		return err
	}
	if p.MeetingID = results[0].MeetingID; results[0].Err != nil {
		p.Kept = ""
		p.Message += "; " + fault.Plain(results[0].Err).Error()
	}
	return nil
}

// elsewhere books another room of the site that is free and big enough.
func (r *run) elsewhere(ctx context.Context, c *Conflict, p *Problem) (bool, error) {
	if len(c.Lost.Rooms) != 1 || r.options.DryRun {
		return false, nil
	}
	own := r.rooms[c.Room]
	var others []string
	for _, room := range r.data.Rooms {
		other := r.rooms[room.Key]
		if other != nil && other.ID != own.ID && other.Active && other.SiteID == own.SiteID && other.Capacity >= own.Capacity {
			others = append(others, room.Key)
		}
	}
	slices.SortStableFunc(others, func(a, b string) int { return cmp.Compare(r.rooms[a].Capacity, r.rooms[b].Capacity) })
	for _, key := range others {
		moved := *c.Lost
		moved.Rooms = []string{key}
		results, err := r.series.Transfer(ctx, r.by, []*series.Transfer{r.transfer(&moved, lostUID(c.Lost))})
		if err != nil {
			return false, err
		}
		if results[0].Err == nil {
			p.Kept, p.MeetingID, p.Room = "other_room", results[0].MeetingID, r.roomNames[key]
			r.report.count("meetings", Created, 1)
			return true, nil
		}
	}
	return false, nil
}

// describe names the booking that has the room.
func (r *run) describe(c *Conflict) string {
	if c.Won == nil {
		return fmt.Sprintf("%s is taken by a meeting that was here before", r.roomNames[c.Room])
	}
	title := c.Won.Title
	if c.Won.Private {
		title = "a private booking"
	}
	zone := clock.ZoneOrUTC(c.Won.Zone)
	return fmt.Sprintf("double booking in %s: %s has %s (%s) from %s to %s", r.data.Program, r.roomNames[c.Room], title, r.personName(c.Won.Organizer),
		c.Won.Slot.Start.In(zone).Format("2006-01-02 15:04"), c.Won.Slot.End.In(zone).Format("2006-01-02 15:04"))
}

func (r *run) personName(key string) string { return cmp.Or(r.personNames[key], key, "nobody") }

func (r *run) shown(b *Booking) Shown {
	zone := clock.ZoneOrUTC(b.Zone)
	s := Shown{
		Ref: b.Ref, Title: b.Title, Description: b.Description, Organizer: r.personName(b.Organizer), Start: b.Slot.Start.In(zone), End: b.Slot.End.In(zone),
		Timezone: b.Zone, Private: b.Private, Pending: b.Pending, Type: r.typeNames[b.Type], Fields: b.Fields, Extra: b.Extra, Rooms: []string{},
	}
	for _, room := range b.Rooms {
		s.Rooms = append(s.Rooms, cmp.Or(r.roomNames[room], room))
	}
	for _, a := range b.Attendees {
		s.Attendees = append(s.Attendees, cmp.Or(r.personNames[a.Key], a.Email, a.Name, a.Key))
	}
	return s
}

// transfer is a single meeting.
func (r *run) transfer(b *Booking, uid string) *series.Transfer {
	t := &series.Transfer{Fields: series.Fields{Fields: r.content(&b.Content, b.Zone)}, Status: statusOf(b.Pending)}
	t.Fields.Start, t.Fields.End = new(clock.At(b.Slot.Start)), new(clock.At(b.Slot.End))
	r.origin(t, uid)
	return t
}

func statusOf(pending bool) meeting.Status {
	if pending {
		return meeting.Pending
	}
	return meeting.Confirmed
}

// seriesTransfer is a series with the dates that differ.
func (r *run) seriesTransfer(f *formed, uid string) *series.Transfer {
	s := f.series
	pending := f.pending()
	t := &series.Transfer{Fields: series.Fields{Fields: r.content(&s.Content, s.Zone)}, Status: statusOf(pending), Statuses: map[time.Time]meeting.Status{}}
	t.Fields.Differing = map[time.Time]booking.Fields{}
	t.Fields.Start, t.Fields.End = new(clock.Parse(s.Start.Format(clock.WallLayout))), new(clock.Parse(s.End.Format(clock.WallLayout)))
	t.Fields.Rule, t.Fields.OnConflict = new(f.rule.String()), meeting.FailOnConflict
	ex, rd := []clock.Time{}, []clock.Time{}
	for _, w := range f.exDates {
		ex = append(ex, clock.ParseDate(w.String()))
	}
	for _, w := range f.rDates {
		rd = append(rd, clock.ParseDate(w.String()))
	}
	t.Fields.ExDates, t.Fields.RDates = &ex, &rd
	for _, wall := range f.walls() {
		b := f.dates[wall]
		if b.Pending != pending {
			t.Statuses[wall] = statusOf(b.Pending)
		}
		content, moved := f.differs(wall, b)
		if !content && !moved {
			continue
		}
		own := booking.Fields{}
		if content {
			own = r.content(&b.Content, b.Zone)
			own.Import = nil
		}
		own.Timezone = nil
		if moved {
			own.Start, own.End = new(clock.At(b.Slot.Start)), new(clock.At(b.Slot.End))
		}
		t.Fields.Differing[wall] = own
	}
	r.origin(t, uid)
	return t
}

// content is what a booking and a series have in common, as a meeting has it.
func (r *run) content(c *Content, zone string) booking.Fields {
	rooms := make([]int64, len(c.Rooms))
	for i, key := range c.Rooms {
		rooms[i] = r.rooms[key].ID
	}
	visibility := meeting.Public
	if c.Private {
		visibility = meeting.Private
	}
	imported := &meeting.Import{Organizer: r.people[c.Organizer], Responses: map[string]meeting.Response{}, People: r.byEmail}
	people := []meeting.Person{}
	seen := map[string]bool{fault.FoldEmail(imported.Organizer.Email): true}
	extra := slices.Clone(c.Extra)
	for _, a := range c.Attendees {
		p := r.people[a.Key]
		if p.UserID == 0 {
			p = meeting.Person{Email: a.Email, Name: fault.AsLine(a.Name, fault.MaxName)}
		}
		email := fault.FoldEmail(p.Email)
		if !fault.IsEmail(email) {
			if name := cmp.Or(a.Name, r.personNames[a.Key], a.Key, a.Email); name != "" {
				extra = append(extra, Extra{"Attendee", name})
			}
			continue
		}
		if seen[email] {
			continue
		}
		seen[email] = true
		people = append(people, meeting.Person{Email: email, Name: p.Name})
		if a.Response != "" {
			imported.Responses[email] = a.Response
		}
	}
	custom := map[string]any{}
	for name, value := range c.Fields {
		if field := r.fields[name]; field != nil {
			if converted, ok := convert(field, value); ok {
				custom[name] = converted
				continue
			}
		}
		extra = append(extra, Extra{name, fmt.Sprint(value)})
	}
	slices.SortStableFunc(extra, func(a, b Extra) int { return cmp.Compare(a.Label, b.Label) })
	f := booking.Fields{
		Title: new(title(c.Title)), Description: new(describe(c.Description, extra)), RoomIDs: &rooms, Attendees: &people,
		Reminders: &[]meeting.Reminder{}, Visibility: &visibility, Import: imported, Unasked: true,
	}
	if zone != "" {
		f.Timezone = &zone
	}
	if id := r.types[c.Type]; id != 0 {
		f.TypeID = &id
	}
	if len(custom) > 0 {
		f.Custom = &custom
	}
	return f
}

// origin sets where a transfer comes from, with a digest of its content in place of a version.
func (r *run) origin(t *series.Transfer, uid string) {
	digest := fnv.New64a()
	e := json.NewEncoder(digest)
	f := t.Fields
	for _, v := range []any{
		f.Title, f.Description, f.RoomIDs, wallOf(f.Start), wallOf(f.End), f.Timezone, f.Attendees, f.Visibility, f.TypeID, f.Custom, f.Rule, t.Status,
		f.Import.Organizer.UserID, f.Import.Responses,
	} {
		e.Encode(v)
	}
	for _, ts := range []*[]clock.Time{f.ExDates, f.RDates} {
		if ts != nil {
			for _, w := range *ts {
				e.Encode(wallOf(&w))
			}
		}
	}
	walls := make([]time.Time, 0, len(f.Differing))
	for wall := range f.Differing {
		walls = append(walls, wall)
	}
	slices.SortFunc(walls, time.Time.Compare)
	for _, wall := range walls {
		d := f.Differing[wall]
		for _, v := range []any{wall, d.Title, d.Description, d.RoomIDs, wallOf(d.Start), wallOf(d.End), d.Attendees, d.Visibility, d.TypeID, d.Custom, t.Statuses[wall]} {
			e.Encode(v)
		}
	}
	f.Import.Origin = meeting.Origin{Kind: meeting.OriginImport, UID: uid, Sequence: int64(digest.Sum64() >> 1)}
}

func wallOf(t *clock.Time) any {
	if t == nil {
		return nil
	}
	if at, ok := t.Instant(); ok {
		return at
	}
	if at, ok := t.Local(); ok {
		return at
	}
	at, _ := t.Date()
	return at
}

func title(text string) string {
	if text = fault.AsLine(text, fault.MaxName); text != "" {
		return text
	}
	return "(untitled)"
}

// maxDescription leaves room below the limit of a meeting.
const maxDescription = 9_900

// describe joins a description with what has no other place.
func describe(text string, extra []Extra) string {
	text = strings.TrimSpace(fault.AsText(strings.ReplaceAll(text, "\r\n", "\n")))
	var lines []string
	for _, x := range extra {
		lines = append(lines, fault.AsText(x.Label+": "+x.Value))
	}
	if len(lines) > 0 {
		text = strings.TrimSpace(text + "\n\n" + strings.Join(lines, "\n"))
	}
	if runes := []rune(text); len(runes) > maxDescription {
		text = string(runes[:maxDescription-1]) + "…"
	}
	return text
}
