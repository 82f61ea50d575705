package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"punctual/account/fault"
)

const open = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 50">`

func svgOf(content string) string { return open + content + `</svg>` }

func cleaned(t *testing.T, text string) string {
	t.Helper()
	d, err := Clean([]byte(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return string(d.Content)
}

// inner is what is within the root of a drawing.
func inner(text string) string {
	text = text[strings.Index(text, ">")+1:]
	return strings.TrimSuffix(text, "</svg>")
}

func TestClean_keeps(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"shapes":           {`<rect x="1" y="2" width="3" height="4" rx="1"/><path d="M0,0 L10-5z"/>`, `<rect x="1" y="2" width="3" height="4" rx="1"/><path d="M0,0 L10-5z"/>`},
		"groups":           {`<g transform="translate(1 2) scale(2)"><circle cx="1" cy="1" r="1"/></g>`, `<g transform="translate(1 2) scale(2)"><circle cx="1" cy="1" r="1"/></g>`},
		"texts":            {`<text x="1" y="2">A &amp; <tspan>B</tspan> &lt;C&gt;</text>`, `<text x="1" y="2">A &amp; <tspan>B</tspan> &lt;C&gt;</text>`},
		"styles":           {`<style>/* x */ @import "a.css"; rect, .wall { fill: #eee; stroke: rgb(1, 2, 3) } .door{fill:none}</style><rect class="wall door" width="1" height="1"/>`, `<rect width="1" height="1" fill="none" stroke="rgb(1, 2, 3)"/>`},
		"specific styles":  {`<style>#r{fill:red} rect{fill:blue}</style><rect id="r" width="1" height="1" fill="green"/><rect width="1" height="1" style="fill:pink" fill="green"/>`, `<rect id="r" width="1" height="1" fill="red"/><rect width="1" height="1" fill="pink"/>`},
		"rules in rules":   {`<style>@media print { rect { fill: red } } rect { fill: blue !important }</style><rect width="1" height="1"/>`, `<rect width="1" height="1" fill="blue"/>`},
		"local references": {`<defs><symbol id="chair"><circle r="1"/></symbol><linearGradient id="l"><stop offset="0" stop-color="#fff"/></linearGradient></defs><use xlink:href="#chair" x="3"/><rect width="1" height="1" fill="url(#l)"/>`, `<defs><symbol id="chair"><circle r="1"/></symbol><linearGradient id="l"><stop offset="0" stop-color="#fff"/></linearGradient></defs><use href="#chair" x="3"/><rect width="1" height="1" fill="url(#l)"/>`},
		"other programs":   {`<metadata><x/></metadata><path xmlns:i="urn:i" i:label="x" inkscape="y" d="M0 0"/>`, `<path d="M0 0"/>`},
	} {
		if got := inner(cleaned(t, svgOf(tt.in))); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

func TestClean_size(t *testing.T) {
	for _, tt := range []struct {
		root          string
		width, height int
		box           string
	}{
		{`viewBox="-10 0 200 100"`, 1600, 800, "-10 0 200 100"},
		{`viewBox="0,0,50,100" width="9" height="9"`, 800, 1600, "0 0 50 100"},
		{`width="10mm" height="20mm"`, 800, 1600, "0 0 37.795276 75.590551"},
		{`width="30" height="30px"`, 1600, 1600, "0 0 30 30"},
		{`viewBox="0 0 NaN 3" width="3" height="3"`, 1600, 1600, "0 0 3 3"},
	} {
		d, err := Clean([]byte(`<svg xmlns="http://www.w3.org/2000/svg" ` + tt.root + `><path d="M0 0"/></svg>`))
		if err != nil || d.Width != tt.width || d.Height != tt.height || !strings.Contains(string(d.Content), `viewBox="`+tt.box+`"`) {
			t.Errorf("%s: %+v %v", tt.root, d, err)
		}
	}
}

// Each hostile file is refused, or what harms is left out of it.
func TestClean_hostile(t *testing.T) {
	const shape = `<rect width="1" height="1"/>`
	for name, tt := range map[string]struct{ in, code, want string }{
		"script":                  {in: svgOf(`<script>alert(1)</script><script href="x.js"/>` + shape), want: shape},
		"script in a shape":       {in: svgOf(`<rect width="1" height="1"><script>alert(1)</script></rect>`), want: shape},
		"CDATA":                   {in: svgOf(`<script><![CDATA[alert(1)]]></script>` + shape), want: shape},
		"markup in CDATA":         {in: svgOf(`<text><![CDATA[<script>alert(1)</script>]]></text>`), want: `<text>&lt;script&gt;alert(1)&lt;/script&gt;</text>`},
		"handlers":                {in: svgOf(`<rect onload="alert(1)" ONCLICK="alert(1)" width="1" height="1"/>`), want: shape},
		"foreign object":          {in: svgOf(`<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="javascript:alert(1)"/></foreignObject>` + shape), want: shape},
		"HTML":                    {in: svgOf(`<h:img xmlns:h="http://www.w3.org/1999/xhtml" src="x" onerror="alert(1)"/>` + shape), want: shape},
		"HTML shape":              {in: svgOf(`<h:rect xmlns:h="http://www.w3.org/1999/xhtml" width="9" height="9"/>` + shape), want: shape},
		"external use":            {in: svgOf(`<use href="https://example.org/a.svg#x"/>` + shape), want: `<use/>` + shape},
		"data use":                {in: svgOf(`<use xlink:href="data:image/svg+xml;base64,PHN2Zy8+#x"/>` + shape), want: `<use/>` + shape},
		"script link":             {in: svgOf(`<a href="javascript:alert(1)">` + shape + `</a>`), want: `<g>` + shape + `</g>`},
		"pictures":                {in: svgOf(`<image href="https://example.org/a.png"/><image xlink:href="data:image/png;base64,AA=="/>` + shape), want: shape},
		"only a picture":          {in: svgOf(`<image href="https://example.org/a.png" width="9" height="9"/>`), code: "empty_svg"},
		"fill elsewhere":          {in: svgOf(`<rect width="1" height="1" fill="url(https://example.org/a.svg#x)"/>`), want: shape},
		"style elsewhere":         {in: svgOf(`<rect width="1" height="1" style="fill:url('//example.org/a#x');stroke:url(#gone)"/>`), want: shape},
		"escaped style":           {in: svgOf(`<rect width="1" height="1" style="fill:u\72l(//example.org/a)"/>`), want: shape},
		"imported style":          {in: svgOf(`<style>@import url(//example.org/a.css); rect{behavior:url(#x);fill:expression(alert(1));background:url(//example.org/)}</style>` + shape), want: shape},
		"processing instruction":  {in: `<?xml version="1.0"?><?xml-stylesheet href="//example.org/a.css"?>` + svgOf(shape), want: shape},
		"filters":                 {in: svgOf(`<filter id="f"><feImage href="//example.org/"/></filter><rect width="1" height="1" filter="url(#f)"/>`), want: shape},
		"animation":               {in: svgOf(`<rect width="1" height="1"><set attributeName="href" to="javascript:alert(1)"/><animate attributeName="x"/></rect>`), want: shape},
		"attribute in a value":    {in: svgOf(`<rect width="1" height="1" font-family="&quot; onload=&quot;alert(1)"/>`), want: shape},
		"quotes in a value":       {in: svgOf(`<text font-family="'A B'">x</text>`), want: `<text font-family="&#39;A B&#39;">x</text>`},
		"comment":                 {in: svgOf(`<!-- <script> -->` + shape), want: shape},
		"DOCTYPE":                 {in: `<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">` + svgOf(shape), want: shape},
		"external entity":         {in: `<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>` + svgOf(`<text>&x;</text>`), code: "unreadable_svg"},
		"billion laughs":          {in: `<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>` + svgOf(`<text>&c;</text>`), code: "unreadable_svg"},
		"XHTML entity":            {in: svgOf(`<text>&nbsp;</text>`), code: "unreadable_svg"},
		"nested groups":           {in: svgOf(strings.Repeat("<g>", 180_000)), code: "too_deep"},
		"nested groups, skipped":  {in: svgOf(strings.Repeat("<b>", 100) + strings.Repeat("</b>", 100)), code: "too_deep"},
		"many elements":           {in: svgOf(strings.Repeat(`<rect/>`, maxElements+1)), code: "too_many_elements"},
		"a megabyte":              {in: svgOf(`<path d="` + strings.Repeat("M0 0", 1<<18) + `"/>`), code: "too_large"},
		"uses of uses":            {in: svgOf(laughs(8)), code: "too_many_elements"},
		"patterns of patterns":    {in: svgOf(`<pattern id="p"><rect fill="url(#p)"/></pattern>`), code: "svg_loop"},
		"a use of itself":         {in: svgOf(`<g id="g"><use href="#g"/></g>`), code: "svg_loop"},
		"two uses of one another": {in: svgOf(`<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>`), code: "svg_loop"},
		"a chain of uses":         {in: svgOf(chain(20)), code: "svg_loop"},
		"two elements of an ID":   {in: svgOf(`<rect id="a"/><rect id="a"/>`), want: `<rect id="a"/><rect/>`},
		"an ID with markup":       {in: svgOf(`<rect id="&quot;>&lt;script>"/>`), want: `<rect/>`},
		"no size":                 {in: `<svg xmlns="http://www.w3.org/2000/svg" width="100%">` + shape + `</svg>`, code: "no_size"},
		"a line":                  {in: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1000">` + shape + `</svg>`, code: "too_narrow"},
		"endless":                 {in: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1e308 1e308">` + shape + `</svg>`, code: "no_size"},
		"cut off":                 {in: open + shape, code: "unreadable_svg"},
		"two roots":               {in: svgOf(shape) + svgOf(shape), code: "unreadable_svg"},
		"UTF-16":                  {in: `<?xml version="1.0" encoding="UTF-16"?>` + svgOf(shape), code: "unreadable_svg"},
		"another XML":             {in: `<rss><svg/></rss>`, code: "unknown_image"},
		"nothing":                 {in: ``, code: "unreadable_svg"},
		"HTML page":               {in: `<!doctype html><svg viewBox="0 0 1 1">` + shape, code: "unreadable_svg"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			d, err := Clean([]byte(tt.in))
			if took := time.Since(began); took > time.Minute {
				t.Errorf("took %v", took)
			}
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := inner(string(d.Content)); got != tt.want {
					t.Errorf("\n got %s\nwant %s", got, tt.want)
				}
				return
			}
			e, ok := errors.AsType[*fault.InvalidError](err)
			if !ok || len(e.Faults) != 1 || e.Faults[0].Location != "image" || e.Faults[0].Code != tt.code {
				t.Errorf("%v, want %s", err, tt.code)
			}
		})
	}
}

// laughs are elements that each use the one before ten times.
func laughs(levels int) string {
	var b strings.Builder
	b.WriteString(`<rect id="e0"/>`)
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, `<g id="e%d">%s</g>`, i, strings.Repeat(fmt.Sprintf(`<use href="#e%d"/>`, i-1), 10))
	}
	return b.String()
}

func chain(length int) string {
	var b strings.Builder
	b.WriteString(`<rect id="e0"/>`)
	for i := 1; i <= length; i++ {
		fmt.Fprintf(&b, `<g id="e%d"><use href="#e%d"/></g>`, i, i-1)
	}
	return b.String()
}

// TestClean_styleSheetBombs: a style sheet costs no more than its part that counts, however often it repeats
// selectors and declarations.
func TestClean_styleSheetBombs(t *testing.T) {
	heads := strings.TrimSuffix(strings.Repeat("g,", maxRules), ",")
	for name, sheet := range map[string]string{
		"one sheet":   "<style>rect{fill:red}" + heads + "{" + strings.Repeat("fill:;", 30_000) + "}</style>",
		"many sheets": "<style>rect{fill:red}</style>" + strings.Repeat("<style>"+strings.Repeat("g,", 200)+"g{"+strings.Repeat("fill:;", 200)+"}</style>", 100),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := Clean([]byte(svgOf(sheet + strings.Repeat("<g/>", 10_000) + `<rect width="1" height="1"/>`)))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Contains(d.Content, []byte(`fill="red"`)) {
			t.Errorf("%s: the first rule does not count: %.200s", name, d.Content)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 100 {
			t.Errorf("%s: %d MB were allocated", name, used)
		}
	}
	_, rules, err := read([]byte(svgOf("<style>" + strings.Repeat("x", 2*maxSheet) + "</style><style>g{fill:red}</style>")))
	if err != nil || rules.size != maxSheet || rules.count != 0 {
		t.Errorf("%d bytes and %d rules of style sheets are read, %v", rules.size, rules.count, err)
	}
}

// harmless fails unless a clean drawing consists of what is known, and is clean when it is cleaned again.
func harmless(t *testing.T, d *Drawing) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(d.Content))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, d.Content)
		}
		switch el := token.(type) {
		case xml.StartElement:
			if !elementNames[el.Name.Local] || el.Name.Space != namespace {
				t.Errorf("element %v", el.Name)
			}
			for _, a := range el.Attr {
				name := a.Name.Local
				if a.Name.Space != "" || !(name == "xmlns" || name == "id" || name == "href" || geometry[name] || transforms[name] || outlines[name] || properties[name]) {
					t.Errorf("attribute %v", a.Name)
				}
				if name == "href" && !strings.HasPrefix(a.Value, "#") || name != "xmlns" && (strings.Contains(a.Value, "//") || strings.Contains(a.Value, ":") && name != "id" && name != "href" && !strings.HasPrefix(a.Value, "url(#")) {
					t.Errorf("%s=%q", name, a.Value)
				}
			}
		case xml.Directive, xml.ProcInst, xml.Comment:
			t.Errorf("%T", token)
		}
	}
	again, err := Clean(d.Content)
	if err != nil {
		e, ok := errors.AsType[*fault.InvalidError](err)
		if !ok || e.Faults[0].Code != "too_large" { // escapes make it longer
			t.Errorf("cleaned again: %v\n%s", err, d.Content)
		}
	} else if !bytes.Equal(again.Content, d.Content) {
		t.Errorf("cleaned again it differs:\n%s\n%s", d.Content, again.Content)
	}
}

func FuzzClean(f *testing.F) {
	f.Add(svgOf(`<script>x</script><style>.a{fill:url(#b)} @media x{y{z:1}}</style><g class="a" style="stroke:red;fill:url(//x)"><use xlink:href="#b"/></g><pattern id="b"><path d="M0"/></pattern>`))
	f.Add(`<!DOCTYPE svg [<!ENTITY a "b">]>` + svgOf(`<text>&a;</text>`))
	f.Add(svgOf(`<text>a<tspan>b</tspan>c</text><a href="javascript:x"><rect id="q" onload="x"/></a>` + laughs(3)))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Clean([]byte(text))
		if err == nil {
			harmless(t, d)
		} else if _, ok := errors.AsType[*fault.InvalidError](err); !ok {
			t.Errorf("%T: %v", err, err)
		}
	})
}
