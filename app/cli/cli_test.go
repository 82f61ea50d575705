package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// runCommand runs one in a folder of its own for each test.
func runCommand(t *testing.T, stdin string, args ...string) (stdout string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := &cli{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	root := c.root()
	root.SetArgs(args)
	err = root.ExecuteContext(context.WithoutCancel(t.Context()))
	if err == nil && errs.Len() > 0 {
		t.Errorf("%v wrote to standard error: %s", args, errs.String())
	}
	return out.String(), err
}

func TestCommands_people(t *testing.T) {
	t.Chdir(t.TempDir())
	add := []string{"user", "add", "--name", "Root", "--role", "admin", "--password-stdin", "--email"}
	if out, err := runCommand(t, "a long password\n", append(add, "root@example.org")...); err != nil || !strings.Contains(out, "root@example.org") {
		t.Fatalf("%q %v", out, err)
	}
	for _, c := range []struct{ stdin, email, want string }{
		{"a long password\n", "ROOT@example.org", "email "},
		{"short\n", "b@example.org", "password "},
		{"", "b@example.org", "standard input holds no password"},
		{"short\n", "nobody", "; password "},
	} {
		if _, err := runCommand(t, c.stdin, append(add, c.email)...); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "body.") {
			t.Errorf("%s: %v, want %s", c.email, err, c.want)
		}
	}
	if _, err := runCommand(t, "", "user", "disable", "nobody@example.org"); err == nil {
		t.Error("disabled nobody")
	}
	if _, err := runCommand(t, "a long password", "user", "add", "--password-stdin", "--name", "B", "--email", "b@example.org"); err != nil {
		t.Error(err)
	}
	if out, err := runCommand(t, "", "user", "export", "b@example.org"); err != nil || !strings.Contains(out, `"email":"b@example.org"`) {
		t.Errorf("export: %q, %v", out, err)
	}
	if _, err := runCommand(t, "", "user", "erase", "b@example.org", "--yes"); err == nil {
		t.Error("a user who has not left is erased")
	}
	if out, err := runCommand(t, "", "user", "erase", "guest@example.org", "--yes"); err != nil || !strings.Contains(out, "guest@example.org") {
		t.Errorf("erase a guest: %q, %v", out, err)
	}
	if _, err := runCommand(t, "", "user", "disable", "B@example.org"); err != nil {
		t.Error(err)
	}
	out, err := runCommand(t, "", "user", "list")
	if err != nil || len(strings.Split(strings.TrimSpace(out), "\n")) != 3 || !strings.Contains(out, "disabled") {
		t.Errorf("%s %v", out, err)
	}
}

func TestCommands_demo(t *testing.T) {
	t.Chdir(t.TempDir())
	out, err := runCommand(t, "", "demo")
	if err != nil || !strings.Contains(out, "Created 5 rooms") || !strings.Contains(out, demoPassword) {
		t.Fatalf("%s %v", out, err)
	}
	if out, err := runCommand(t, "", "demo", "--if-empty"); err != nil || !strings.Contains(out, "already") {
		t.Errorf("%s %v", out, err)
	}
	if _, err := runCommand(t, "", "demo"); err == nil {
		t.Error("made twice")
	}
}

func TestCommands_migrate(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "up"}, {"migrate", "down"}, {"migrate", "status"}} {
		out, err := runCommand(t, "", args...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
		}
		if args[1] == "status" && !(strings.Contains(out, "0001_account.sql") && strings.Contains(out, "  no")) {
			t.Errorf("status:\n%s", out)
		}
	}
}

func TestMain_exitCodes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{"version"}, exitDone},
		{[]string{"config", "check"}, exitDone},
		{[]string{"config", "check", "missing.yaml"}, exitFailed},
		{[]string{"serve", "--role", "king"}, exitUsage},
		{[]string{"nonsense"}, exitUsage},
		{[]string{"user", "add"}, exitUsage},
		{[]string{"user", "disable"}, exitUsage},
		{[]string{"user", "erase", "nobody@example.org"}, exitUsage},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(append([]string{"punctual"}, c.args...), strings.NewReader(""), &stdout, &stderr); code != c.code {
			t.Errorf("%v: exit code %d, want %d: %s", c.args, code, c.code, stderr.String())
		}
		if n := strings.Count(stderr.String(), "\n"); (c.code != exitDone) != (n == 1) {
			t.Errorf("%v: %d lines: %s", c.args, n, stderr.String())
		}
	}
}

func TestNotifyPreview_templates(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(args ...string) (code int, text string) {
		var out, errs strings.Builder
		code = Main(append([]string{"punctual"}, args...), strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	write := func(file, content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("mails", 0o700); err != nil {
		t.Fatal(err)
	}
	write("config.yaml", "notifications: {templates: mails}\n")
	write("mails/invitation.en.subject.txt", "Acme: {{.Title}}")
	if code, text := run("notify", "preview", "invitation"); code != 0 || !strings.HasPrefix(text, "Subject: Acme: Design review\n") {
		t.Errorf("exit code %d, %s", code, text)
	}
	write("mails/invitation.en.subject.txt", "Acme: {{.Titel}}")
	for _, args := range [][]string{{"notify", "preview", "invitation"}, {"config", "check"}, {"doctor"}, {"serve"}} {
		if code, text := run(args...); code == 0 || !strings.Contains(text, "invitation.en.subject.txt:1:9: ") || !strings.Contains(text, "there is no field Titel here") {
			t.Errorf("%v: exit code %d, %s", args, code, text)
		}
	}
}

func TestNotifyPreview(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"invitation"}, 0, "Subject: Invitation: Design review"},
		{[]string{"invitation", "--language", "de", "--format", "html"}, 0, `<html lang="de"`},
		{[]string{"invitation", "--format", "eml"}, 0, "X-Punctual-Kind: invitation"},
		{[]string{"gossip"}, 2, "use one of approval_reminder approval_request"},
		{[]string{"invitation", "--language", "fr"}, 2, `unknown language "fr"`},
		{[]string{"invitation", "--format", "pdf"}, 2, `unknown format "pdf"`},
	} {
		var out, errs strings.Builder
		code := Main(append([]string{"punctual", "notify", "preview"}, tt.args...), strings.NewReader(""), &out, &errs)
		if code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
			t.Errorf("%v: exit code %d, want %d and %q in\n%s%s", tt.args, code, tt.code, tt.want, out.String(), errs.String())
		}
	}
}
