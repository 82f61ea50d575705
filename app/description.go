package app

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// nullable marks a reference in place of an object of which null may be given as well.
const nullable = "x-nullable"

// description is the OpenAPI document of the operations registered so far. It says of objects that
// they may be null, for which huma has no word where the object's schema is named: fields that are
// pointers to structs and are not left out when they are nil, and those marked with x-nullable.
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
	return json.Marshal(open)
}

// nullablePointers adds the names of those fields of a struct that are null in JSON when they are nil.
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

// makeNullable turns a reference into one that may be null instead.
func makeNullable(reference map[string]any) {
	reference["anyOf"] = []any{map[string]any{"$ref": reference["$ref"]}, map[string]any{"type": "null"}}
	delete(reference, "$ref")
	delete(reference, nullable)
}
