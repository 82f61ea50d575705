package render

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	texttemplate "text/template"
	"text/template/parse"

	"punctual/notify"
)

// Limits of templates from a folder, in bytes and levels.
const (
	maxTemplate = 64 << 10
	maxOutput   = 256 << 10
	maxRanges   = 2 // nested
)

// Languages are the languages of mails.
var Languages = []string{"en", "de", "zh"}

var errEmptySubject = errors.New("the subject is empty")

// partNames are the parts of a mail that a file may override, as the file names end.
var partNames = []string{"subject.txt", "txt", "html"}

// Overrides are templates from a folder. They replace parts of built-in mails. The zero value replaces none.
type Overrides struct{ parts map[string]executor } // by file name

type executor interface{ Execute(io.Writer, any) error }

// TemplateFault is one thing wrong with a template. Line and Column are 0 if it is the file as a whole.
type TemplateFault struct {
	File         string
	Line, Column int
	Message      string
}

// TemplateError lists what is wrong with the templates of a folder.
type TemplateError struct{ Faults []TemplateFault }

// Error returns one line for each fault.
func (e *TemplateError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.File + ": " + f.Message
		if f.Line > 0 {
			lines[i] = fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// ReadOverrides reads all templates of a folder and renders every sample with them. Files are named
// KIND.LANG.subject.txt, KIND.LANG.txt or KIND.LANG.html; names that begin with a dot are skipped. An
// empty folder name means no templates. If files are faulty, it returns all faults as a [*TemplateError].
func ReadOverrides(folder string) (*Overrides, error) {
	o := &Overrides{parts: map[string]executor{}}
	if folder == "" {
		return o, nil
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, &TemplateError{[]TemplateFault{{File: folder, Message: err.Error()}}}
	}
	check, err := newChecker()
	if err != nil {
		return nil, err
	}
	var faults []TemplateFault
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") {
			continue
		}
		file := filepath.Join(folder, f.Name())
		t, fault := check.read(file)
		if fault != nil {
			fault.File = file
			faults = append(faults, *fault)
			continue
		}
		o.parts[f.Name()] = t
	}
	if len(faults) > 0 {
		return nil, &TemplateError{faults}
	}
	return o, nil
}

// splitName returns what a template file overrides, or what is wrong with its name.
func splitName(name string) (kind notify.Kind, lang, part string, fault error) {
	k, rest, _ := strings.Cut(name, ".")
	lang, part, _ = strings.Cut(rest, ".")
	kind = notify.Kind(k)
	switch {
	case !slices.Contains(Kinds(), kind):
		fault = fmt.Errorf("unknown kind %q in the file name; use one of %s", k, strings.Trim(fmt.Sprint(Kinds()), "[]"))
	case !slices.Contains(Languages, lang):
		fault = fmt.Errorf("unknown language %q in the file name; use one of %s", lang, strings.Join(Languages, ", "))
	case !slices.Contains(partNames, part):
		fault = fmt.Errorf("unknown part %q in the file name; use one of %s", part, strings.Join(partNames, ", "))
	}
	return kind, lang, part, fault
}

// checker renders samples, with links and without.
type checker []*Renderer

func newChecker() (checker, error) {
	link := func(notify.Notification) string { return "https://punctual.example.org/link?token=sample" }
	full, err := New(Config{BaseURL: "https://punctual.example.org", Links: Links{
		Decide: link, CheckIn: link, Respond: link, Accept: link, ChoosePassword: link, Unsubscribe: link,
	}})
	if err != nil {
		return nil, err
	}
	bare, err := New(Config{})
	return checker{full, bare}, err
}

func (c checker) read(file string) (executor, *TemplateFault) {
	kind, lang, part, err := splitName(filepath.Base(file))
	if err != nil {
		return nil, &TemplateFault{Message: err.Error()}
	}
	src, err := readLimited(file)
	if err != nil {
		return nil, &TemplateFault{Message: err.Error()}
	}
	t, fault := compile(src, part == "html")
	if fault != nil {
		return nil, fault
	}
	for _, r := range c {
		for _, s := range Samples(kind, lang) {
			p, err := r.fill(s.Notification, s.Now)
			if err != nil {
				return nil, &TemplateFault{Message: err.Error()}
			}
			out, err := execute(t, p)
			if err == nil && part == "subject.txt" && line(out) == "" {
				err = errEmptySubject
			}
			if err != nil {
				f := faultOf(src, err)
				f.Message += " (sample " + s.Name + ")"
				return nil, f
			}
		}
	}
	return t, nil
}

func readLimited(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("must be a file")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	if err != nil {
		return "", err
	}
	if len(src) > maxTemplate {
		return "", fmt.Errorf("must be at most %d bytes", maxTemplate)
	}
	if strings.ToValidUTF8(string(src), "") != string(src) {
		return "", errors.New("must be valid UTF-8")
	}
	return strings.TrimPrefix(string(src), "\ufeff"), nil
}

// templateName is the name of every template; files are named by the fault.
const templateName = "mail"

// allowed are the functions that templates may call. None makes text, so the output of a template grows only with
// the template and the data.
var allowed = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index"}

func compile(src string, html bool) (executor, *TemplateFault) {
	t, err := texttemplate.New(templateName).Parse(src)
	if err != nil {
		return nil, faultOf(src, err)
	}
	if len(t.Templates()) > 1 {
		at := max(0, max(strings.Index(src, "define"), strings.Index(src, "block")))
		f := faultAt(src, at)
		f.Message = "define and block are not allowed"
		return nil, f
	}
	if t.Tree != nil && t.Root != nil {
		if f := (&restriction{src: src}).list(t.Root, 0); f != nil {
			return nil, f
		}
	}
	if !html {
		return t, nil
	}
	h, err := template.New(templateName).Parse(src)
	if err != nil {
		return nil, faultOf(src, err)
	}
	return h, nil
}

// restriction refuses what could take long or make much text: other templates, loops over anything
// but given lists, and functions that build text.
type restriction struct{ src string }

func (r *restriction) refuse(n parse.Node, format string, args ...any) *TemplateFault {
	f := faultAt(r.src, int(n.Position()))
	f.Message = fmt.Sprintf(format, args...)
	return f
}

func (r *restriction) list(l *parse.ListNode, ranges int) *TemplateFault {
	if l == nil {
		return nil
	}
	for _, n := range l.Nodes {
		if f := r.node(n, ranges); f != nil {
			return f
		}
	}
	return nil
}

func (r *restriction) node(n parse.Node, ranges int) *TemplateFault {
	switch n := n.(type) {
	case *parse.TemplateNode:
		return r.refuse(n, "template is not allowed")
	case *parse.ActionNode:
		return r.pipe(n.Pipe)
	case *parse.IfNode:
		return r.branch(&n.BranchNode, ranges)
	case *parse.WithNode:
		return r.branch(&n.BranchNode, ranges)
	case *parse.RangeNode:
		if !overList(n.Pipe) {
			return r.refuse(n, "range must be over a field, such as .Rows")
		}
		if ranges == maxRanges {
			return r.refuse(n, "range must be nested at most %d deep", maxRanges)
		}
		return r.branch(&n.BranchNode, ranges+1)
	}
	return nil
}

func (r *restriction) branch(b *parse.BranchNode, ranges int) *TemplateFault {
	return cmp.Or(r.pipe(b.Pipe), r.list(b.List, ranges), r.list(b.ElseList, ranges))
}

func (r *restriction) pipe(p *parse.PipeNode) *TemplateFault {
	for _, c := range p.Cmds {
		for _, a := range c.Args {
			if f := r.argument(a); f != nil {
				return f
			}
		}
	}
	return nil
}

func (r *restriction) argument(a parse.Node) *TemplateFault {
	switch a := a.(type) {
	case *parse.IdentifierNode:
		if !slices.Contains(allowed, a.Ident) {
			return r.refuse(a, "function %s is not allowed; use %s", a.Ident, strings.Join(allowed, ", "))
		}
	case *parse.PipeNode:
		return r.pipe(a)
	case *parse.ChainNode:
		return r.argument(a.Node)
	}
	return nil
}

// overList reports whether a pipeline is nothing but a field: .Rows, $.Rows or $row.Lines.
func overList(p *parse.PipeNode) bool {
	if len(p.Cmds) != 1 || len(p.Cmds[0].Args) != 1 {
		return false
	}
	switch a := p.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		return true
	case *parse.VariableNode:
		return len(a.Ident) > 1
	}
	return false
}

var (
	placed  = regexp.MustCompile(`(?s)^(?:html/template|template): ?` + templateName + `:(\d+)(?::(\d+))?: (?:executing "` + templateName + `" at )?(.*)$`)
	noField = regexp.MustCompile(`can't evaluate field (\w+) in type .*`)
)

// faultOf finds the place in an error of the template packages, which have no column for all of them:
// then it is that of the first action in the line.
func faultOf(src string, err error) *TemplateFault {
	m := placed.FindStringSubmatch(err.Error())
	if m == nil {
		return &TemplateFault{Line: 1, Column: 1, Message: err.Error()}
	}
	f := &TemplateFault{Message: noField.ReplaceAllString(m[3], "there is no field $1 here")}
	f.Line, _ = strconv.Atoi(m[1])
	f.Line = max(1, f.Line)
	if m[2] != "" {
		f.Column, _ = strconv.Atoi(m[2])
	} else if lines := strings.Split(src, "\n"); f.Line <= len(lines) {
		f.Column = max(0, strings.Index(lines[f.Line-1], "{{"))
	}
	f.Column++
	return f
}

func faultAt(src string, at int) *TemplateFault {
	before := src[:min(at, len(src))]
	return &TemplateFault{Line: strings.Count(before, "\n") + 1, Column: len(before) - strings.LastIndex(before, "\n")}
}

func execute(t executor, p page) (string, error) {
	var b bounded
	err := t.Execute(&b, p)
	return b.String(), err
}

// bounded refuses to grow beyond maxOutput.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("the output has more than %d bytes", maxOutput)
	}
	return b.Builder.Write(p)
}
