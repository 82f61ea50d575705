package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/meeting"
)

// MeetingCheckIn says when check-in is open, and its deadline if it is required.
type MeetingCheckIn struct {
	Required bool       `json:"required" doc:"Whether the rooms are released at until unless someone checks in"`
	OpensAt  *time.Time `json:"opens_at" nullable:"true"`
	Until    *time.Time `json:"until" nullable:"true" doc:"Deadline for checking in; null if no check-in is required"`
}

func checkInOf(m *meeting.Meeting) MeetingCheckIn {
	return MeetingCheckIn{Required: !m.CheckIn.Until.IsZero(), OpensAt: instant(m.CheckInOpens()), Until: instant(m.CheckIn.Until)}
}

func (h *handlers) registerCheckIn(api huma.API, tag string) {
	post := func(id, path, summary string) huma.Operation {
		return operation(id, http.MethodPost, "/meetings/{id}"+path, summary, tag)
	}
	register(api, post("check-in-meeting", "/check-in", "Check in to a meeting; only the first check-in counts"), h.checkIn)
	register(api, post("end-meeting", "/end", "End a current meeting and release its rooms"), h.endMeeting)
	register(api, post("extend-meeting", "/extend", "Extend a meeting, if its rooms are free"), h.extendMeeting)
	register(api, post("release-meeting", "/release", "Release the rooms of a meeting as a no-show"), h.releaseMeeting)
}

func (h *handlers) checkIn(ctx context.Context, in *guardedInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.CheckIn(ctx, by, in.ID, in.version()))
}

func (h *handlers) endMeeting(ctx context.Context, in *guardedInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.End(ctx, by, in.ID, in.version()))
}

// Extension is the new end of a meeting.
type Extension struct {
	End      Field[string]  `json:"end" doc:"RFC 3339 time with an offset, or local time in timezone" example:"2027-02-10T10:30:00Z"`
	Timezone Field[string]  `json:"timezone,omitempty" doc:"IANA time zone name for a local time; null for the meeting's time zone"`
	Override *OverrideInput `json:"override,omitempty" doc:"Overrides room policies, but never other meetings; admins only"`
}

type extendInput struct {
	Target
	Guard
	Body Body[Extension]
}

func (h *handlers) extendMeeting(ctx context.Context, in *extendInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	body, faults := in.Body.read(h.registry)
	patch := MeetingPatch{End: body.End, Timezone: body.Timezone, Override: body.Override}
	return answer(h.svc.Extend(ctx, by, in.ID, in.version(), patch.fields(faults)))
}

type releaseInput struct {
	Target
	Guard
	Body *Body[Reason]
}

func (h *handlers) releaseMeeting(ctx context.Context, in *releaseInput) (*one[Meeting], error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	said, err := optional(h.registry, in.Body)
	if err != nil {
		return nil, err
	}
	return answer(h.svc.Release(ctx, by, in.ID, in.version(), said.Reason))
}
