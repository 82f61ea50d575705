package moving

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/series"
)

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
