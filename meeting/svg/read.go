package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"punctual/account/fault"
)

const (
	namespace = "http://www.w3.org/2000/svg"
	xlink     = "http://www.w3.org/1999/xlink"
)

// node is an element of the drawing.
type node struct {
	name     string
	attrs    []attr
	children []*node
	text     string // before its children
	tail     string // after its end

	refs  []string // IDs to which it refers
	drawn int      // elements that it draws, references included; 0: not counted yet
	chain int      // references that follow one another, at most
	open  bool     // is being counted
}

type attr struct{ name, value string }

func (n *node) get(name string) string {
	for _, a := range n.attrs {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

func (n *node) set(name, value string) {
	n.attrs = append(slices.DeleteFunc(n.attrs, func(a attr) bool { return a.name == name }), attr{name, value})
}

func unreadable() error {
	return fault.Invalid("image", "unreadable_svg", "must be a complete SVG in UTF-8 without entities")
}

// read returns the known elements of an SVG, with all their attributes, and the rules of its style
// sheets. A DOCTYPE is skipped, so that entities that it defines are unknown and refused.
func read(data []byte) (root *node, rules *sheet, err error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	var stack []*node
	var space string
	rules = &sheet{}
	elements, skipped := 0, 0 // skipped: how deep within an element that is left out
	var style *strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, unreadable()
		}
		switch t := token.(type) {
		case xml.StartElement:
			elements++
			if elements > maxElements {
				return nil, nil, fault.Invalid("image", "too_many_elements", "must have at most %d elements", maxElements)
			}
			if len(stack)+skipped >= maxDepth {
				return nil, nil, fault.Invalid("image", "too_deep", "must not nest elements deeper than %d levels", maxDepth)
			}
			if root == nil {
				if t.Name.Local != "svg" || t.Name.Space != namespace && t.Name.Space != "" {
					return nil, nil, fault.Invalid("image", "unknown_image", "must be a PNG, JPEG, WebP or SVG")
				}
				space = t.Name.Space // empty in drawings that name none
			} else if len(stack) == 0 {
				return nil, nil, unreadable() // a second root
			}
			name := t.Name.Local
			if name == "a" || name == "switch" {
				name = "g"
			}
			switch {
			case skipped > 0 || t.Name.Space != space:
				skipped++
				continue
			case name == "style":
				style, skipped = &strings.Builder{}, 1
				continue
			case !elementNames[name]:
				skipped++
				continue
			}
			n := &node{name: name}
			for _, a := range t.Attr {
				if a.Name.Space == "" || a.Name.Space == xlink && a.Name.Local == "href" && n.get("href") == "" {
					n.attrs = append(n.attrs, attr{a.Name.Local, a.Value})
				}
			}
			if root == nil {
				root = n
			} else {
				parent := stack[len(stack)-1]
				parent.children = append(parent.children, n)
			}
			stack = append(stack, n)
		case xml.EndElement:
			if skipped > 0 {
				skipped--
				if skipped == 0 && style != nil {
					rules.add(style.String())
					style = nil
				}
				continue
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			switch {
			case style != nil:
				if skipped == 1 {
					n := min(len(t), maxSheet-rules.size) // one token may be the whole file
					style.Write(t[:n])
					rules.size += n
				}
			case skipped > 0 || len(stack) == 0:
			default:
				n := stack[len(stack)-1]
				if !textual[n.name] {
					continue
				}
				if len(n.children) > 0 {
					n.children[len(n.children)-1].tail += string(t)
				} else {
					n.text += string(t)
				}
			}
		}
	}
	if root == nil {
		return nil, nil, unreadable()
	}
	return root, rules, nil
}

// write appends an element as XML.
func write(b *bytes.Buffer, n *node, isRoot bool) {
	b.WriteString("<" + n.name)
	if isRoot {
		b.WriteString(` xmlns="` + namespace + `"`)
	}
	for _, a := range n.attrs {
		b.WriteString(" " + a.name + `="`)
		_ = xml.EscapeText(b, []byte(a.value)) // writing to a buffer never fails
		b.WriteString(`"`)
	}
	if n.text == "" && len(n.children) == 0 {
		b.WriteString("/>")
	} else {
		b.WriteString(">")
		_ = xml.EscapeText(b, []byte(n.text))
		for _, c := range n.children {
			write(b, c, false)
			_ = xml.EscapeText(b, []byte(c.tail))
		}
		b.WriteString("</" + n.name + ">")
	}
}
