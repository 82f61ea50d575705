package mailroom

import (
	"strings"
	"testing"

	"punctual/meeting/itip"
)

// TestTrust: whom the results of a mail server prove to have sent a mail.
func TestTrust(t *testing.T) {
	t.Parallel()
	const server = "mx.example.org; "
	for name, c := range map[string]struct {
		results []string
		want    string // part of the reason; empty: authenticated
	}{
		"DMARC":                             {[]string{server + "dmarc=pass header.from=example.org"}, ""},
		"DMARC, DKIM failed":                {[]string{server + "dkim=fail header.d=example.org; spf=pass smtp.mailfrom=ada@example.org; dmarc=pass (p=reject) header.from=example.org"}, ""},
		"DMARC of another domain":           {[]string{server + "dmarc=pass header.from=evil.example"}, "neither DMARC"},
		"DMARC failed, DKIM passed":         {[]string{server + "dkim=pass header.d=example.org; dmarc=fail header.from=example.org"}, "failed DMARC"},
		"DKIM":                              {[]string{server + "dkim=pass header.d=example.org"}, ""},
		"DKIM by identity":                  {[]string{server + "dkim=pass header.i=@mail.example.org"}, ""},
		"DKIM of a subdomain":               {[]string{server + "dkim=pass header.d=mail.example.org"}, ""},
		"DKIM of another organization":      {[]string{server + "dkim=pass header.d=evil.example"}, "neither DMARC"},
		"DKIM of a public suffix":           {[]string{server + "dkim=pass header.d=org"}, "neither DMARC"},
		"SPF":                               {[]string{server + "spf=pass smtp.mailfrom=bounce@lists.example.org"}, ""},
		"SPF of a bounce address elsewhere": {[]string{server + "spf=pass smtp.mailfrom=evil.example"}, "neither DMARC"},
		"SPF softfail":                      {[]string{server + "spf=softfail smtp.mailfrom=example.org"}, "neither DMARC"},
		"nothing":                           {nil, "no Authentication-Results"},
		"none":                              {[]string{"mx.example.org; none"}, "neither DMARC"},
		"another server":                    {[]string{"evil.example; dmarc=pass header.from=example.org"}, `from "evil.example"`},
		"forged below":                      {[]string{"mx.example.org; dmarc=none", server + "dmarc=pass header.from=example.org"}, "neither DMARC"},
		"another server on top":             {[]string{"relay.example.net; none", server + "dmarc=pass header.from=example.org"}, "relay.example.net"},
		"unreadable":                        {[]string{"; ="}, "Authentication-Results"},
	} {
		got := Trust{Servers: []string{"MX.example.org"}}.authenticated(&Letter{From: "ada@example.org", Results: c.results})
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := (Trust{Network: true}).authenticated(&Letter{From: "ada@example.org"}); got != "" {
		t.Errorf("by network: %s", got)
	}
	if got := (Trust{Network: true}).authenticated(&Letter{}); got == "" {
		t.Error("a mail without a sender is authenticated")
	}
}

// TestAttends: the sender of a response is its attendee.
func TestAttends(t *testing.T) {
	t.Parallel()
	for attendee, want := range map[string]bool{
		"ATTENDEE;PARTSTAT=ACCEPTED:mailto:ADA@example.org":                 true,
		`ATTENDEE;SENT-BY="mailto:ada@example.org":MAILTO:boss@example.org`: true,
		`ATTENDEE;SENT-BY="mailto:ada@example.org":mailto:boss@example.com`: false, // claims to act for a stranger
		"ATTENDEE;PARTSTAT=ACCEPTED:mailto:boss@example.org":                false,
		"ORGANIZER:mailto:ada@example.org":                                  false,
	} {
		c, err := itip.Read(strings.NewReader(invitation(attendee)), itip.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		if got := attends("ada@example.org", c); got != want {
			t.Errorf("%s: %t", attendee, got)
		}
	}
}

// TestOrganizes: the sender organizes every event, or acts for its organizer.
func TestOrganizes(t *testing.T) {
	t.Parallel()
	for organizer, want := range map[string]bool{
		"ORGANIZER;CN=Ada:mailto:ADA@example.org":                            true,
		`ORGANIZER;SENT-BY="mailto:ada@example.org":MAILTO:boss@example.org`: true,
		`ORGANIZER;SENT-BY="mailto:ada@example.org":mailto:b@eu.example.org`: true,
		`ORGANIZER;SENT-BY="mailto:ada@example.org":mailto:boss@example.com`: false, // claims to act for a stranger
		`ORGANIZER;SENT-BY="mailto:eve@example.org":mailto:boss@example.org`: false,
		"ORGANIZER:mailto:boss@example.org":                                  false,
		"LOCATION:nobody organizes it":                                       false,
	} {
		c, err := itip.Read(strings.NewReader(invitation(organizer)), itip.DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		if got := organizes("ada@example.org", c); got != want {
			t.Errorf("%s: %t", organizer, got)
		}
	}
}
