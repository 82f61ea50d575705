package render

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punctual/notify"
)

func overrideFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadOverrides(t *testing.T) {
	dir := overrideFolder(t, map[string]string{
		"invitation.en.subject.txt": "Acme:\r\n{{.Title}}\x07",
		"invitation.en.html":        `<p>{{.Title}}</p><a href="{{.Title}}">{{range .Rows}}{{range .Lines}}{{.}} {{end}}{{end}}</a>`,
		".invitation.en.txt.swp":    "{{",
	})
	o, err := ReadOverrides(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := Samples(notify.Invitation, "en")[0]
	s.Notification.Facts.Title = "javascript:<b>"
	builtIn, err := r.Mail(s.Notification, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	r.Use(o)
	m, err := r.Mail(s.Notification, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Acme: javascript:<b>"; m.Subject != want {
		t.Errorf("subject %q, want %q", m.Subject, want)
	}
	if want := `<p>javascript:&lt;b&gt;</p><a href="#ZgotmplZ">`; !strings.HasPrefix(m.HTML, want) {
		t.Errorf("HTML %q, want %q first", m.HTML, want)
	}
	if m.Text != builtIn.Text {
		t.Errorf("text %q, want the built-in one", m.Text)
	}
	german := Samples(notify.Invitation, "de")[0]
	if m, err := r.Mail(german.Notification, german.Now); err != nil || strings.HasPrefix(m.Subject, "Acme") {
		t.Errorf("German subject %q, error %v; want the built-in one", m.Subject, err)
	}
}

func TestReadOverrides_faults(t *testing.T) {
	for _, tt := range []struct{ file, content, want string }{
		{"gossip.en.txt", "x", `: unknown kind "gossip" in the file name; use one of approval_reminder`},
		{"change.fr.txt", "x", `: unknown language "fr" in the file name; use one of en, de, zh`},
		{"change.en.pdf", "x", `: unknown part "pdf" in the file name; use one of subject.txt, txt, html`},
		{"change.en.txt", "{{.Title}}\n  {{if}}", ":2:3: missing value for if"},
		{"change.en.txt", "a\nb {{.Titel}}", ":2:5: "},
		{"change.en.txt", "a\nb {{.Titel}}", "there is no field Titel here"},
		{"change.en.html", "<p>\n{{.Titel}}", "there is no field Titel here"},
		{"change.en.html", "<a href='{{.Title}}", ":1:"},
		{"change.en.subject.txt", "{{if .Unsubscribe}}x{{end}}", "the subject is empty"},
		{"change.en.txt", `{{define "x"}}{{end}}a`, ":1:3: define and block are not allowed"},
		{"change.en.txt", `a {{template "mail" .}}`, ":1:14: template is not allowed"},
		{"change.en.txt", "{{range 1000000000}}{{end}}", "range must be over a field, such as .Rows"},
		{"change.en.txt", "{{with 1000000000}}{{range .}}{{end}}{{end}}", "range must be over a field"},
		{"change.en.txt", "{{$n := 1000000000}}{{range $n}}{{end}}", "range must be over a field"},
		{"change.en.txt", "{{range .Rows}}{{range $.Rows}}{{range $.Rows}}{{end}}{{end}}{{end}}", "range must be nested at most 2 deep"},
		{"change.en.txt", `{{printf "%1000000000d" 1}}`, ":1:3: function printf is not allowed; use and, or,"},
		{"change.en.txt", `{{if eq (print .Title .Title) "x"}}{{end}}`, "function print is not allowed"},
		{"change.en.txt", "{{range .Rows}}{{range $.Rows}}" + strings.Repeat("x", 50_000) + "{{end}}{{end}}", "the output has more than 262144 bytes"},
		{"change.en.txt", strings.Repeat("x", 70_000), ": must be at most 65536 bytes"},
		{"change.en.txt", "\xff", ": must be valid UTF-8"},
	} {
		dir := overrideFolder(t, map[string]string{tt.file: tt.content, "invitation.en.txt": "fine"})
		_, err := ReadOverrides(dir)
		e, ok := errors.AsType[*TemplateError](err)
		if !ok || len(e.Faults) != 1 {
			t.Errorf("%s %.60q: error %v, want one fault", tt.file, tt.content, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), filepath.Join(dir, tt.file)+":") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.60q: error %q, want %q", tt.file, tt.content, err, tt.want)
		}
	}
	if _, err := ReadOverrides(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("read a folder that does not exist")
	}
}

// The built-in templates follow the rules for others, so they are examples to start from.
func TestReadOverrides_builtIn(t *testing.T) {
	text, err := files.ReadFile("templates/mail.txt")
	if err != nil {
		t.Fatal(err)
	}
	html, err := files.ReadFile("templates/mail.html")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadOverrides(overrideFolder(t, map[string]string{"digest.zh.txt": string(text), "invitation.de.html": string(html)})); err != nil {
		t.Error(err)
	}
}

// A template that fails for data unlike the samples costs no mail.
func TestRenderer_Use_fallsBack(t *testing.T) {
	var failures []string
	r, err := New(Config{Failed: func(_ notify.Notification, err error) { failures = append(failures, err.Error()) }})
	if err != nil {
		t.Fatal(err)
	}
	s := Samples(notify.Invitation, "en")[0]
	want, err := r.Mail(s.Notification, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ReadOverrides(overrideFolder(t, map[string]string{"invitation.en.txt": `{{if eq .Title "Surprise"}}{{index .Rows 999}}{{end}}fine`}))
	if err != nil {
		t.Fatal(err)
	}
	s.Notification.Facts.Title = "Surprise"
	r.Use(o)
	m, err := r.Mail(s.Notification, s.Now)
	if err != nil || m.Text != strings.ReplaceAll(want.Text, "Design review", "Surprise") {
		t.Errorf("text %q, error %v; want the built-in one", m.Text, err)
	}
	if len(failures) != 1 || !strings.Contains(failures[0], "template invitation.en.txt: ") {
		t.Errorf("reported %q, want the one failure", failures)
	}
}
