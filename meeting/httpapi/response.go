package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
)

// Answer to an invitation.
type Answer struct {
	Response string `json:"response" enum:"accepted,declined,tentative,needs_action" doc:"needs_action takes an answer back"`
	Comment  string `json:"comment,omitempty" doc:"For the organizer; at most 1,000 characters"`
}

type answerInput struct {
	Target
	Guard
	Body Body[Answer]
}

func (h *handlers) registerResponses(api huma.API) {
	register(api, operation("respond-meeting", http.MethodPost, "/meetings/{id}/respond", "Answer the invitation to a meeting; the last answer counts", "Meetings"), h.respond)
	register(api, operation("respond-series", http.MethodPost, "/series/{id}/respond", "Answer for all dates of a series that are not over", "Series"), h.respondSeries)
}

// read reports malformed fields. The service reports missing ones.
func (in *answerInput) read(r huma.Registry) (Answer, error) {
	a, faults := in.Body.read(r)
	return a, (&decoder{faults: faults}).err()
}

func (h *handlers) respond(ctx context.Context, in *answerInput) (*one[Meeting], error) {
	by, err := asking(ctx)
	if err != nil {
		return nil, err
	}
	a, err := in.read(h.registry)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.Respond(ctx, by, in.ID, in.version(), meeting.Response(a.Response), a.Comment))
}

func (h *handlers) respondSeries(ctx context.Context, in *answerInput) (*one[SeriesResult], error) {
	by, err := asking(ctx)
	if err != nil {
		return nil, err
	}
	a, err := in.read(h.registry)
	if err != nil {
		return nil, err
	}
	return answerSeries(h.svc.RespondSeries(ctx, by, in.ID, in.version(), meeting.Response(a.Response), a.Comment))
}
