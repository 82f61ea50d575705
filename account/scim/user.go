package scim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/account"
)

const (
	userSchema  = "urn:ietf:params:scim:schemas:core:2.0:User"
	groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group"
)

// userResource holds the attributes of a user that are read. Others are ignored.
type userResource struct {
	UserName    string        `json:"userName"`
	ExternalID  string        `json:"externalId"`
	DisplayName string        `json:"displayName"`
	Name        nameResource  `json:"name"`
	Emails      []valueOfUser `json:"emails"`
	Phones      []valueOfUser `json:"phoneNumbers"`
	Language    string        `json:"preferredLanguage"`
	Locale      string        `json:"locale"`
	Timezone    string        `json:"timezone"`
	Active      *flag         `json:"active"`
}

type nameResource struct {
	Formatted string `json:"formatted"`
	Given     string `json:"givenName"`
	Family    string `json:"familyName"`
}

type valueOfUser struct {
	Value   string `json:"value"`
	Type    string `json:"type"`
	Primary flag   `json:"primary"`
}

// flag is a boolean, which Entra ID sends as a string.
type flag bool

func (f *flag) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	value, ok := asBool(v)
	if !ok && v != nil {
		return refuse(invalidValue, "active: must be true or false")
	}
	*f = flag(value)
	return nil
}

// readUser parses a user.
func readUser(b []byte) (account.Provisioned, error) {
	var r userResource
	if err := decode(b, &r); err != nil {
		return account.Provisioned{}, err
	}
	return r.provisioned()
}

func (r *userResource) provisioned() (account.Provisioned, error) {
	p := account.Provisioned{UserName: r.UserName, ExternalID: r.ExternalID, GivenName: r.Name.Given, FamilyName: r.Name.Family}
	p.Email = address(r.Emails)
	if p.Email == "" && strings.Contains(r.UserName, "@") {
		p.Email = strings.TrimSpace(r.UserName)
	}
	if p.Email == "" {
		return p, refuse(invalidValue, "emails: must have an address, unless userName is one")
	}
	p.Name = strings.TrimSpace(r.DisplayName)
	if p.Name == "" {
		p.Name = strings.TrimSpace(r.Name.Formatted)
	}
	if p.Name == "" {
		p.Name = strings.TrimSpace(r.Name.Given + " " + r.Name.Family)
	}
	p.Phone = address(r.Phones)
	if p.Locale = r.Language; p.Locale == "" {
		p.Locale = r.Locale
	}
	p.Timezone = r.Timezone
	if r.Active != nil && !bool(*r.Active) {
		p.DisabledAt = time.Now() // the service puts the time
	}
	return p, nil
}

// address returns the primary value, otherwise one for work or mobile, otherwise any. If several qualify,
// it returns the last one, because clients append.
func address(values []valueOfUser) string {
	best, rank := "", -1
	for _, v := range values {
		at := 0
		switch {
		case v.Value == "":
			continue
		case bool(v.Primary):
			at = 3
		case strings.EqualFold(v.Type, "work"):
			at = 2
		case strings.EqualFold(v.Type, "mobile"):
			at = 1
		}
		if at >= rank {
			best, rank = v.Value, at
		}
	}
	return best
}

// resourceOfUser returns a user as clients see it.
func resourceOfUser(base string, p *account.Provisioned, groups []*account.Group) map[string]any {
	name := map[string]any{"formatted": p.Name}
	if p.GivenName != "" {
		name["givenName"] = p.GivenName
	}
	if p.FamilyName != "" {
		name["familyName"] = p.FamilyName
	}
	r := map[string]any{
		"schemas": []any{userSchema}, "id": strconv.FormatInt(p.ID, 10), "userName": p.UserName, "displayName": p.Name, "name": name,
		"emails": []any{map[string]any{"value": p.Email, "type": "work", "primary": true}},
		"active": p.Active(), "preferredLanguage": p.Locale, "timezone": p.Timezone,
		"meta": meta(base, "User", p.ID, p.CreatedAt, p.UpdatedAt),
	}
	if p.ExternalID != "" {
		r["externalId"] = p.ExternalID
	}
	if p.Phone != "" {
		r["phoneNumbers"] = []any{map[string]any{"value": p.Phone, "type": "mobile"}}
	}
	if groups != nil {
		list := make([]any, 0, len(groups))
		for _, g := range groups {
			list = append(list, map[string]any{"value": strconv.FormatInt(g.ID, 10), "display": g.Name, "$ref": location(base, "Group", g.ID)})
		}
		r["groups"] = list
	}
	return r
}

func meta(base, kind string, id int64, created, modified time.Time) map[string]any {
	return map[string]any{
		"resourceType": kind, "location": location(base, kind, id),
		"created": created.Format(time.RFC3339Nano), "lastModified": modified.Format(time.RFC3339Nano),
	}
}

func location(base, kind string, id int64) string { return fmt.Sprintf("%s%ss/%d", base, kind, id) }

// patchUser applies a change to a user. Other attributes stay, except that a display name derived from the
// parts of the name follows them.
func patchUser(p *account.Provisioned, request []byte) (account.Provisioned, error) {
	var change patchRequest
	if err := decode(request, &change); err != nil {
		return account.Provisioned{}, err
	}
	if err := change.check(); err != nil {
		return account.Provisioned{}, err
	}
	resource := resourceOfUser("", p, nil)
	delete(resource["name"].(map[string]any), "formatted")
	before := fmt.Sprint(resource["name"])
	for i := range change.Operations {
		if err := change.Operations[i].apply(resource); err != nil {
			return account.Provisioned{}, err
		}
	}
	made := p.Name == strings.TrimSpace(p.GivenName+" "+p.FamilyName)
	if made && fmt.Sprint(resource["name"]) != before && fmt.Sprint(resource["displayName"]) == p.Name {
		delete(resource, "displayName") // the parts of the name have changed
	}
	b, err := json.Marshal(resource)
	if err != nil {
		return account.Provisioned{}, err
	}
	changed, err := readUser(b)
	if err == nil && changed.Name == "" {
		changed.Name = p.Name
	}
	return changed, err
}

// decode parses a body. Names of attributes are not case-sensitive, as in encoding/json.
func decode(b []byte, into any) error {
	if err := json.Unmarshal(b, into); err != nil {
		if e := errorOf(err); e != nil {
			return e
		}
		return refuse(invalidSyntax, "the body must be JSON with the types of RFC 7643")
	}
	return nil
}

// queryOfUsers converts a filter to a query.
func queryOfUsers(text string) (q account.ProvisionedQuery, none bool, err error) {
	if text == "" {
		return q, false, nil
	}
	conditions, err := parseFilter(text)
	if err != nil {
		return q, false, err
	}
	for _, c := range conditions {
		if c.Attribute == "active" {
			active, err := c.boolean()
			if err != nil {
				return q, false, err
			}
			q.Active = &active
			continue
		}
		value, err := c.text()
		if err != nil {
			return q, false, err
		}
		switch c.Attribute {
		case "username":
			q.UserName = value
		case "externalid":
			q.ExternalID = value
		case "emails", "emails.value":
			q.Email = value
		case "displayname", "name.formatted":
			q.Name = value
		case "id":
			if q.ID, err = strconv.ParseInt(value, 10, 64); err != nil {
				none = true
			}
		default:
			return q, false, refuse(invalidFilter, "filter: must compare userName, externalId, emails, displayName, active or id, not %s", c.Attribute)
		}
		none = none || value == ""
	}
	return q, none, nil
}

// selected returns the requested attributes of a resource (RFC 7644, section 3.9).
func selected(r map[string]any, attributes, excluded string) map[string]any {
	list := func(text string) (names []string) {
		for name := range strings.SplitSeq(text, ",") {
			if name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), "."); name != "" {
				names = append(names, name)
			}
		}
		return names
	}
	wanted, unwanted := list(attributes), list(excluded)
	r = maps.Clone(r)
	maps.DeleteFunc(r, func(name string, _ any) bool {
		name = strings.ToLower(name)
		if name == "id" || name == "schemas" {
			return false
		}
		return len(wanted) > 0 && !slices.Contains(wanted, name) || slices.Contains(unwanted, name)
	})
	return r
}
