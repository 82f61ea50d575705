package photo

import (
	"bytes"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"

	xdraw "golang.org/x/image/draw"

	"punctual/meeting/svg"
)

// minDrawing is how wide and high a drawing must be; a logo is often a few pixels high.
const minDrawing = 16

// maxPNG is how large a drawing may be as PNG; a larger one, such as a photo, is stored as JPEG.
const maxPNG = 1 << 20

// Picture is a drawing, such as a floor plan or a logo, that is safe to show as an image.
type Picture struct {
	Content       []byte
	Type          string // image/png, image/jpeg or image/svg+xml
	Width, Height int    // in pixels
}

// NewPicture reads a PNG, JPEG, WebP or SVG, whatever its name was. Pixels are drawn anew, at most so
// wide and high as side; what is transparent stays so. Of an SVG only shapes and texts stay, see
// [svg.Clean]. What it refuses is a [*fault.InvalidError].
func NewPicture(data []byte, side int) (*Picture, error) {
	if svg.Is(data) {
		d, err := svg.Clean(data)
		if err != nil {
			return nil, err
		}
		return &Picture{Content: d.Content, Type: "image/svg+xml", Width: d.Width, Height: d.Height}, nil
	}
	one.Lock()
	defer one.Unlock()
	from, upright, err := decoded(data, minDrawing, "must be a PNG, JPEG, WebP or SVG")
	if err != nil {
		return nil, err
	}
	to := turn(reduced(from, side), upright)
	p := &Picture{Type: "image/png", Width: to.Rect.Dx(), Height: to.Rect.Dy()}
	var b bytes.Buffer
	if err := png.Encode(&b, to); err != nil {
		return nil, err
	}
	if b.Len() > maxPNG {
		b.Reset()
		p.Type = "image/jpeg"
		if err := jpeg.Encode(&b, onWhite(to), &jpeg.Options{Quality: quality}); err != nil {
			return nil, err
		}
	}
	p.Content = b.Bytes()
	return p, nil
}

// reduced returns the picture as large as it is, but at most so wide and high.
func reduced(p image.Image, most int) *image.RGBA {
	width, height := p.Bounds().Dx(), p.Bounds().Dy()
	if longest := max(width, height); longest > most {
		width, height = max(1, width*most/longest), max(1, height*most/longest)
	}
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	xdraw.CatmullRom.Scale(to, to.Bounds(), p, p.Bounds(), draw.Src, nil)
	return to
}

func onWhite(p *image.RGBA) *image.RGBA {
	to := image.NewRGBA(p.Rect)
	draw.Draw(to, to.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(to, to.Rect, p, p.Rect.Min, draw.Over)
	return to
}
