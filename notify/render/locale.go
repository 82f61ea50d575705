package render

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/text/language"
)

var variants = []string{
	"reminder.start", "reminder.end", "invitation", "change", "cancellation", "approval_request", "approval_reminder", "escalation",
	"decision.confirmed", "decision.rejected", "decision.timeout", "released", "declined",
	"waitlist_offer", "waitlist_booked", "waitlist_expired",
	"invite_user", "password_reset", "test_mail", "handover", "fault_report", "digest", "sign_in_added", "sms_limit",
}

func required() []string {
	names := []string{
		"date", "date-short", "weekday", "month", "time", "date-time-separator", "duration", "list-separator", "and-more",
		"greeting", "button", "footer", "sent-by", "label-when", "label-at-room", "label-where",
		"label-organizer", "label-attendees", "label-description", "label-deadline", "label-reason", "label-comment",
		"label-move", "label-dates", "dates-count", "dates-last", "rule", "meeting", "for-dates", "approve", "reject", "check-in", "label-check-in-by",
		"accept", "maybe", "decline", "take-offer", "choose-password", "choose-mails", "agenda-pending", "agenda-more", "hidden-title", "label-was", "yes", "no",
	}
	for _, v := range variants {
		for _, part := range []string{"tag", "subject", "headline", "lead", "sms"} {
			names = append(names, v+"."+part)
		}
	}
	return names
}

type locale struct {
	tag       language.Tag
	templates *template.Template
}

// language of the texts, such as en.
func (l *locale) language() string {
	base, _ := l.tag.Base()
	return base.String()
}

// locales are the available languages. English is the first and the fallback.
type locales struct {
	all     []*locale
	matcher language.Matcher
}

func loadLocales(fsys fs.FS) (*locales, error) {
	names, err := fs.Glob(fsys, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	var ls locales
	for _, name := range names {
		l, err := loadLocale(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if l.tag == language.English {
			ls.all = slices.Insert(ls.all, 0, l)
		} else {
			ls.all = append(ls.all, l)
		}
	}
	tags := make([]language.Tag, len(ls.all))
	for i, l := range ls.all {
		tags[i] = l.tag
	}
	ls.matcher = language.NewMatcher(tags)
	return &ls, nil
}

func loadLocale(fsys fs.FS, name string) (*locale, error) {
	tag, err := language.Parse(strings.TrimSuffix(path.Base(name), ".tmpl"))
	if err != nil {
		return nil, err
	}
	t, err := template.New(path.Base(name)).Funcs(functions).Option("missingkey=error").ParseFS(fsys, name, "templates/more/"+path.Base(name))
	if err != nil {
		return nil, err
	}
	for _, n := range required() {
		if t.Lookup(n) == nil {
			return nil, fmt.Errorf("%q is not defined", n)
		}
	}
	return &locale{tag: tag, templates: t}, nil
}

// functions for word tables: list returns a slice, dict a map of key, value, key, value.
var functions = template.FuncMap{
	"list": func(words ...string) []string { return words },
	"dict": func(pairs ...string) map[string]string {
		m := make(map[string]string, len(pairs)/2)
		for p := range slices.Chunk(pairs, 2) {
			m[p[0]] = p[1]
		}
		return m
	},
}

// of returns the best match for a user's languages ("zh-CN", "de;q=0.9, zh"), by default English.
func (ls *locales) of(want string) *locale {
	tags, _, err := language.ParseAcceptLanguage(strings.ReplaceAll(want, "_", "-"))
	if err != nil {
		return ls.all[0]
	}
	_, i, _ := ls.matcher.Match(tags...)
	return ls.all[i]
}

func (l *locale) say(name string, data any) (string, error) {
	var b strings.Builder
	if err := l.templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", err
	}
	return b.String(), nil
}

// must is say for words and dates. It cannot fail: a test renders all of them.
func (l *locale) must(name string, data any) string {
	s, err := l.say(name, data)
	if err != nil {
		panic(err)
	}
	return s
}
