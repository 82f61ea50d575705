// Package bounce reads the events that mail providers post about bounces and complaints. How each
// provider describes them is data, in formats.json.
package bounce

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"regexp"
	"slices"
	"strings"
)

//go:embed formats.json
var formatsJSON []byte

// A format describes the events of a provider. Paths are names of JSON fields, separated by dots.
type format struct {
	ID      string  `json:"id"`
	Inner   string  `json:"inner"`   // field that holds the event as text; "": the body, an object or an array of them
	Confirm confirm `json:"confirm"` // how the provider asks whether it may post events
	Rules   []rule  `json:"rules"`   // the first that matches applies; an event that matches none is ignored
}

// confirm describes the events with an address that an administrator must open once. Zero: there are none.
type confirm struct {
	When    fields         `json:"when"`
	Address string         `json:"address"` // field
	Like    *regexp.Regexp `json:"like"`    // that the address must match: anyone who knows the secret may name others
}

// fields are values of fields, in any case, that all must match.
type fields map[string][]string

// A rule describes the events that mark addresses.
type rule struct {
	When      fields   `json:"when"`
	To        string   `json:"to"`         // field with an array of recipients; "": the event has one
	Address   string   `json:"address"`    // field of a recipient
	Reason    []string `json:"reason"`     // fields of a recipient
	Complaint bool     `json:"complaint"`  // the recipient complained
	MessageID string   `json:"message_id"` // field of the event
}

var formats = func() (all []format) {
	if err := json.Unmarshal(formatsJSON, &all); err != nil {
		panic(fmt.Errorf("formats.json: %w", err)) // a part of the program
	}
	return all
}()

// Providers returns the providers whose events can be read.
func Providers() []string {
	ids := make([]string, len(formats))
	for i, f := range formats {
		ids[i] = f.ID
	}
	return ids
}

// An Event says that mails to an address bounce for good, or that its owner complained.
type Event struct {
	Address   string
	Reason    string
	MessageID string // "": not known
}

// Read reads what a provider posted. It ignores all other events, such as soft bounces. confirm is
// an address that an administrator must open before the provider posts events; "": none.
func Read(provider string, body []byte) (events []Event, confirm string, err error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.ID == provider })
	if i < 0 {
		return nil, "", fmt.Errorf("unknown mail provider %q", provider)
	}
	f := formats[i]
	all, err := decode(body)
	if err != nil {
		return nil, "", err
	}
	for _, e := range all {
		if address := text(e, f.Confirm.Address); address != "" && f.Confirm.When.match(e) && f.Confirm.Like.MatchString(address) {
			confirm = address
		}
		if inner := text(e, f.Inner); f.Inner != "" && inner != "" {
			of, err := decode([]byte(inner))
			if err != nil {
				continue // a message of another kind, such as that of a test
			}
			e = of[0]
		}
		events = append(events, f.read(e)...)
	}
	return events, confirm, nil
}

// decode returns an object, or the elements of an array. There is at least one.
func decode(body []byte) ([]any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("must be JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one JSON value")
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		return list, nil
	}
	return []any{v}, nil
}

func (f *format) read(e any) (events []Event) {
	for _, r := range f.Rules {
		if !r.When.match(e) {
			continue
		}
		to := []any{e}
		if r.To != "" {
			to, _ = at(e, r.To).([]any)
		}
		for _, one := range to {
			address, err := mail.ParseAddress(text(one, r.Address))
			if err != nil {
				continue
			}
			reason := make([]string, 0, 3)
			if r.Complaint {
				reason = append(reason, "the recipient reported a mail as spam")
			}
			for _, path := range r.Reason {
				if t := line(text(one, path)); t != "" && !strings.Contains(strings.Join(reason, " "), t) {
					reason = append(reason, t)
				}
			}
			if len(reason) == 0 {
				reason = append(reason, "reported by "+f.ID)
			}
			events = append(events, Event{Address: address.Address, Reason: strings.Join(reason, " "), MessageID: line(text(e, r.MessageID))})
		}
		break
	}
	return events
}

func (f fields) match(e any) bool {
	for path, values := range f {
		v := text(e, path)
		if !slices.ContainsFunc(values, func(one string) bool { return strings.EqualFold(one, v) }) {
			return false
		}
	}
	return true
}

// at returns the value of a field, nil if there is none.
func at(v any, path string) any {
	if path == "" {
		return nil
	}
	for name := range strings.SplitSeq(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

// text returns a field that is a text or a number, and "" for others.
func text(v any, path string) string {
	switch v := at(v, path).(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// line returns a text without line breaks and repeated spaces.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }
