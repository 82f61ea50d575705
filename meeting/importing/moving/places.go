package moving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/places"
)

// ensurePeople finds or makes users.
func (r *run) ensurePeople(ctx context.Context) error {
	var wanted []Person
	emails := map[string]string{} // by key
	byEmail := map[string]string{}
	domain := cmp.Or(r.options.MailDomain, strings.ToLower(r.data.Program)+".invalid")
	for _, p := range r.data.People {
		p.Name = fault.AsLine(cmp.Or(p.Name, p.Key), fault.MaxName)
		r.personNames[p.Key] = p.Name
		given := r.options.Addresses[p.Key]
		email := fault.FoldEmail(cmp.Or(given, p.Email))
		if !fault.IsEmail(email) {
			if r.options.Existing {
				continue
			}
			email = localPart(p.Key) + "@" + domain
			about := "person " + p.Key
			switch {
			case r.options.MailDomain != "":
				r.note(about, "%s has no email address and becomes %s", p.Name, email)
			case p.Left:
				r.note(about, "%s is not a user there any more and becomes %s, which gets no mails; give --person %s=ADDRESS or --mail-domain to change that", p.Name, email, p.Key)
			default:
				r.note(about, "%s has no email address and becomes %s, which gets no mails; give --person %s=ADDRESS or --mail-domain to change that", p.Name, email, p.Key)
			}
		}
		emails[p.Key] = email
		if other, twice := byEmail[email]; twice {
			r.note("person "+p.Key, "%s has the same email address as %s (%s): they become one user", p.Key, other, email)
			continue
		}
		byEmail[email] = p.Key
		p.Email = email
		wanted = append(wanted, p)
	}
	users, created, faults, err := r.Service.people.Ensure(ctx, wanted, r.options.DryRun || r.options.Existing)
	if err != nil {
		return err
	}
	if r.options.Existing { // the bookings of unknown people are reported
		created, faults, wanted = 0, nil, nil
	}
	r.report.count("people", Created, created)
	r.report.count("people", Unchanged, len(wanted)-created-len(faults))
	for _, email := range slices.Sorted(maps.Keys(faults)) {
		r.report.count("people", Failed, 1)
		r.note("person "+byEmail[email], "%s could not be added: %v", email, fault.Plain(faults[email]))
	}
	r.byEmail = users
	for key, email := range emails {
		if u, ok := users[email]; ok {
			r.people[key] = u
		}
	}
	if created > 0 {
		r.note("people", "%d new users have no password: they sign in with their company account, or with a link by mail (punctual user invite)", created)
	}
	return nil
}

var noLocalPart = regexp.MustCompile(`[^a-z0-9._-]+`)

// localPart makes the part of an address before the @ of a login.
func localPart(key string) string {
	part := strings.Trim(noLocalPart.ReplaceAllString(strings.ToLower(key), "-"), ".-")
	if part == "" {
		part = "user"
		for _, c := range []byte(key) {
			part += fmt.Sprintf("-%02x", c)
		}
	}
	return part[:min(len(part), 64)]
}

// ensurePlaces finds or makes sites and rooms by their names.
func (r *run) ensurePlaces(ctx context.Context) error {
	sites := map[string]*meeting.Site{} // by lower-case name
	for page := (meeting.Page{Limit: 500}); ; {
		found, next, err := r.places.Sites(ctx, page)
		if err != nil {
			return err
		}
		for _, s := range found {
			sites[fold(s.Name)] = s
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	known, err := r.knownRooms(ctx)
	if err != nil {
		return err
	}
	if r.options.Existing {
		r.findRooms(sites, known)
		return nil
	}
	byKey := map[string]*meeting.Site{}
	for _, s := range r.data.Sites {
		name := fault.AsLine(s.Name, fault.MaxName)
		if found := sites[fold(name)]; found != nil {
			byKey[s.Key] = found
			r.report.count("sites", Unchanged, 1)
			if s.Timezone != "" && found.Timezone != "" && found.Timezone != s.Timezone {
				r.note("site "+name, "the time zone there is %s, here it stays %s", s.Timezone, found.Timezone)
			}
			continue
		}
		r.report.count("sites", Created, 1)
		site := &meeting.Site{Name: name, Timezone: s.Timezone}
		if !r.options.DryRun {
			var err error
			if site, err = r.places.CreateSite(ctx, r.by, places.SiteFields{Name: &name, Timezone: &s.Timezone}); err != nil {
				return fmt.Errorf("site %s: %w", name, fault.Plain(err))
			}
		}
		byKey[s.Key], sites[fold(name)] = site, site
	}
	for _, room := range r.data.Rooms {
		if err := r.ensureRoom(ctx, room, byKey[room.Site], known); err != nil {
			return err
		}
		if err := r.steps.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// knownRooms returns the rooms that exist by site and name.
func (r *run) knownRooms(ctx context.Context) (map[string]*meeting.Room, error) {
	known := map[string]*meeting.Room{}
	for page := (meeting.Page{Limit: 500}); ; {
		found, next, err := r.meetings.Rooms(ctx, meeting.RoomQuery{IncludeInactive: true}, page)
		if err != nil {
			return nil, err
		}
		for _, room := range found {
			known[roomKey(room.SiteID, room.Name)] = room
		}
		if page.Cursor = next; next == "" {
			return known, nil
		}
	}
}

// findRooms finds rooms by their names alone, if they name no site.
func (r *run) findRooms(sites map[string]*meeting.Site, known map[string]*meeting.Room) {
	byName := map[string][]*meeting.Room{}
	for _, room := range known {
		byName[fold(room.Name)] = append(byName[fold(room.Name)], room)
	}
	for _, room := range r.data.Rooms {
		r.roomNames[room.Key] = room.Name
		found := byName[fold(room.Name)]
		if room.Site != "" {
			found = nil
			if site := sites[room.Site]; site != nil && known[roomKey(site.ID, room.Name)] != nil {
				found = []*meeting.Room{known[roomKey(site.ID, room.Name)]}
			}
		}
		switch len(found) {
		case 0:
			r.missing[room.Key] = fmt.Sprintf("no room is named %q", room.Name)
		case 1:
			r.rooms[room.Key] = found[0]
		default:
			r.missing[room.Key] = fmt.Sprintf("several rooms are named %q; name the site", room.Name)
		}
	}
}

func roomKey(site int64, name string) string { return strconv.FormatInt(site, 10) + "/" + fold(name) }

func fold(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

func (r *run) ensureRoom(ctx context.Context, room Room, site *meeting.Site, known map[string]*meeting.Room) error {
	name := fault.AsLine(room.Name, fault.MaxName)
	r.roomNames[room.Key] = name
	var siteID int64
	if site != nil {
		siteID = site.ID
	}
	if found := known[roomKey(siteID, name)]; found != nil && (site == nil || siteID != 0) {
		r.rooms[room.Key] = found
		r.report.count("rooms", Unchanged, 1)
		return nil
	}
	active := !room.Inactive
	features := []string{}
	for _, feature := range room.Features {
		if feature = fault.AsLine(feature, 50); feature != "" && !slices.Contains(features, feature) && len(features) < meeting.MaxFeatures {
			features = append(features, feature)
		}
	}
	f := places.RoomFields{
		Name: &name, SiteID: &siteID, Floor: new(fault.AsLine(room.Floor, 50)), Capacity: new(max(0, min(room.Capacity, 100_000))), Features: &features,
		Active: &active, ApprovalRequired: &room.ApprovalRequired, OpeningHours: &room.OpeningHours, Step: &room.Step, MinDuration: &room.MinDuration, MaxDuration: &room.MaxDuration,
		MinNotice: &room.MinNotice, MaxAdvance: &room.MaxAdvance, BufferAfter: &room.BufferAfter,
	}
	r.report.count("rooms", Created, 1)
	made := &meeting.Room{}
	made.Name, made.Capacity, made.Active = name, room.Capacity, active
	if !r.options.DryRun {
		var err error
		made, err = r.places.CreateRoom(ctx, r.by, f)
		if invalid, ok := errors.AsType[*meeting.InvalidError](err); ok { // a rule that cannot be kept is not worth losing the room
			r.note("room "+name, "its rules are not kept: %s: %s", invalid.Faults[0].Location, invalid.Faults[0].Message)
			made, err = r.places.CreateRoom(ctx, r.by, places.RoomFields{
				Name: &name, SiteID: &siteID, Capacity: f.Capacity, Features: &features, Active: &active, ApprovalRequired: &room.ApprovalRequired,
			})
		}
		if err != nil {
			return fmt.Errorf("room %s: %w", name, fault.Plain(err))
		}
	}
	r.rooms[room.Key] = made
	if siteID != 0 || site == nil {
		known[roomKey(siteID, name)] = made
	}
	return nil
}

// ensureTypes finds or makes meeting types by their names.
func (r *run) ensureTypes(ctx context.Context) error {
	all, err := r.places.Types(ctx, r.by)
	if err != nil {
		return err
	}
	r.typeNames = map[string]string{}
	for i, t := range r.data.Types {
		name := fault.AsLine(t.Name, fault.MaxName)
		r.typeNames[t.Key] = name
		if at := slices.IndexFunc(all, func(known *meeting.Type) bool { return fold(known.Name) == fold(name) }); at >= 0 {
			if r.types[t.Key] = all[at].ID; !all[at].Active {
				r.types[t.Key] = 0
				r.note("type "+name, "it is inactive here, so bookings come without it")
			}
			r.report.count("types", Unchanged, 1)
			continue
		}
		r.report.count("types", Created, 1)
		if r.options.DryRun {
			continue
		}
		color := meeting.Colors[(i+1)%len(meeting.Colors)]
		made, err := r.places.CreateType(ctx, r.by, places.TypeFields{Name: &name, Color: &color})
		if err != nil {
			return fmt.Errorf("type %s: %w", name, fault.Plain(err))
		}
		r.types[t.Key] = made.ID
		all = append(all, made)
	}
	return nil
}

// ensureFields finds or makes custom fields by their names.
func (r *run) ensureFields(ctx context.Context) error {
	all, err := r.places.CustomFields(ctx)
	if err != nil {
		return err
	}
	for i, f := range r.data.Fields {
		if at := slices.IndexFunc(all, func(known *meeting.CustomField) bool { return known.Name == f.Name }); at >= 0 {
			r.fields[f.Name] = all[at]
			r.report.count("fields", Unchanged, 1)
			continue
		}
		r.report.count("fields", Created, 1)
		position := len(all) + i
		fields := places.CustomFieldFields{Name: &f.Name, Label: new(fault.AsLine(f.Label, fault.MaxName)), Kind: &f.Kind, Position: &position}
		if f.Kind == meeting.FieldChoice {
			fields.Choices = &f.Choices
		}
		if r.options.DryRun {
			r.fields[f.Name] = &meeting.CustomField{Name: f.Name, Kind: f.Kind, Choices: f.Choices, Active: true}
			continue
		}
		made, err := r.places.CreateCustomField(ctx, r.by, fields)
		if _, invalid := errors.AsType[*meeting.InvalidError](err); invalid {
			r.note("field "+f.Label, "it cannot become a custom field (%v), so its values join the descriptions", fault.Plain(err))
			continue
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Label, fault.Plain(err))
		}
		r.fields[f.Name] = made
	}
	return nil
}

// convert makes a value one of a field.
func convert(f *meeting.CustomField, value any) (any, bool) {
	if !f.Active {
		return nil, false
	}
	text := strings.TrimSpace(fmt.Sprint(value))
	switch f.Kind {
	case meeting.FieldText:
		return text, len([]rune(text)) <= 1_000 && fault.AsLine(text, 1_000) == text && text != ""
	case meeting.FieldNumber:
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil && n == n && n < 1e15 && n > -1e15
	case meeting.FieldYesNo:
		switch text {
		case "1", "true", "yes":
			return true, true
		case "0", "false", "no":
			return false, true
		}
	case meeting.FieldChoice:
		return text, slices.Contains(f.Choices, text)
	}
	return nil, false
}
