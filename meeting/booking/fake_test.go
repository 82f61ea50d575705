package booking_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/door"
	"punctual/meeting/photo"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
	"punctual/meeting/waitlist"
	"punctual/meeting/zones"
)

// fakeStore keeps sites, rooms and meetings in memory, one transaction at a time. It refuses
// overlaps as the database does, and hands out copies.
type fakeStore struct {
	fakeRules
	fakeWaits
	mu           sync.Mutex
	sites        map[int64]*meeting.Site
	rooms        map[int64]*meeting.Room
	photos       map[int64]*photo.Photo
	plans        map[int64]*meeting.FloorPlan
	planPictures map[int64]*photo.Picture
	faults       []*meeting.FaultReport
	branding     meeting.Branding
	logo         *photo.Picture
	types        map[int64]*meeting.Type
	customFields map[int64]*meeting.CustomField
	meetings     map[meeting.ID]*meeting.Meeting
	series       map[int64]*meeting.Series
	history      map[meeting.ID][]meeting.Entry
	notices      []meeting.Notice
	zones        []meeting.ZoneRules
	lookUps      int // of what is taken
	last         int64
}

func newFakeStore() *fakeStore {
	return &fakeStore{sites: map[int64]*meeting.Site{}, rooms: map[int64]*meeting.Room{}, photos: map[int64]*photo.Photo{}, plans: map[int64]*meeting.FloorPlan{}, planPictures: map[int64]*photo.Picture{}, types: map[int64]*meeting.Type{}, customFields: map[int64]*meeting.CustomField{}, meetings: map[meeting.ID]*meeting.Meeting{}, series: map[int64]*meeting.Series{}, history: map[meeting.ID][]meeting.Entry{}}
}

func (s *fakeStore) LastChange(context.Context, meeting.ID) (*meeting.PastChange, error) {
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) LastSeriesChange(context.Context, int64) (*meeting.PastChange, error) {
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) next() int64 { s.last++; return s.last }

func (s *fakeStore) CreateSite(_ context.Context, site *meeting.Site) error {
	site.ID, site.Version = s.next(), 1
	s.sites[site.ID] = new(*site)
	return nil
}

func (s *fakeStore) Site(_ context.Context, id int64) (*meeting.Site, error) {
	if site, ok := s.sites[id]; ok {
		return new(*site), nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) UpdateSite(ctx context.Context, id int64, fn func(*meeting.Site) error) (*meeting.Site, error) {
	site, err := s.Site(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := fn(site); err != nil {
		return nil, err
	}
	site.Version++
	s.sites[id] = new(*site)
	return site, nil
}

func (s *fakeStore) DeleteSite(_ context.Context, id int64, fn func(*meeting.Site) error) error {
	site, ok := s.sites[id]
	if !ok {
		return meeting.ErrNotFound
	}
	if err := fn(site); err != nil {
		return err
	}
	delete(s.sites, id)
	return nil
}

func (s *fakeStore) ListSites(context.Context, meeting.Page) ([]*meeting.Site, string, error) {
	var all []*meeting.Site
	for _, site := range s.sites {
		all = append(all, site)
	}
	return all, "", nil
}

func (s *fakeStore) CreateRooms(_ context.Context, rooms []*meeting.Room) error {
	for _, r := range rooms {
		r.ID, r.Version = s.next(), 1
		s.rooms[r.ID] = r.Clone()
	}
	return nil
}

func (s *fakeStore) Rooms(_ context.Context, ids []int64) ([]*meeting.Room, error) {
	var rooms []*meeting.Room
	for _, id := range ids {
		if r, ok := s.rooms[id]; ok {
			r = r.Clone()
			r.Zone = r.Timezone
			if site := s.sites[r.SiteID]; r.Zone == "" && site != nil {
				r.Zone = site.Timezone
			}
			rooms = append(rooms, r)
		}
	}
	return rooms, nil
}

func (s *fakeStore) UpdateRoom(_ context.Context, id int64, fn func(*meeting.Room) error) (*meeting.Room, error) {
	r, ok := s.rooms[id]
	if !ok {
		return nil, meeting.ErrNotFound
	}
	r = r.Clone()
	if err := fn(r); err != nil {
		return nil, err
	}
	r.Version++
	s.rooms[id] = r.Clone()
	s.closeRequests(id, func(*meeting.Meeting) bool { return !r.Active })
	return r, nil
}

func (s *fakeStore) SetRoomPhoto(_ context.Context, id int64, p *photo.Photo, fn func(*meeting.Room, int64) error) error {
	r, ok := s.rooms[id]
	if !ok {
		return meeting.ErrNotFound
	}
	var others int64
	for other, p := range s.photos {
		if other != id {
			others += int64(len(p.Large) + len(p.Small))
		}
	}
	if err := fn(r, others); err != nil {
		return err
	}
	r.Version++
	delete(s.photos, id)
	if p != nil {
		s.photos[id] = p
	}
	return nil
}

func (s *fakeStore) RoomPhoto(_ context.Context, id int64, small bool) ([]byte, string, error) {
	p := s.photos[id]
	switch {
	case p == nil:
		return nil, "", meeting.ErrNotFound
	case small:
		return p.Small, s.rooms[id].Photo, nil
	}
	return p.Large, s.rooms[id].Photo, nil
}

func (s *fakeStore) DeleteRoom(_ context.Context, id int64, _ time.Time, fn func(*meeting.Room) error) error {
	r, ok := s.rooms[id]
	if !ok {
		return meeting.ErrNotFound
	}
	if err := fn(r); err != nil {
		return err
	}
	delete(s.rooms, id)
	return nil
}

func (s *fakeStore) HiddenRooms(_ context.Context, by meeting.Actor) (ids []int64, err error) {
	for _, r := range s.rooms {
		if !by.MaySeeRoom(r) {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

func (s *fakeStore) ListRooms(ctx context.Context, _ meeting.RoomQuery, _ meeting.Page) ([]*meeting.Room, string, error) {
	var ids []int64
	for id := range s.rooms {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	rooms, err := s.Rooms(ctx, ids)
	return rooms, "", err
}

func (s *fakeStore) CreateMeeting(_ context.Context, m *meeting.Meeting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.allowed(m); err != nil {
		return err
	}
	m.ID, m.Version = s.next(), 1
	m.Notices = s.save(m)
	return nil
}

func (s *fakeStore) Meeting(_ context.Context, id meeting.ID) (*meeting.Meeting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.meetings[id]; ok {
		return new(*m), nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) UpdateMeeting(_ context.Context, id meeting.ID, fn func(*meeting.Meeting) error) (*meeting.Meeting, []meeting.Notice, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, ok := s.meetings[id]
	if !ok {
		return nil, nil, meeting.ErrNotFound
	}
	m := new(*before)
	if err := fn(m); err != nil {
		return nil, nil, err
	}
	if err := s.allowed(m); err != nil {
		return nil, nil, err
	}
	if before.Request != nil && m.Request != nil && before.Request.Number == m.Request.Number && m.Untouched(before) {
		return m, s.save(m), nil // a timer went off
	}
	m.Version++
	over := m.Status != before.Status && m.Status.Over()
	if m.Slot != before.Slot || !slices.Equal(m.RoomIDs, before.RoomIDs) || over || m.Approval.Deadline != before.Approval.Deadline {
		m.ScheduleVersion++
	}
	return m, s.save(m), nil
}

// UpdateMeetings is not all or nothing if one of several fails.
func (s *fakeStore) UpdateMeetings(ctx context.Context, ids []meeting.ID, fn func(*meeting.Meeting) (bool, error)) ([]meeting.Notice, error) {
	var notices []meeting.Notice
	for _, id := range ids {
		_, notified, err := s.UpdateMeeting(ctx, id, func(m *meeting.Meeting) error {
			changed, err := fn(m)
			if err == nil && !changed {
				err = booking.ErrUnchanged
			}
			return err
		})
		if err != nil && !errors.Is(err, booking.ErrUnchanged) && !errors.Is(err, meeting.ErrNotFound) {
			return nil, err
		}
		notices = append(notices, notified...)
	}
	return notices, nil
}

// free is the exclusion constraint.
func (s *fakeStore) free(m *meeting.Meeting) error {
	var taken []meeting.Occupancy
	for _, other := range s.meetings {
		for _, o := range takenBy(other) {
			for _, mine := range takenBy(m) {
				if other.ID != m.ID && o.RoomID == mine.RoomID && o.Slot.Overlaps(mine.Slot) {
					taken = append(taken, o)
				}
			}
		}
	}
	if len(taken) > 0 {
		return &meeting.ConflictError{Conflicts: taken}
	}
	return nil
}

func (s *fakeStore) save(m *meeting.Meeting) []meeting.Notice {
	s.record(m)
	if m.RaisesSequence() {
		s.series[m.SeriesID].Sequence++
		m.SeriesSequence = s.series[m.SeriesID].Sequence
	}
	notices := m.TakeNotices()
	for i := range notices {
		dup := slices.ContainsFunc(s.notices, func(n meeting.Notice) bool { return n.DedupeKey == notices[i].DedupeKey })
		if !dup {
			notices[i].ID = s.next()
			s.notices = append(s.notices, notices[i])
		}
	}
	s.meetings[m.ID] = m.Clone()
	return notices
}

func (s *fakeStore) ListMeetings(_ context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	in := func(m *meeting.Meeting) bool {
		return slices.ContainsFunc(m.RoomIDs, func(id int64) bool {
			return (q.RoomID == 0 || q.RoomID == id) && (q.SiteID == 0 || q.SiteID == s.rooms[id].SiteID)
		})
	}
	for _, m := range s.meetings {
		status := len(q.Statuses) == 0 || slices.Contains(q.Statuses, m.EffectiveStatus(q.Now))
		if status && in(m) && m.Slot.End.After(q.From) && (q.To.IsZero() || m.Slot.Start.Before(q.To)) {
			ms = append(ms, new(*m))
		}
	}
	slices.SortFunc(ms, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	begin, _ := strconv.Atoi(p.Cursor) // of the first page: 0
	ms = ms[min(begin, len(ms)):]
	if p.Limit > 0 && len(ms) > p.Limit {
		ms, next = ms[:p.Limit], strconv.Itoa(begin+p.Limit)
	}
	return ms, next, nil
}

func (s *fakeStore) History(_ context.Context, id meeting.ID, _ meeting.Page) ([]meeting.Entry, string, error) {
	return slices.Clone(s.history[id]), "", nil
}

// record keeps what the meeting recorded.
func (s *fakeStore) record(m *meeting.Meeting) {
	for _, e := range m.TakeHistory() {
		e.ID = int64(len(s.history[m.ID]) + 1)
		s.history[m.ID] = append(s.history[m.ID], e)
	}
}

func (s *fakeStore) OpenedBy(_ context.Context, _ meeting.Actor, id meeting.ID) (entry int64, err error) {
	for _, e := range s.history[id] {
		if e.Changes["visibility"].From == meeting.Private {
			entry = e.ID
		}
	}
	return entry, nil
}

func (s *fakeStore) Due(context.Context, string, time.Time, time.Time, meeting.DueCursor, int) ([]meeting.Due, error) {
	return nil, nil
}
func (s *fakeStore) Start(context.Context, []meeting.Ref, time.Time) ([]meeting.Outcome, error) {
	return nil, nil
}
func (s *fakeStore) End(context.Context, []meeting.Ref, time.Time) ([]meeting.Outcome, error) {
	return nil, nil
}
func (s *fakeStore) Remind(context.Context, []meeting.ReminderRef, time.Time, func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Outcome, []meeting.Notice, error) {
	return nil, nil, nil
}

type fakeDirectory []meeting.Person

func (d fakeDirectory) People(_ context.Context, ids []int64) ([]meeting.Person, error) {
	var ps []meeting.Person
	for _, p := range d {
		if slices.Contains(ids, p.UserID) {
			ps = append(ps, p)
		}
	}
	return ps, nil
}

func (d fakeDirectory) Admins(context.Context) ([]meeting.Person, error) {
	return slices.DeleteFunc(slices.Clone(d), func(p meeting.Person) bool { return p.Role != meeting.Admin }), nil
}

func (d fakeDirectory) ByEmail(_ context.Context, emails []string) (map[string]meeting.Person, error) {
	found := map[string]meeting.Person{}
	for _, p := range d {
		if key := strings.ToLower(p.Email); slices.Contains(emails, key) {
			found[key] = p
		}
	}
	return found, nil
}

// fakeQueue keeps what was scheduled and not forgotten.
type fakeQueue map[string]delayjob.Message

func (q fakeQueue) Schedule(_ context.Context, ms ...delayjob.Message) {
	for _, m := range ms {
		q[m.ID()] = m
	}
}

func (q fakeQueue) Forget(_ context.Context, ids ...string) {
	for _, id := range ids {
		delete(q, id)
	}
}

// anyDirectory is a directory that a test may replace.
type anyDirectory struct{ booking.Directory }

// Write is the log of the services.
func (w *world) Write(p []byte) (int, error) {
	if w.log == nil {
		return len(p), nil
	}
	return w.log.Write(p)
}

// world is an installation with two people of each role and two rooms, at noon.
type world struct {
	*booking.Service
	approval *approval.Service
	series   *series.Service
	waitlist *waitlist.Service
	door     *door.Service
	zones    *zones.Service
	places   *places.Service

	store     *fakeStore
	directory *anyDirectory
	queue     fakeQueue
	log       io.Writer // discards unless set
	settings  meeting.Settings
	at        time.Time
	away      []meeting.Absence

	ann, bob    meeting.Actor // members
	mona, max   meeting.Actor // managers; mona approves the board room
	root        meeting.Actor // admin
	desk, board *meeting.Room // board needs approval
}

func newWorld(t *testing.T) *world {
	t.Helper()
	user := func(id int64, name string, role meeting.Role) meeting.Actor {
		return meeting.Actor{Kind: meeting.ActorUser, ID: id, Name: name, Email: name + "@example.org", Role: role}
	}
	w := &world{
		store: newFakeStore(), queue: fakeQueue{},
		at:  time.Date(2027, 2, 10, 12, 0, 0, 0, time.UTC),
		ann: user(1, "ann", meeting.Member), bob: user(2, "bob", meeting.Member),
		mona: user(3, "mona", meeting.Manager), max: user(4, "max", meeting.Manager), root: user(5, "root", meeting.Admin),
		settings: meeting.Settings{
			Timezone: "Europe/Berlin", HoldPending: true, ApprovalTimeout: 24 * time.Hour,
			Reminders: []meeting.Reminder{{Before: meeting.BeforeStart, Offset: 15 * time.Minute, Channels: []meeting.Channel{meeting.Email}}},
			Limits:    policy.Limits{MaxDuration: 24 * time.Hour, MaxAdvance: 8760 * time.Hour},
		},
	}
	var people fakeDirectory
	for _, a := range []meeting.Actor{w.ann, w.bob, w.mona, w.max, w.root} {
		people = append(people, meeting.Person{UserID: a.ID, Email: a.Email, Name: a.Name, Phone: fmt.Sprintf("+49300000%d", a.ID), Role: a.Role})
	}
	w.store.last = 100
	w.directory = &anyDirectory{absentDirectory{people, &w.away}}
	w.Service = booking.NewService(w.store, w.directory, w.queue, func() meeting.Settings { return w.settings }, func() time.Time { return w.at }, slog.New(slog.NewTextHandler(w, nil)))
	w.approval, w.series = approval.NewService(w.Service, w.store), series.NewService(w.Service, w.store)
	w.waitlist = waitlist.NewService(w.Service, w.store, w.directory, w.queue)
	w.door, w.zones = door.NewService(w.Service, w.store), zones.NewService(w.Service, w.store, w.series, w.queue)
	w.places = places.NewService(w.Service, w.store, w.directory, w.queue, slog.New(slog.DiscardHandler))
	w.desk = w.room(t, places.RoomFields{Name: new("Desk")})
	w.board = w.room(t, places.RoomFields{Name: new("Board"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	return w
}

func (w *world) room(t *testing.T, f places.RoomFields) *meeting.Room {
	t.Helper()
	r, err := w.places.CreateRoom(t.Context(), w.root, f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fields of an hour's meeting that begins some time from now.
func (w *world) fields(in time.Duration, rooms ...*meeting.Room) booking.Fields {
	return booking.Fields{
		Title: new("Review"), RoomIDs: new(meeting.RoomIDs(rooms)),
		Start: new(clock.At(w.at.Add(in))), End: new(clock.At(w.at.Add(in + time.Hour))),
		Attendees: &[]meeting.Person{{Email: "BOB@example.org"}, {Email: "guest@example.net", Name: "Guest"}},
	}
}

func (w *world) book(t *testing.T, by meeting.Actor, f booking.Fields) *meeting.Meeting {
	t.Helper()
	m, err := w.Book(t.Context(), by, f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// outcomeOf is the outcome of a batch of one.
func outcomeOf(outcomes []meeting.Outcome, err error) (meeting.Outcome, error) {
	if err != nil {
		return meeting.Applied, err
	}
	return outcomes[0], nil
}

// notified lists "kind address" of the notices recorded since the last call.
func (w *world) notified() []string {
	var out []string
	for _, n := range w.store.notices {
		out = append(out, string(n.Kind)+" "+strings.ToLower(n.To.Address(n.Channel)))
	}
	w.store.notices = nil
	slices.Sort(out)
	return out
}

func (w *world) actions(id meeting.ID) []meeting.Action {
	var out []meeting.Action
	for _, e := range w.store.history[id] {
		out = append(out, e.Action)
	}
	return out
}

// GroupsOf returns the group of the user's own ID.
func (s *fakeStore) GroupsOf(_ context.Context, userID int64) ([]int64, error) {
	return []int64{userID}, nil
}
