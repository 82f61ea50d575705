package scim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/account"
)

func TestParseFilter(t *testing.T) {
	for text, want := range map[string][]condition{
		`userName eq "ada@example.org"`:                             {{"username", "ada@example.org"}},
		`USERNAME EQ "a" AND active eq true`:                        {{"username", "a"}, {"active", true}},
		`emails[type eq "work" and value eq "a@example.org"]`:       {{"emails.value", "a@example.org"}},
		`(displayName eq "x") and (externalId eq "7")`:              {{"displayname", "x"}, {"externalid", "7"}},
		`urn:ietf:params:scim:schemas:core:2.0:User:name.x eq "\""`: {{"name.x", `"`}},
	} {
		got, err := parseFilter(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{``, `userName`, `userName pr`, `userName co "a"`, `a eq "1" or b eq "2"`, `not (a eq "1")`, `a eq 1.5`, `a eq null`, `emails[type eq "work"]`, strings.Repeat("(", 500) + `a eq "1"`} {
		if got, err := parseFilter(text); err == nil {
			t.Errorf("%s: %v", text, got)
		} else if e := errorOf(err); e == nil || e.Type != invalidFilter {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestPatchUser(t *testing.T) {
	now := &account.Provisioned{
		User:     account.User{Email: "ada@example.org", Name: "Ada Lovelace", Phone: "+4930123", Locale: "en", Timezone: "UTC"},
		UserName: "ada", ExternalID: "7", GivenName: "Ada", FamilyName: "Lovelace",
	}
	for name, c := range map[string]struct {
		operations string
		want       func(p *account.Provisioned)
	}{
		"nothing known":            {`{"op":"Add","path":"title","value":"Dr"}`, func(*account.Provisioned) {}},
		"a part of the name":       {`{"op":"replace","path":"name.familyName","value":"King"}`, func(p *account.Provisioned) { p.FamilyName, p.Name = "King", "Ada King" }},
		"both names":               {`{"op":"replace","value":{"displayName":"Countess","name":{"familyName":"King"}}}`, func(p *account.Provisioned) { p.FamilyName, p.Name = "King", "Countess" }},
		"a path as a name":         {`{"op":"Replace","value":{"name.givenName":"Augusta","DISPLAYNAME":"A"}}`, func(p *account.Provisioned) { p.GivenName, p.Name = "Augusta", "A" }},
		"an address":               {`{"op":"Replace","path":"emails[type eq \"work\"].value","value":"new@example.org"}`, func(p *account.Provisioned) { p.Email = "new@example.org" }},
		"a primary address":        {`{"op":"add","path":"emails","value":[{"value":"x@example.org","type":"home"},{"value":"new@example.org","primary":"True"}]}`, func(p *account.Provisioned) { p.Email = "new@example.org" }},
		"all addresses":            {`{"op":"replace","path":"emails","value":[{"value":"new@example.org"}]}`, func(p *account.Provisioned) { p.Email = "new@example.org" }},
		"no telephone":             {`{"op":"remove","path":"phoneNumbers"}`, func(p *account.Provisioned) { p.Phone = "" }},
		"a telephone of a type":    {`{"op":"add","path":"phoneNumbers[type eq \"work\"].value","value":"+491"}`, func(p *account.Provisioned) { p.Phone = "+491" }},
		"an ID that is taken away": {`{"op":"remove","path":"externalId"}`, func(p *account.Provisioned) { p.ExternalID = "" }},
	} {
		want := *now
		c.want(&want)
		got, err := patchUser(now, []byte(`{"Operations":[`+c.operations+`]}`))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	off, err := patchUser(now, []byte(`{"Operations":[{"op":"Replace","path":"active","value":"False"}]}`))
	if err != nil || off.Active() {
		t.Errorf("%+v %v", off, err)
	}
}

func TestReadGroupChange(t *testing.T) {
	for operations, want := range map[string]groupChange{
		`{"op":"add","path":"members","value":[{"value":"2"},{"value":"1"},{"value":"2"}]}`:                               {Members: map[int64]bool{1: true, 2: true}},
		`{"op":"add","path":"members","value":{"value":"1"}}`:                                                             {Members: map[int64]bool{1: true}},
		`{"op":"add","path":"members","value":[{"value":"1"}]},{"op":"remove","path":"members[value eq \"1\"]"}`:          {Members: map[int64]bool{1: false}},
		`{"op":"remove","path":"members","value":[{"value":"1"}]},{"op":"add","value":{"members":[{"value":"1"}]}}`:       {Members: map[int64]bool{1: true}},
		`{"op":"Remove","path":"members"}`:                                                                                {Members: map[int64]bool{}, All: true},
		`{"op":"replace","path":"members","value":[{"value":"3"}]},{"op":"add","path":"members","value":[{"value":"4"}]}`: {Members: map[int64]bool{3: true, 4: true}, All: true},
		`{"op":"replace","value":{"id":"9","displayName":"X","externalId":"e"}}`:                                          {Name: new("X"), ExternalID: new("e")},
		`{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:Group:displayName","value":"Y"}`:                   {Name: new("Y")},
	} {
		got, err := readGroupChange([]byte(`{"Operations":[` + operations + `]}`))
		if err != nil || cmp.Diff(&want, got) != "" {
			t.Errorf("%s: %v\n%s", operations, err, cmp.Diff(&want, got))
		}
	}
	for _, operations := range []string{
		`{"op":"add","path":"members","value":[{"value":"x"}]}`, `{"op":"add","path":"members","value":[{"value":"1","type":"Group"}]}`, `{"op":"add","path":"members[value eq \"1\"]","value":1}`,
		`{"op":"remove","path":"members[value eq true]"}`, `{"op":"remove","path":"members[display eq \"x\"]"}`, `{"op":"replace","path":"displayName","value":1}`, `{"op":"add","value":7}`,
	} {
		if got, err := readGroupChange([]byte(`{"Operations":[` + operations + `]}`)); err == nil || errorOf(err) == nil {
			t.Errorf("%s: %+v %v", operations, got, err)
		}
	}
}

// TestReadGroupChange_many: one change of half a million members takes as long as they take to read. A look
// through all members for each of them would take minutes.
func TestReadGroupChange_many(t *testing.T) {
	const n = 150_000
	list := func(from int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"value":"%d"}`, from+i)
		}
		return "[" + b.String()[1:] + "]"
	}
	change := `{"Operations":[{"op":"remove","path":"members","value":` + list(1) + `},{"op":"add","path":"members","value":` + list(n/2) + `},
		{"op":"remove","path":"members","value":` + list(n) + `}]}`
	begun := time.Now()
	got, err := readGroupChange([]byte(change))
	if err != nil {
		t.Fatal(err)
	}
	add, remove := got.members()
	if len(add) != n/2 || add[0] != n/2 || len(remove) != n/2-1+n || remove[0] != 1 {
		t.Errorf("%d join, %d leave", len(add), len(remove))
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// FuzzSCIM: whatever a client sends, filters and changes are read or refused, and what was read can be
// written again.
func FuzzSCIM(f *testing.F) {
	f.Add(`userName eq "a" and emails[type eq "work"]`, `{"Operations":[{"op":"Replace","path":"emails[type eq \"work\"].value","value":"a@b.c"}]}`)
	f.Add(`not (a pr)`, `{"Operations":[{"op":"add","value":{"name":{"givenName":1},"emails":[null,[]]}}]}`)
	f.Add("a[b[c eq 1]]", `{"Operations":[{"op":"remove","path":"members[value eq \"1\"].x"},{"op":"add","path":"name","value":[]},{"op":"add","path":"name.x","value":{}}]}`)
	now := &account.Provisioned{User: account.User{Email: "ada@example.org", Name: "Ada"}, UserName: "ada", GivenName: "Ada"}
	f.Fuzz(func(t *testing.T, filter, change string) {
		if len(change) > 10_000 {
			return
		}
		for _, err := range []error{
			func() error { _, err := parseFilter(filter); return err }(),
			func() error { _, _, err := queryOfUsers(filter); return err }(),
			func() error { _, err := readGroupChange([]byte(change)); return err }(),
		} {
			if err != nil && errorOf(err) == nil {
				t.Errorf("an error that clients do not understand: %v", err)
			}
		}
		p, err := patchUser(now, []byte(change))
		if err != nil {
			if errorOf(err) == nil {
				t.Errorf("an error that clients do not understand: %v", err)
			}
			return
		}
		if _, err := json.Marshal(resourceOfUser("", &p, nil)); err != nil {
			t.Error(err)
		}
	})
}
