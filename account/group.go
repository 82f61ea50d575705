package account

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
)

// Group is a set of users, for access to rooms. The identity provider manages the members of a group with
// a Source.
type Group struct {
	ID         int64
	Name       string // unique, ignoring case
	Source     string // such as "oidc:corp", "ldap:corp" or "scim"; "": none
	ExternalID string // at the source: a name, an ID or a DN; "" if and only if Source is ""
	Members    int    // number of members; read only
	Version    int64  // incremented by each change, except of members
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Source is an identity provider whose groups can be groups here.
type Source struct {
	Key  string // of [Group]
	Name string // for people
}

// GroupQuery selects groups. Zero fields select all.
type GroupQuery struct {
	Text   string // part of the name, ignoring case
	UserID int64  // is a member
}

// GroupStore is the part of [Store] for groups and their members. [User].Groups follows from them in
// the same transaction.
type GroupStore interface {
	CreateGroup(ctx context.Context, g *Group) error // sets ID
	Group(ctx context.Context, id int64) (*Group, error)
	ListGroups(ctx context.Context, q GroupQuery, p Page) (groups []*Group, next string, err error) // by name
	GroupsOf(ctx context.Context, userID int64) ([]*Group, error)                                   // by name, without the number of members
	// UpdateGroup locks the group, calls fn and saves the group with the next Version.
	UpdateGroup(ctx context.Context, id int64, fn func(*Group) error) (*Group, error)
	// DeleteGroup returns [ErrGroupInUse] if a room or a site names the group.
	DeleteGroup(ctx context.Context, id int64) error
	// GroupMembers returns members by ID, including disabled users. text is part of a name or address.
	GroupMembers(ctx context.Context, id int64, text string, p Page) (members []*User, next string, err error)
	// ChangeMembers locks the group, calls check, and adds and removes members. Adding a member again and
	// removing another user change nothing. It returns [ErrNotFound] if a user to add does not exist.
	ChangeMembers(ctx context.Context, id int64, add, remove []int64, check func(*Group) error) error
	// HasGroupsOf reports whether there are groups of a source.
	HasGroupsOf(ctx context.Context, source string) (bool, error)
	// SetMemberships makes the user a member of exactly those groups of a source whose ExternalID
	// satisfies in.
	SetMemberships(ctx context.Context, userID int64, source string, in func(externalID string) bool) error
}

const maxExternalID = 1000

// Errors of groups.
var (
	// ErrGroupInUse means that access to a room or a site depends on the group.
	ErrGroupInUse = &GroupError{State: "in_use", Detail: "Rooms, sites or quotas name the group. Remove it there first."}
	// ErrGroupProvided means that an identity provider manages the members.
	ErrGroupProvided = &GroupError{State: "provided", Detail: "The identity provider manages the members of this group."}
	// ErrGroupNameTaken is what a [Store] returns when another group has the name.
	ErrGroupNameTaken error = fault.Invalid("body.name", "taken", "belongs to another group")
	// ErrGroupExternalTaken is what a [Store] returns when another group has the same source and external ID.
	ErrGroupExternalTaken error = fault.Invalid("body.external_id", "taken", "belongs to another group")
)

// GroupError reports that a group cannot be changed in its current state.
type GroupError struct{ State, Detail string }

func (e *GroupError) Error() string { return e.Detail }

// GroupPatch changes the fields that are not nil.
type GroupPatch struct{ Name, ExternalID *string }

// Sources returns the identity providers whose groups can be groups here, except those that manage
// their groups by SCIM.
func (s *Service) Sources() []Source { return s.sources }

// CreateGroup adds a group. source is empty or one of [Service.Sources]. It returns an [*InvalidError]
// with all faults.
func (s *Service) CreateGroup(ctx context.Context, name, source, externalID string) (*Group, error) {
	now := s.instant()
	g := &Group{Name: name, Source: source, ExternalID: externalID, Version: 1, CreatedAt: now, UpdatedAt: now}
	var fs faults
	if source != "" && !slices.ContainsFunc(s.sources, func(known Source) bool { return known.Key == source }) {
		fs.add("source", "unknown_value", "must be a configured identity provider, such as oidc:corp, or omitted")
	}
	fs.group(g)
	err := fs.Err()
	if err == nil {
		err = s.store.CreateGroup(ctx, g)
	}
	if err != nil {
		return nil, fmt.Errorf("create group: %w", err)
	}
	return g, nil
}

func (fs *faults) group(g *Group) {
	g.Name = fs.text("name", g.Name)
	switch {
	case g.Source == "" && g.ExternalID != "":
		fs.add("external_id", "contradiction", "must be omitted without a source")
	case g.Source != "" && !fault.Visible(g.ExternalID):
		fs.add("external_id", "required", "is required with a source: the group's name, ID or DN at the provider")
	case g.Source != "":
		fs.Line("body.external_id", g.ExternalID, maxExternalID)
	}
}

// Group returns a group, or [ErrNotFound].
func (s *Service) Group(ctx context.Context, id int64) (*Group, error) {
	g, err := s.store.Group(ctx, id)
	return g, wrap(fmt.Sprintf("group %d", id), err)
}

// ListGroups returns groups by name.
func (s *Service) ListGroups(ctx context.Context, q GroupQuery, p Page) (groups []*Group, next string, err error) {
	groups, next, err = s.store.ListGroups(ctx, q, p.bounded())
	return groups, next, wrap("list groups", err)
}

// GroupsOf returns the groups of a user by name, without their number of members.
func (s *Service) GroupsOf(ctx context.Context, userID int64) ([]*Group, error) {
	groups, err := s.store.GroupsOf(ctx, userID)
	return groups, wrap(fmt.Sprintf("groups of user %d", userID), err)
}

// UpdateGroup changes a group. If ifMatch is not nil and not the current version, it returns a
// [*VersionError].
func (s *Service) UpdateGroup(ctx context.Context, id int64, ifMatch *int64, p GroupPatch) (*Group, error) {
	g, err := s.store.UpdateGroup(ctx, id, func(g *Group) error {
		if err := fault.CheckVersion(ifMatch, g.Version); err != nil {
			return err
		}
		set(&g.Name, p.Name)
		set(&g.ExternalID, p.ExternalID)
		g.UpdatedAt = s.instant()
		var fs faults
		fs.group(g)
		return fs.Err()
	})
	return g, wrap(fmt.Sprintf("update group %d", id), err)
}

// DeleteGroup deletes a group and its memberships. It returns [ErrGroupInUse] if a room or a site names
// the group, because without the group everyone might get access.
func (s *Service) DeleteGroup(ctx context.Context, id int64) error {
	return wrap(fmt.Sprintf("delete group %d", id), s.store.DeleteGroup(ctx, id))
}

// GroupMembers returns members of a group by ID, including disabled users. It returns [ErrNotFound] for
// an unknown group.
func (s *Service) GroupMembers(ctx context.Context, id int64, text string, p Page) (members []*User, next string, err error) {
	if _, err = s.store.Group(ctx, id); err == nil {
		members, next, err = s.store.GroupMembers(ctx, id, text, p.bounded())
	}
	return members, next, wrap(fmt.Sprintf("members of group %d", id), err)
}

// ChangeMembers adds and removes members of a group without a source; for others it returns
// [ErrGroupProvided]. It returns [ErrNotFound] for an unknown group or user to add.
func (s *Service) ChangeMembers(ctx context.Context, id int64, add, remove []int64) error {
	err := s.store.ChangeMembers(ctx, id, add, remove, func(g *Group) error {
		if g.Source != "" {
			return ErrGroupProvided
		}
		return nil
	})
	return wrap(fmt.Sprintf("change members of group %d", id), err)
}

// adoptGroups makes u a member of the groups that a provider returned.
func (s *Service) adoptGroups(ctx context.Context, u *User, id Identity) error {
	if id.Source == "" || id.InGroup == nil {
		return nil
	}
	actor := WithPrincipal(ctx, principal(u, &Token{})) // for the audit log
	return s.store.SetMemberships(actor, u.ID, id.Source, id.InGroup)
}
