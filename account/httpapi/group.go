package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/account/rest"
)

// GroupBody is a group of users.
type GroupBody struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Source     *string   `json:"source" doc:"Identity provider that manages the members, such as oidc:corp or ldap:corp; null if admins do"`
	ExternalID *string   `json:"external_id" doc:"The group at its source: a name, an ID or a DN; null without a source"`
	Members    int       `json:"members" doc:"Number of members"`
	Version    int64     `json:"version" doc:"Version of the group, for If-Match; changes of members do not increase it"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

func groupOf(g *account.Group) GroupBody {
	return GroupBody{
		ID: g.ID, Name: g.Name, Source: rest.OrNull(g.Source), ExternalID: rest.OrNull(g.ExternalID), Members: g.Members,
		Version: g.Version, CreatedAt: g.CreatedAt, UpdatedAt: g.UpdatedAt,
	}
}

// GroupName names a group.
type GroupName struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// MemberBody is a member of a group.
type MemberBody struct {
	ID       int64        `json:"id"`
	Email    string       `json:"email"`
	Name     string       `json:"name"`
	Role     account.Role `json:"role" enum:"member,manager,admin"`
	Disabled bool         `json:"disabled"`
}

type groupOutput struct {
	ETag string `header:"ETag"`
	Body GroupBody
}

type createGroupOutput struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     GroupBody
}

type listGroupsInput struct {
	PageInput
	Q      string `query:"q" maxLength:"200" doc:"Part of the name"`
	UserID int64  `query:"user_id" minimum:"1" doc:"Only groups with this member"`
}

type groupsOutput struct {
	Body struct {
		Items      []GroupBody `json:"items" nullable:"false"`
		NextCursor *string     `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

type createGroupInput struct {
	Body struct {
		Name       string `json:"name"`
		Source     string `json:"source,omitempty" doc:"Identity provider that manages the members, see /groups/sources; omit if admins do"`
		ExternalID string `json:"external_id,omitempty" doc:"The group at its source: a value of the groups claim, or a name or DN in a directory; required with source"`
	}
}

type updateGroupInput struct {
	IDInput
	IfMatchInput
	Body struct {
		Name       *string `json:"name,omitempty"`
		ExternalID *string `json:"external_id,omitempty"`
	}
}

type membersInput struct {
	IDInput
	PageInput
	Q string `query:"q" maxLength:"200" doc:"Part of a name or an address"`
}

type membersOutput struct {
	Body struct {
		Items      []MemberBody `json:"items" nullable:"false"`
		NextCursor *string      `json:"next_cursor" doc:"Cursor of the next page; null on the last page"`
	}
}

type memberInput struct {
	IDInput
	UserID int64 `path:"user_id" minimum:"1"`
}

// SourceBody is an identity provider whose groups can be groups here.
type SourceBody struct {
	Source string `json:"source" example:"oidc:corp"`
	Name   string `json:"name"`
}

type sourcesOutput struct {
	Body struct {
		Items []SourceBody `json:"items" nullable:"false"`
	}
}

func (h *handlers) registerGroups(api huma.API) {
	const one, member = "/groups/{id}", "/groups/{id}/members/{user_id}"
	huma.Register(api, operation("list-groups", http.MethodGet, "/groups", "People", "List groups, by name", http.StatusUnprocessableEntity), h.listGroups)
	huma.Register(api, operation("list-group-sources", http.MethodGet, "/groups/sources", "People", "List the identity providers whose groups can be groups here"), h.groupSources)
	create := operation("create-group", http.MethodPost, "/groups", "People", "Add a group", http.StatusUnprocessableEntity)
	create.DefaultStatus = http.StatusCreated
	huma.Register(api, create, h.createGroup)
	huma.Register(api, operation("get-group", http.MethodGet, one, "People", "Get a group", http.StatusNotFound), h.group)
	huma.Register(api, operation("update-group", http.MethodPatch, one, "People", "Change a group",
		http.StatusNotFound, http.StatusPreconditionFailed, http.StatusUnprocessableEntity), h.updateGroup)
	remove := operation("delete-group", http.MethodDelete, one, "People", "Delete a group that is not in use", http.StatusNotFound, http.StatusConflict)
	remove.DefaultStatus = http.StatusNoContent
	huma.Register(api, remove, h.deleteGroup)
	huma.Register(api, operation("list-group-members", http.MethodGet, one+"/members", "People", "List the members of a group",
		http.StatusNotFound, http.StatusUnprocessableEntity), h.groupMembers)
	add := operation("add-group-member", http.MethodPut, member, "People", "Add a user to a group", http.StatusNotFound, http.StatusConflict)
	add.DefaultStatus = http.StatusNoContent
	huma.Register(api, add, h.addGroupMember)
	drop := operation("remove-group-member", http.MethodDelete, member, "People", "Remove a user from a group", http.StatusNotFound, http.StatusConflict)
	drop.DefaultStatus = http.StatusNoContent
	huma.Register(api, drop, h.removeGroupMember)
}

func (h *handlers) listGroups(ctx context.Context, in *listGroupsInput) (*groupsOutput, error) {
	groups, next, err := h.svc.ListGroups(ctx, account.GroupQuery{Text: in.Q, UserID: in.UserID}, in.page())
	if err != nil {
		return nil, err
	}
	out := &groupsOutput{}
	out.Body.Items, out.Body.NextCursor = make([]GroupBody, len(groups)), rest.OrNull(next)
	for i, g := range groups {
		out.Body.Items[i] = groupOf(g)
	}
	return out, nil
}

func (h *handlers) groupSources(context.Context, *struct{}) (*sourcesOutput, error) {
	out := &sourcesOutput{}
	out.Body.Items = []SourceBody{}
	for _, s := range h.svc.Sources() {
		out.Body.Items = append(out.Body.Items, SourceBody{s.Key, s.Name})
	}
	return out, nil
}

func (h *handlers) createGroup(ctx context.Context, in *createGroupInput) (*createGroupOutput, error) {
	g, err := h.svc.CreateGroup(ctx, in.Body.Name, in.Body.Source, in.Body.ExternalID)
	if err != nil {
		return nil, err
	}
	return &createGroupOutput{Location: fmt.Sprintf("%s/groups/%d", h.base, g.ID), ETag: rest.ETag(g.Version), Body: groupOf(g)}, nil
}

func outputOfGroup(g *account.Group, err error) (*groupOutput, error) {
	if err != nil {
		return nil, err
	}
	return &groupOutput{ETag: rest.ETag(g.Version), Body: groupOf(g)}, nil
}

func (h *handlers) group(ctx context.Context, in *struct{ IDInput }) (*groupOutput, error) {
	return outputOfGroup(h.svc.Group(ctx, in.ID))
}

func (h *handlers) updateGroup(ctx context.Context, in *updateGroupInput) (*groupOutput, error) {
	return outputOfGroup(h.svc.UpdateGroup(ctx, in.ID, rest.IfMatch(in.IfMatch), account.GroupPatch{Name: in.Body.Name, ExternalID: in.Body.ExternalID}))
}

func (h *handlers) deleteGroup(ctx context.Context, in *struct{ IDInput }) (*struct{}, error) {
	return nil, h.svc.DeleteGroup(ctx, in.ID)
}

func (h *handlers) groupMembers(ctx context.Context, in *membersInput) (*membersOutput, error) {
	members, next, err := h.svc.GroupMembers(ctx, in.ID, in.Q, in.page())
	if err != nil {
		return nil, err
	}
	out := &membersOutput{}
	out.Body.Items, out.Body.NextCursor = make([]MemberBody, len(members)), rest.OrNull(next)
	for i, u := range members {
		out.Body.Items[i] = MemberBody{ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, Disabled: !u.Active()}
	}
	return out, nil
}

func (h *handlers) addGroupMember(ctx context.Context, in *memberInput) (*struct{}, error) {
	return nil, h.svc.ChangeMembers(ctx, in.ID, []int64{in.UserID}, nil)
}

func (h *handlers) removeGroupMember(ctx context.Context, in *memberInput) (*struct{}, error) {
	return nil, h.svc.ChangeMembers(ctx, in.ID, nil, []int64{in.UserID})
}

// groupsOf returns the names of a user's groups.
func (h *handlers) groupsOf(ctx context.Context, userID int64) ([]GroupName, error) {
	groups, err := h.svc.GroupsOf(ctx, userID)
	names := make([]GroupName, len(groups))
	for i, g := range groups {
		names[i] = GroupName{g.ID, g.Name}
	}
	return names, err
}
