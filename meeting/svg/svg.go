package svg

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"punctual/account/fault"
)

// Limits of a drawing. They bound the work of the server and of the browsers that draw it.
const (
	MaxBytes    = 720 << 10
	maxElements = 20_000
	maxDepth    = 64
	// maxDrawn is how many elements are drawn if each reference counts as what it refers to.
	maxDrawn = 50_000
	// maxChain is how many references may follow one another.
	maxChain = 8
	maxRatio = 20 // of width and height
	longest  = 1600
)

// Drawing is a clean SVG. Width and Height are those of its picture in pixels, the longer one is 1600.
type Drawing struct {
	Content       []byte
	Width, Height int
}

// Is reports whether data may be an SVG, by its beginning.
func Is(data []byte) bool {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), " \t\r\n")
	return bytes.HasPrefix(text, []byte("<")) && bytes.Contains(text, []byte("svg"))
}

// Clean returns a drawing with the allowed shapes of an SVG and drops everything else. It returns a
// [*fault.InvalidError] if data is not an SVG, is too large or too deeply nested, or refers to itself.
func Clean(data []byte) (*Drawing, error) {
	if len(data) > MaxBytes {
		return nil, fault.Invalid("image", "too_large", "must have at most %d KB", MaxBytes>>10)
	}
	root, rules, err := read(data)
	if err != nil {
		return nil, err
	}
	left, top, width, height, ok := box(root)
	if !ok {
		return nil, fault.Invalid("image", "no_size", "must have a viewBox, or a width and a height")
	}
	if ratio := width / height; ratio > maxRatio || ratio < 1/float64(maxRatio) {
		return nil, fault.Invalid("image", "too_narrow", "must be at most %d times as wide as high, or as high as wide", maxRatio)
	}
	d := &drawing{ids: map[string]*node{}}
	d.clean(root, rules)
	if d.shapes == 0 {
		return nil, fault.Invalid("image", "empty_svg", "must have shapes or texts; pictures, scripts and styles of other files are left out")
	}
	if err := d.resolve(root); err != nil {
		return nil, err
	}
	scale := longest / max(width, height)
	out := &Drawing{Width: max(1, int(math.Round(width*scale))), Height: max(1, int(math.Round(height*scale)))}
	root.set("viewBox", strings.Join([]string{number(left), number(top), number(width), number(height)}, " "))
	root.set("width", strconv.Itoa(out.Width))
	root.set("height", strconv.Itoa(out.Height))
	var b bytes.Buffer
	write(&b, root, true)
	out.Content = b.Bytes()
	return out, nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 8, 64) }

// box returns the part of the plane that the drawing shows.
func box(root *node) (left, top, width, height float64, ok bool) {
	if parts := strings.FieldsFunc(root.get("viewBox"), func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' || r == '\r' }); len(parts) == 4 {
		var v [4]float64
		ok = true
		for i, part := range parts {
			f, err := strconv.ParseFloat(part, 64)
			ok = ok && err == nil && math.Abs(f) <= 1e7
			v[i] = f
		}
		if ok && v[2] >= 1e-3 && v[3] >= 1e-3 {
			return v[0], v[1], v[2], v[3], true
		}
	}
	width, height = length(root.get("width")), length(root.get("height"))
	return 0, 0, width, height, width > 0 && height > 0
}

var units = map[string]float64{"": 1, "px": 1, "pt": 96.0 / 72, "pc": 16, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4}

// length returns a length in pixels; 0 for none, and for one that depends on others.
func length(s string) float64 {
	s = strings.TrimSpace(s)
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	unit, known := units[s[len(digits):]]
	f, err := strconv.ParseFloat(digits, 64)
	if !known || err != nil || !(f >= 1e-3 && f <= 1e7) {
		return 0
	}
	return f * unit
}
