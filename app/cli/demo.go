package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"punctual/account"
	"punctual/app"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/series"
)

const demoPassword = "punctual demo"

// demoGuide says who to be and what to try; it wants the password.
const demoGuide = `
  Sign in as   ada@example.org    admin
               grace@example.org  manager, decides about the room Hopper
               alan@example.org   member
  Password     %s

  Try          Watch a meeting begin and end by itself within minutes of the first start.
               Drag over a free hour to book it; then book the same hour as somebody else.
               Book Hopper as alan; approve or reject it as grace.
               Read the mails that were sent, as ada under Administration.

`

func (c *cli) demoCommand() *cobra.Command {
	var ifEmpty bool
	cmd := &cobra.Command{
		Use: "demo", Short: "Create sample rooms, people and a week of meetings", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.demo(cmd.Context(), ifEmpty) },
	}
	cmd.Flags().BoolVar(&ifEmpty, "if-empty", false, "do nothing if there are rooms already")
	return cmd
}

func (c *cli) demo(ctx context.Context, ifEmpty bool) error {
	return c.withApplication(ctx, func(a *app.Application) error {
		rooms, _, err := a.Meetings().Rooms(ctx, meeting.RoomQuery{IncludeInactive: true}, meeting.Page{Limit: 1})
		if err != nil {
			return err
		}
		if len(rooms) > 0 {
			if ifEmpty {
				fmt.Fprintln(c.stdout, "There are rooms already, so no sample data was created.")
				if _, err := a.Accounts().UserByEmail(ctx, "ada@example.org"); err == nil { // they are its own
					fmt.Fprintf(c.stdout, demoGuide, demoPassword)
				}
				return nil
			}
			return errors.New("there are rooms already; the demonstration is for an empty installation")
		}
		d := &demo{a: a, now: time.Now().UTC().Truncate(time.Minute)}
		if err := d.make(ctx); err != nil {
			return fmt.Errorf("make the demonstration: %w", err)
		}
		fmt.Fprintf(c.stdout, "Created %d rooms at 2 sites, %d people and %d meetings.\n", len(d.rooms), len(d.people), d.meetings)
		fmt.Fprintf(c.stdout, demoGuide, demoPassword)
		return nil
	})
}

type demo struct {
	a        *app.Application
	now      time.Time
	people   map[string]meeting.Actor // by given name
	rooms    map[string]*meeting.Room // by name
	meetings int
}

func (d *demo) make(ctx context.Context) error {
	for _, step := range []func(context.Context) error{d.makePeople, d.makeRooms, d.makeMeetingsOfToday, d.makeMeetingsOfTheWeek, d.makeSeries} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) makePeople(ctx context.Context) error {
	d.people = map[string]meeting.Actor{}
	for _, p := range []struct {
		given, name             string
		role                    account.Role
		phone, locale, timezone string
	}{
		{"ada", "Ada Lovelace", account.Admin, "", "en", "Europe/London"},
		{"grace", "Grace Hopper", account.Manager, "+12025550143", "en", "America/New_York"},
		{"alan", "Alan Turing", account.Member, "", "en", "Europe/London"},
		{"emmy", "Emmy Noether", account.Member, "", "de", "Europe/Berlin"},
		{"jianxiong", "吴健雄", account.Member, "+8613800138000", "zh", "Asia/Shanghai"},
	} {
		u, err := d.a.Accounts().CreateUser(ctx, account.NewUser{
			Email: p.given + "@example.org", Name: p.name, Role: p.role, Password: demoPassword,
			Phone: p.phone, Locale: p.locale, Timezone: p.timezone,
		})
		if errors.Is(err, account.ErrEmailTaken) { // by a demonstration that was interrupted
			u, err = d.a.Accounts().UserByEmail(ctx, p.given+"@example.org")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		d.people[p.given] = meeting.Actor{Kind: meeting.ActorUser, ID: u.ID, Name: u.Name, Email: u.Email, Role: meeting.Role(u.Role)}
	}
	return nil
}

func (d *demo) makeRooms(ctx context.Context) error {
	ada := d.people["ada"]
	sites := map[string]int64{}
	for _, s := range []struct{ name, zone string }{{"Berlin", "Europe/Berlin"}, {"Shanghai", "Asia/Shanghai"}} {
		site, err := d.a.Places().CreateSite(ctx, ada, places.SiteFields{Name: &s.name, Timezone: &s.zone})
		if err != nil {
			return fmt.Errorf("site %s: %w", s.name, err)
		}
		sites[s.name] = site.ID
	}
	d.rooms = map[string]*meeting.Room{}
	for _, r := range []struct {
		name, site, floor string
		capacity          int
		features          []string
		approvers         []int64
	}{
		{"Turing", "Berlin", "3", 8, []string{"projector", "video"}, nil},
		{"Lovelace", "Berlin", "3", 4, []string{"whiteboard"}, nil},
		{"Noether", "Berlin", "4", 14, []string{"projector", "video", "whiteboard"}, nil},
		{"Hopper", "Berlin", "5", 30, []string{"projector", "stage"}, []int64{d.people["grace"].ID}},
		{"紫金", "Shanghai", "12", 10, []string{"video"}, nil},
	} {
		f := places.RoomFields{Name: &r.name, SiteID: new(sites[r.site]), Floor: &r.floor, Capacity: &r.capacity, Features: &r.features}
		if len(r.approvers) > 0 {
			f.ApprovalRequired, f.ApproverIDs = new(true), &r.approvers
		}
		room, err := d.a.Places().CreateRoom(ctx, ada, f)
		if err != nil {
			return fmt.Errorf("room %s: %w", r.name, err)
		}
		d.rooms[r.name] = room
	}
	return d.makePlans(ctx, ada, sites)
}

//go:embed demo_floor.svg
var demoFloor []byte

// makePlans draws the floors, with rooms in corners of demo_floor.svg.
func (d *demo) makePlans(ctx context.Context, ada meeting.Actor, sites map[string]int64) error {
	const left, right, top, width, height = 20.0 / 1200, 901.0 / 1200, 20.0 / 700, 279.0 / 1200, 205.0 / 700
	at := func(room string, x float64) meeting.PlacedRoom {
		return meeting.PlacedRoom{RoomID: d.rooms[room].ID, X: x, Y: top, Width: width, Height: height}
	}
	for _, p := range []struct {
		site, floor string
		rooms       []meeting.PlacedRoom
	}{
		{"Berlin", "3", []meeting.PlacedRoom{at("Turing", left), at("Lovelace", right)}},
		{"Berlin", "4", []meeting.PlacedRoom{at("Noether", left)}},
		{"Berlin", "5", []meeting.PlacedRoom{at("Hopper", right)}},
		{"Shanghai", "12", []meeting.PlacedRoom{at("紫金", left)}},
	} {
		f := places.FloorPlanFields{SiteID: new(sites[p.site]), Floor: &p.floor, Image: demoFloor, Rooms: &p.rooms}
		if _, err := d.a.Places().CreateFloorPlan(ctx, ada, f); err != nil {
			return fmt.Errorf("floor plan of %s: %w", p.site, err)
		}
	}
	return nil
}

func (d *demo) makeMeetingsOfToday(ctx context.Context) error {
	soon := []meeting.Reminder{
		{Before: meeting.BeforeStart, Offset: time.Minute, Channels: []meeting.Channel{meeting.Email}},
		{Before: meeting.BeforeEnd, Offset: time.Minute, Channels: []meeting.Channel{meeting.Email}},
	}
	at := func(minutes int) time.Time { return d.now.Add(time.Duration(minutes) * time.Minute) }
	for _, m := range []demoBooking{
		{room: "Lovelace", by: "emmy", title: "Stand-up", start: at(2), length: 5 * time.Minute, with: []string{"alan", "ada"}, reminders: soon},
		{room: "Turing", by: "alan", title: "Design review", start: at(3), length: 30 * time.Minute, with: []string{"ada", "grace"}, reminders: soon},
		{room: "紫金", by: "jianxiong", title: "项目周会", start: at(4), length: 10 * time.Minute, with: []string{"emmy"}, reminders: soon},
		{room: "Noether", by: "ada", title: "Interview", start: at(20), length: time.Hour, with: []string{"grace"}, private: true},
		{room: "Hopper", by: "alan", title: "Town hall", start: at(26 * 60), length: 90 * time.Minute, with: []string{"ada", "emmy", "jianxiong"}},
	} {
		if err := d.book(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) makeMeetingsOfTheWeek(ctx context.Context) error {
	type regular struct {
		room, by, title string
		clock           time.Duration // since midnight
		length          time.Duration
		with            []string
	}
	const hour = time.Hour
	for day := range 8 {
		for _, r := range []regular{
			{"Lovelace", "emmy", "Stand-up", 9 * hour, 15 * time.Minute, []string{"alan", "ada"}},
			{"Turing", "grace", "Planning", 10 * hour, 2 * hour, []string{"emmy"}},
			{"Noether", "alan", "Reading group", 13 * hour, hour, []string{"ada", "emmy", "jianxiong"}},
			{"Turing", "ada", "One to one", 15*hour + 30*time.Minute, 30 * time.Minute, []string{"alan"}},
			{"紫金", "jianxiong", "客户电话会议", 16 * hour, hour, []string{"grace"}},
		} {
			zone, err := time.LoadLocation(d.rooms[r.room].Zone)
			if err != nil {
				return err
			}
			y, m, dd := d.now.In(zone).AddDate(0, 0, day).Date()
			start := time.Date(y, m, dd, 0, int(r.clock.Minutes()), 0, 0, zone)
			weekend := start.Weekday() == time.Saturday || start.Weekday() == time.Sunday
			if day > 0 && weekend || start.Before(d.now.Add(2*time.Hour)) { // what begins before is in makeMeetingsOfToday
				continue
			}
			if err := d.book(ctx, demoBooking{room: r.room, by: r.by, title: r.title, start: start, length: r.length, with: r.with}); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeSeries books a weekly meeting. It skips one date, because the room is taken.
func (d *demo) makeSeries(ctx context.Context) error {
	room := d.rooms["Turing"]
	zone, err := time.LoadLocation(room.Zone)
	if err != nil {
		return err
	}
	y, m, dd := d.now.In(zone).Date()
	first := time.Date(y, m, dd+int(8-d.now.In(zone).Weekday())%7+7, 13, 0, 0, 0, zone) // of the coming Mondays the first that the meetings of the week leave free
	if err := d.book(ctx, demoBooking{room: "Turing", by: "grace", title: "Board", start: first.AddDate(0, 0, 14), length: time.Hour}); err != nil {
		return err
	}
	r, err := d.a.Series().Book(ctx, d.people["alan"], series.Fields{
		Fields: booking.Fields{
			Title: new("Team meeting"), RoomIDs: &[]int64{room.ID}, Timezone: new(zone.String()),
			Start: new(clock.At(first)), End: new(clock.At(first.Add(time.Hour))),
			Attendees: &[]meeting.Person{{Email: d.people["ada"].Email}, {Email: d.people["emmy"].Email}},
		},
		Rule: new("FREQ=WEEKLY;COUNT=8"), OnConflict: meeting.SkipOnConflict,
	})
	if err != nil {
		return fmt.Errorf("the weekly series: %w", err)
	}
	d.meetings += len(r.Meetings)
	return nil
}

type demoBooking struct {
	room, by, title string
	start           time.Time
	length          time.Duration
	with            []string
	reminders       []meeting.Reminder // nil: the installation's
	private         bool
}

func (d *demo) book(ctx context.Context, b demoBooking) error {
	people := make([]meeting.Person, len(b.with))
	for i, given := range b.with {
		p := d.people[given]
		people[i] = meeting.Person{Email: p.Email, Name: p.Name}
	}
	f := booking.Fields{
		Title: &b.title, RoomIDs: &[]int64{d.rooms[b.room].ID}, Attendees: &people,
		Start: new(clock.At(b.start)), End: new(clock.At(b.start.Add(b.length))),
	}
	if b.reminders != nil {
		f.Reminders = &b.reminders
	}
	if b.private {
		f.Visibility = new(meeting.Private)
	}
	if _, err := d.a.Meetings().Book(ctx, d.people[b.by], f); err != nil {
		return fmt.Errorf("%s in %s: %w", b.title, b.room, err)
	}
	d.meetings++
	return nil
}
