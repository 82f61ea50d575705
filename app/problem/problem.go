// Package problem maps errors to application/problem+json (RFC 9457). It is the only place where
// domain errors get a status and a code. After an import, huma answers with a [Problem].
package problem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"punctual/account"
	"punctual/account/fault"
	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	"punctual/delayjob/topics"
	"punctual/meeting"
	"punctual/meeting/events"
	"punctual/meeting/mailroom"
	"punctual/notify"
	"punctual/notify/webhook"
)

// Problem is the body of every error response (RFC 9457). Code is stable and for programs. Title
// and Detail are for people and may change.
type Problem struct {
	Type      string            `json:"type" doc:"urn:punctual:problem: followed by the code"`
	Title     string            `json:"title"`
	Status    int               `json:"status"`
	Detail    string            `json:"detail,omitempty"`
	Code      string            `json:"code" doc:"Stable code of the problem" example:"room_conflict"`
	State     string            `json:"state,omitempty" doc:"Current state of the resource; only with state_conflict"`
	Reason    string            `json:"reason,omitempty" doc:"newer_version, different_body or pushed; only with state_conflict, if the state is not the reason"`
	Version   int64             `json:"version,omitempty" doc:"Current version; only with version_mismatch, newer_version and different_body"`
	Challenge string            `json:"challenge,omitempty" doc:"Confirms the sign-in together with a code or a passkey; only with second_factor_required"`
	Factors   []string          `json:"factors,omitempty" nullable:"false" enum:"code,passkey" doc:"What can confirm the sign-in; only with second_factor_required"`
	Errors    []ProblemFault    `json:"errors,omitempty" nullable:"false" doc:"Faults of the request, at most 100"`
	Conflicts []ProblemConflict `json:"conflicts,omitempty" nullable:"false" doc:"Times at which the rooms are taken, at most 1,000; only with room_conflict"`
	Omitted   int               `json:"omitted,omitempty" doc:"Minimum number of errors and conflicts that are not listed"`

	RetryAfter time.Duration `json:"-"` // the header Retry-After, if it is positive
}

// ProblemFault is one thing wrong with a request.
type ProblemFault struct {
	Location string `json:"location" example:"body.title"`
	Message  string `json:"message"`
	Code     string `json:"code" example:"required"`

	OriginalStart *time.Time `json:"original_start,omitempty" doc:"Date of the series with this fault; omitted if it concerns all dates"`

	ProblemFigures
}

// ProblemFigures holds the limit of a violated policy and the requested value. Only fields that
// apply to the policy are set.
type ProblemFigures struct {
	RoomID     int64      `json:"room_id,omitempty" doc:"Room whose rule was broken; omitted for a rule of the installation"`
	Limit      any        `json:"limit,omitempty" doc:"What the rule allows: a count, a duration such as 4h, a time or a time of day"`
	Actual     any        `json:"actual,omitempty" doc:"The requested value, in the same form as limit"`
	Used       any        `json:"used,omitempty" doc:"What the person's other meetings use of the quota"`
	Per        string     `json:"per,omitempty" doc:"Period of the quota: day, week or month"`
	Start      *time.Time `json:"start,omitempty" doc:"Start of the blackout, or of the quota's period"`
	End        *time.Time `json:"end,omitempty"`
	BlackoutID int64      `json:"blackout_id,omitempty"`
	Reason     string     `json:"reason,omitempty" doc:"Reason of the blackout"`
}

func figuresOf(r fault.Figures) ProblemFigures {
	p := ProblemFigures{
		RoomID: r.RoomID, Limit: r.Limit, Actual: r.Actual, Used: r.Used, Per: r.Per, BlackoutID: r.BlackoutID, Reason: r.Reason,
	}
	if !r.Span.Start.IsZero() {
		p.Start, p.End = new(r.Span.Start.UTC()), new(r.Span.End.UTC())
	}
	return p
}

// ProblemConflict is a time at which a room is taken. It does not show who booked it.
type ProblemConflict struct {
	RoomID int64     `json:"room_id"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`

	OriginalStart *time.Time `json:"original_start,omitempty" doc:"Date of the series that conflicts"`
}

const (
	MaxErrors    = 100
	maxConflicts = 1000
)

// bound truncates the lists of p and reports how many entries it left out.
func (p *Problem) bound() *Problem {
	errs, conflicts := min(len(p.Errors), MaxErrors), min(len(p.Conflicts), maxConflicts)
	p.Omitted += len(p.Errors) - errs + len(p.Conflicts) - conflicts
	p.Errors, p.Conflicts = p.Errors[:errs], p.Conflicts[:conflicts]
	return p
}

func (p *Problem) Error() string { return cmp.Or(p.Detail, p.Title) }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders returns the additional headers that huma sends.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.RetryAfter+time.Second-1)/time.Second)))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="punctual"`)
	}
	return h
}

// Of returns the problem for an error of any domain, or nil if it does not know the error.
func Of(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if p := invalidProblem(err); p != nil {
		return p
	}
	if p := conflictProblem(err); p != nil {
		return p
	}
	if p := TooLarge(err); p != nil {
		return p
	}
	if e, ok := errors.AsType[*account.RateLimitError](err); ok {
		p := New(http.StatusTooManyRequests, "rate_limited", "Too many attempts")
		p.RetryAfter = e.RetryAfter
		return p
	}
	if e, ok := errors.AsType[*topics.QuotaError](err); ok {
		p := New(http.StatusTooManyRequests, "rate_limited", "Quota exceeded")
		p.Detail, p.RetryAfter = e.Detail, e.RetryAfter
		return p
	}
	if e, ok := errors.AsType[*account.SecondFactorError](err); ok {
		p := New(http.StatusUnauthorized, "second_factor_required", "A second factor is required")
		p.Challenge = e.Challenge
		if e.Code {
			p.Factors = append(p.Factors, "code")
		}
		if e.Passkey {
			p.Factors = append(p.Factors, "passkey")
		}
		return p
	}
	switch {
	case errors.Is(err, account.ErrChallengeInvalid):
		return New(http.StatusUnauthorized, "unauthorized", "The sign-in took too long; start again")
	case errors.Is(err, account.ErrWrongCredentials):
		return New(http.StatusUnauthorized, "unauthorized", "Wrong email or password")
	case errors.Is(err, account.ErrPasskeyUnknown):
		return New(http.StatusUnauthorized, "passkey_unknown", "This passkey was removed")
	case errors.Is(err, account.ErrPasskeyRefused):
		return New(http.StatusUnauthorized, "passkey_refused", "This passkey cannot sign in")
	case errors.Is(err, account.ErrLinkInvalid):
		return New(http.StatusUnauthorized, "unauthorized", "This link has expired or was already used")
	case errors.Is(err, account.ErrUnauthorized):
		return New(http.StatusUnauthorized, "unauthorized", "Sign in required")
	case errors.Is(err, account.ErrForbidden), errors.Is(err, meeting.ErrForbidden):
		return New(http.StatusForbidden, "forbidden", "Not allowed")
	case errors.Is(err, account.ErrNotFound), errors.Is(err, meeting.ErrNotFound),
		errors.Is(err, notify.ErrNotFound), errors.Is(err, webhook.ErrNotFound), errors.Is(err, mailroom.ErrNotFound), errors.Is(err, delayjob.ErrNotFound):
		return New(http.StatusNotFound, "not_found", "Not found")
	case errors.Is(err, delayjob.ErrLeaseLost):
		return New(http.StatusConflict, "lease_lost", "The lease is no longer held")
	case errors.Is(err, account.ErrDirectoryDown):
		p := New(http.StatusServiceUnavailable, "directory_unavailable", "The company directory is unavailable")
		p.Detail = "Passwords of company accounts cannot be checked at the moment. Try again."
		p.RetryAfter = 5 * time.Second
		return p
	case errors.Is(err, events.ErrClosed):
		return New(http.StatusServiceUnavailable, "unavailable", "The server is shutting down")
	case database.TimedOut(err):
		p := New(http.StatusServiceUnavailable, "timeout", "The request took too long")
		p.Detail = "A database query ran into its time limit. Request less data, or try again later."
		p.RetryAfter = 10 * time.Second
		return p
	case errors.Is(err, admin.ErrQueueDown), errors.Is(err, topics.ErrQueueDown), database.Unavailable(err):
		p := New(http.StatusServiceUnavailable, "unavailable", "Unavailable")
		p.Detail = "The database or the queue is not responding. Try again."
		p.RetryAfter = time.Second
		return p
	case errors.Is(err, context.Canceled): // nobody waits for this answer
		return New(StatusClientGone, "cancelled", "The client closed the connection")
	default:
		return nil
	}
}

// TooLarge returns the problem for an [http.MaxBytesError], or nil for another error.
func TooLarge(err error) *Problem {
	e, ok := errors.AsType[*http.MaxBytesError](err)
	if !ok {
		return nil
	}
	p := New(http.StatusRequestEntityTooLarge, "too_large", "Request body too large")
	p.Detail = "The limit is " + strconv.FormatInt(e.Limit, 10) + " bytes."
	return p
}

// StatusClientGone is the status that proxies log when a client disconnects before the response.
const StatusClientGone = 499

func invalidProblem(err error) *Problem {
	if e, ok := errors.AsType[*fault.InvalidError](err); ok {
		return faulty("invalid", "Invalid request", e.Faults)
	}
	if e, ok := errors.AsType[*meeting.PolicyError](err); ok {
		return faulty("policy_violation", "The room's policies do not allow this", e.Violations)
	}
	return nil
}

func faulty(code, title string, faults []fault.Fault) *Problem {
	p := New(http.StatusUnprocessableEntity, code, title)
	p.Errors = make([]ProblemFault, len(faults))
	for i, f := range faults {
		p.Errors[i] = ProblemFault{Location: f.Location, Message: f.Message, Code: f.Code, ProblemFigures: figuresOf(f.Figures)}
	}
	return p
}

func conflictProblem(err error) *Problem {
	if e, ok := errors.AsType[*meeting.ConflictError](err); ok {
		p := New(http.StatusConflict, "room_conflict", "The room is taken")
		for _, c := range e.Conflicts {
			p.Conflicts = append(p.Conflicts, ProblemConflict{RoomID: c.RoomID, Start: c.Slot.Start.UTC(), End: c.Slot.End.UTC()})
		}
		return p
	}
	if e, ok := errors.AsType[*meeting.SeriesConflictError](err); ok {
		return seriesConflict(e)
	}
	if e, ok := errors.AsType[*meeting.StateError](err); ok {
		return stateConflict(string(e.State), e.Error())
	}
	if e, ok := errors.AsType[*meeting.ForeignError](err); ok {
		p := New(http.StatusConflict, "foreign_calendar", "Only the organizer's calendar can change this")
		p.Detail = "The meeting comes from another calendar program (origin: " + string(e.Kind) + "). Change time, title and attendees there. Rooms can be withdrawn here."
		return p
	}
	if errors.Is(err, meeting.ErrUndoExpired) {
		p := New(http.StatusConflict, "undo_expired", "The change can no longer be undone")
		p.Detail = "A change can be undone until undo_until, or until the first notification about it is sent."
		return p
	}
	if errors.Is(err, meeting.ErrChangedSince) {
		p := New(http.StatusConflict, "changed_since", "Something else has changed since")
		p.Detail = "Only the latest change of a meeting or a series can be undone."
		return p
	}
	if e, ok := errors.AsType[*notify.StateError](err); ok {
		return stateConflict(string(e.State), "The notification is "+string(e.State)+".")
	}
	if e, ok := errors.AsType[*meeting.InUseError](err); ok {
		return stateConflict("in_use", e.Error())
	}
	if e, ok := errors.AsType[*account.GroupError](err); ok {
		return stateConflict(e.State, e.Detail)
	}
	if e, ok := errors.AsType[*fault.VersionError](err); ok {
		return versionMismatch(e.Current)
	}
	if e, ok := errors.AsType[*webhook.StateError](err); ok {
		return stateConflict(string(e.State), "The delivery is "+string(e.State)+".")
	}
	if e, ok := errors.AsType[*mailroom.StateError](err); ok {
		return stateConflict(string(e.State), "The mail is "+string(e.State)+".")
	}
	if errors.Is(err, webhook.ErrTooMany) {
		return stateConflict("full", "There are already "+strconv.Itoa(webhook.MaxWebhooks)+" webhooks, the maximum.")
	}
	if e, ok := errors.AsType[*topics.StateError](err); ok {
		return stateConflict(string(e.State), "The job is "+string(e.State)+".")
	}
	if e, ok := errors.AsType[*topics.HookedError](err); ok {
		p := stateConflict("", "The jobs of topic "+e.Topic+" are posted to its webhook. Delete the webhook to pop them.")
		p.Reason = "pushed"
		return p
	}
	if e, ok := errors.AsType[*topics.AddError](err); ok {
		p := stateConflict(string(e.State), "The job was not added: "+e.Error()+".")
		p.Reason, p.Version = e.Reason(), e.There.Version
		return p
	}
	return nil
}

// seriesConflict lists every date of a series that cannot be booked. A violation that applies to
// all dates is listed once.
func seriesConflict(e *meeting.SeriesConflictError) *Problem {
	p := New(http.StatusUnprocessableEntity, "policy_violation", "The room's policies do not allow this")
	if e.Taken() {
		p = New(http.StatusConflict, "room_conflict", "The room is taken on some of the dates")
	}
	dates := map[fault.Fault]int{}
	for _, d := range e.Dates {
		for _, f := range d.Violations {
			dates[f]++
		}
	}
	for _, d := range e.Dates {
		start := d.OriginalStart.UTC()
		for _, c := range d.Conflicts {
			p.Conflicts = append(p.Conflicts, ProblemConflict{RoomID: c.RoomID, Start: c.Slot.Start.UTC(), End: c.Slot.End.UTC(), OriginalStart: &start})
		}
		for _, f := range d.Violations {
			shown := ProblemFault{Location: f.Location, Message: f.Message, Code: f.Code, OriginalStart: &start, ProblemFigures: figuresOf(f.Figures)}
			switch n := dates[f]; {
			case n == 0: // already listed
				continue
			case n == len(e.Dates) && n > 1:
				shown.OriginalStart, dates[f] = nil, 0
			}
			p.Errors = append(p.Errors, shown)
		}
	}
	return p
}

func stateConflict(state, detail string) *Problem {
	p := New(http.StatusConflict, "state_conflict", "Not possible in the current state")
	p.State, p.Detail = state, detail
	return p
}

func versionMismatch(current int64) *Problem {
	p := New(http.StatusPreconditionFailed, "version_mismatch", "The version does not match")
	p.Version = current
	p.Detail = "If-Match must be the current version, which is " + strconv.FormatInt(current, 10) + "."
	return p
}

// Write sends p and ends the handler chain.
func Write(c *gin.Context, p *Problem) {
	for k, v := range p.GetHeaders() {
		c.Header(k, v[0])
	}
	body, err := json.Marshal(p.bound())
	if err != nil {
		panic(err) // a Problem can always be encoded
	}
	c.Data(p.Status, p.ContentType(""), body)
	c.Abort()
}

// New returns a problem without details.
func New(status int, code, title string) *Problem {
	return &Problem{Type: "urn:punctual:problem:" + code, Title: title, Status: status, Code: code}
}

// Internal returns the problem for an unexpected error. It does not reveal the cause.
func Internal() *Problem {
	return New(http.StatusInternalServerError, "internal", "Internal Server Error")
}

// Every error that huma writes goes through the map above. An unknown error becomes an internal
// error: the access log gets it, and the client sees no details.
func init() {
	huma.NewError = func(status int, detail string, errs ...error) huma.StatusError {
		return OfStatus(status, detail, errs)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, detail string, errs ...error) huma.StatusError {
		p := OfStatus(status, detail, errs)
		for k, v := range p.GetHeaders() {
			ctx.SetHeader(k, v[0])
		}
		if p.Status >= http.StatusInternalServerError {
			_ = humagin.Unwrap(ctx).Error(errors.Join(append(withoutDetails(errs), errors.New(detail))...))
		}
		return p
	}
}

// OfStatus returns the problem for a huma status. If one of errs has its own problem, OfStatus
// returns the first of these.
func OfStatus(status int, detail string, errs []error) *Problem {
	return mapHuma(status, detail, errs).bound()
}

func mapHuma(status int, detail string, errs []error) *Problem {
	for _, err := range errs {
		if _, ok := err.(*huma.ErrorDetail); ok { // a fault of the form, and its Error prints all that was sent
			continue
		}
		if p := Of(err); p != nil && (len(errs) == 1 || p.Code != "invalid") {
			return p
		}
	}
	switch {
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		return schemaProblem(detail, errs)
	case status >= http.StatusInternalServerError:
		return Internal()
	default:
		p := New(status, statusCode(status), http.StatusText(status))
		p.Detail = detail
		return p
	}
}

// withoutDetails removes huma's details, because their text repeats what was sent.
func withoutDetails(errs []error) []error {
	return slices.DeleteFunc(slices.Clone(errs), func(err error) bool {
		_, ok := err.(*huma.ErrorDetail)
		return ok
	})
}

func statusCode(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusMethodNotAllowed:
		return "method_not_allowed"
	case http.StatusNotAcceptable:
		return "not_acceptable"
	case http.StatusRequestTimeout:
		return "timeout"
	case http.StatusConflict:
		return "state_conflict"
	case http.StatusPreconditionFailed:
		return "version_mismatch"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusServiceUnavailable:
		return "unavailable"
	default:
		return "invalid"
	}
}
