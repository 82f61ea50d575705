package scim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"punctual/account"
)

// Root is the path below which the server answers.
const Root = "/scim/v2/"

// MaxBody limits the body of a request, in bytes: enough for a group with ten thousand members.
const MaxBody = 4 << 20

// Pages of lists.
const (
	defaultPage = 100
	maxPage     = 500
)

// Methods are the HTTP methods below [Root].
var Methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// Server serves requests of directories. The caller has checked their rights.
type Server struct {
	Accounts *account.Service
	Base     string // address of [Root], with a slash at the end
	// Leave starts the departure of a user whom the directory deletes. It disables the user.
	Leave func(ctx context.Context, userID int64) error
	Log   *slog.Logger
}

// Refuse writes an error in the format of SCIM.
func Refuse(w http.ResponseWriter, status int, detail string) {
	write(w, &Error{Status: status, Detail: detail})
}

func write(w http.ResponseWriter, e *Error) {
	body := map[string]any{
		"schemas": []string{"urn:ietf:params:scim:api:messages:2.0:Error"}, "status": strconv.Itoa(e.Status), "detail": e.Detail,
	}
	if e.Type != "" {
		body["scimType"] = e.Type
	}
	answer(w, e.Status, body)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/scim+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // fails only if the client is gone
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body, err := s.serve(w, r)
	if err != nil {
		e := errorOf(err)
		if e == nil {
			s.Log.Error("scim request failed", "method", r.Method, "path", r.URL.Path, "error", err)
			e = &Error{Status: http.StatusInternalServerError, Detail: "Internal Server Error"}
		}
		write(w, e)
		return
	}
	if body == nil {
		w.WriteHeader(status)
		return
	}
	if created, ok := body.(map[string]any); ok && status == http.StatusCreated {
		if m, ok := created["meta"].(map[string]any); ok {
			w.Header().Set("Location", m["location"].(string))
		}
	}
	answer(w, status, body)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) (status int, body any, err error) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Root), "/")
	if kind == "ServiceProviderConfig" || kind == "ResourceTypes" || kind == "Schemas" {
		return s.describe(r, kind, id)
	}
	if kind != "Users" && kind != "Groups" {
		return 0, nil, &Error{Status: http.StatusNotFound, Detail: "There is nothing at this path."}
	}
	var content []byte
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		if content, err = read(r); err != nil {
			return 0, nil, err
		}
	}
	if id == "" {
		switch r.Method {
		case http.MethodGet:
			return s.list(r, kind)
		case http.MethodPost:
			return s.create(r.Context(), kind, content)
		}
		return 0, nil, &Error{Status: http.StatusMethodNotAllowed, Detail: "The resource does not support this method."}
	}
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, nil, account.ErrNotFound
	}
	if kind == "Users" {
		status, body, err = s.user(r, number, content)
	} else {
		status, body, err = s.group(r, number, content)
	}
	if resource, ok := body.(map[string]any); ok && err == nil {
		body = selected(resource, r.URL.Query().Get("attributes"), r.URL.Query().Get("excludedAttributes"))
	}
	return status, body, err
}

func read(r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/scim+json" && kind != "application/json" {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Detail: "The body must be application/scim+json."}
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge || len(b) > MaxBody {
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Detail: "The body must be at most 4 MiB."}
	}
	if err != nil {
		return nil, refuse(invalidSyntax, "the body ended early")
	}
	return b, nil
}

func (s *Server) create(ctx context.Context, kind string, content []byte) (int, any, error) {
	if kind == "Users" {
		p, err := readUser(content)
		if err != nil {
			return 0, nil, err
		}
		made, err := s.Accounts.Provision(ctx, p)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, resourceOfUser(s.Base, made, []*account.Group{}), nil
	}
	var g groupResource
	if err := decode(content, &g); err != nil {
		return 0, nil, err
	}
	members, err := idsOf(g.Members)
	if err != nil {
		return 0, nil, err
	}
	made, err := s.Accounts.ProvisionGroup(ctx, g.DisplayName, g.ExternalID, members)
	if errors.Is(err, account.ErrNotFound) {
		return 0, nil, refuse(invalidValue, "members: must be users that exist")
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, resourceOfGroup(s.Base, made, members), nil
}

func (s *Server) user(r *http.Request, id int64, content []byte) (int, any, error) {
	ctx := r.Context()
	p, err := s.Accounts.Provisioned(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	switch r.Method {
	case http.MethodGet:
	case http.MethodPut, http.MethodPatch:
		var wanted account.Provisioned
		if r.Method == http.MethodPut {
			wanted, err = readUser(content)
		} else {
			wanted, err = patchUser(p, content)
		}
		if err != nil {
			return 0, nil, err
		}
		if p, err = s.Accounts.UpdateProvisioned(ctx, id, wanted); err != nil {
			return 0, nil, err
		}
	case http.MethodDelete:
		if err := s.Leave(ctx, id); err != nil {
			return 0, nil, err
		}
		return http.StatusNoContent, nil, s.Accounts.RemoveProvisioned(ctx, id)
	default:
		return 0, nil, &Error{Status: http.StatusMethodNotAllowed, Detail: "The resource does not support this method."}
	}
	groups, err := s.Accounts.ProvisionedGroupsOf(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, resourceOfUser(s.Base, p, groups), nil
}

func (s *Server) group(r *http.Request, id int64, content []byte) (int, any, error) {
	ctx := r.Context()
	if _, err := s.Accounts.ProvisionedGroup(ctx, id); err != nil {
		return 0, nil, err
	}
	var change *groupChange
	switch r.Method {
	case http.MethodGet:
	case http.MethodPut:
		var g groupResource
		if err := decode(content, &g); err != nil {
			return 0, nil, err
		}
		members, err := idsOf(g.Members)
		if err != nil {
			return 0, nil, err
		}
		change = &groupChange{Name: &g.DisplayName, ExternalID: &g.ExternalID}
		change.replace(members)
	case http.MethodPatch:
		var err error
		if change, err = readGroupChange(content); err != nil {
			return 0, nil, err
		}
	case http.MethodDelete:
		return http.StatusNoContent, nil, s.Accounts.DeleteProvisionedGroup(ctx, id)
	default:
		return 0, nil, &Error{Status: http.StatusMethodNotAllowed, Detail: "The resource does not support this method."}
	}
	if change != nil {
		if err := s.changeGroup(ctx, id, change); err != nil {
			return 0, nil, err
		}
	}
	if r.Method == http.MethodPatch { // the answer would list all members
		return http.StatusNoContent, nil, nil
	}
	g, err := s.Accounts.ProvisionedGroup(ctx, id)
	if err != nil {
		return 0, nil, err
	}
	members, err := s.Accounts.ProvisionedMembers(ctx, id)
	return http.StatusOK, resourceOfGroup(s.Base, g, append([]int64{}, members...)), err
}

func (s *Server) changeGroup(ctx context.Context, id int64, c *groupChange) error {
	add, remove := c.members()
	if c.All {
		before, err := s.Accounts.ProvisionedMembers(ctx, id)
		if err != nil {
			return err
		}
		add, remove = difference(before, add)
	}
	err := s.Accounts.UpdateProvisionedGroup(ctx, id, c.Name, c.ExternalID, add, remove)
	if errors.Is(err, account.ErrNotFound) && len(add) > 0 {
		return refuse(invalidValue, "members: must be users that exist")
	}
	return err
}

func (s *Server) list(r *http.Request, kind string) (int, any, error) {
	query := r.URL.Query()
	start, err := number(query.Get("startIndex"), "startIndex", 1)
	if err != nil {
		return 0, nil, err
	}
	count, err := number(query.Get("count"), "count", defaultPage)
	if err != nil {
		return 0, nil, err
	}
	start, count = max(start, 1), min(max(count, 0), maxPage)
	var total int64
	var items []map[string]any
	none := false
	if kind == "Users" {
		var q account.ProvisionedQuery
		if q, none, err = queryOfUsers(query.Get("filter")); err == nil && !none {
			var users []*account.Provisioned
			users, total, err = s.Accounts.ListProvisioned(r.Context(), q, start-1, count)
			for _, p := range users {
				items = append(items, resourceOfUser(s.Base, p, nil))
			}
		}
	} else {
		var q account.ProvisionedGroupQuery
		if q, none, err = queryOfGroups(query.Get("filter")); err == nil && !none {
			var groups []*account.Group
			groups, total, err = s.Accounts.ListProvisionedGroups(r.Context(), q, start-1, count)
			for _, g := range groups {
				items = append(items, resourceOfGroup(s.Base, g, nil))
			}
		}
	}
	if err != nil {
		return 0, nil, err
	}
	resources := make([]any, len(items))
	for i, item := range items {
		resources[i] = selected(item, query.Get("attributes"), query.Get("excludedAttributes"))
	}
	return http.StatusOK, listOf(resources, total, start), nil
}

func listOf(resources []any, total int64, start int) map[string]any {
	return map[string]any{
		"schemas":      []any{"urn:ietf:params:scim:api:messages:2.0:ListResponse"},
		"totalResults": total, "startIndex": start, "itemsPerPage": len(resources), "Resources": resources,
	}
}

func number(text, name string, missing int) (int, error) {
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n > 1_000_000_000 || n < -1_000_000_000 {
		return 0, refuse(invalidValue, "%s: must be a whole number", name)
	}
	return n, nil
}
