package scim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	filter "github.com/scim2/filter-parser/v2"
)

// maxOperations limits the operations of one PATCH.
const maxOperations = 1000

// operation is one of a change (RFC 7644, section 3.5.2).
type operation struct {
	Op    string          `json:"op"` // add, replace or remove; Entra ID writes them with a capital
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

type patchRequest struct {
	Operations []operation `json:"Operations"`
}

func (p *patchRequest) check() error {
	if len(p.Operations) == 0 {
		return refuse(invalidSyntax, "Operations: is required")
	}
	if len(p.Operations) > maxOperations {
		return refuse(tooMany, "Operations: must have at most %d", maxOperations)
	}
	for i := range p.Operations {
		o := &p.Operations[i]
		o.Op = strings.ToLower(o.Op)
		if !slices.Contains([]string{"add", "replace", "remove"}, o.Op) {
			return refuse(invalidSyntax, "Operations[%d].op: must be add, replace or remove", i)
		}
		if o.Op == "remove" && o.Path == "" {
			return refuse(noTarget, "Operations[%d].path: is required to remove", i)
		}
		if o.Op != "remove" && (len(o.Value) == 0 || string(o.Value) == "null" && o.Op == "add") {
			return refuse(invalidValue, "Operations[%d].value: is required", i)
		}
	}
	return nil
}

func (o *operation) path() (filter.Path, error) {
	if len(o.Path) > maxFilter {
		return filter.Path{}, refuse(invalidPath, "path: must be at most %d bytes", maxFilter)
	}
	p, err := filter.ParsePath([]byte(o.Path))
	if err != nil {
		return filter.Path{}, refuse(invalidPath, "path: must be an attribute such as name.givenName or emails[type eq \"work\"].value")
	}
	return p, nil
}

// apply applies one operation to a resource in JSON. It does not know the attributes: unknown ones are
// added, and ignored when the resource is parsed again.
func (o *operation) apply(resource map[string]any) error {
	var value any
	if len(o.Value) > 0 {
		if err := json.Unmarshal(o.Value, &value); err != nil {
			return refuse(invalidSyntax, "value: must be JSON")
		}
	}
	if o.Path == "" {
		return applyAll(resource, o.Op, value)
	}
	p, err := o.path()
	if err != nil {
		return err
	}
	name, sub := p.AttributePath.AttributeName, p.AttributePath.SubAttributeName()
	if p.ValueExpression != nil {
		return o.applyToValues(resource, p, value)
	}
	return set(resource, o.Op, name, sub, value)
}

// applyAll applies an operation without a path to each attribute in its value. Entra ID and Okta also send
// paths as names: {"name.givenName": "Ada"}.
func applyAll(resource map[string]any, op string, value any) error {
	attributes, ok := value.(map[string]any)
	if !ok {
		return refuse(invalidValue, "value: must be an object without a path")
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		v := attributes[name]
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if strings.HasPrefix(strings.ToLower(name), "urn:") || name == "schemas" {
			continue // of an extension, which is not stored
		}
		inner := operation{Op: op, Path: name, Value: raw}
		if err := inner.apply(resource); err != nil {
			return err
		}
	}
	return nil
}

// key returns the spelling of an attribute's name in an object, ignoring case, or name if there is none.
func key(object map[string]any, name string) string {
	if _, ok := object[name]; ok {
		return name
	}
	for k := range object {
		if strings.EqualFold(k, name) {
			return k
		}
	}
	return name
}

func set(object map[string]any, op, name, sub string, value any) error {
	at := key(object, name)
	if sub != "" {
		inner, ok := object[at].(map[string]any)
		if _, isList := object[at].([]any); isList {
			return refuse(invalidPath, "path: %s has several values; select one, such as %s[type eq \"work\"].%s", name, name, sub)
		}
		if !ok {
			if op == "remove" {
				return nil
			}
			inner = map[string]any{}
			object[at] = inner
		}
		return set(inner, op, sub, "", value)
	}
	switch {
	case op == "remove":
		delete(object, at)
	case op == "add":
		list, isList := object[at].([]any)
		more, several := value.([]any)
		inner, isObject := object[at].(map[string]any)
		fields, areFields := value.(map[string]any)
		switch {
		case isList && several:
			object[at] = append(list, more...)
		case isList:
			object[at] = append(list, value)
		case isObject && areFields:
			maps.Copy(inner, fields)
		default:
			object[at] = value
		}
	default:
		inner, isObject := object[at].(map[string]any)
		fields, areFields := value.(map[string]any)
		if isObject && areFields { // a part of name, say; the others stay
			maps.Copy(inner, fields)
		} else {
			object[at] = value
		}
	}
	return nil
}

// applyToValues changes the values of an attribute that a filter selects. If there is none, add and replace
// create one that the filter would select, as Entra ID expects.
func (o *operation) applyToValues(resource map[string]any, p filter.Path, value any) error {
	conditions, err := conditionsOfValue(p.ValueExpression)
	if err != nil {
		return err
	}
	at := key(resource, p.AttributePath.AttributeName)
	list, _ := resource[at].([]any)
	sub := p.SubAttributeName()
	var kept []any
	found := false
	for _, v := range list {
		item, ok := v.(map[string]any)
		if !ok || !matches(item, conditions) {
			kept = append(kept, v)
			continue
		}
		found = true
		switch {
		case sub == "" && o.Op == "remove":
			continue
		case sub == "":
			fields, ok := value.(map[string]any)
			if !ok {
				return refuse(invalidValue, "value: must be an object at the path %s", o.Path)
			}
			maps.Copy(item, fields)
		default:
			if err := set(item, o.Op, sub, "", value); err != nil {
				return err
			}
		}
		kept = append(kept, item)
	}
	if !found && o.Op != "remove" {
		item := map[string]any{}
		for _, c := range conditions {
			item[c.Attribute] = c.Value
		}
		if fields, ok := value.(map[string]any); ok && sub == "" {
			maps.Copy(item, fields)
		} else if sub != "" {
			item[sub] = value
		}
		kept = append(kept, item)
	}
	if kept == nil {
		delete(resource, at)
		return nil
	}
	resource[at] = kept
	return nil
}

func conditionsOfValue(e filter.Expression) ([]condition, error) {
	conditions, err := conditionsOf(e, "")
	if err != nil {
		return nil, refuse(invalidPath, "path: %s", strings.TrimPrefix(err.Error(), "filter: "))
	}
	return conditions, nil
}

func matches(item map[string]any, conditions []condition) bool {
	for _, c := range conditions {
		if !equal(item[key(item, c.Attribute)], c.Value) {
			return false
		}
	}
	return true
}

func equal(have, want any) bool {
	if a, ok := have.(string); ok {
		if b, ok := want.(string); ok {
			return strings.EqualFold(a, b)
		}
	}
	if b, ok := have.(bool); ok {
		v, ok := asBool(want)
		return ok && v == b
	}
	return have == nil && want == false || fmt.Sprint(have) == fmt.Sprint(want)
}
