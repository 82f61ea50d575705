// Package httpapi is the REST API of sites, rooms and meetings: it decodes requests, calls the
// service and encodes responses. Errors are the domain's own; package problem turns them into
// responses.
package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/branding"
	"punctual/meeting/finding"
	"punctual/meeting/places"
	"punctual/meeting/public"
	"punctual/meeting/report"
	"punctual/meeting/series"
	"punctual/meeting/waitlist"
)

// Notices lists the notifications about a meeting, oldest first. The caller has already checked
// that the reader may see them.
type Notices interface {
	OfMeeting(ctx context.Context, id meeting.ID, p meeting.Page) (items []MeetingNotification, next string, err error)
}

// Deps are the services whose operations [Register] adds.
type Deps struct {
	Meetings  *booking.Service
	Approval  *approval.Service
	Series    *series.Service
	Waitlist  *waitlist.Service
	Places    *places.Service
	Branding  *branding.Service
	Public    *public.Service
	Finding   *finding.Service
	Reports   *report.Service
	Notices   Notices
	State     State
	Calendars Calendars
	Lookups   account.Limiter // searches for people per caller, at [PeopleRate]
	Faults    account.Limiter // reports of faults per caller, at [FaultRate]
}

// Register adds the operations to the API. The caller comes from [account.FromContext].
func Register(api huma.API, d Deps) {
	h := &handlers{
		svc: d.Meetings, approval: d.Approval, series: d.Series, waitlist: d.Waitlist, places: d.Places, branding: d.Branding, public: d.Public,
		finding: d.Finding, revalidator: newRevalidator(d.State, time.Now), reports: d.Reports, notices: d.Notices, calendars: d.Calendars, lookups: d.Lookups, faults: d.Faults, registry: api.OpenAPI().Components.Schemas,
	}
	if servers := api.OpenAPI().Servers; len(servers) > 0 {
		h.base = servers[0].URL
	}
	h.registerSites(api)
	h.registerRooms(api)
	h.registerRoomPhotos(api)
	h.registerFloorPlans(api)
	h.registerBranding(api)
	h.registerFaultReports(api)
	h.registerTypes(api)
	h.registerCustomFields(api)
	h.registerBlackouts(api)
	h.registerHolidays(api)
	h.registerPublic(api)
	h.registerMeetings(api)
	h.registerSeries(api)
	h.registerFinding(api)
	h.registerGrid(api)
	h.registerRoomDays(api)
	h.registerResponses(api)
	h.registerWaitlist(api)
	h.registerReports(api)
	h.registerPeople(api)
	h.registerMyRooms(api)
}

type handlers struct {
	svc         *booking.Service
	approval    *approval.Service
	series      *series.Service
	waitlist    *waitlist.Service
	places      *places.Service
	branding    *branding.Service
	public      *public.Service
	finding     *finding.Service
	reports     *report.Service
	notices     Notices
	calendars   Calendars
	revalidator *revalidator
	registry    huma.Registry
	lookups     account.Limiter // searches for people, by caller
	faults      account.Limiter // reports of faults, by caller
	base        string          // of Location headers
}

// register adds an operation. The domain reports faults by the names of fields, and register
// reports where the request has them: in the query of a GET, in the body of the others.
func register[I, O any](api huma.API, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	place := "body"
	if op.Method == http.MethodGet {
		place = "query"
	}
	huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		return out, placed(err, place)
	})
}

// placed returns an error with the faults at their locations in the request.
func placed(err error, place string) error {
	if e, ok := errors.AsType[*meeting.InvalidError](err); ok {
		return &meeting.InvalidError{Faults: fault.At(place, e.Faults)}
	}
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		return &meeting.PolicyError{Violations: fault.At(place, e.Violations), Meetings: e.Meetings}
	}
	if e, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		dates := slices.Clone(e.Dates)
		for i, d := range dates {
			dates[i].Violations = fault.At(place, d.Violations)
		}
		return &meeting.SeriesConflictError{Dates: dates}
	}
	return err
}

// operation describes an operation. Bodies are validated by [Body], so that a client gets all
// faults at once.
func operation(id, method, path, summary, tag string) huma.Operation {
	op := huma.Operation{
		OperationID:      id,
		Method:           method,
		Path:             path,
		Summary:          summary,
		Tags:             []string{tag},
		SkipValidateBody: true,
		Errors:           []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity},
	}
	one := strings.Contains(path, "{") // a collection has no version
	switch {
	case method == http.MethodGet:
	case one:
		op.Errors = append(op.Errors, http.StatusConflict, http.StatusPreconditionFailed)
	default:
		op.Errors = append(op.Errors, http.StatusConflict)
	}
	if one {
		op.Errors = append(op.Errors, http.StatusNotFound)
	}
	return op
}

// heavy marks an operation that may be much more expensive than others, for the limit of concurrent
// ones.
func heavy(op huma.Operation) huma.Operation {
	op.Metadata = map[string]any{"heavy": true}
	return op
}

// creates sets the status of an operation to 201.
func creates(op huma.Operation) huma.Operation {
	op.DefaultStatus = http.StatusCreated
	return op
}

// deletes sets the status of an operation to 204.
func deletes(op huma.Operation) huma.Operation {
	op.DefaultStatus = http.StatusNoContent
	return op
}

// actorOf returns the caller of a request.
func actorOf(ctx context.Context) (meeting.Actor, error) {
	p, ok := account.FromContext(ctx)
	if !ok {
		return meeting.Actor{}, account.ErrUnauthorized
	}
	return meeting.Actor{
		Kind: meeting.ActorUser, ID: p.UserID, Name: p.Name, Email: p.Email, Role: meeting.Role(p.Role), CalendarMails: p.CalendarMails, Groups: &p.Groups,
		ActsFor: actsFor(p.ActsFor),
		Blind:   !p.HasScope(account.MeetingsRead) && !p.HasScope(account.MeetingsWrite),
	}, nil
}

func actsFor(from []account.ActsFor) *[]meeting.ActsFor {
	all := list(from, func(a account.ActsFor) meeting.ActsFor {
		return meeting.ActsFor{UserID: a.UserID, Private: a.Private, Role: meeting.Role(a.Role), Groups: a.Groups}
	})
	return &all
}
