package photo

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"sync"

	"golang.org/x/image/webp"

	"punctual/account/fault"
)

// Limits of an upload. Decoding takes up to 16 bytes per pixel.
const (
	MaxBytes  = 720 << 10 // as base64 it fits the body of a request
	maxPixels = 16_000_000
	minSide   = 64
	// A picture in many passes takes time for each, whatever its size.
	maxPasses = 64
)

// Widths and heights of what is kept, at most.
const (
	largeSide = 1280
	smallSide = 320
	quality   = 82
)

// Photo is a picture in two sizes, as JPEG.
type Photo struct {
	Large, Small []byte
}

// one picture is decoded at a time, because of the memory that it takes.
var one sync.Mutex

// New reads a PNG, JPEG or WebP, whatever its name was, turns it upright, and draws it in both sizes.
// What it refuses is a [*fault.InvalidError].
func New(data []byte) (*Photo, error) {
	one.Lock()
	defer one.Unlock()
	picture, upright, err := decoded(data, minSide, "must be a PNG, JPEG or WebP")
	if err != nil {
		return nil, err
	}
	large := turn(onWhite(reduced(picture, largeSide)), upright)
	p := &Photo{}
	if p.Large, err = encoded(large); err != nil {
		return nil, err
	}
	p.Small, err = encoded(reduced(large, smallSide))
	return p, err
}

// decoded returns the pixels of a picture, and their orientation as in EXIF, unless it is none that is
// known or too large or smaller than least. The caller holds [one].
func decoded(data []byte, least int, known string) (picture image.Image, upright int, err error) {
	if len(data) == 0 {
		return nil, 0, fault.Invalid("image", "required", "is required")
	}
	if len(data) > MaxBytes {
		return nil, 0, fault.Invalid("image", "too_large", "must have at most %d KB", MaxBytes>>10)
	}
	config, decode, upright := formats(data)
	if decode == nil {
		return nil, 0, fault.Invalid("image", "unknown_image", "%s", known)
	}
	size, err := config(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, 0, fault.Invalid("image", "unreadable_image", "must be a complete PNG, JPEG or WebP")
	case size.Width < least || size.Height < least:
		return nil, 0, fault.Invalid("image", "too_small", "must be at least %d pixels wide and high", least)
	case size.Width > maxPixels/size.Height:
		return nil, 0, fault.Invalid("image", "too_many_pixels", "must have at most %d megapixels", maxPixels/1_000_000)
	}
	picture, err = decode(bytes.NewReader(data))
	if err != nil {
		return nil, 0, fault.Invalid("image", "unreadable_image", "must be a complete PNG, JPEG or WebP")
	}
	return picture, upright, nil
}

type reader = *bytes.Reader

// formats returns how to read the size and the pixels of a picture, by its first bytes, and its
// orientation as in EXIF; decode is nil for what is none of these.
func formats(data []byte) (config func(reader) (image.Config, error), decode func(reader) (image.Image, error), orientation int) {
	switch http.DetectContentType(data) {
	case "image/png":
		return func(r reader) (image.Config, error) { return png.DecodeConfig(r) }, func(r reader) (image.Image, error) { return png.Decode(r) }, 1
	case "image/webp":
		return func(r reader) (image.Config, error) { return webp.DecodeConfig(r) }, func(r reader) (image.Image, error) { return webp.Decode(r) }, 1
	case "image/jpeg":
		if bytes.Count(data, []byte{0xFF, 0xDA}) > maxPasses {
			return nil, nil, 0
		}
		return func(r reader) (image.Config, error) { return jpeg.DecodeConfig(r) }, func(r reader) (image.Image, error) { return jpeg.Decode(r) }, orientationOf(data)
	}
	return nil, nil, 0
}

func encoded(p image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := jpeg.Encode(&b, p, &jpeg.Options{Quality: quality})
	return b.Bytes(), err
}
