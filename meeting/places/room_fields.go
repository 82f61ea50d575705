package places

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/policy"
)

const (
	maxFloor     = 50
	maxCapacity  = 100_000
	maxApprovers = 50
	maxHours     = 50
	maxPlaces    = 1_000                // sites or rooms that a type, a field or a calendar names
	maxSpan      = 366 * 24 * time.Hour // of any duration in a room's rules
)

var weekdays = []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}

// SiteFields are the requested fields of a site; nil: not requested.
type SiteFields struct {
	Name     *string
	Timezone *string // empty: the installation's
	Address  *string // empty: none
	Facility *string // empty: none
	Access   *meeting.Access

	Faults []meeting.Fault // found while decoding
}

func (f *SiteFields) apply(s *meeting.Site) error {
	var found fault.List
	if f.Name != nil {
		s.Name = strings.TrimSpace(*f.Name)
		found.Name("name", s.Name, fault.MaxName)
	} else if s.Name == "" {
		found.Add("name", "required", "is required")
	}
	if f.Timezone != nil {
		s.Timezone = *f.Timezone
		if s.Timezone != "" {
			found.Zone("timezone", s.Timezone)
		}
	}
	setAddress(&found, &s.Address, f.Address)
	setFacility(&found, &s.Facility, f.Facility)
	if f.Access != nil {
		s.Access = f.Access.Clone()
		s.Access.Check(&found)
	}
	return fault.Merge(f.Faults, found).Err()
}

// addressPattern is the local part of a mail address.
var addressPattern = regexp.MustCompile(`^[a-z0-9]+([._+-]+[a-z0-9]+)*$`)

// meetingAddress is the local part of the addresses to which attendees reply.
var meetingAddress = regexp.MustCompile(`^(meeting|series)-[0-9]+$`)

// maxAddress is the longest local part of a mail address (RFC 5321).
const maxAddress = 64

// setFacility checks and sets a requested mail address of a facility contact, if any.
func setFacility(found *fault.List, to, given *string) {
	if given == nil {
		return
	}
	if *to = strings.TrimSpace(*given); *to != "" {
		*to = found.Email("facility_email", *to)
	}
}

// setAddress checks and sets a requested mail address, if any.
func setAddress(found *fault.List, to, given *string) {
	if given == nil {
		return
	}
	switch *to = strings.ToLower(strings.TrimSpace(*given)); {
	case *to == "":
	case len(*to) > maxAddress:
		found.Add("address", "too_long", "must be at most %d characters long", maxAddress)
	case !addressPattern.MatchString(*to):
		found.Add("address", "invalid_address", "must be the part of a mail address before the @, such as turing or room-3.14")
	case meetingAddress.MatchString(*to):
		found.Add("address", "reserved", "must not be like meeting-1: attendees reply to such addresses")
	}
}

// RoomFields are the requested fields of a room; nil: not requested.
type RoomFields struct {
	Name     *string
	SiteID   *int64 // 0: none
	Floor    *string
	Capacity *int
	Features *[]string
	Timezone *string // empty: the site's
	Address  *string // empty: none
	Facility *string // empty: the site's
	Active   *bool
	Access   **meeting.Access // to nil: the site's

	ApprovalRequired *bool
	ApproverIDs      *[]int64
	ApprovalTimeout  *time.Duration  // 0: the installation's
	SecondIDs        *[]int64        // none: there is no second level
	OnTimeout        *meeting.Status // empty: the installation's
	EscalateAfter    *time.Duration  // 0: the installation's
	EscalateTo       *[]int64        // none: the admins

	OpeningHours *[]policy.OpeningHours
	MinDuration  *time.Duration
	MaxDuration  *time.Duration // 0: the installation's
	Step         *time.Duration // 0: none
	MinNotice    *time.Duration
	MaxAdvance   *time.Duration // 0: the installation's
	LastChange   *time.Duration // 0: the installation's
	BufferBefore *time.Duration
	BufferAfter  *time.Duration
	Quota        *policy.Quota // the zero Quota: none

	CheckInRequired *bool
	CheckInOpens    *time.Duration
	CheckInGrace    *time.Duration
	InheritCheckIn  bool // the installation's

	Faults []meeting.Fault // found while decoding
}

// roomLookUp holds what the fields of a room refer to.
type roomLookUp struct {
	siteMissing bool
	users       map[int64]meeting.Person
	checkIn     meeting.CheckIn // the installation's
	timeout     time.Duration   // the installation's, of requests
}

func (s *Service) lookUpRoom(ctx context.Context, f *RoomFields) (roomLookUp, error) {
	look := roomLookUp{users: map[int64]meeting.Person{}, checkIn: s.booking.Settings().CheckIn, timeout: s.booking.Settings().ApprovalTimeout}
	if f.SiteID != nil && *f.SiteID != 0 {
		_, err := s.store.Site(ctx, *f.SiteID)
		look.siteMissing = errors.Is(err, meeting.ErrNotFound)
		if err != nil && !look.siteMissing {
			return look, err
		}
	}
	var deciders []int64
	for _, ids := range []*[]int64{f.ApproverIDs, f.SecondIDs, f.EscalateTo} {
		if ids != nil && len(*ids) <= maxApprovers {
			deciders = append(deciders, *ids...)
		}
	}
	if len(deciders) > 0 {
		people, err := s.directory.People(ctx, deciders)
		if err != nil {
			return look, err
		}
		for _, p := range people {
			look.users[p.UserID] = p
		}
	}
	return look, nil
}

// apply sets the fields on the room and reports all their faults.
func (f *RoomFields) apply(r *meeting.Room, look roomLookUp) error {
	var found fault.List
	f.place(r, look, &found)
	f.approval(r, look, &found)
	f.policy(&r.Policy, &found)
	f.checkIn(r, look, &found)
	return fault.Merge(f.Faults, found).Err()
}

// checkIn sets the room's check-in. A room without its own setting follows the installation. An
// existing room keeps following it if the given values equal the current ones.
func (f *RoomFields) checkIn(r *meeting.Room, look roomLookUp, found *fault.List) {
	if f.InheritCheckIn {
		r.CheckIn, r.Inherits = look.checkIn, true
		return
	}
	was := r.CheckIn
	set(&r.CheckIn.Required, f.CheckInRequired)
	setSpan(found, &r.CheckIn.Opens, f.CheckInOpens, "check_in.opens", booking.MaxBuffer)
	setSpan(found, &r.CheckIn.Grace, f.CheckInGrace, "check_in.grace", booking.MaxBuffer)
	given := f.CheckInRequired != nil || f.CheckInOpens != nil || f.CheckInGrace != nil
	if r.CheckIn != was || given && r.Version == 0 {
		r.Inherits = false
	}
	if given && r.CheckIn.Required && r.CheckIn.Opens+r.CheckIn.Grace == 0 {
		found.Add("check_in.grace", "out_of_range", "must leave time to check in")
	}
}

func (f *RoomFields) place(r *meeting.Room, look roomLookUp, found *fault.List) {
	if f.Name != nil {
		r.Name = strings.TrimSpace(*f.Name)
		found.Name("name", r.Name, fault.MaxName)
	} else if r.Name == "" {
		found.Add("name", "required", "is required")
	}
	set(&r.SiteID, f.SiteID)
	if look.siteMissing {
		found.Add("site_id", "unknown_site", "site %d does not exist", r.SiteID)
	}
	if f.Floor != nil {
		r.Floor = strings.TrimSpace(*f.Floor)
		found.Line("floor", r.Floor, maxFloor)
	}
	set(&r.Capacity, f.Capacity)
	if r.Capacity < 0 || r.Capacity > maxCapacity {
		found.Add("capacity", "out_of_range", "must be from 0 (unknown) to %d", maxCapacity)
	}
	if f.Features != nil {
		r.Features = slices.Clone(*f.Features)
		checkFeatures(found, r.Features)
	}
	if f.Timezone != nil {
		r.Timezone = *f.Timezone
		if r.Timezone != "" {
			found.Zone("timezone", r.Timezone)
		}
	}
	setAddress(found, &r.Address, f.Address)
	setFacility(found, &r.Facility, f.Facility)
	set(&r.Active, f.Active)
	if f.Access != nil {
		r.OwnAccess = *f.Access
		if r.OwnAccess != nil {
			r.OwnAccess = new(r.OwnAccess.Clone())
			r.OwnAccess.Check(found)
		}
	}
}

func checkFeatures(found *fault.List, features []string) {
	if len(features) > meeting.MaxFeatures {
		found.Add("features", "too_many", "must have at most %d features", meeting.MaxFeatures)
		return
	}
	for i, s := range features {
		found.Name(fault.Index("features", i), s, maxFloor)
		if slices.Contains(features[:i], s) {
			found.Add(fault.Index("features", i), "duplicate", "must not be a duplicate")
		}
	}
}

func (f *RoomFields) approval(r *meeting.Room, look roomLookUp, found *fault.List) {
	set(&r.Approval.Required, f.ApprovalRequired)
	setSpan(found, &r.Approval.Timeout, f.ApprovalTimeout, "approval.timeout", maxSpan)
	setSpan(found, &r.Approval.EscalateAfter, f.EscalateAfter, "approval.escalate_after", maxSpan)
	set(&r.Approval.OnTimeout, f.OnTimeout)
	if to := r.Approval.OnTimeout; to != "" && to != meeting.Rejected && to != meeting.Confirmed {
		found.Add("approval.on_timeout", "unknown_value", "must be reject or approve")
	}
	setDeciders(found, &r.Approval.ApproverIDs, f.ApproverIDs, "approval.approver_ids", look)
	setDeciders(found, &r.Approval.SecondIDs, f.SecondIDs, "approval.second_level.approver_ids", look)
	setDeciders(found, &r.Approval.EscalateTo, f.EscalateTo, "approval.escalate_to", look)
	if len(r.Approval.SecondIDs) > 0 && len(r.Approval.ApproverIDs) == 0 {
		found.Add("approval.second_level", "contradiction", "must not be set unless approver_ids is set")
	}
	if limit := cmp.Or(r.Approval.Timeout, look.timeout); limit > 0 && r.Approval.EscalateAfter >= limit {
		found.Add("approval.escalate_after", "contradiction", "must be less than the timeout in effect, %s", fault.FormatDuration(limit))
	}
}

// setDeciders checks and sets requested approvers, if any.
func setDeciders(found *fault.List, to, given *[]int64, location string, look roomLookUp) {
	if given == nil {
		return
	}
	*to = slices.Clone(*given)
	if len(*to) > maxApprovers {
		found.Add(location, "too_many", "must have at most %d people", maxApprovers)
		return
	}
	for i, id := range *to {
		location := fault.Index(location, i)
		switch user, ok := look.users[id]; {
		case !ok:
			found.Add(location, "unknown_user", "user %d does not exist", id)
		case user.Role == meeting.Member:
			found.Add(location, "not_a_manager", "%s must be a manager or administrator to approve", user.Name)
		case slices.Contains((*to)[:i], id):
			found.Add(location, "duplicate", "must not be a duplicate")
		}
	}
}

func (f *RoomFields) policy(p *policy.Policy, found *fault.List) {
	if f.OpeningHours != nil {
		p.OpeningHours = slices.Clone(*f.OpeningHours)
		checkHours(found, "policy.opening_hours", p.OpeningHours)
	}
	setSpan(found, &p.MinDuration, f.MinDuration, "policy.min_duration", maxSpan)
	setSpan(found, &p.MaxDuration, f.MaxDuration, "policy.max_duration", maxSpan)
	setSpan(found, &p.Step, f.Step, "policy.step", 24*time.Hour)
	switch {
	case f.Step != nil && p.Step > 0 && 24*time.Hour%p.Step != 0:
		found.Add("policy.step", "contradiction", "must divide a day into equal parts, like 5m, 15m or 1h")
	case (f.Step != nil || f.MinDuration != nil || f.MaxDuration != nil) && noLength(p):
		found.Add("policy.step", "contradiction", "must have a multiple between min_duration and max_duration")
	}
	setSpan(found, &p.MinNotice, f.MinNotice, "policy.min_notice", maxSpan)
	setSpan(found, &p.MaxAdvance, f.MaxAdvance, "policy.max_advance", 100*maxSpan)
	setSpan(found, &p.LastChange, f.LastChange, "policy.last_change", maxSpan)
	setSpan(found, &p.BufferBefore, f.BufferBefore, "policy.buffer_before", booking.MaxBuffer)
	setSpan(found, &p.BufferAfter, f.BufferAfter, "policy.buffer_after", booking.MaxBuffer)
	if p.MaxDuration > 0 && p.MinDuration > p.MaxDuration {
		found.Add("policy.min_duration", "contradiction", "must not be longer than max_duration")
	}
	if p.MaxAdvance > 0 && p.MinNotice > p.MaxAdvance {
		found.Add("policy.min_notice", "contradiction", "must not be longer than max_advance")
	}
	if f.Quota != nil {
		p.Quota = nil
		if !f.Quota.IsZero() {
			q := *f.Quota
			p.Quota = &q
			checkQuota(found, q)
		}
	}
}

// noLength reports whether no length on the grid is between the minimum and the maximum.
func noLength(p *policy.Policy) bool {
	return p.Step > 0 && p.MaxDuration > 0 && p.MinDuration <= p.MaxDuration &&
		p.MaxDuration-p.MaxDuration%p.Step < max(p.MinDuration, p.Step)
}

func checkHours(found *fault.List, location string, hours []policy.OpeningHours) {
	if len(hours) > maxHours {
		found.Add(location, "too_many", "must have at most %d entries", maxHours)
		return
	}
	for i, h := range hours {
		location := fault.Index(location, i)
		if len(h.Days) == 0 {
			found.Add(location+".days", "too_few", "must have at least one day")
		}
		for j, d := range h.Days {
			if !slices.Contains(weekdays, d) {
				found.Add(fault.Index(location+".days", j), "unknown_value", "must be one of %s", strings.Join(weekdays, " "))
			} else if slices.Contains(h.Days[:j], d) {
				found.Add(fault.Index(location+".days", j), "duplicate", "must not be a duplicate")
			}
		}
		from, okFrom := policy.ParseTimeOfDay(h.From)
		to, okTo := policy.ParseTimeOfDay(h.To)
		if !okFrom || from == 24*60 {
			found.Add(location+".from", "invalid_time", "must be a time of day from 00:00 to 23:59")
		}
		if !okTo {
			found.Add(location+".to", "invalid_time", "must be a time of day from 00:00 to 24:00")
		} else if okFrom && from == to {
			found.Add(location+".to", "not_after_from", "must differ from from; a whole day is 00:00 to 24:00")
		}
	}
}

// maxQuotaGroups limits the groups of a quota.
const maxQuotaGroups = 100

func checkQuota(found *fault.List, q policy.Quota) {
	switch q.Per {
	case policy.PerDay, policy.PerWeek, policy.PerMonth:
	case "":
		found.Add("policy.quota.per", "required", "is required: day, week or month")
	default:
		found.Add("policy.quota.per", "unknown_value", "must be day, week or month")
	}
	if q.Count < 0 {
		found.Add("policy.quota.count", "out_of_range", "must not be negative")
	}
	found.WholeSeconds("policy.quota.duration", q.Duration, maxSpan)
	if q.Count == 0 && q.Duration == 0 && len(q.Groups) == 0 {
		found.Add("policy.quota.count", "required", "must be positive unless duration or groups are set")
	}
	if len(q.Groups) > maxQuotaGroups {
		found.Add("policy.quota.groups", "too_many", "must have at most %d groups", maxQuotaGroups)
		return
	}
	for i, g := range q.Groups {
		location := fault.Index("policy.quota.groups", i)
		switch same := func(o policy.GroupQuota) bool { return o.GroupID == g.GroupID }; {
		case g.GroupID <= 0:
			found.Add(location+".group_id", "unknown_group", "group %d does not exist", g.GroupID)
		case slices.ContainsFunc(q.Groups[:i], same):
			found.Add(location+".group_id", "duplicate", "must not be a duplicate")
		}
		if g.Count < 0 {
			found.Add(location+".count", "out_of_range", "must not be negative")
		}
		found.WholeSeconds(location+".duration", g.Duration, maxSpan)
	}
}

// setSpan checks and sets a requested duration, if any.
func setSpan(found *fault.List, to, given *time.Duration, location string, most time.Duration) {
	if given != nil {
		*to = *given
		found.WholeSeconds(location, *to, most)
	}
}

// set sets a requested value, if any.
func set[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}
