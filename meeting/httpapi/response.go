package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
)

// Answer is the response to an invitation.
type Answer struct {
	Response string `json:"response" enum:"accepted,declined,tentative,needs_action" doc:"Your response; needs_action withdraws an earlier one"`
	Comment  string `json:"comment,omitempty" doc:"Comment for the organizer; at most 1,000 characters"`
	UserID   int64  `json:"user_id,omitempty" minimum:"1" doc:"User for whom you respond as delegate; defaults to you"`
}

type answerInput struct {
	Target
	Guard
	Body Body[Answer]
}

func (h *handlers) registerResponses(api huma.API) {
	register(api, operation("respond-meeting", http.MethodPost, "/meetings/{id}/respond", "Respond to a meeting invitation; replaces an earlier response", "Meetings"), h.respond)
	register(api, operation("respond-series", http.MethodPost, "/series/{id}/respond", "Respond to all current and future meetings of a series", "Series"), h.respondSeries)
}

// read reports malformed fields. The service reports missing ones.
func (in *answerInput) read(r huma.Registry) (Answer, error) {
	a, faults := in.Body.read(r)
	return a, (&decoder{faults: faults}).err()
}

func (h *handlers) respond(ctx context.Context, in *answerInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	a, err := in.read(h.registry)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.RespondFor(ctx, by, a.UserID, in.ID, in.version(), meeting.Response(a.Response), a.Comment))
}

func (h *handlers) respondSeries(ctx context.Context, in *answerInput) (*one[SeriesResult], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	a, err := in.read(h.registry)
	if err != nil {
		return nil, err
	}
	return answerSeries(h.svc.RespondSeriesFor(ctx, by, a.UserID, in.ID, in.version(), meeting.Response(a.Response), a.Comment))
}
