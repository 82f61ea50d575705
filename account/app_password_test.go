package account_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/account"
)

// Calendar programs get in with an app password and its user's address, and with nothing else. Wrong
// ones are limited, but never in the way of the right one or of a sign-in.
func TestAppPassword(t *testing.T) {
	t.Parallel()
	s := newSignIns(t, 2, 100)
	ada := s.mustCreate(t, email, account.Member)
	s.mustCreate(t, "grace@example.org", account.Admin)
	_, p := s.mustLogin(t, email, password)
	_, app, err := s.CreateToken(t.Context(), p, account.NewToken{Name: "phone", Scopes: []account.Scope{account.CalDAV}})
	if err != nil {
		t.Fatal(err)
	}
	_, api, err := s.CreateToken(t.Context(), p, account.NewToken{Name: "script"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CreateToken(t.Context(), p, account.NewToken{Name: "both", Scopes: []account.Scope{account.CalDAV, account.MeetingsRead}}); !slices.Equal(codes(err), []string{"body.scopes not_alone"}) {
		t.Errorf("an app password with another scope: %v", err)
	}

	got, err := s.AppPassword(t.Context(), "ADA@example.org", app, ip)
	if err != nil || got.UserID != ada.ID || account.Authorize(got, "caldav") != nil {
		t.Errorf("the app password: %+v, %v", got, err)
	}
	for _, op := range []string{"me", "list-meetings", "create-meeting", "create-my-token", "logout"} {
		if account.Authorize(got, op) == nil {
			t.Errorf("an app password may call %s", op)
		}
	}
	if account.Authorize(p, "caldav") == nil {
		t.Error("a session opens calendars")
	}

	for _, wrong := range [][2]string{{email, password}, {email, api}} {
		if _, err := s.AppPassword(t.Context(), wrong[0], wrong[1], ip); !errors.Is(err, account.ErrUnauthorized) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := s.AppPassword(t.Context(), "grace@example.org", app, ip); !errors.Is(err, account.ErrUnauthorized) {
		t.Errorf("the app password of another user: %v", err)
	}
	_, err = s.AppPassword(t.Context(), email, "pq_wrong", ip)
	if e, ok := errors.AsType[*account.RateLimitError](err); !ok || e.RetryAfter <= 0 || e.RetryAfter > time.Hour {
		t.Errorf("the third failure: %v", err)
	}
	if _, err := s.AppPassword(t.Context(), email, app, ip); err != nil {
		t.Errorf("the app password after failures: %v", err)
	}
	s.right(email, account.Client{IP: ip})
}
