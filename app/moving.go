package app

import (
	"context"
	"errors"
	"time"

	"punctual/account"
	"punctual/account/fault"
	"punctual/delayjob/pause"
	"punctual/meeting"
	"punctual/meeting/importing/moving"
)

// Moving brings the data of other booking programs.
func (a *Application) Moving() *moving.Service {
	return moving.NewService(a.meetings, a.approval, a.series, a.places, a.meetingStore, movingPeople{a.accounts}, time.Now)
}

// movingPeople makes users of the people of another program.
type movingPeople struct{ accounts *account.Service }

// Ensure implements [moving.People].
func (m movingPeople) Ensure(ctx context.Context, people []moving.Person, dryRun bool) (users map[string]meeting.Person, created int, faults map[string]error, err error) {
	users, faults = map[string]meeting.Person{}, map[string]error{}
	steps := pause.Begin()
	for _, p := range people {
		if err := steps.Next(ctx); err != nil {
			return nil, 0, nil, err
		}
		u, err := m.accounts.UserByEmail(ctx, p.Email)
		if errors.Is(err, account.ErrNotFound) {
			if u, err = m.create(ctx, p, dryRun); err == nil {
				created++
			}
		}
		if _, invalid := errors.AsType[*fault.InvalidError](err); invalid {
			faults[p.Email] = err
			continue
		}
		if err != nil {
			return nil, 0, nil, err
		}
		if u != nil {
			users[fault.FoldEmail(u.Email)] = meeting.Person{UserID: u.ID, Email: u.Email, Name: u.Name, Phone: u.Phone, Locale: u.Locale, Timezone: u.Timezone, Role: meeting.Role(u.Role)}
		}
	}
	return users, created, faults, nil
}

func (m movingPeople) create(ctx context.Context, p moving.Person, dryRun bool) (*account.User, error) {
	n := account.NewUser{Email: p.Email, Name: p.Name, Role: account.Role(p.Role), Phone: p.Phone, Timezone: p.Timezone}
	err := m.accounts.CheckNewUser(n, false)
	if _, invalid := errors.AsType[*fault.InvalidError](err); invalid && (n.Phone != "" || n.Timezone != "") {
		n.Phone, n.Timezone = "", "" // not worth losing the person
		err = m.accounts.CheckNewUser(n, false)
	}
	if err != nil || dryRun {
		return nil, err
	}
	u, err := m.accounts.CreateUser(ctx, n)
	if err == nil && p.Disabled {
		disabled := true
		u, err = m.accounts.UpdateUser(ctx, u.ID, nil, account.UserPatch{Disabled: &disabled})
	}
	return u, err
}
