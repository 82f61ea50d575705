package fault

import (
	"strings"
	"testing"
)

// codes are those of the faults that check finds.
func codes(check func(*List)) string {
	var l List
	check(&l)
	var all []string
	for _, f := range l {
		all = append(all, f.Code)
	}
	return strings.Join(all, " ")
}

// TestAsLine: what others call a person becomes a name that people may have.
func TestAsText(t *testing.T) {
	t.Parallel()
	got := AsText("a\x00b\r\n\tc\u202ed\u202de\xff \u2028f")
	var l List
	if l.Text("description", got, 100); got != "ab\n\tcde \u2028f" || len(l) > 0 {
		t.Errorf("%q: %v", got, l)
	}
}

func TestAsLine(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", " Ada\r\n\tLovelace ": "Ada Lovelace", "A\x00da\u2028\u2029L": "A da L", "Ada \u202eL": "Ada L", "\xffAda": "Ada",
		"\u200b \u2800": "", "": "", strings.Repeat("\u4e2d", 300): strings.Repeat("\u4e2d", MaxName), strings.Repeat("x", MaxName-1) + " yz": strings.Repeat("x", MaxName-1),
	} {
		got := AsLine(given, MaxName)
		var l List
		if l.Line("name", got, MaxName); got != want || len(l) > 0 {
			t.Errorf("%q became %q, want %q: %v", given, got, want, l)
		}
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ada@example.org":                           "",
		" Ada.B+c@Sub.Example.org":                  "",
		"o'hara@example.org":                        "",
		"ü@müller.example":                          "",
		"a@xn--mller-kva.example":                   "",
		"a@1.example2":                              "",
		"door-1@door.invalid":                       "",
		strings.Repeat("a", 64) + "@example.org":    "",
		"":                                          "required",
		" \u00a0":                                   "required",
		strings.Repeat("a", 65) + "@example.org":    "invalid_email",
		strings.Repeat("a", 250) + "@b.example":     "too_long",
		"a@" + strings.Repeat("b", 64) + ".example": "invalid_email",
		"nobody":                                    "invalid_email",
		"a@localhost":                               "invalid_email",
		"a@sub.localhost":                           "invalid_email",
		"a@LOCALHOST":                               "invalid_email",
		"a@mailhost":                                "invalid_email",
		"a@[127.0.0.1]":                             "invalid_email",
		"a@[IPv6:::1]":                              "invalid_email",
		"a@127.0.0.1":                               "invalid_email",
		"a@10.1":                                    "invalid_email",
		"a@example.org.":                            "invalid_email",
		"a@.example.org":                            "invalid_email",
		"a@example..org":                            "invalid_email",
		"a@-example.org":                            "invalid_email",
		"a@example-.org":                            "invalid_email",
		"a@ex_ample.org":                            "invalid_email",
		"Ada <ada@example.org>":                     "invalid_email",
		"<ada@example.org>":                         "invalid_email",
		`"a b"@example.org`:                         "invalid_email",
		"a@example.org, b@example.org":              "invalid_email",
		"a@b@example.org":                           "invalid_email",
		"a\x00@example.org":                         "invalid_email",
		"a@example.org\r\nBcc: b@example.org":       "invalid_email",
		"a\u2028b@example.org":                      "invalid_email",
		"a\u200bb@example.org":                      "invalid_email",
		"a\u202eb@example.org":                      "invalid_email",
		"a\u00a0b@example.org":                      "invalid_email",
		"a\ufe0fb@example.org":                      "invalid_email",
		"a\xff@example.org":                         "invalid_email",
	} {
		if got := codes(func(l *List) { l.Email("body.email", in) }); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	var l List
	if got := l.Email("body.email", " u\u0308@Example.org "); got != "ü@Example.org" || FoldEmail(got) != "ü@example.org" {
		t.Errorf("normalized to %q, compared as %q", got, FoldEmail(got))
	}
}

func TestPhone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                    "",
		" \t":                                 "",
		"+4930123":                            "+4930123",
		"+49 (30) 123-45":                     "+493012345",
		"+49/30.123":                          "+4930123",
		"\u00a0+49\u202f30\u2011123\u2013456": "+4930123456",
		"030 123":                             "!",
		"0049 30 123":                         "!",
		"+49 (0) 30 123":                      "+4930123",
		"+0123456":                            "!",
		"+999123456":                          "!",
		"+1415":                               "!",
		"+1 415 555 2671 ext. 5":              "!",
		"+1 415 FLOWERS":                      "!",
		"+1234567890123456":                   "!",
		"+49 30 12x":                          "!",
		"+٤٩٣٠١٢٣":                            "!",
		"+49\x0030123":                        "!",
	} {
		var l List
		got := l.Phone("body.phone", in)
		if len(l) > 0 {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %q, want %q (! is a fault)", in, got, want)
		}
	}
}

func TestLocale(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"en": "en", "zh-CN": "zh-CN", "zh_CN": "zh-CN", "sr_Latn_RS": "sr-Latn-RS", "de-CH-1996": "de-CH-1996",
		"": "!", "e": "!", "en-": "!", "en--US": "!", "-en": "!", "en US": "!", "en\n": "!", "*": "!", "ü": "!",
		"en" + strings.Repeat("-x", 20): "!",
	} {
		var l List
		got := l.Locale("body.locale", in)
		if len(l) > 0 {
			got = "!"
		}
		if got != want {
			t.Errorf("%q: %q, want %q (! is a fault)", in, got, want)
		}
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "America/Port-au-Prince", "CET", "EST5EDT"} {
		if _, err := Zone(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "Local", "localtime", "posixrules", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin", "posix/UTC", "right/UTC",
		"Mars/Olympus", "Europe", "Europe/", "/Europe/Berlin", "Europe//Berlin", "./Europe/Berlin", "Europe/./Berlin", "Europe/../UTC", "../etc/passwd",
		"europe/berlin", "UTC ", " UTC", "UTC\x00", "+02:00", "zone.tab", "tzdata.zi", "leapseconds", "+VERSION", strings.Repeat("x", 10_000)} {
		loc, err := Zone(name)
		if err == nil {
			t.Errorf("%q is accepted as %v", name, loc)
		} else if len(err.Error()) > 200 {
			t.Errorf("%d bytes to refuse a name", len(err.Error()))
		}
	}
	if _, err := StoredZone("right/Europe/Berlin/"); err == nil {
		t.Error("a name with a slash at its end is accepted")
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "",
		"Ada":                    "",
		strings.Repeat("é", 10):  "",
		strings.Repeat("é", 11):  "too_long",
		"a\nb":                   "control_character",
		"a\tb":                   "control_character",
		"a\x00b":                 "control_character",
		"a\u0085b":               "control_character",
		"a\u2028b":               "control_character",
		"a\u2029b":               "control_character",
		"a\u202eb":               "control_character",
		"a\u2066b":               "control_character",
		"a\u200eb\u200fc\u061cd": "",
		"a\u200db":               "",
		"a\xff":                  "control_character",
	} {
		if got := codes(func(l *List) { l.Line("body.name", in, 10) }); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"a\nb\tc": "", "a\u2028b": "", "a\u202eb": "control_character", "a\rb": "control_character", "a\x00": "control_character"} {
		if got := codes(func(l *List) { l.Text("body.description", in, 10) }); got != want {
			t.Errorf("text %q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]bool{"": false, " \u00a0\u3000": false, "\u200b\u200d": false, "\u2800": false, "\u115f": false, "\ufe0f": false, "a": true, "\U0001f600": true} {
		if Visible(in) != want {
			t.Errorf("%q: visible %v, want %v", in, !want, want)
		}
	}
}

func TestList_Err(t *testing.T) {
	t.Parallel()
	var l List
	if l.Err() != nil {
		t.Error("an empty list is an error")
	}
	l.Add("body.end", "not_after_start", "must be after %s", "start")
	l.Add("body.title", "required", "is required")
	if got, want := l.Err().Error(), "invalid: body.end: must be after start; body.title: is required"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
