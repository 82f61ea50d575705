package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
)

// PersonRef is a person to invite.
type PersonRef struct {
	Name   string `json:"name" doc:"Name; empty if unknown"`
	Email  string `json:"email"`
	UserID *int64 `json:"user_id" doc:"User ID; null if the person is not a user of this installation"`
}

// PeopleRate is enough for typing, and too little to copy a directory unnoticed.
var PeopleRate = account.Rate{Count: 120, Per: time.Minute}

func (h *handlers) registerPeople(api huma.API) {
	op := operation("find-people", http.MethodGet, "/people", "Complete a name or address from users and people you invited before", "People")
	op.Description = "People without an account come from the latest 10,000 invitations that you sent within a year."
	op.Errors = append(op.Errors, http.StatusTooManyRequests)
	register(api, op, h.people)

	busy := heavy(operation("people-busy", http.MethodGet, "/people/busy", "List when users are busy", "People"))
	busy.Description = "Times at which users organize or attend confirmed meetings, without details. Meetings that a user declined do not count. Calls count toward the limit of find-people."
	busy.Errors = append(busy.Errors, http.StatusTooManyRequests)
	register(api, busy, h.peopleBusy)
}

// PersonBusy is when a person takes part in meetings.
type PersonBusy struct {
	Email string     `json:"email" doc:"Address as requested"`
	Known bool       `json:"known" doc:"Whether this is a user; nothing is known about anyone else"`
	Busy  []BusySpan `json:"busy" nullable:"false" doc:"Times by start; those that touch are joined"`
}

// BusySpan is a time at which a person is busy.
type BusySpan struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

type peopleBusyInput struct {
	Email []string `query:"email,explode" doc:"Required. At most 20 addresses; repeat the parameter or separate addresses with commas" example:"grace@example.org"`
	From  string   `query:"from" doc:"Required. Start of the range" example:"2027-02-10T00:00:00Z"`
	To    string   `query:"to" doc:"Required. End of the range, at most 31 days after from" example:"2027-02-11T00:00:00Z"`
}

func (h *handlers) peopleBusy(ctx context.Context, in *peopleBusyInput) (*listOutput[PersonBusy], error) {
	if err := h.mayLookUp(ctx); err != nil {
		return nil, err
	}
	d := decoder{zone: time.UTC}
	span := clock.Slot{Start: d.given("from", in.From, d.instant), End: d.given("to", in.To, d.end)}
	if err := d.err(); err != nil {
		return nil, err
	}
	found, err := h.finding.PeopleBusy(ctx, commas(in.Email), span)
	if err != nil {
		return nil, err
	}
	return listed(found, "", func(p finding.PersonBusy) PersonBusy {
		return PersonBusy{Email: p.Email, Known: p.Known, Busy: list(p.Busy, func(s clock.Slot) BusySpan {
			return BusySpan{Start: s.Start.UTC(), End: s.End.UTC()}
		})}
	}), nil
}

// mayLookUp returns an error if the caller has looked up people too often.
func (h *handlers) mayLookUp(ctx context.Context) error {
	by, err := actorOf(ctx)
	if err != nil {
		return err
	}
	if ok, after := h.lookups.Allow(ctx, strconv.FormatInt(by.ID, 10)); !ok {
		return &account.RateLimitError{RetryAfter: after}
	}
	return nil
}

type peopleInput struct {
	Q string `query:"q" doc:"Beginnings of words in the name or address, at most 100 characters; fewer than two letters return no one" example:"ada lo"`
}

func (h *handlers) people(ctx context.Context, in *peopleInput) (*listOutput[PersonRef], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.mayLookUp(ctx); err != nil {
		return nil, err
	}
	found, err := h.finding.People(ctx, by, in.Q)
	if err != nil {
		return nil, err
	}
	return listed(found, "", func(p meeting.Person) PersonRef {
		return PersonRef{Name: p.Name, Email: p.Email, UserID: number(p.UserID)}
	}), nil
}
