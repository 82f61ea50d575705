package moving

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/importing"
	"punctual/meeting/series"
)

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
		if err := r.progress(ctx, 1); err != nil {
			return err
		}
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
