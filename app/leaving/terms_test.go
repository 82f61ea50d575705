package leaving

import "testing"

func TestTerms_erase(t *testing.T) {
	of := &terms{
		Erasure: 3, Addresses: []string{"bob@example.org", "old@example.org"}, Phones: []string{"+4930123"},
		Names: []string{"Bob Li", "Max"}, Unique: []string{"Bob Li"},
	}
	const now, before = "erased-3@erased.invalid", "erased-3-2@erased.invalid"
	for _, row := range []struct {
		name, text string
		own        bool
		want       string
	}{
		{"an address", "Bob@Example.org", false, now},
		{"a former address", "mailto:old@example.org", false, "mailto:" + before},
		{"an address within a text", "change:4:email:bob@example.org,", false, "change:4:email:" + now + ","},
		{"after escapes of JSON", `"\nbob@example.org \u003cbob@example.org\u003e"`, false, `"\n` + now + ` \u003c` + now + `\u003e"`},
		{"at the end of a sentence", "Ask bob@example.org.", false, "Ask " + now + "."},
		{"longer addresses", "jim.bob@example.org, bob@example.org.uk, bob@example.organic", false, "jim.bob@example.org, bob@example.org.uk, bob@example.organic"},
		{"a number", `{"phone":"+4930123"}`, false, `{"phone":""}`},
		{"a name that nobody else has", "Review with Bob Li, not Bob Lindt", false, "Review with Erased person, not Bob Lindt"},
		{"a name that others may have", `{"name":"Max"}`, false, `{"name":"Max"}`},
		{"a name in a row of the person", `{"name":"Max","title":"Max 5 people"}`, true, `{"name":"Erased person","title":"Max 5 people"}`},
		{"a name as a column of the person", "Max", true, "Erased person"},
		{"other texts", "Ёлка at the bobsleigh", true, "Ёлка at the bobsleigh"},
	} {
		if got := of.erase(row.text, row.own); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
