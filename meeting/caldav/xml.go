package caldav

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name spaces of the protocol.
const (
	davNS            = "DAV:"
	calNS            = "urn:ietf:params:xml:ns:caldav"
	calendarServerNS = "http://calendarserver.org/ns/"
	appleNS          = "http://apple.com/ns/ical/"
)

// Limits of the XML of a request.
const (
	maxDepth    = 20
	maxElements = 30_000
)

// element is an element of a request.
type element struct {
	name xml.Name
	attr map[string]string // without name spaces
	kids []*element
	text []byte
}

// readXML reads the XML of a request; nil if there is none. It refuses what no calendar program sends:
// document types, which can define entities, deep nesting and very many elements.
func readXML(r io.Reader) (*element, error) {
	d := xml.NewDecoder(r)
	var root *element
	var open []*element
	for elements := 0; ; {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF) && len(open) == 0:
			return root, nil
		case err != nil:
			return nil, fmt.Errorf("read XML: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, errors.New("read XML: a document type is not allowed")
		case xml.StartElement:
			if elements++; elements > maxElements || len(open) == maxDepth || root != nil && len(open) == 0 {
				return nil, errors.New("read XML: too many or too deeply nested elements")
			}
			if first, _ := utf8.DecodeRuneInString(t.Name.Local); first != '_' && !unicode.IsLetter(first) || strings.Contains(t.Name.Local, ":") {
				return nil, errors.New("read XML: names of elements must begin with a letter and have at most one colon")
			}
			e := &element{name: t.Name, attr: map[string]string{}}
			for _, a := range t.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			if len(open) == 0 {
				root = e
			} else {
				parent := open[len(open)-1]
				parent.kids = append(parent.kids, e)
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				e := open[len(open)-1]
				e.text = append(e.text, t...)
			}
		}
	}
}

func (e *element) is(space, local string) bool {
	return e != nil && e.name.Space == space && e.name.Local == local
}

// kid returns the first child with a name, or nil. A nil element has none.
func (e *element) kid(space, local string) *element {
	if e == nil {
		return nil
	}
	for _, k := range e.kids {
		if k.is(space, local) {
			return k
		}
	}
	return nil
}

func (e *element) value() string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(string(e.text))
}

// content returns what an element contains as XML: its children, or its text.
func (e *element) content() string {
	if len(e.kids) == 0 {
		return escape(string(e.text))
	}
	var b strings.Builder
	for _, k := range e.kids {
		b.WriteString(tag(k.name, k.content()))
	}
	return b.String()
}

var prefixes = map[string]string{davNS: "d", calNS: "c", calendarServerNS: "cs", appleNS: "a"}

const declarations = ` xmlns:d="` + davNS + `" xmlns:c="` + calNS + `" xmlns:cs="` + calendarServerNS + `" xmlns:a="` + appleNS + `"`

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder never fails
	return b.String()
}

// tag returns an element with content that is XML.
func tag(n xml.Name, content string) string {
	name, declared := prefixes[n.Space], ""
	switch {
	case name != "":
		name += ":" + n.Local
	case n.Space == "":
		name = n.Local
	default:
		name, declared = "x:"+n.Local, ` xmlns:x="`+escape(n.Space)+`"`
	}
	if content == "" {
		return "<" + name + declared + "/>"
	}
	return "<" + name + declared + ">" + content + "</" + name + ">"
}

func davTag(local, content string) string { return tag(xml.Name{Space: davNS, Local: local}, content) }
func calTag(local, content string) string { return tag(xml.Name{Space: calNS, Local: local}, content) }
func href(path string) string             { return davTag("href", escape(path)) }

const xmlHeader = `<?xml version="1.0" encoding="utf-8"?>` + "\n"
