package scim

import (
	"net/http"

	"punctual/account"
)

// describe returns what the server supports (RFC 7643, sections 5 to 7).
func (s *Server) describe(r *http.Request, kind, id string) (int, any, error) {
	if r.Method != http.MethodGet {
		return 0, nil, &Error{Status: http.StatusMethodNotAllowed, Detail: "The resource does not support this method."}
	}
	if kind == "ServiceProviderConfig" {
		if id != "" {
			return 0, nil, account.ErrNotFound
		}
		return http.StatusOK, s.providerConfig(), nil
	}
	list := s.resourceTypes()
	if kind == "Schemas" {
		list = s.schemas()
	}
	if id == "" {
		return http.StatusOK, listOf(list, int64(len(list)), 1), nil
	}
	for _, item := range list {
		if item := item.(map[string]any); item["id"] == id {
			return http.StatusOK, item, nil
		}
	}
	return 0, nil, account.ErrNotFound
}

func (s *Server) providerConfig() map[string]any {
	supported := func(yes bool) map[string]any { return map[string]any{"supported": yes} }
	return map[string]any{
		"schemas": []any{"urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"},
		"patch":   supported(true),
		"bulk":    map[string]any{"supported": false, "maxOperations": 0, "maxPayloadSize": 0},
		"filter":  map[string]any{"supported": true, "maxResults": maxPage}, "changePassword": supported(false), "sort": supported(false), "etag": supported(false),
		"authenticationSchemes": []any{map[string]any{
			"type": "oauthbearertoken", "name": "API token", "description": "A token with the scope scim, made by an administrator", "primary": true,
		}},
		"meta": map[string]any{"resourceType": "ServiceProviderConfig", "location": s.Base + "ServiceProviderConfig"},
	}
}

func (s *Server) resourceTypes() []any {
	of := func(name, schema string) any {
		return map[string]any{
			"schemas": []any{"urn:ietf:params:scim:schemas:core:2.0:ResourceType"}, "id": name, "name": name, "endpoint": "/" + name + "s", "schema": schema,
			"meta": map[string]any{"resourceType": "ResourceType", "location": s.Base + "ResourceTypes/" + name},
		}
	}
	return []any{of("User", userSchema), of("Group", groupSchema)}
}

func (s *Server) schemas() []any {
	attribute := func(name, kind, mutability string, more map[string]any) any {
		a := map[string]any{
			"name": name, "type": kind, "multiValued": false, "required": false, "caseExact": false, "mutability": mutability, "returned": "default", "uniqueness": "none",
		}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	const rw, ro = "readWrite", "readOnly"
	several := func(sub ...any) map[string]any { return map[string]any{"multiValued": true, "subAttributes": sub} }
	of := func(id, name string, attributes ...any) any {
		return map[string]any{
			"schemas": []any{"urn:ietf:params:scim:schemas:core:2.0:Schema"}, "id": id, "name": name, "attributes": attributes,
			"meta": map[string]any{"resourceType": "Schema", "location": s.Base + "Schemas/" + id},
		}
	}
	value, kind := attribute("value", "string", rw, nil), attribute("type", "string", rw, nil)
	return []any{
		of(userSchema, "User",
			attribute("userName", "string", rw, map[string]any{"required": true, "uniqueness": "server"}),
			attribute("externalId", "string", rw, map[string]any{"caseExact": true}),
			attribute("displayName", "string", rw, nil),
			attribute("name", "complex", rw, map[string]any{"subAttributes": []any{
				attribute("formatted", "string", rw, nil), attribute("givenName", "string", rw, nil), attribute("familyName", "string", rw, nil),
			}}),
			attribute("emails", "complex", rw, several(value, kind, attribute("primary", "boolean", rw, nil))),
			attribute("phoneNumbers", "complex", rw, several(value, kind)),
			attribute("preferredLanguage", "string", rw, nil),
			attribute("timezone", "string", rw, nil),
			attribute("active", "boolean", rw, nil),
			attribute("groups", "complex", ro, several(attribute("value", "string", ro, nil), attribute("display", "string", ro, nil))),
		),
		of(groupSchema, "Group",
			attribute("displayName", "string", rw, map[string]any{"required": true, "uniqueness": "server"}),
			attribute("externalId", "string", rw, map[string]any{"caseExact": true}),
			attribute("members", "complex", rw, several(value, kind)),
		),
	}
}
