package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// DelegateBody is a user who acts for another, or for whom another acts.
type DelegateBody struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Email     string    `json:"email"`
	Private   bool      `json:"private" doc:"Whether private meetings are included: the delegate sees them and acts on them"`
	CreatedAt time.Time `json:"created_at"`
}

type delegatesOutput struct {
	Body struct {
		Items []DelegateBody `json:"items" nullable:"false"`
	}
}

func outputOfDelegates(ds []account.Delegate, err error) (*delegatesOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &delegatesOutput{}
	out.Body.Items = make([]DelegateBody, len(ds))
	for i, d := range ds {
		out.Body.Items[i] = DelegateBody{ID: d.UserID, Name: d.Name, Email: d.Email, Private: d.Private, CreatedAt: d.CreatedAt}
	}
	return out, nil
}

// DelegateFields are what a delegate may do.
type DelegateFields struct {
	Private bool `json:"private,omitempty" doc:"Whether the delegate also sees private meetings and acts on them"`
}

type setMyDelegateInput struct {
	UserID int64 `path:"user_id" minimum:"1"`
	Body   *DelegateFields
}

type setDelegateInput struct {
	IDInput
	UserID int64 `path:"user_id" minimum:"1"`
	Body   *DelegateFields
}

type myDelegateInput struct {
	UserID int64 `path:"user_id" minimum:"1"`
}

func (b *DelegateFields) private() bool { return b != nil && b.Private }

func (h *handlers) registerDelegates(api huma.API) {
	add := func(id, method, path, summary string, errors ...int) huma.Operation {
		op := operation(id, method, path, "People", summary, errors...)
		if method != http.MethodGet {
			op.DefaultStatus = http.StatusNoContent
		}
		return op
	}
	const mine, theirs = "/me/delegates", "/users/{id}/delegates"
	set := "A delegate books, changes and cancels meetings for the user, and responds and checks in for them, with the user's rights in rooms and limits. The history names both. Repeating the request changes private."
	huma.Register(api, add("list-my-delegates", http.MethodGet, mine, "List the users who may act for me, by name"), h.myDelegates)
	one := add("set-my-delegate", http.MethodPut, mine+"/{user_id}", "Let a user act for me", http.StatusUnprocessableEntity)
	one.Description = set
	huma.Register(api, one, h.setMyDelegate)
	huma.Register(api, add("remove-my-delegate", http.MethodDelete, mine+"/{user_id}", "No longer let a user act for me", http.StatusNotFound), h.removeMyDelegate)
	huma.Register(api, add("list-my-principals", http.MethodGet, "/me/principals", "List the users for whom I may act, by name"), h.myPrincipals)
	huma.Register(api, add("list-user-delegates", http.MethodGet, theirs, "List the delegates of a user, by name", http.StatusNotFound), h.userDelegates)
	one = add("set-user-delegate", http.MethodPut, theirs+"/{user_id}", "Let a user act for another", http.StatusNotFound, http.StatusUnprocessableEntity)
	one.Description = set
	huma.Register(api, one, h.setUserDelegate)
	huma.Register(api, add("remove-user-delegate", http.MethodDelete, theirs+"/{user_id}", "No longer let a user act for another", http.StatusNotFound), h.removeUserDelegate)
}

func (h *handlers) myDelegates(ctx context.Context, _ *struct{}) (*delegatesOutput, error) {
	return outputOfDelegates(h.svc.Delegates(ctx, caller(ctx).UserID))
}

func (h *handlers) myPrincipals(ctx context.Context, _ *struct{}) (*delegatesOutput, error) {
	return outputOfDelegates(h.svc.DelegatedTo(ctx, caller(ctx).UserID))
}

func (h *handlers) setMyDelegate(ctx context.Context, in *setMyDelegateInput) (*struct{}, error) {
	return nil, h.svc.SetDelegate(ctx, caller(ctx).UserID, in.UserID, in.Body.private())
}

func (h *handlers) removeMyDelegate(ctx context.Context, in *myDelegateInput) (*struct{}, error) {
	return nil, h.svc.RemoveDelegate(ctx, caller(ctx).UserID, in.UserID)
}

func (h *handlers) userDelegates(ctx context.Context, in *struct{ IDInput }) (*delegatesOutput, error) {
	return outputOfDelegates(h.svc.Delegates(ctx, in.ID))
}

func (h *handlers) setUserDelegate(ctx context.Context, in *setDelegateInput) (*struct{}, error) {
	return nil, h.svc.SetDelegate(ctx, in.ID, in.UserID, in.Body.private())
}

func (h *handlers) removeUserDelegate(ctx context.Context, in *memberInput) (*struct{}, error) {
	return nil, h.svc.RemoveDelegate(ctx, in.ID, in.UserID)
}
