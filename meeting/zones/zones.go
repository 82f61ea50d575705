package zones

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
)

// Governments change the rules of time zones. A meeting is stored as an instant, so after such a
// change it would take place at another local time than agreed. The meeting keeps its local times
// ([meeting.Meeting.Shown]). Meetings that differ are listed, and moved if an admin wants that.

// ReasonZoneRules is the reason in history for a move after the rules of the meeting's zone
// changed.
const ReasonZoneRules = "zone_rules"

// Shift is a coming meeting whose local time is no longer the booked one.
type Shift struct {
	Meeting *meeting.Meeting
	To      clock.Slot // slot of the booked local time by the present rules; zero: unknown
	// Obstacle is why the meeting cannot move: [meeting.ReasonTaken], "in_past" or "unknown_timezone";
	// empty: it can.
	Obstacle  string
	Conflicts []meeting.Occupancy // occupancies of its rooms

	original time.Time // of a date of a series
}

// moves reports whether the meeting can move and is not there yet.
func (z *Shift) moves() bool { return z.Obstacle == "" && !z.To.Equal(z.Meeting.Slot) }

// NoteClocks stores the local times of meetings that an earlier version booked.
func (s *Service) NoteClocks(ctx context.Context) error {
	series := map[int64]*meeting.Series{}
	for last := meeting.ID(0); ; {
		ms, err := s.store.Unnoted(ctx, s.booking.Now(), last, 500)
		if err != nil || len(ms) == 0 {
			return err
		}
		last = ms[len(ms)-1].ID
		for _, m := range ms {
			if m.NoteClocks(nil); m.Shown.Start.IsZero() { // its zone is unknown here
				m.Shown = m.Slot
			}
			if m.OriginalStart.IsZero() {
				continue
			}
			of, err := s.seriesOf(ctx, m, series)
			if err != nil {
				return err
			}
			of.NameWalls([]*meeting.Meeting{m})
		}
		if err := s.store.NoteClocks(ctx, ms); err != nil {
			return err
		}
	}
}

func (s *Service) seriesOf(ctx context.Context, m *meeting.Meeting, known map[int64]*meeting.Series) (*meeting.Series, error) {
	if of := known[m.SeriesID]; of != nil {
		return of, nil
	}
	of, err := s.store.Series(ctx, m.SeriesID)
	known[m.SeriesID] = of
	return of, err
}

// rulesFrom and rulesTo limit the clock changes that count as the rules of a zone: past ones move
// no meeting.
var rulesFrom, rulesTo = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC)

// rulesHash is equal for equal clock changes.
func rulesHash(loc *time.Location) string {
	h := sha256.New()
	last := -1 << 31
	for at := rulesFrom; at.Before(rulesTo); {
		_, offset := at.In(loc).Zone()
		if offset != last {
			fmt.Fprintln(h, at.Unix(), offset)
			last = offset
		}
		_, next := at.In(loc).ZoneBounds()
		if next.IsZero() {
			break
		}
		if !next.After(at) { // the last rule of a zone may return changes of the year before
			next = at.Add(time.Hour)
		}
		at = next
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Watch compares the rules of the zones in use with those of the last call and with the local
// times of booked meetings. It returns the zones whose rules changed since all meetings were at
// their local times, and those that are unknown on this machine.
func (s *Service) Watch(ctx context.Context) (changed, unknown []string, err error) {
	names, err := s.store.BookedZones(ctx, s.booking.Now())
	if err != nil {
		return nil, nil, err
	}
	all, err := s.store.ZoneRules(ctx)
	if err != nil {
		return nil, nil, err
	}
	moved := map[string]bool{}
	err = s.store.ShownStarts(ctx, s.booking.Now(), func(name string, start, shown time.Time) {
		if zone, err := fault.StoredZone(name); err == nil && !moved[name] {
			moved[name] = !byClocks(start, shown, zone).Equal(start)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	var news []meeting.ZoneRules
	for _, name := range names {
		loc, err := fault.StoredZone(name)
		if err != nil {
			unknown = append(unknown, name)
			continue
		}
		now := meeting.ZoneRules{Zone: name, Hash: rulesHash(loc)}
		i := slices.IndexFunc(all, func(r meeting.ZoneRules) bool { return r.Zone == name })
		if i >= 0 {
			now.ChangedAt = all[i].ChangedAt
		}
		if i >= 0 && all[i].Hash != now.Hash || moved[name] && now.ChangedAt.IsZero() {
			now.ChangedAt = s.booking.Now()
		}
		if i < 0 || now != all[i] {
			news = append(news, now)
		}
		if !now.ChangedAt.IsZero() {
			changed = append(changed, name)
		}
	}
	if len(news) > 0 {
		err = s.store.SaveZoneRules(ctx, news)
	}
	return changed, unknown, err
}

// Changed returns the zones whose rules changed since all their meetings were at their local
// times.
func (s *Service) Changed(ctx context.Context) ([]meeting.ZoneRules, error) {
	all, err := s.store.ZoneRules(ctx)
	return slices.DeleteFunc(all, func(r meeting.ZoneRules) bool { return r.ChangedAt.IsZero() }), err
}

// Check returns the coming meetings that the present rules of their zones would move. It
// writes nothing.
func (s *Service) Check(ctx context.Context) ([]*Shift, error) {
	shifts, err := s.zoneShifts(ctx)
	return slices.DeleteFunc(shifts, func(z *Shift) bool { return z.Obstacle == "" && !z.moves() }), err
}

// zoneShifts returns the meetings that would move, and dates of series whose original start alone
// would move.
func (s *Service) zoneShifts(ctx context.Context) ([]*Shift, error) {
	at := s.booking.Now()
	q := meeting.MeetingQuery{From: at, Statuses: []meeting.Status{meeting.Pending, meeting.Confirmed}, Now: at}
	series := map[int64]*meeting.Series{}
	var shifts []*Shift
	for p := (meeting.Page{Limit: 500}); ; {
		ms, cursor, err := s.store.ListMeetings(ctx, q, p)
		if err != nil {
			return nil, fmt.Errorf("check zones: %w", err)
		}
		for _, m := range ms {
			var of *meeting.Series
			if !m.OriginalStart.IsZero() {
				if of, err = s.seriesOf(ctx, m, series); err != nil {
					return nil, fmt.Errorf("check zones: %w", err)
				}
			}
			if z := zoneShift(m, of, at); z != nil {
				shifts = append(shifts, z)
			}
		}
		if cursor == "" {
			break
		}
		p.Cursor = cursor
	}
	return shifts, s.obstruct(ctx, shifts)
}

// zoneShift returns nil for a meeting at its local time.
func zoneShift(m *meeting.Meeting, of *meeting.Series, at time.Time) *Shift {
	zone, err := fault.StoredZone(m.Timezone)
	if err != nil {
		return &Shift{Meeting: m, Obstacle: "unknown_timezone", original: m.OriginalStart}
	}
	z := &Shift{Meeting: m, To: clock.Slot{Start: byClocks(m.Slot.Start, m.Shown.Start, zone), End: byClocks(m.Slot.End, m.Shown.End, zone)}, original: m.OriginalStart}
	if of != nil {
		zone, err := fault.StoredZone(of.Timezone)
		if err != nil {
			return &Shift{Meeting: m, Obstacle: "unknown_timezone", original: m.OriginalStart}
		}
		z.original = byClocks(m.OriginalStart, m.OriginalWall, zone)
		if m.Slot.Start.Equal(m.OriginalStart) && m.Timezone == of.Timezone {
			z.To.Start = z.original
		}
	}
	if !z.To.Start.Before(z.To.End) {
		z.To.End = z.To.Start.Add(m.Slot.Duration())
	}
	switch {
	case z.To.Equal(m.Slot) && z.original.Equal(m.OriginalStart):
		return nil
	case !z.To.Equal(m.Slot) && !z.To.Start.After(at):
		z.Obstacle = "in_past"
	}
	return z
}

// byClocks returns the instant of a local time that another instant had, which may be the same
// instant.
func byClocks(at, shown time.Time, zone *time.Location) time.Time {
	if shown.IsZero() || clock.Wall(at, zone).Equal(shown) {
		return at
	}
	return clock.InstantOrShift(shown, zone)
}

// occupied returns what the meeting would take of its rooms.
func (z *Shift) occupied() []meeting.Occupancy {
	os := slices.Clone(z.Meeting.Occupied)
	for i := range os {
		os[i].Slot.Start = os[i].Slot.Start.Add(z.To.Start.Sub(z.Meeting.Slot.Start))
		os[i].Slot.End = os[i].Slot.End.Add(z.To.End.Sub(z.Meeting.Slot.End))
	}
	return os
}

// obstruct finds the meetings that cannot move because their rooms are taken. A meeting that stays
// can block others, so obstruct repeats until nothing changes.
func (s *Service) obstruct(ctx context.Context, shifts []*Shift) error {
	for settled := false; !settled; {
		settled = true
		moving := slices.DeleteFunc(slices.Clone(shifts), func(z *Shift) bool { return !z.moves() })
		var needed []meeting.Occupancy
		var of []*Shift
		var except []meeting.ID
		for _, z := range moving {
			except = append(except, z.Meeting.ID)
			for _, o := range z.occupied() {
				needed, of = append(needed, o), append(of, z)
			}
		}
		if len(needed) == 0 {
			return nil
		}
		taken, err := s.store.Taken(ctx, needed, except)
		if err != nil {
			return fmt.Errorf("look up what is taken: %w", err)
		}
		at := s.booking.Now()
		for i, with := range taken {
			if with = meeting.Unlapsed(with, at); len(with) > 0 {
				of[i].Obstacle, settled = meeting.ReasonTaken, false
				of[i].Conflicts = append(of[i].Conflicts, with...)
			}
		}
		if !settled {
			continue
		}
		order := slices.SortedFunc(maps.Keys(maps.Collect(slices.All(needed))), func(a, b int) int {
			return cmp.Or(cmp.Compare(needed[a].RoomID, needed[b].RoomID), needed[a].Slot.Start.Compare(needed[b].Slot.Start), cmp.Compare(a, b))
		})
		last := -1
		for _, i := range order {
			o := needed[i]
			if last >= 0 && needed[last].RoomID == o.RoomID && needed[last].Slot.Overlaps(o.Slot) { // of two that overlap, the later one stays
				of[i].Obstacle, settled = meeting.ReasonTaken, false
				of[i].Conflicts = append(of[i].Conflicts, needed[last])
				continue
			}
			last = i
		}
	}
	return nil
}

// Rebase moves upcoming meetings back to their booked local times. It notifies people as for
// any change of time. Meetings that depend on each other move in one transaction. It returns the
// meetings that moved, and those that could not, with the reasons.
func (s *Service) Rebase(ctx context.Context) (moved, left []*Shift, err error) {
	by := meeting.Actor{Kind: meeting.ActorSystem, Name: "zones"}
	for try := 1; ; try++ {
		shifts, err := s.zoneShifts(ctx)
		if err != nil {
			return moved, nil, err
		}
		outdated := false
		for _, part := range independent(shifts) {
			err := s.rebase(ctx, part, by)
			_, taken := errors.AsType[*meeting.ConflictError](err)
			switch {
			case taken || errors.Is(err, meeting.ErrOutdated):
				outdated = true // a concurrent change came first
			case err != nil:
				return moved, nil, err
			default:
				moved = append(moved, slices.DeleteFunc(part, func(z *Shift) bool { return !z.moves() })...)
			}
		}
		if outdated && try < booking.PlanTries && ctx.Err() == nil {
			continue
		}
		for _, z := range shifts {
			if z.Obstacle != "" || outdated && !slices.Contains(moved, z) && z.moves() {
				left = append(left, z)
			}
		}
		if len(left) == 0 {
			err = s.settleZones(ctx)
		}
		return moved, left, err
	}
}

// settleZones records that no meeting is left at its time by old rules.
func (s *Service) settleZones(ctx context.Context) error {
	changed, err := s.Changed(ctx)
	if err != nil || len(changed) == 0 {
		return err
	}
	for i := range changed {
		changed[i].ChangedAt = time.Time{}
	}
	return s.store.SaveZoneRules(ctx, changed)
}

// independent groups shifts that share rooms or series.
func independent(shifts []*Shift) [][]*Shift {
	var parts [][]*Shift
	part := map[string]int{} // by room or series
	for _, z := range shifts {
		if z.Obstacle != "" {
			continue
		}
		var keys []string
		if z.Meeting.SeriesID != 0 {
			keys = append(keys, fmt.Sprint("series ", z.Meeting.SeriesID))
		}
		for _, room := range z.Meeting.RoomIDs {
			keys = append(keys, fmt.Sprint("room ", room))
		}
		into := len(parts)
		parts = append(parts, []*Shift{z})
		for _, k := range keys {
			if from, ok := part[k]; ok && from != into {
				parts[into] = append(parts[into], parts[from]...)
				parts[from] = nil
				for other, n := range part {
					if n == from {
						part[other] = into
					}
				}
			}
			part[k] = into
		}
	}
	return slices.DeleteFunc(parts, func(p []*Shift) bool { return len(p) == 0 })
}

func (s *Service) rebase(ctx context.Context, shifts []*Shift, by meeting.Actor) error {
	at := s.booking.Now()
	bySeries := map[int64][]*Shift{}
	for _, z := range shifts {
		bySeries[z.Meeting.SeriesID] = append(bySeries[z.Meeting.SeriesID], z)
	}
	var changes []*meeting.SeriesChange
	for id, some := range bySeries {
		if id == 0 {
			c := &meeting.SeriesChange{}
			for _, z := range some {
				c.Before, c.Update = append(c.Before, z.Meeting), append(c.Update, z.moved(by, at))
			}
			changes = append(changes, c)
			continue
		}
		c, err := s.series.PlanMoves(ctx, by, id, len(some), at, func(m *meeting.Meeting) (moved *meeting.Meeting, visible bool, err error) {
			i := slices.IndexFunc(some, func(z *Shift) bool { return z.Meeting.ID == m.ID })
			switch {
			case i < 0:
				return nil, false, nil
			case m.Version != some[i].Meeting.Version:
				return nil, false, meeting.ErrOutdated
			}
			return some[i].moved(by, at), some[i].moves(), nil
		})
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	notices, err := s.store.SaveTogether(ctx, changes)
	if err != nil {
		return fmt.Errorf("rebase: %w", err)
	}
	for _, c := range changes {
		s.booking.AnnounceSeries(ctx, c, nil)
	}
	s.scheduler.Schedule(ctx, booking.Deliveries(notices)...)
	return nil
}

// moved returns the meeting at its local time.
func (z *Shift) moved(by meeting.Actor, at time.Time) *meeting.Meeting {
	m := z.Meeting.Clone()
	m.OriginalStart, m.UpdatedAt = z.original, at
	if !z.moves() {
		return m
	}
	before := *m
	m.Occupied = z.occupied()
	m.Slot = z.To
	for _, t := range []*time.Time{&m.CheckIn.Opens, &m.CheckIn.Until} {
		if !t.IsZero() {
			*t = t.Add(z.To.Start.Sub(before.Slot.Start))
		}
	}
	if m.Status == meeting.Pending && m.Request != nil && m.Request.Deadline.After(m.Slot.Start) {
		r := *m.Request
		r.Deadline = m.Slot.Start
		m.Request, m.Approval.Deadline = &r, r.Deadline
	}
	changes := map[string]meeting.Change{}
	before.ComparePlacement(m, changes)
	m.Record(meeting.Entry{At: at, Action: meeting.ActionChanged, Actor: by, Changes: changes, Reason: ReasonZoneRules})
	m.NotifyRevision(&before, changes, by, at)
	return m
}
