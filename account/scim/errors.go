package scim

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"punctual/account"
	"punctual/account/fault"
)

// Error is a response of RFC 7644, section 3.12.
type Error struct {
	Status int
	Type   string // scimType; "": none
	Detail string
}

func (e *Error) Error() string { return e.Detail }

// Values of scimType.
const (
	invalidFilter = "invalidFilter"
	invalidPath   = "invalidPath"
	invalidSyntax = "invalidSyntax"
	invalidValue  = "invalidValue"
	noTarget      = "noTarget"
	mutability    = "mutability"
	uniqueness    = "uniqueness"
	tooMany       = "tooMany"
)

func refuse(kind, format string, args ...any) *Error {
	status := http.StatusBadRequest
	if kind == uniqueness {
		status = http.StatusConflict
	}
	return &Error{Status: status, Type: kind, Detail: fmt.Sprintf(format, args...)}
}

// attributes are the names that SCIM gives to fields of users and groups.
var attributes = map[string]string{
	"body.email": "emails", "body.user_name": "userName", "body.name": "displayName", "body.phone": "phoneNumbers", "body.locale": "preferredLanguage",
	"body.timezone": "timezone", "body.external_id": "externalId", "body.disabled": "active", "body.role": "active",
}

// errorOf returns the response to a client for err, or nil if err is internal.
func errorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*account.InvalidError](err); ok {
		kind, texts := invalidValue, make([]string, len(e.Faults))
		for i, f := range e.Faults {
			name := attributes[f.Location]
			if name == "" {
				name = strings.TrimPrefix(f.Location, "body.")
			}
			texts[i] = name + ": " + f.Message
			switch f.Code {
			case "taken":
				kind = uniqueness
			case "last_admin":
				kind = mutability
			}
		}
		return refuse(kind, "%s", strings.Join(texts, "; "))
	}
	if _, ok := errors.AsType[*fault.VersionError](err); ok {
		return &Error{Status: http.StatusPreconditionFailed, Detail: "The resource has changed since."}
	}
	if e, ok := errors.AsType[*account.GroupError](err); ok {
		return &Error{Status: http.StatusConflict, Detail: e.Detail}
	}
	switch {
	case errors.Is(err, account.ErrNotFound):
		return &Error{Status: http.StatusNotFound, Detail: "There is no such resource."}
	case errors.Is(err, account.ErrUnauthorized):
		return &Error{Status: http.StatusUnauthorized, Detail: "A token with the scope scim is required."}
	case errors.Is(err, account.ErrForbidden):
		return &Error{Status: http.StatusForbidden, Detail: "The token does not have the scope scim."}
	}
	return nil
}
