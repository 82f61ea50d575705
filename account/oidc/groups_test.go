package oidc

import (
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"

	"punctual/account"
)

// A provider that leaves the groups out because there are too many takes neither a role nor groups away.
func TestIdentity_groupsLeftOut(t *testing.T) {
	p := New(Config{ID: "corp", Issuer: "https://login.example.org", GroupsClaim: "groups", Roles: account.GroupRoles{account.Admin: {"IT"}}})
	for name, c := range map[string]struct {
		claims map[string]any
		role   account.Role
		said   bool
	}{
		"a group of a role":      {map[string]any{"groups": []any{"IT"}}, account.Admin, true},
		"another group":          {map[string]any{"groups": []any{"Sales"}}, account.Member, true},
		"no groups":              {map[string]any{"groups": []any{}}, account.Member, true},
		"no claim":               {map[string]any{}, account.Member, true},
		"too many for a token":   {map[string]any{"_claim_names": map[string]any{"groups": "src1"}}, "", false},
		"too many for an answer": {map[string]any{"hasgroups": true}, "", false},
		"too many, as a text":    {map[string]any{"hasgroups": "true"}, "", false},
		"other claims elsewhere": {map[string]any{"_claim_names": map[string]any{"address": "src1"}}, account.Member, true},
	} {
		who := p.identity(&oidc.IDToken{Subject: "1"}, &claims{all: c.claims})
		if who.Role != c.role || (who.InGroup != nil) != c.said || (who.Source != "") != c.said {
			t.Errorf("%s: role %q, source %q", name, who.Role, who.Source)
		}
	}
}
