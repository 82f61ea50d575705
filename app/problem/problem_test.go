package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"punctual/account"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/notify"
)

func TestProblem(t *testing.T) {
	at := time.Date(2027, 2, 10, 10, 0, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct {
		err  error
		want string // as JSON
	}{
		{account.ErrUnauthorized, `{"type":"urn:punctual:problem:unauthorized","title":"Sign in required","status":401,"code":"unauthorized"}`},
		{account.ErrForbidden, `{"type":"urn:punctual:problem:forbidden","title":"Not allowed","status":403,"code":"forbidden"}`},
		{meeting.ErrForbidden, `{"type":"urn:punctual:problem:forbidden","title":"Not allowed","status":403,"code":"forbidden"}`},
		{meeting.ErrNotFound, `{"type":"urn:punctual:problem:not_found","title":"Not found","status":404,"code":"not_found"}`},
		{account.ErrNotFound, `{"type":"urn:punctual:problem:not_found","title":"Not found","status":404,"code":"not_found"}`},
		{notify.ErrNotFound, `{"type":"urn:punctual:problem:not_found","title":"Not found","status":404,"code":"not_found"}`},
		{delayjob.ErrNotFound, `{"type":"urn:punctual:problem:not_found","title":"Not found","status":404,"code":"not_found"}`},
		{delayjob.ErrLeaseLost, `{"type":"urn:punctual:problem:lease_lost","title":"The lease is no longer held","status":409,"code":"lease_lost"}`},
		{&meeting.StateError{State: meeting.Cancelled, Action: "approve"}, `{"type":"urn:punctual:problem:state_conflict","title":"Not possible in the current state","status":409,"detail":"cannot approve: it is cancelled","code":"state_conflict","state":"cancelled"}`},
		{&notify.StateError{State: notify.Sent}, `{"type":"urn:punctual:problem:state_conflict","title":"Not possible in the current state","status":409,"detail":"The notification is sent.","code":"state_conflict","state":"sent"}`},
		{&meeting.ConflictError{Conflicts: []meeting.Occupancy{{RoomID: 3, Slot: clock.Slot{Start: at, End: at.Add(time.Hour)}}}},
			`{"type":"urn:punctual:problem:room_conflict","title":"The room is taken","status":409,"code":"room_conflict","conflicts":[{"room_id":3,"start":"2027-02-10T09:00:00Z","end":"2027-02-10T10:00:00Z"}]}`},
		{&meeting.VersionError{Current: 4}, `{"type":"urn:punctual:problem:version_mismatch","title":"The version does not match","status":412,"detail":"If-Match must be the current version, which is 4.","code":"version_mismatch","version":4}`},
		{&account.VersionError{Current: 4}, `{"type":"urn:punctual:problem:version_mismatch","title":"The version does not match","status":412,"detail":"If-Match must be the current version, which is 4.","code":"version_mismatch","version":4}`},
		{&meeting.InvalidError{Faults: []meeting.Fault{{Location: "body.title", Code: "too_long", Message: "is too long"}}},
			`{"type":"urn:punctual:problem:invalid","title":"Invalid request","status":422,"code":"invalid","errors":[{"location":"body.title","message":"is too long","code":"too_long"}]}`},
		{&account.InvalidError{Faults: []account.Fault{{Location: "body.email", Code: "taken", Message: "is taken"}}},
			`{"type":"urn:punctual:problem:invalid","title":"Invalid request","status":422,"code":"invalid","errors":[{"location":"body.email","message":"is taken","code":"taken"}]}`},
		{&meeting.PolicyError{Violations: []meeting.Fault{{Location: "body.start", Code: "closed", Message: "is closed then"}}},
			`{"type":"urn:punctual:problem:policy_violation","title":"The room's policies do not allow this","status":422,"code":"policy_violation","errors":[{"location":"body.start","message":"is closed then","code":"closed"}]}`},
		{&account.RateLimitError{RetryAfter: 90 * time.Second}, `{"type":"urn:punctual:problem:rate_limited","title":"Too many attempts","status":429,"code":"rate_limited"}`},
		{&http.MaxBytesError{Limit: 5}, `{"type":"urn:punctual:problem:too_large","title":"Request body too large","status":413,"detail":"The limit is 5 bytes.","code":"too_large"}`},
		{&pgconn.PgError{Code: "57P01", Message: "secret"}, unavailableJSON},
		{&pgconn.PgError{Code: "57014", Message: "secret"}, timeoutJSON},
		{&net.OpError{Op: "dial", Err: errors.New("secret")}, unavailableJSON},
		{context.DeadlineExceeded, unavailableJSON},
		{admin.QueueError(errors.New("secret")), unavailableJSON},
		{&pgconn.PgError{Code: "42601"}, "null"},
		{errors.New("anything else"), "null"},
	} {
		got, err := json.Marshal(Of(fmt.Errorf("attempt: %w", c.err)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, string(got)); d != "" {
			t.Errorf("%v: %s", c.err, d)
		}
	}
}

const timeoutJSON = `{"type":"urn:punctual:problem:timeout","title":"The request took too long","status":503,"detail":"A database query ran into its time limit. Request less data, or try again later.","code":"timeout"}`

const unavailableJSON = `{"type":"urn:punctual:problem:unavailable","title":"Unavailable","status":503,"detail":"The database or the queue is not responding. Try again.","code":"unavailable"}`

func TestProblem_headers(t *testing.T) {
	if got := Of(&account.RateLimitError{RetryAfter: 1500 * time.Millisecond}).GetHeaders().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After is %q", got)
	}
	if got := Of(account.ErrUnauthorized).GetHeaders().Get("WWW-Authenticate"); got == "" {
		t.Error("no WWW-Authenticate")
	}
}

func TestSchemaFault(t *testing.T) {
	for _, c := range []struct {
		in   huma.ErrorDetail
		want ProblemFault
	}{
		{huma.ErrorDetail{Location: "body", Message: "expected required property title to be present"}, ProblemFault{Location: "body.title", Message: "is required", Code: "required"}},
		{huma.ErrorDetail{Location: "body.attendees[0]", Message: "expected required property email to be present"}, ProblemFault{Location: "body.attendees[0].email", Message: "is required", Code: "required"}},
		{huma.ErrorDetail{Location: "body.x", Message: "unexpected property", Value: "secret"}, ProblemFault{Location: "body.x", Message: "unexpected property", Code: "unknown_field"}},
		{huma.ErrorDetail{Location: "path.id", Message: "invalid integer", Value: "secret"}, ProblemFault{Location: "path.id", Message: "invalid integer", Code: "malformed"}},
		{huma.ErrorDetail{Location: "body.email", Message: "expected string to be RFC 5322 email: mail: missing 'secret'"}, ProblemFault{Location: "body.email", Message: "expected string to be RFC 5322 email", Code: "malformed"}},
		{huma.ErrorDetail{Location: "query.limit", Message: "expected number <= 500"}, ProblemFault{Location: "query.limit", Message: "expected number <= 500", Code: "too_large"}},
		{huma.ErrorDetail{Message: "unexpected end of JSON input"}, ProblemFault{Location: "body", Message: "unexpected end of JSON input", Code: "invalid"}},
	} {
		if d := cmp.Diff(c.want, schemaFault(&c.in)); d != "" {
			t.Error(d)
		}
	}
}
