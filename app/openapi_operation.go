package app

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/app/idempotency"
	"punctual/app/problem"
)

// describeShared adds to an operation the parameters and responses of the shared middleware, which
// handlers do not declare.
func describeShared(api *huma.OpenAPI, op *huma.Operation) {
	op.BodyReadTimeout = -1 // [receiveBody] has read it; a deadline left on the connection would end a longer request
	statuses := []int{http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if !account.Public(op.OperationID) {
		statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden)
		if op.Method == http.MethodPost {
			op.Parameters = append(op.Parameters, idempotencyParameter())
			statuses = append(statuses, http.StatusConflict)
		}
	}
	if op.Method != http.MethodGet { // the protection against cross-site requests
		statuses = append(statuses, http.StatusForbidden)
	}
	names := func(p *huma.Param) bool { return p.Name == "room_id" || p.Name == "series_id" } // these may not exist
	if strings.Contains(op.Path, "{") || slices.ContainsFunc(op.Parameters, names) {
		statuses = append(statuses, http.StatusNotFound)
	}
	if op.RequestBody != nil {
		statuses = append(statuses, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	for _, status := range statuses {
		code := strconv.Itoa(status)
		if op.Responses[code] == nil {
			op.Responses[code] = problemResponse(http.StatusText(status), api.Components.Schemas)
		}
	}
}

func idempotencyParameter() *huma.Param {
	least, most := 1, 255
	return &huma.Param{
		Name: idempotency.Header, In: "header",
		Description: "Unique key of this request. For 24 hours, the same key and body return the first response; another body returns 422",
		Schema:      &huma.Schema{Type: huma.TypeString, MinLength: &least, MaxLength: &most},
		Example:     "9f1c2c1e-5d0b-4a43-9d0e-2f6c0a7b1e55",
	}
}

func problemResponse(description string, schemas huma.Registry) *huma.Response {
	return &huma.Response{
		Description: description,
		Content:     map[string]*huma.MediaType{"application/problem+json": {Schema: schemas.Schema(reflect.TypeFor[problem.Problem](), true, "")}},
	}
}
