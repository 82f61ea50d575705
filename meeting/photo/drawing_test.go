package photo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"punctual/account/fault"
)

func TestNewPicture(t *testing.T) {
	clear := image.NewNRGBA(image.Rect(0, 0, 400, 200))
	clear.Set(10, 10, color.Black)
	noise := image.NewRGBA(image.Rect(0, 0, 900, 600))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(random.IntN(256))
	}
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, noise, &jpeg.Options{Quality: 60}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		data          []byte
		side          int
		kind          string
		width, height int
	}{
		{"a drawing", asPNG(t, clear), 100, "image/png", 100, 50},
		{"a small one", asPNG(t, clear), 1000, "image/png", 400, 200},
		{"a photo", photo.Bytes(), 2000, "image/jpeg", 900, 600},
		{"a turned photo", segment(asJPEG(t, corners(128, 96)), 0xE1, exif(binary.BigEndian, 6)), 2000, "image/png", 96, 128},
		{"an SVG", []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><script/><path d="M0 0"/></svg>`), 100, "image/svg+xml", 1600, 800},
	} {
		p, err := NewPicture(tt.data, tt.side)
		if err != nil || p.Type != tt.kind || p.Width != tt.width || p.Height != tt.height {
			t.Errorf("%s: %+v, %v", tt.name, p, err)
			continue
		}
		if tt.kind != "image/svg+xml" {
			if c, _, err := image.DecodeConfig(bytes.NewReader(p.Content)); err != nil || c.Width != tt.width {
				t.Errorf("%s: %v, %v", tt.name, c, err)
			}
		} else if bytes.Contains(p.Content, []byte("script")) {
			t.Errorf("%s", p.Content)
		}
	}
	p, err := NewPicture(asPNG(t, clear), 400)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := png.Decode(bytes.NewReader(p.Content))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, alpha := drawn.At(200, 100).RGBA(); alpha != 0 {
		t.Error("what was transparent is not")
	}
	for name, tt := range map[string]struct {
		data []byte
		code string
	}{
		"nothing":   {nil, "required"},
		"HTML":      {[]byte("<!doctype html><p>"), "unknown_image"},
		"XML":       {[]byte("<?xml version='1.0'?><rss><svg/></rss>"), "unknown_image"},
		"too small": {asPNG(t, corners(15, 100)), "too_small"},
		"a PDF":     {[]byte("%PDF-1.7"), "unknown_image"},
	} {
		_, err := NewPicture(tt.data, 100)
		if e, ok := errors.AsType[*fault.InvalidError](err); !ok || e.Faults[0].Code != tt.code {
			t.Errorf("%s: %v, want %s", name, err, tt.code)
		}
	}
}
