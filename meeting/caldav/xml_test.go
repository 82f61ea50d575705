package caldav

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// No input makes the reader of requests fail, or exceed its limits; what it reads can be written and read
// again.
func FuzzReadXML(f *testing.F) {
	f.Add(`<?xml version="1.0"?><propfind xmlns="DAV:"><prop><getetag/><c:calendar-data xmlns:c="urn:ietf:params:xml:ns:caldav"/></prop></propfind>`)
	f.Add(`<d:propertyupdate xmlns:d="DAV:"><d:set><d:prop><d:displayname>A &amp; B &lt;3<!-- x --> C</d:displayname><a xmlns="b"><c xmlns=""/></a></d:prop></d:set></d:propertyupdate>`)
	f.Add(`<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`)
	f.Add(strings.Repeat("<a>", maxDepth+1))
	f.Add("<x xmlns:y=''><::/><y:1/></x>")
	f.Add("<a:b:c xmlns:a='&#9;'>&#xD;]]&gt;</a:b:c>")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := readXML(strings.NewReader(text))
		if err != nil || e == nil {
			return
		}
		elements := 0
		var look func(e *element, depth int)
		look = func(e *element, depth int) {
			if elements++; depth > maxDepth {
				t.Fatalf("%d elements within each other", depth)
			}
			e.attr = map[string]string{}
			if len(e.kids) > 0 {
				e.text = nil
			}
			e.text = bytes.Clone(e.text)
			for _, k := range e.kids {
				look(k, depth+1)
			}
		}
		look(e, 1)
		if elements > maxElements {
			t.Fatalf("%d elements", elements)
		}
		written := "<d:x" + declarations + ">" + tag(e.name, e.content()) + "</d:x>"
		again, err := readXML(strings.NewReader(written))
		if err != nil {
			if elements < maxElements && !tooDeep(e) {
				t.Fatalf("%v in %s", err, written)
			}
			return
		}
		look(again, 1)
		if !reflect.DeepEqual(again.kids[0], e) {
			t.Errorf("%q is written as %q", text, written)
		}
	})
}

// tooDeep reports whether an element has no room within another.
func tooDeep(e *element) bool {
	depth := 0
	for level := []*element{e}; len(level) > 0; depth++ {
		var next []*element
		for _, x := range level {
			next = append(next, x.kids...)
		}
		level = next
	}
	return depth >= maxDepth
}
