package svg

import (
	"regexp"
	"slices"
	"strings"

	"punctual/account/fault"
)

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

var (
	shapes       = setOf("path rect circle ellipse line polyline polygon text use")
	elementNames = setOf("svg g defs symbol title desc tspan linearGradient radialGradient stop clipPath mask pattern marker path rect circle ellipse line polyline polygon text use")
	textual      = setOf("text tspan title desc")
	refers       = setOf("use linearGradient radialGradient pattern")

	// geometry are the attributes of elements that are no properties of style.
	geometry = setOf(`x y x1 y1 x2 y2 cx cy r rx ry fx fy width height dx dy rotate offset refX refY markerWidth markerHeight markerUnits orient
		viewBox preserveAspectRatio gradientUnits spreadMethod patternUnits patternContentUnits clipPathUnits maskUnits maskContentUnits
		textLength lengthAdjust pathLength`)
	transforms = setOf("transform gradientTransform patternTransform")
	outlines   = setOf("d points")
	properties = setOf(`fill fill-opacity fill-rule stroke stroke-width stroke-linecap stroke-linejoin stroke-miterlimit stroke-dasharray
		stroke-dashoffset stroke-opacity opacity display visibility color stop-color stop-opacity font-family font-size font-weight font-style
		text-anchor dominant-baseline alignment-baseline baseline-shift letter-spacing word-spacing text-decoration writing-mode
		clip-path clip-rule mask marker-start marker-mid marker-end vector-effect paint-order shape-rendering text-rendering`)

	idText        = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_.:-]{0,199}$`)
	geometryText  = regexp.MustCompile(`^[0-9A-Za-z.,%+\- \t\r\n]*$`)
	outlineText   = regexp.MustCompile(`^[0-9A-Za-z.,+\- \t\r\n]*$`)
	transformText = regexp.MustCompile(`^(?:\s*,?\s*(?:matrix|translate|scale|rotate|skewX|skewY)\s*\([0-9eE.,+\- \t\r\n]*\))*\s*$`)
	valueText     = regexp.MustCompile(`^(?:[#0-9A-Za-z_.,%+\-'" \t\r\n]|(?:rgb|rgba|hsl|hsla)\([0-9.,%+\-a-z \t]*\))*$`)
	localPaint    = regexp.MustCompile(`^url\(\s*['"]?#([\p{L}_][\p{L}\p{N}_.:-]{0,199})['"]?\s*\)`)
)

// maxValue is how long the value of a property may be: a list of dashes is the longest.
const maxValue = 2_000

// drawing is what is known of all elements while they are cleaned.
type drawing struct {
	ids    map[string]*node
	shapes int
}

// clean keeps the known attributes of an element and of its children.
func (d *drawing) clean(n *node, rules *sheet) {
	given := n.attrs
	n.attrs = nil
	style := map[string]string{}
	for _, a := range given {
		switch value := strings.TrimSpace(a.value); {
		case a.name == "id":
			if idText.MatchString(value) && d.ids[value] == nil {
				d.ids[value] = n
				n.set("id", value)
			}
		case a.name == "href":
			if id, local := strings.CutPrefix(value, "#"); local && refers[n.name] && idText.MatchString(id) {
				n.refs = append(n.refs, id)
				n.set("href", value)
			}
		case geometry[a.name] && len(value) <= maxValue && geometryText.MatchString(value),
			transforms[a.name] && transformText.MatchString(value),
			outlines[a.name] && outlineText.MatchString(value):
			n.set(a.name, value)
		case properties[a.name]:
			style[a.name] = value
		}
	}
	rules.apply(n.name, given, style)
	names := make([]string, 0, len(style))
	for name := range style {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if value, ok := d.property(n, style[name]); ok {
			n.set(name, value)
		}
	}
	if shapes[n.name] {
		d.shapes++
	}
	for _, c := range n.children {
		d.clean(c, rules)
	}
}

// property returns the value of a property if it is known and refers to nothing outside.
func (d *drawing) property(n *node, value string) (string, bool) {
	value, _ = strings.CutSuffix(strings.TrimSpace(value), "!important")
	value = strings.TrimSpace(value)
	if len(value) > maxValue {
		return "", false
	}
	if m := localPaint.FindStringSubmatch(value); m != nil {
		n.refs = append(n.refs, m[1])
		return "url(#" + m[1] + ")", true
	}
	return value, valueText.MatchString(value)
}

// resolve removes references to nothing, and refuses drawings that draw themselves or too much.
func (d *drawing) resolve(root *node) error {
	d.prune(root)
	err := d.count(root)
	if err == nil && root.drawn > maxDrawn {
		err = fault.Invalid("image", "too_many_elements", "must draw at most %d elements, repeated ones included", maxDrawn)
	}
	return err
}

func (d *drawing) prune(n *node) {
	missing := func(id string) bool { return d.ids[id] == nil }
	if slices.ContainsFunc(n.refs, missing) {
		n.refs = slices.DeleteFunc(n.refs, missing)
		n.attrs = slices.DeleteFunc(n.attrs, func(a attr) bool {
			id, local := strings.CutPrefix(a.value, "#")
			if m := localPaint.FindStringSubmatch(a.value); m != nil {
				return missing(m[1])
			}
			return a.name == "href" && local && missing(id)
		})
	}
	for _, c := range n.children {
		d.prune(c)
	}
}

// count adds up what elements draw.
func (d *drawing) count(n *node) error {
	if n.drawn > 0 {
		return nil
	}
	if n.open {
		return fault.Invalid("image", "svg_loop", "must not have elements that refer to themselves")
	}
	n.open = true
	defer func() { n.open = false }()
	drawn, chain := 1, 0
	for _, c := range n.children {
		if err := d.count(c); err != nil {
			return err
		}
		drawn, chain = min(drawn+c.drawn, maxDrawn+1), max(chain, c.chain)
	}
	for _, id := range n.refs {
		to := d.ids[id]
		if err := d.count(to); err != nil {
			return err
		}
		drawn, chain = min(drawn+to.drawn, maxDrawn+1), max(chain, to.chain+1)
	}
	if chain > maxChain {
		return fault.Invalid("image", "svg_loop", "must not have more than %d references that follow one another", maxChain)
	}
	n.drawn, n.chain = drawn, chain
	return nil
}
