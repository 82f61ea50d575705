package account_test

import (
	"testing"
	"time"

	"punctual/account"
)

func TestService_away(t *testing.T) {
	t.Parallel()
	f := newService(t, account.Config{})
	ada := f.mustCreate(t, email, account.Manager)
	deputy := f.mustCreate(t, "max@example.org", account.Manager)
	member := f.mustCreate(t, "ben@example.org", account.Member)
	gone := f.mustCreate(t, "eve@example.org", account.Manager)
	if _, err := f.UpdateUser(t.Context(), gone.ID, nil, account.UserPatch{Disabled: new(true)}); err != nil {
		t.Fatal(err)
	}
	_, p := f.mustLogin(t, email, password)
	from, until := f.now().Add(time.Hour), f.now().Add(48*time.Hour)

	want := account.Away{From: from.UTC(), Until: until.UTC(), DeputyID: deputy.ID}
	u, err := f.UpdateMe(t.Context(), p, nil, account.MePatch{Away: new(want)})
	if err != nil || u.Away != want {
		t.Fatalf("%+v, %v", u, err)
	}
	if u, err = f.User(t.Context(), ada.ID); err != nil || u.Away != want {
		t.Errorf("read %+v, %v", u.Away, err)
	}
	if u, err = f.UpdateMe(t.Context(), p, nil, account.MePatch{Name: new("Ada L.")}); err != nil || u.Away != want {
		t.Errorf("what is left out stays: %+v, %v", u.Away, err)
	}
	if u, err = f.UpdateUser(t.Context(), ada.ID, nil, account.UserPatch{Away: &account.Away{}}); err != nil || u.Away != (account.Away{}) {
		t.Errorf("there again: %+v, %v", u.Away, err)
	}

	for _, tt := range []struct {
		name  string
		away  account.Away
		fault string
	}{
		{"no beginning", account.Away{Until: until}, "body.away.from required"},
		{"no end", account.Away{From: from}, "body.away.until required"},
		{"backwards", account.Away{From: until, Until: from}, "body.away.until not_after_from"},
		{"past", account.Away{From: from.Add(-72 * time.Hour), Until: f.now()}, "body.away.until in_past"},
		{"for good", account.Away{From: from, Until: from.AddDate(2, 0, 0)}, "body.away.until too_long"},
		{"oneself", account.Away{From: from, Until: until, DeputyID: ada.ID}, "body.away.deputy_id invalid_deputy"},
		{"a member", account.Away{From: from, Until: until, DeputyID: member.ID}, "body.away.deputy_id not_a_manager"},
		{"who has left", account.Away{From: from, Until: until, DeputyID: gone.ID}, "body.away.deputy_id unknown_user"},
		{"nobody", account.Away{From: from, Until: until, DeputyID: 999}, "body.away.deputy_id unknown_user"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := f.UpdateMe(t.Context(), p, nil, account.MePatch{Away: &tt.away})
			wantFaults(t, err, tt.fault)
		})
	}
}
