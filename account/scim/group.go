package scim

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	filter "github.com/scim2/filter-parser/v2"

	"punctual/account"
)

type groupResource struct {
	DisplayName string   `json:"displayName"`
	ExternalID  string   `json:"externalId"`
	Members     []member `json:"members"`
}

type member struct {
	Value string `json:"value"`
	Type  string `json:"type"`
}

// id returns the user of a member. Groups in groups are not supported.
func (m member) id() (int64, error) {
	id, err := strconv.ParseInt(m.Value, 10, 64)
	if err != nil || id <= 0 || m.Type != "" && !strings.EqualFold(m.Type, "User") {
		return 0, refuse(invalidValue, "members: must be users by their id, not %q", m.Value)
	}
	return id, nil
}

func idsOf(members []member) ([]int64, error) {
	ids := make([]int64, len(members))
	for i, m := range members {
		var err error
		if ids[i], err = m.id(); err != nil {
			return nil, err
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// resourceOfGroup returns a group as clients see it. Lists leave out members.
func resourceOfGroup(base string, g *account.Group, members []int64) map[string]any {
	r := map[string]any{
		"schemas": []any{groupSchema}, "id": strconv.FormatInt(g.ID, 10), "displayName": g.Name,
		"meta": meta(base, "Group", g.ID, g.CreatedAt, g.UpdatedAt),
	}
	if g.ExternalID != "" {
		r["externalId"] = g.ExternalID
	}
	if members != nil {
		list := make([]any, len(members))
		for i, id := range members {
			list[i] = map[string]any{"value": strconv.FormatInt(id, 10), "type": "User", "$ref": location(base, "User", id)}
		}
		r["members"] = list
	}
	return r
}

// groupChange is the effect of a request on a group.
type groupChange struct {
	Name, ExternalID *string
	Members          map[int64]bool // by user: whether they join; others leave
	All              bool           // the members are exactly those who join
}

func (c *groupChange) set(ids []int64, joins bool) {
	if c.Members == nil {
		c.Members = make(map[int64]bool, len(ids))
	}
	for _, id := range ids {
		c.Members[id] = joins
	}
}

func (c *groupChange) replace(ids []int64) {
	c.Members, c.All = nil, true
	c.set(ids, true)
}

// members returns who joins and who leaves, each by ID.
func (c *groupChange) members() (add, remove []int64) {
	for _, id := range slices.Sorted(maps.Keys(c.Members)) {
		if c.Members[id] {
			add = append(add, id)
		} else {
			remove = append(remove, id)
		}
	}
	return add, remove
}

// readGroupChange parses a change of a group. It does not load members, because there may be many.
func readGroupChange(request []byte) (*groupChange, error) {
	var change patchRequest
	if err := decode(request, &change); err != nil {
		return nil, err
	}
	if err := change.check(); err != nil {
		return nil, err
	}
	var c groupChange
	for i := range change.Operations {
		if err := c.operation(&change.Operations[i]); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

func (c *groupChange) operation(o *operation) error {
	if o.Path == "" {
		var fields map[string]json.RawMessage
		if err := decode(o.Value, &fields); err != nil {
			return refuse(invalidValue, "value: must be an object without a path")
		}
		for name, value := range fields {
			if strings.EqualFold(name, "id") || strings.EqualFold(name, "schemas") || strings.EqualFold(name, "meta") {
				continue // Okta repeats them
			}
			if err := c.operation(&operation{Op: o.Op, Path: name, Value: value}); err != nil {
				return err
			}
		}
		return nil
	}
	p, err := o.path()
	if err != nil {
		return err
	}
	switch strings.ToLower(p.AttributePath.AttributeName) {
	case "displayname":
		return c.text(o, &c.Name, "displayName")
	case "externalid":
		return c.text(o, &c.ExternalID, "externalId")
	case "members":
		return c.operationOnMembers(o, p.ValueExpression)
	}
	return nil // of an attribute that groups do not have here
}

func (c *groupChange) text(o *operation, field **string, name string) error {
	var value string
	if o.Op != "remove" {
		if err := json.Unmarshal(o.Value, &value); err != nil {
			return refuse(invalidValue, "%s: must be a string", name)
		}
	}
	*field = &value
	return nil
}

func (c *groupChange) operationOnMembers(o *operation, of filter.Expression) error {
	if of != nil { // members[value eq "7"]
		conditions, err := conditionsOfValue(of)
		if err != nil {
			return err
		}
		if o.Op != "remove" || len(conditions) != 1 || conditions[0].Attribute != "value" {
			return refuse(invalidPath, `path: must remove one member, such as members[value eq "7"]`)
		}
		value, _ := conditions[0].Value.(string)
		id, err := member{Value: value}.id()
		if err != nil {
			return err
		}
		c.set([]int64{id}, false)
		return nil
	}
	var list []member
	if len(o.Value) > 0 && string(o.Value) != "null" {
		if err := json.Unmarshal(o.Value, &list); err != nil {
			var one member
			if err := json.Unmarshal(o.Value, &one); err != nil {
				return refuse(invalidValue, "members: must be objects with the id of a user as value")
			}
			list = []member{one}
		}
	}
	ids, err := idsOf(list)
	switch {
	case err != nil:
		return err
	case o.Op == "add":
		c.set(ids, true)
	case o.Op == "replace":
		c.replace(ids)
	case len(ids) == 0: // all of them
		c.replace(nil)
	default:
		c.set(ids, false)
	}
	return nil
}

// difference returns the members to add and to remove to turn before into the requested members.
func difference(before, wanted []int64) (add, remove []int64) {
	have, want := map[int64]bool{}, map[int64]bool{}
	for _, id := range before {
		have[id] = true
	}
	for _, id := range wanted {
		want[id] = true
		if !have[id] {
			add = append(add, id)
		}
	}
	for _, id := range before {
		if !want[id] {
			remove = append(remove, id)
		}
	}
	return add, remove
}

func queryOfGroups(text string) (q account.ProvisionedGroupQuery, none bool, err error) {
	if text == "" {
		return q, false, nil
	}
	conditions, err := parseFilter(text)
	if err != nil {
		return q, false, err
	}
	for _, c := range conditions {
		value, err := c.text()
		if err != nil {
			return q, false, err
		}
		switch c.Attribute {
		case "displayname":
			q.Name = value
		case "externalid":
			q.ExternalID = value
		case "id":
			if q.ID, err = strconv.ParseInt(value, 10, 64); err != nil {
				none = true
			}
		default:
			return q, false, refuse(invalidFilter, "filter: must compare displayName, externalId or id, not %s", c.Attribute)
		}
		none = none || value == ""
	}
	return q, none, nil
}
