package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
)

// PersonRef is a person to invite.
type PersonRef struct {
	Name  string `json:"name" doc:"Name; empty if unknown"`
	Email string `json:"email"`
}

// PeopleRate is enough for typing, and too little to copy a directory unnoticed.
var PeopleRate = account.Rate{Count: 120, Per: time.Minute}

func (h *handlers) registerPeople(api huma.API) {
	op := operation("find-people", http.MethodGet, "/people", "Complete a name or address from users and people you invited before", "People")
	op.Description = "People without an account come from the latest 10,000 invitations that you sent within a year."
	op.Errors = append(op.Errors, http.StatusTooManyRequests)
	register(api, op, h.people)
}

type peopleInput struct {
	Q string `query:"q" doc:"Beginnings of words in the name or address, at most 100 characters; fewer than two letters return no one" example:"ada lo"`
}

func (h *handlers) people(ctx context.Context, in *peopleInput) (*listOutput[PersonRef], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	if ok, after := h.lookups.Allow(ctx, strconv.FormatInt(by.ID, 10)); !ok {
		return nil, &account.RateLimitError{RetryAfter: after}
	}
	found, err := h.finding.People(ctx, by, in.Q)
	if err != nil {
		return nil, err
	}
	return listed(found, "", func(p meeting.Person) PersonRef { return PersonRef{Name: p.Name, Email: p.Email} }), nil
}
