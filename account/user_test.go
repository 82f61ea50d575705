package account

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNewUser_faults(t *testing.T) {
	t.Parallel()
	good := NewUser{Email: "ada@example.org", Name: "Ada", Role: Member}
	with := func(change func(*NewUser)) NewUser { n := good; change(&n); return n }
	tests := []struct {
		name string
		user NewUser
		want []string // location and code
	}{
		{"good", good, nil},
		{"all given", NewUser{"Ada@Example.org", "艾达", Admin, "", "+49 (30) 123-45", "zh-Hans-CN", "America/Argentina/Buenos_Aires"}, nil},
		{"nothing", NewUser{}, []string{"body.email required", "body.name required", "body.role unknown_value"}},
		{"everything wrong", NewUser{"ada", "a\nb", "king", "", "call me", "english please", "Mars/Olympus"}, []string{
			"body.email invalid_email", "body.name control_character", "body.phone invalid_phone",
			"body.locale invalid_locale", "body.timezone unknown_timezone", "body.role unknown_value"}},
		{"name and address", with(func(n *NewUser) { n.Email = "Ada <ada@example.org>" }), []string{"body.email invalid_email"}},
		{"two addresses", with(func(n *NewUser) { n.Email = "a@example.org, b@example.org" }), []string{"body.email invalid_email"}},
		{"NUL in address", with(func(n *NewUser) { n.Email = "a\x00@example.org" }), []string{"body.email invalid_email"}},
		{"long address", with(func(n *NewUser) { n.Email = strings.Repeat("a", 250) + "@b.example" }), []string{"body.email too_long"}},
		{"long name", with(func(n *NewUser) { n.Name = strings.Repeat("é", 201) }), []string{"body.name too_long"}},
		{"name just fits", with(func(n *NewUser) { n.Name = strings.Repeat("é", 200) }), nil},
		{"name not UTF-8", with(func(n *NewUser) { n.Name = "a\xff" }), []string{"body.name control_character"}},
		{"the machine's zone", with(func(n *NewUser) { n.Timezone = "Local" }), []string{"body.timezone unknown_timezone"}},
		{"zone leads elsewhere", with(func(n *NewUser) { n.Timezone = "../etc/passwd" }), []string{"body.timezone unknown_timezone"}},
		{"national number", with(func(n *NewUser) { n.Phone = "030 123" }), []string{"body.phone invalid_phone"}},
		{"long locale", with(func(n *NewUser) { n.Locale = "en" + strings.Repeat("-x", 20) }), []string{"body.locale invalid_locale"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var fs faults
			tt.user.user(&fs, "Europe/Berlin", time.Now())
			var got []string
			for _, f := range fs.List {
				got = append(got, f.Location+" "+f.Code)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewUser_normalised(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	var fs faults
	got := NewUser{Email: " Ada@Example.ORG ", Name: " Ada ", Role: Manager, Phone: "+49 (30) 123-45"}.user(&fs, "Europe/Berlin", now)
	want := &User{
		Email: "ada@example.org", Name: "Ada", Role: Manager, Phone: "+493012345", Locale: "en", Timezone: "Europe/Berlin",
		Version: 1, CreatedAt: now, UpdatedAt: now,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(fs.List) != 0 {
		t.Errorf("user (-want +got):\n%s%v", diff, fs.List)
	}
}

func TestFaults_password(t *testing.T) {
	t.Parallel()
	for password, want := range map[string]string{
		"1234567":                        "too_short",
		"12345678":                       "too_common",
		"23456789":                       "too_common",
		"hgfedcba":                       "too_common",
		"PassWord":                       "too_common",
		"sunshine1":                      "too_common",
		"Sommer2031!":                    "too_common",
		"sunshine 40917 88 301":          "",
		"aaaaaaaaaaaa":                   "too_common",
		"abababababab":                   "too_common",
		"        ":                       "too_common",
		"\uff50assword":                  "too_common", // a wide p
		"ada@example.org":                "too_common",
		"ada lovelace":                   "too_common",
		"example.org":                    "too_common",
		"four of us":                     "",
		"密码密码密码密":                        "too_short",
		"密码密码密码密码":                       "too_common",
		"我的密码很长很安全":                      "",
		strings.Repeat("xyz1", 64):       "",
		strings.Repeat("xyz1", 64) + "x": "too_long",
		"12345678\xff":                   "malformed",
	} {
		var fs faults
		fs.password(password, "ada@example.org", "Ada Lovelace")
		got := ""
		if len(fs.List) > 0 {
			got = fs.List[0].Code
		}
		if got != want || len(fs.List) > 1 {
			t.Errorf("password %q: %v, want %q", password, fs, want)
		}
	}
}
