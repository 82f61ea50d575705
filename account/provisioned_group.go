package account

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// sourceSCIM is the [Group.Source] of groups that a directory of people writes.
const sourceSCIM = "scim"

// noExternalID begins the stored external ID of groups to which the directory gives none.
const noExternalID = "none:"

// ProvisionedGroupQuery selects groups of a directory. Zero fields select all.
type ProvisionedGroupQuery struct {
	ID         int64
	Name       string // ignoring case
	ExternalID string
}

// ProvisionedGroupStore is the part of [Store] for groups of directories.
type ProvisionedGroupStore interface {
	// ListProvisionedGroups returns groups of a source by ID, and the number of all that match.
	ListProvisionedGroups(ctx context.Context, source string, q ProvisionedGroupQuery, offset, limit int) (list []*Group, total int64, err error)
	// MemberIDs returns all members of a group by ID.
	MemberIDs(ctx context.Context, id int64) ([]int64, error)
}

// ProvisionedGroup returns a group that a directory has written, or [ErrNotFound], also for a group of
// another source.
func (s *Service) ProvisionedGroup(ctx context.Context, id int64) (*Group, error) {
	g, err := s.store.Group(ctx, id)
	if err == nil && g.Source != sourceSCIM {
		err = ErrNotFound
	}
	return shown(g), wrap(fmt.Sprintf("provisioned group %d", id), err)
}

// shown hides an external ID that the directory did not give.
func shown(g *Group) *Group {
	if g != nil && strings.HasPrefix(g.ExternalID, noExternalID) {
		g.ExternalID = ""
	}
	return g
}

// ListProvisionedGroups returns groups by ID, and the number of all that match.
func (s *Service) ListProvisionedGroups(ctx context.Context, q ProvisionedGroupQuery, offset, limit int) (list []*Group, total int64, err error) {
	list, total, err = s.store.ListProvisionedGroups(ctx, sourceSCIM, q, offset, limit)
	for _, g := range list {
		shown(g)
	}
	return list, total, wrap("list provisioned groups", err)
}

// ProvisionGroup creates a group with members. It returns an [*InvalidError], [ErrGroupNameTaken] or
// [ErrGroupExternalTaken], and [ErrNotFound] for an unknown member.
func (s *Service) ProvisionGroup(ctx context.Context, name, externalID string, members []int64) (*Group, error) {
	now := s.instant()
	g := &Group{Name: name, Source: sourceSCIM, ExternalID: externalID, Version: 1, CreatedAt: now, UpdatedAt: now}
	if externalID == "" {
		g.ExternalID = noExternalID + rand.Text()
	}
	var fs faults
	fs.group(g)
	err := fs.Err()
	if err == nil {
		err = s.store.CreateGroup(ctx, g)
	}
	if err == nil && len(members) > 0 {
		if err = s.store.ChangeMembers(ctx, g.ID, members, nil, isProvisioned); err != nil {
			s.takeBack(ctx, g)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("provision group: %w", err)
	}
	return shown(g), nil
}

// takeBackWithin limits how long a group without its members is in the way.
const takeBackWithin = 5 * time.Second

// takeBack deletes a group that got no members, even if the client is gone: the directory would try again and
// find the name taken.
func (s *Service) takeBack(ctx context.Context, g *Group) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackWithin)
	defer cancel()
	_ = s.store.DeleteGroup(ctx, g.ID) // the error that matters is that of the members
}

func isProvisioned(g *Group) error {
	if g.Source != sourceSCIM {
		return ErrNotFound
	}
	return nil
}

// UpdateProvisionedGroup changes a group, and adds and removes members. A nil name or external ID stays.
func (s *Service) UpdateProvisionedGroup(ctx context.Context, id int64, name, externalID *string, add, remove []int64) error {
	err := s.updateProvisionedGroup(ctx, id, name, externalID)
	if err == nil && len(add)+len(remove) > 0 {
		err = s.store.ChangeMembers(ctx, id, add, remove, isProvisioned)
	}
	return wrap(fmt.Sprintf("update provisioned group %d", id), err)
}

func (s *Service) updateProvisionedGroup(ctx context.Context, id int64, name, externalID *string) error {
	now, err := s.ProvisionedGroup(ctx, id)
	if err != nil || (name == nil || *name == now.Name) && (externalID == nil || *externalID == now.ExternalID) {
		return err
	}
	_, err = s.store.UpdateGroup(ctx, id, func(g *Group) error {
		if err := isProvisioned(g); err != nil {
			return err
		}
		set(&g.Name, name)
		switch {
		case externalID == nil:
		case *externalID != "":
			g.ExternalID = *externalID
		case !strings.HasPrefix(g.ExternalID, noExternalID):
			g.ExternalID = noExternalID + rand.Text()
		}
		g.UpdatedAt = s.instant()
		var fs faults
		fs.group(g)
		return fs.Err()
	})
	return err
}

// DeleteProvisionedGroup deletes a group. It returns [ErrGroupInUse] if a room or a site names it.
func (s *Service) DeleteProvisionedGroup(ctx context.Context, id int64) error {
	_, err := s.ProvisionedGroup(ctx, id)
	if err == nil {
		err = s.store.DeleteGroup(ctx, id)
	}
	return wrap(fmt.Sprintf("delete provisioned group %d", id), err)
}

// ProvisionedGroupsOf returns the groups of a user that a directory has written, by name.
func (s *Service) ProvisionedGroupsOf(ctx context.Context, userID int64) ([]*Group, error) {
	all, err := s.store.GroupsOf(ctx, userID)
	list := []*Group{}
	for _, g := range all {
		if g.Source == sourceSCIM {
			list = append(list, g)
		}
	}
	return list, wrap(fmt.Sprintf("provisioned groups of user %d", userID), err)
}

// ProvisionedMembers returns the members of a group by ID.
func (s *Service) ProvisionedMembers(ctx context.Context, id int64) ([]int64, error) {
	ids, err := s.store.MemberIDs(ctx, id)
	return ids, wrap(fmt.Sprintf("members of provisioned group %d", id), err)
}
