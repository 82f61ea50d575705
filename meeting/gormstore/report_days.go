package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/meeting/clock"
	"punctual/meeting/report"
)

// reportDayRow is the use of the rooms of a place on a day.
type reportDayRow struct {
	StartsAt   time.Time `gorm:"primaryKey"`
	SiteID     int64     `gorm:"primaryKey;autoIncrement:false"`
	Zone       string    `gorm:"primaryKey"`
	EndsAt     time.Time
	ValidFrom  time.Time
	ValidUntil time.Time // it holds before
	Hours      []byte    // see appendSums
	Rooms      []byte
	Final      bool // its meetings were deleted
}

func (reportDayRow) TableName() string { return "report_days" }

// placeDay is a day of the rooms of a place.
type placeDay struct {
	place
	*zoneDay
}

// zoneDay is a day in a zone.
type zoneDay struct {
	interval
	Date  string
	loc   *time.Location
	known []interval // of hours
	names map[micros]string
}

// hourOfWeek is the name of the hour that begins at an instant. All places of a zone share it.
func (d *zoneDay) hourOfWeek(at micros) string {
	name, ok := d.names[at]
	if !ok {
		name = report.HourOfWeek(at.time().In(d.loc))
		if d.names == nil {
			d.names = map[micros]string{}
		}
		d.names[at] = name
	}
	return name
}

func (d *zoneDay) hours() []interval {
	if d.known == nil {
		for _, h := range report.LocalHours(d.slot(), d.loc) {
			d.known = append(d.known, intervalOf(h))
		}
	}
	return d.known
}

// inForceMark distinguishes rooms for which no zone is named. If the installation's zone changes, they
// have other days than before, and are not mixed with rooms that name the same zone.
const inForceMark = "*"

func inForceIn(p place, inForce string) place {
	if p.zone == "" {
		p.zone = inForceMark + inForce
	}
	return p
}

var getPlaces = forSite(`SELECT COALESCE(r.site_id, 0), ` + reportedZone + `
	FROM (SELECT DISTINCT site_id, timezone FROM rooms AS r WHERE {of site}) AS r LEFT JOIN sites s ON s.id = r.site_id`)

// placeDays are the days that a span touches in the zones of rooms, of a site or of all (0); inForce is
// the zone of rooms for which none is named.
func (s *Store) placeDays(tx *gorm.DB, siteID int64, inForce string, span clock.Slot) ([]*placeDay, error) {
	var days []*placeDay
	inZone := map[string][]*zoneDay{}
	seen := map[place]bool{}
	err := s.query(tx, func(rows *sql.Rows) error {
		var p place
		if err := rows.Scan(&p.site, &p.zone); err != nil {
			return err
		}
		p = inForceIn(p, inForce)
		if seen[p] {
			return nil
		}
		seen[p] = true
		if inZone[p.zone] == nil {
			loc := clock.ZoneOrUTC(strings.TrimPrefix(p.zone, inForceMark))
			for _, d := range report.LocalDays(span, loc) {
				inZone[p.zone] = append(inZone[p.zone], &zoneDay{interval: intervalOf(d.Slot), Date: d.Date, loc: loc})
			}
		}
		for _, d := range inZone[p.zone] {
			days = append(days, &placeDay{place: p, zoneDay: d})
		}
		return nil
	}, getPlaces(siteID), siteID)
	return days, err
}

// Marks of a span ($1, $2) by site.
var getMarks = write(`SELECT COALESCE(k.site_id, r.site_id, 0), k.starts_at, k.ends_at
	FROM report_marks k LEFT JOIN rooms r ON r.id = k.room_id
	WHERE k.starts_at < $2 AND k.ends_at > $1 LIMIT ` + fmt.Sprint(maxMarks+1))

// A storedDay is what a report reads of a [reportDayRow].
type storedDay struct {
	interval
	final bool
	sums  []byte // of hours or rooms, see appendSums
}

// Stored days of a site ($1), or of all (0), that begin within a span ($2, $3) and hold at an instant ($4). A
// report of a year reads thousands: gorm takes three times as long.
var (
	getStoredDays  = storedSums("hours")
	getStoredRooms = storedSums("rooms")
)

func storedSums(column string) func(siteID int64) statement {
	return forSite(`SELECT r.starts_at, r.ends_at, r.site_id, r.zone, r.final, r.` + column + ` FROM report_days AS r
	WHERE r.starts_at > $2 AND r.starts_at < $3 AND r.valid_from <= $4 AND r.valid_until > $4 AND {of site}`)
}

// maxMarks is how many marks a report looks at. If there are more, it reads no stored days.
const maxMarks = 1000

// storedDays are the days within a span that hold at an instant, of a site or of all (0). Final days
// hold whatever has changed since.
func (s *Store) storedDays(tx *gorm.DB, q report.Query, at time.Time) (map[place]map[micros]*storedDay, error) {
	marks := map[int64][]interval{} // by site
	n := 0
	err := s.query(tx, func(rows *sql.Rows) error {
		var site int64
		var of clock.Slot
		err := rows.Scan(&site, &of.Start, &of.End)
		marks[site] = append(marks[site], intervalOf(of))
		n++
		return err
	}, getMarks, micro(q.Span.Start.AddDate(0, 0, -2)), micro(q.Span.End.AddDate(0, 0, 2))) // whole days
	if err != nil {
		return nil, err
	}
	get := getStoredDays
	if q.Group == report.ByRoom {
		get = getStoredRooms
	}
	found := map[place]map[micros]*storedDay{}
	err = s.query(tx, func(rows *sql.Rows) error {
		var r storedDay
		var p place
		if err := rows.Scan(&r.from, &r.to, &p.site, &p.zone, &r.final, &r.sums); err != nil {
			return err
		}
		if !r.final && (n > maxMarks || slices.ContainsFunc(marks[p.site], func(m interval) bool { return m.from < r.to && r.from < m.to })) {
			return nil
		}
		if found[p] == nil {
			found[p] = map[micros]*storedDay{}
		}
		found[p][r.from] = &r
		return nil
	}, get(q.SiteID), q.SiteID, micro(q.Span.Start.AddDate(0, 0, -2)), micro(q.Span.End), micro(at))
	if err != nil {
		return nil, err
	}
	return found, nil
}

// formerDays are the final days of a span among those that are stored, of places that have no rooms now.
func formerDays(stored map[place]map[micros]*storedDay, days []*placeDay, span interval) (former []*placeDay) {
	known := map[place]bool{}
	for _, d := range days {
		known[d.place] = true
	}
	for p, of := range stored {
		if known[p] {
			continue
		}
		for _, r := range of {
			if r.final && span.from < r.to {
				former = append(former, r.day(p))
			}
		}
	}
	return former
}

// day is the day of a place.
func (r *storedDay) day(p place) *placeDay {
	loc := clock.ZoneOrUTC(strings.TrimPrefix(p.zone, inForceMark))
	return &placeDay{p, &zoneDay{interval: r.interval, Date: r.slot().Start.In(loc).Format(time.DateOnly), loc: loc}}
}

func (s *Store) RoomUse(ctx context.Context, q report.Query, at time.Time) ([]report.RoomUse, error) {
	r := &useReport{Query: q, span: intervalOf(q.Span), sums: map[string]map[int64]*sums{}}
	err := s.snapshot(ctx, true, func(tx *gorm.DB) error {
		days, err := s.placeDays(tx, q.SiteID, q.Zone, q.Span)
		if err != nil {
			return err
		}
		stored, err := s.storedDays(tx, q, at)
		if err != nil {
			return err
		}
		days = append(days, formerDays(stored, days, r.span)...)
		var others []*placeDay
		for _, d := range days {
			if row := stored[d.place][d.from]; row != nil && row.to == d.to {
				switch done, err := r.addStored(d, d.cut(r.span), row); {
				case err != nil:
					return err
				case done:
					continue
				}
			}
			others = append(others, d)
		}
		return s.addUp(tx, others, r.span, q.Zone, at, r.add)
	})
	if err != nil {
		return nil, fmt.Errorf("use of rooms: %w", err)
	}
	return r.all(), nil
}

// fewSites is up to how many sites of a day are read one by one. It takes as long as reading all sites
// of an organization with twenty.
const fewSites = 4

// runDates is how many successive dates are read at once. Each of their meetings is compared with each
// of them.
const runDates = 31

// runs splits days into groups that have no gaps, so that nothing between two of them is read.
func runs(days []*placeDay) (all [][]*placeDay) {
	byDate := func(a, b *placeDay) int { return cmp.Compare(a.Date, b.Date) }
	var run []*placeDay
	var to micros
	dates := 0
	for _, d := range slices.SortedStableFunc(slices.Values(days), byDate) {
		isNext := len(run) > 0 && d.Date != run[len(run)-1].Date
		if len(run) > 0 && (d.from > to || isNext && dates == runDates) {
			all, run, dates = append(all, run), nil, 0
		}
		if len(run) == 0 || isNext {
			dates++
		}
		run, to = append(run, d), max(to, d.to)
	}
	if len(run) > 0 {
		all = append(all, run)
	}
	return all
}

// addUp reads the meetings of days within a span, as they are at an instant.
func (s *Store) addUp(tx *gorm.DB, days []*placeDay, span interval, inForce string, at time.Time, each func(*placeDay, *dayUse)) error {
	for _, of := range runs(days) {
		whole := interval{forever, 0}
		uses := map[place][]*dayUse{}
		all := make([]*dayUse, 0, len(of)) // as of
		sites := map[int64]bool{}
		for _, d := range of {
			use := newDayUse(d.cut(span), d.loc)
			whole = interval{min(whole.from, use.from), max(whole.to, use.to)}
			uses[d.place] = append(uses[d.place], use)
			all = append(all, use)
			sites[d.site] = true
		}
		if sites[0] || len(sites) > fewSites {
			sites = map[int64]bool{0: true} // all
		}
		for site := range sites {
			err := s.usedRooms(tx, whole.slot(), site, at, func(m *usedRoom) {
				for _, use := range uses[inForceIn(m.place, inForce)] {
					use.add(m, micros(at.UnixMicro()))
				}
			})
			if err != nil {
				return err
			}
		}
		for i, d := range of {
			each(d, all[i])
		}
	}
	return nil
}

// snapshot runs f in a transaction in which all statements see the same.
func (s *Store) snapshot(ctx context.Context, readOnly bool, f func(tx *gorm.DB) error) error {
	o := &sql.TxOptions{ReadOnly: readOnly}
	if s.dialect == postgres {
		o.Isolation = sql.LevelRepeatableRead
	}
	return patiently(ctx, func() error { return s.db.WithContext(ctx).Transaction(f, o) })
}

// Days are added up that begin at most this many days before or after now.
const addedUpDays = 400

// How much AddUpDays does in one transaction: on SQLite others wait for it.
const (
	marksAtOnce = 500
	datesAtOnce = 20
	rowsAtOnce  = 1500
)

// unsettled is how long AddUpDays leaves a day alone that the clock was about to change.
const unsettled = 10 * time.Minute

// Days that marks touch, of rooms or of whole sites.
var (
	getOldestMarks = write(`SELECT k.id, COALESCE(k.site_id, r.site_id, 0), k.starts_at, k.ends_at
		FROM report_marks k LEFT JOIN rooms r ON r.id = k.room_id ORDER BY k.id LIMIT ` + fmt.Sprint(marksAtOnce))
	getAnyMark       = write(`SELECT EXISTS (SELECT 1 FROM report_marks)`)
	deleteMarkedDays = write(`DELETE FROM report_days WHERE (starts_at, site_id, zone) IN (SELECT d.starts_at, d.site_id, d.zone
		FROM {rows $1: site_id bigint, from_at timestamptz, to_at timestamptz} {sqlite: CROSS} JOIN report_days d
		ON d.starts_at > x.from_at - {postgres: interval '2 days'}{sqlite: 172800000000} AND d.starts_at < x.to_at AND d.ends_at > x.from_at AND d.site_id = x.site_id AND NOT d.final)`)
	deleteMarks    = write(`DELETE FROM report_marks WHERE id IN ({postgres: SELECT unnest(CAST($1 AS bigint[]))}{sqlite: SELECT value FROM json_each($1)})`)
	getMeetingSpan = write(`SELECT (SELECT min(starts_at) FROM meetings), (SELECT max(starts_at) FROM meetings)`) // SQLite reads the whole index for both at once
	lockReportDays = write(`{postgres: LOCK TABLE report_days IN SHARE ROW EXCLUSIVE MODE}{sqlite: SELECT 1}`)
)

// AddUpDays first removes days that marks touch, with the marks, and then adds up days that are missing. If
// it removed none it looks for missing days only if all is set, because that reads the keys of all days.
// It sees the database as of one instant. A change that it does not see yet leaves a mark that it does
// not remove. The lock makes sure that it sees all days that others have added up.
func (s *Store) AddUpDays(ctx context.Context, zone string, at time.Time, all bool) (more bool, err error) {
	if !all { // a look, before it locks: mostly there are no marks
		some := false
		err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error { return rows.Scan(&some) }, getAnyMark)
		if err != nil || !some {
			return false, wrapAddUp(err)
		}
	}
	err = s.snapshot(ctx, false, func(tx *gorm.DB) error {
		if _, err := s.exec(tx, lockReportDays); err != nil { // before the first look at a table: the snapshot is taken then
			return err
		}
		n, err := s.removeMarked(tx)
		if more = n == marksAtOnce; err != nil || more || n == 0 && !all {
			return err
		}
		more, err = s.addMissing(tx, zone, at)
		return err
	})
	if err != nil {
		return false, wrapAddUp(err)
	}
	return more, nil
}

func wrapAddUp(err error) error {
	if err != nil {
		return fmt.Errorf("add up days: %w", err)
	}
	return nil
}

func (s *Store) removeMarked(tx *gorm.DB) (int, error) {
	var ids []int64
	type span struct {
		site int64
		interval
	}
	seen := map[span]bool{} // many changes touch the same
	var touched []row
	err := s.query(tx, func(rows *sql.Rows) error {
		var id, site int64
		var of clock.Slot
		err := rows.Scan(&id, &site, &of.Start, &of.End)
		ids = append(ids, id)
		k := span{site, intervalOf(of)}
		if seen[k] {
			return err
		}
		seen[k] = true
		touched = append(touched, row{"site_id": site, "from_at": s.dialect.instant(of.Start), "to_at": s.dialect.instant(of.End)})
		return err
	}, getOldestMarks)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if _, err := s.exec(tx, deleteMarkedDays, table(touched)); err != nil {
		return 0, err
	}
	_, err = s.exec(tx, deleteMarks, s.ids(ids...))
	return len(ids), err
}

// addMissing adds up days that are not stored, or that the clock has changed since. It leaves out today,
// which changes all the time.
func (s *Store) addMissing(tx *gorm.DB, inForce string, at time.Time) (bool, error) {
	span, err := s.addedUpSpan(tx, at)
	if err != nil || span.Empty() {
		return false, err
	}
	days, err := s.placeDays(tx, 0, inForce, span)
	if err != nil {
		return false, err
	}
	var stored []*reportDayRow
	err = tx.Select("starts_at", "site_id", "zone", "ends_at").Where("valid_until > ? OR valid_from > ?", micro(at), micro(at.Add(-unsettled))).Find(&stored).Error
	if err != nil {
		return false, err
	}
	type key struct {
		place
		interval
	}
	known := map[key]bool{}
	for _, r := range stored {
		known[key{place{r.SiteID, r.Zone}, intervalOf(clock.Slot{Start: r.StartsAt, End: r.EndsAt})}] = true
	}
	now := micros(at.UnixMicro())
	missing := map[string][]*placeDay{}
	for _, d := range days {
		if today := d.from <= now && now < d.to; !today && !known[key{d.place, d.interval}] {
			missing[d.Date] = append(missing[d.Date], d)
		}
	}
	var rows []*reportDayRow
	n, done := 0, 0
	left := slices.Sorted(maps.Keys(missing))
	for len(left) > 0 && done < datesAtOnce && n < rowsAtOnce {
		next := min(max(1, done), datesAtOnce-done, len(left)) // as many as so far, if they have as many rows
		next = min(next, max(1, (rowsAtOnce-n)*done/max(n, 1)))
		var of []*placeDay
		for _, date := range left[:next] {
			of = append(of, missing[date]...)
		}
		left, done = left[next:], done+next
		err := s.addUp(tx, of, interval{0, forever}, inForce, at, func(d *placeDay, use *dayUse) {
			rows = append(rows, use.row(d, at))
			n += len(use.rooms)
		})
		if err != nil {
			return false, err
		}
	}
	if len(rows) == 0 {
		return false, nil
	}
	return len(left) > 0, tx.Clauses(clause.OnConflict{UpdateAll: true}).CreateInBatches(rows, 100).Error
}

// addedUpSpan is the time of all meetings, as far as their days are added up.
func (s *Store) addedUpSpan(tx *gorm.DB, at time.Time) (clock.Slot, error) {
	var all interval
	err := s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&all.from, &all.to) }, getMeetingSpan)
	span := all.slot()
	return clock.Slot{
		Start: clock.Later(span.Start, at.AddDate(0, 0, -addedUpDays)),
		End:   clock.Earlier(span.End.Add(time.Microsecond), at.AddDate(0, 0, addedUpDays)),
	}, err
}

// row is the day as it is stored.
func (d *dayUse) row(of *placeDay, at time.Time) *reportDayRow {
	slot, valid := of.slot(), interval{micros(at.UnixMicro()), min(d.validUntil, lastInstant)}.slot()
	r := &reportDayRow{StartsAt: slot.Start, SiteID: of.site, Zone: of.zone, EndsAt: slot.End, ValidFrom: valid.Start, ValidUntil: valid.End, Hours: []byte{}, Rooms: []byte{}}
	for i := range d.hours {
		if h := &d.hours[i]; h.sums != (sums{}) {
			r.Hours = appendSums(r.Hours, int64(h.from-of.from), &h.sums)
		}
	}
	for id, s := range d.rooms {
		r.Rooms = appendSums(r.Rooms, id, s)
	}
	return r
}

// lastInstant is stored for days that the clock does not change.
var lastInstant = micros(time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
