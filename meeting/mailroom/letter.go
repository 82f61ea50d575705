package mailroom

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // decodes the character sets of parts
	"github.com/emersion/go-message/mail"
	"golang.org/x/text/encoding/charmap"
)

// Limits of a mail. Reading stops as soon as one is exceeded.
type Limits struct {
	Size   int64 // bytes of the mail
	Depth  int   // of parts within each other
	Parts  int
	Events int
}

// Letter holds the relevant parts of a mail.
type Letter struct {
	From      string   // address in lower case; empty: none, or several
	Returned  string   // the topmost Return-Path: an address in lower case, or <> of a report about another mail; empty: none
	To        []string // addresses to which it was delivered, and those in To and Cc; in lower case, at most 100
	MessageID string   // with brackets
	Subject   string   // decoded
	Automatic string   // the keyword of Auto-Submitted in lower case; empty: sent by a person
	Bulk      bool     // Precedence is bulk, list or junk
	Results   []string // Authentication-Results, the topmost first
	Calendar  []byte   // the calendar message in UTF-8; nil: none
	Method    string   // of the calendar message by the type of its part, in upper case; empty: not given
	Winmail   bool     // the mail has a winmail.dat
	Report    *Report  // nil: the mail is no delivery report
}

// complexError means that a mail exceeds a limit.
type complexError struct{ what string }

func (e *complexError) Error() string { return e.what }

// maxHeader is the size of the header of a mail, or of a part.
const maxHeader = 128 << 10

// maxAddressed is the number of recipients that are kept.
const maxAddressed = 100

// maxShown is the length of the texts that are kept of a header, in bytes.
const maxShown = 500

// ReadLetter reads a mail, in time proportional to its size. A mail that exceeds a limit is refused as
// soon as that shows. On an error, Letter has what was read so far; it is never nil.
func ReadLetter(raw []byte, l Limits) (*Letter, error) {
	letter := &Letter{}
	if int64(len(raw)) > l.Size {
		return letter, &complexError{fmt.Sprintf("must have at most %d bytes, not %d", l.Size, len(raw))}
	}
	e, err := message.ReadWithOptions(bytes.NewReader(raw), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if e == nil {
		return letter, fmt.Errorf("cannot read the header: %w", err)
	}
	letter.readHeader(&e.Header)
	if isReport(&e.Header) {
		letter.Report = &Report{}
	}
	w := walk{letter: letter, limits: l}
	err = w.part(e, 1)
	if letter.Calendar, letter.Method = w.calendar, w.method; letter.Calendar == nil {
		letter.Calendar = w.attached
	}
	if letter.Calendar == nil && letter.Report == nil && err == nil {
		err = w.broken
	}
	return letter, err
}

func (l *Letter) readHeader(h *message.Header) {
	m := mail.Header{Header: *h}
	if froms := h.FieldsByKey("From"); froms.Len() == 1 {
		if list, err := m.AddressList("From"); err == nil && len(list) == 1 {
			l.From = shown(strings.ToLower(list[0].Address))
		}
	}
	for _, field := range []string{"Delivered-To", "X-Original-To", "Envelope-To", "To", "Cc"} {
		list, _ := m.AddressList(field)
		for _, a := range list[:min(len(list), maxAddressed-len(l.To))] {
			l.To = append(l.To, shown(strings.ToLower(a.Address)))
		}
	}
	if path := strings.TrimSpace(h.Get("Return-Path")); path == "<>" {
		l.Returned = path
	} else {
		l.Returned = shown(strings.ToLower(strings.Trim(path, "<>")))
	}
	l.MessageID = shown(h.Get("Message-Id"))
	if subject, err := m.Subject(); err == nil {
		l.Subject = shown(subject)
	} else {
		l.Subject = shown(h.Get("Subject"))
	}
	if words := strings.FieldsFunc(strings.ToLower(h.Get("Auto-Submitted")), func(r rune) bool { return r == ';' || r == '(' || r == ' ' }); len(words) > 0 && words[0] != "no" {
		l.Automatic = words[0]
	}
	switch strings.ToLower(strings.TrimSpace(h.Get("Precedence"))) {
	case "bulk", "list", "junk":
		l.Bulk = true
	}
	for fs := h.FieldsByKey("Authentication-Results"); fs.Next(); {
		l.Results = append(l.Results, fs.Value())
	}
}

// shown returns one line of text that every database can store.
func shown(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}), " ")
	for len(s) > maxShown {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// walk reads the parts of a mail.
type walk struct {
	letter   *Letter
	limits   Limits
	parts    int
	calendar []byte // the first text/calendar
	method   string // that its type names
	attached []byte // the first attached .ics file
	broken   error  // the last part that cannot be read, if any
}

func (w *walk) part(e *message.Entity, depth int) error {
	if w.parts++; w.parts > w.limits.Parts {
		return &complexError{fmt.Sprintf("must have at most %d parts", w.limits.Parts)}
	}
	if depth > w.limits.Depth {
		return &complexError{fmt.Sprintf("must have at most %d parts within each other", w.limits.Depth)}
	}
	if parts := e.MultipartReader(); parts != nil {
		for {
			p, err := parts.NextPart()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case p == nil: // some programs do not end their parts
				w.broken = fmt.Errorf("cannot read part %d: %w", w.parts+1, err)
				return nil
			}
			if err := w.part(p, depth+1); err != nil {
				return err
			}
		}
	}
	kind, params, _ := e.Header.ContentType()
	if w.letter.Report != nil {
		w.letter.Report.part(kind, e.Body)
		return nil
	}
	_, disposition, _ := e.Header.ContentDisposition()
	name := strings.ToLower(disposition["filename"])
	if name == "" {
		name = strings.ToLower(params["name"])
	}
	switch {
	case kind == "text/calendar" && w.calendar == nil:
		w.method = strings.ToUpper(strings.TrimSpace(params["method"]))
		return w.read(e, &w.calendar)
	case (kind == "application/ics" || path.Ext(name) == ".ics") && w.attached == nil:
		return w.read(e, &w.attached)
	case kind == "application/ms-tnef" || name == "winmail.dat":
		w.letter.Winmail = true
	}
	return nil
}

func (w *walk) read(e *message.Entity, to *[]byte) error {
	text, err := io.ReadAll(io.LimitReader(e.Body, w.limits.Size+1))
	if err != nil {
		return fmt.Errorf("cannot read the calendar in part %d: %w", w.parts, err)
	}
	if int64(len(text)) > w.limits.Size {
		return &complexError{fmt.Sprintf("its calendar must have at most %d bytes", w.limits.Size)}
	}
	text = bytes.ReplaceAll(text, []byte{0}, nil) // which no database keeps
	if !utf8.Valid(text) {                        // a program that does not say what it wrote
		if text, err = charmap.Windows1252.NewDecoder().Bytes(text); err != nil {
			return fmt.Errorf("cannot read the characters of part %d: %w", w.parts, err)
		}
	}
	*to = text
	return nil
}

// trace are the fields that change each time a mail is delivered.
var trace = []string{"received:", "return-path:", "delivered-to:", "x-original-to:", "envelope-to:"}

// digest identifies a mail. It leaves out the trace at the top of the header, which differs if a server
// delivers the mail again, or another server does.
func digest(raw []byte) string {
	sum := sha256.New()
	skip := false
	for rest := raw; len(rest) > 0; {
		line := rest
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			line = rest[:i+1]
		}
		rest = rest[len(line):]
		if len(bytes.TrimSpace(line)) == 0 { // the end of the header
			sum.Write(rest)
			break
		}
		if line[0] != ' ' && line[0] != '\t' {
			skip = isTrace(line)
		}
		if !skip {
			sum.Write(line)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func isTrace(line []byte) bool {
	for _, name := range trace {
		if len(line) >= len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			return true
		}
	}
	return false
}
