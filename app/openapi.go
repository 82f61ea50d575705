package app

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// nullable marks a reference to an object that may also be null.
const nullable = "x-nullable"

// description returns the OpenAPI document of the operations registered so far. It adds what huma
// cannot express: objects with a named schema that may be null (fields that are pointers to structs
// and are not left out when nil, and those marked with x-nullable), null among the values of a
// nullable enum, and one shared response for each status of a problem instead of a copy in every
// operation.
func description(api huma.API) ([]byte, error) {
	doc, schemas := api.OpenAPI(), api.OpenAPI().Components.Schemas
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var open map[string]any
	if err := json.Unmarshal(text, &open); err != nil {
		return nil, err
	}
	named := open["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range schemas.Map() {
		pointers := map[string]bool{}
		nullablePointers(schemas.TypeFromRef("#/components/schemas/"+name), pointers)
		for field, p := range s.Properties {
			if p.Ref != "" && (p.Extensions[nullable] != nil || pointers[field]) {
				makeNullable(named[name].(map[string]any)["properties"].(map[string]any)[field].(map[string]any))
			}
		}
	}
	nullableEnums(open)
	shareProblems(open)
	return json.Marshal(open)
}

func nullableEnums(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			nullableEnums(e)
		}
	case map[string]any:
		types, _ := v["type"].([]any)
		if values, ok := v["enum"].([]any); ok && slices.Contains(types, any("null")) && !slices.Contains(values, nil) {
			v["enum"] = append(values, nil)
		}
		for _, e := range v {
			nullableEnums(e)
		}
	}
}

// shareProblems moves the responses that are a problem and nothing else to the components, one for each status.
func shareProblems(open map[string]any) {
	shared := map[string]any{}
	for _, item := range open["paths"].(map[string]any) {
		for _, op := range item.(map[string]any) {
			responses, _ := op.(map[string]any)["responses"].(map[string]any)
			for status, r := range responses {
				response := r.(map[string]any)
				content, _ := response["content"].(map[string]any)
				if status < "400" || len(content) != 1 || content["application/problem+json"] == nil || response["headers"] != nil {
					continue
				}
				code, err := strconv.Atoi(status)
				if err != nil {
					continue
				}
				name := strings.ReplaceAll(http.StatusText(code), " ", "")
				shared[name] = map[string]any{"description": http.StatusText(code), "content": content}
				responses[status] = map[string]any{"$ref": "#/components/responses/" + name}
			}
		}
	}
	open["components"].(map[string]any)["responses"] = shared
}

func nullablePointers(t reflect.Type, into map[string]bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			nullablePointers(f.Type, into)
		case f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit"):
			into[name] = true
		}
	}
}

func makeNullable(reference map[string]any) {
	reference["anyOf"] = []any{map[string]any{"$ref": reference["$ref"]}, map[string]any{"type": "null"}}
	delete(reference, "$ref")
	delete(reference, nullable)
}
