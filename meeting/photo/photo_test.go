package photo

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"punctual/account/fault"
)

var (
	red   = color.RGBA{R: 220, A: 255}
	green = color.RGBA{G: 200, A: 255}
	blue  = color.RGBA{B: 220, A: 255}
	black = color.RGBA{A: 255}
)

// corners draws a picture with a color in each quarter: top left, top right, bottom left, bottom right.
func corners(width, height int) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p.Set(x, y, [2][2]color.RGBA{{red, green}, {blue, black}}[y*2/height][x*2/width])
		}
	}
	return p
}

func asPNG(t *testing.T, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t *testing.T, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// segment adds a segment after the first marker of a JPEG.
func segment(data []byte, marker byte, content string) []byte {
	out := append([]byte{}, data[:2]...)
	out = append(out, 0xFF, marker)
	out = binary.BigEndian.AppendUint16(out, uint16(len(content)+2))
	return append(append(out, content...), data[2:]...)
}

// exif names an orientation, in either order of bytes.
func exif(order interface {
	binary.ByteOrder
	binary.AppendByteOrder
}, orientation int) string {
	b := []byte("Exif\x00\x00II*\x00")
	if order.String() == binary.BigEndian.String() {
		b = []byte("Exif\x00\x00MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, tag := range [][2]uint16{{0x010F, 7}, {0x0112, uint16(orientation)}} {
		b = order.AppendUint16(order.AppendUint16(b, tag[0]), 3)
		b = order.AppendUint16(order.AppendUint16(order.AppendUint32(b, 1), tag[1]), 0)
	}
	return string(b)
}

func readJPEG(t *testing.T, data []byte) image.Image {
	t.Helper()
	p, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("not a JPEG: %v", err)
	}
	return p
}

// at names the color of a corner; JPEG changes colors a little.
func at(p image.Image, right, bottom int) string {
	b := p.Bounds()
	r, g, bl, _ := p.At(b.Dx()/4+right*b.Dx()/2, b.Dy()/4+bottom*b.Dy()/2).RGBA()
	switch {
	case r > 0xF000 && g > 0xF000 && bl > 0xF000:
		return "white"
	case r > 0x8000:
		return "red"
	case g > 0x8000:
		return "green"
	case bl > 0x8000:
		return "blue"
	}
	return "black"
}

func TestNew_sizes(t *testing.T) {
	for _, tt := range []struct{ width, height, large, largeHigh, small, smallHigh int }{
		{2000, 1000, 1280, 640, 320, 160},
		{500, 1000, 500, 1000, 160, 320},
		{64, 64, 64, 64, 64, 64},
		{3000, 64, 1280, 27, 320, 6},
	} {
		p, err := New(asPNG(t, corners(tt.width, tt.height)))
		if err != nil {
			t.Fatal(err)
		}
		large, small := readJPEG(t, p.Large).Bounds(), readJPEG(t, p.Small).Bounds()
		if large.Dx() != tt.large || large.Dy() != tt.largeHigh || small.Dx() != tt.small || small.Dy() != tt.smallHigh {
			t.Errorf("%d x %d became %v and %v", tt.width, tt.height, large, small)
		}
	}
}

func TestNew_orientations(t *testing.T) {
	for orientation, want := range map[int][4]string{
		0: {"red", "green", "blue", "black"},
		1: {"red", "green", "blue", "black"},
		2: {"green", "red", "black", "blue"},
		3: {"black", "blue", "green", "red"},
		4: {"blue", "black", "red", "green"},
		5: {"red", "blue", "green", "black"},
		6: {"blue", "red", "black", "green"},
		7: {"black", "green", "blue", "red"},
		8: {"green", "black", "red", "blue"},
		9: {"red", "green", "blue", "black"},
	} {
		for _, text := range []string{exif(binary.LittleEndian, orientation), exif(binary.BigEndian, orientation)} {
			p, err := New(segment(asJPEG(t, corners(128, 96)), 0xE1, text))
			if err != nil {
				t.Fatal(err)
			}
			large := readJPEG(t, p.Large)
			if got := [4]string{at(large, 0, 0), at(large, 1, 0), at(large, 0, 1), at(large, 1, 1)}; got != want {
				t.Errorf("orientation %d: %v, want %v", orientation, got, want)
			}
			if sideways := orientation >= 5 && orientation <= 8; sideways != (large.Bounds().Dy() == 128) {
				t.Errorf("orientation %d: %v", orientation, large.Bounds())
			}
		}
	}
}

// 64 x 64 pixels of one color, as a browser writes it.
const webpPicture = "UklGRjgCAABXRUJQVlA4WAoAAAAgAAAAPwAAPwAASUNDUMgBAAAAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAAEAAAAAAABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKAAAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAAAChjcHJ0AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1AAADkFhZWiAAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQAAAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbABlACAASQBuAGMALgAgADIAMAAxADZWUDggSgAAABAEAJ0BKkAAQAA+0WivUqgmJCKiCAEAGglpANMWgAAQaFcWxIlaZ0QAAP7tBy/xC72H3//nEv5I/QLudWTebpUVB8ox50HSgAAA"

func TestNew_formats(t *testing.T) {
	picture, err := base64.StdEncoding.DecodeString(webpPicture)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(picture)
	if err != nil {
		t.Fatal(err)
	}
	if got := at(readJPEG(t, p.Large), 0, 0); got != "red" {
		t.Errorf("WebP is %s", got)
	}
	if p, err = New(asPNG(t, image.NewRGBA(image.Rect(0, 0, 80, 80)))); err != nil {
		t.Fatal(err)
	}
	if got := at(readJPEG(t, p.Small), 1, 1); got != "white" {
		t.Errorf("what is transparent is %s, want white", got)
	}
}

func TestNew_keepsPixelsAlone(t *testing.T) {
	const script = "<script>alert(1)</script>"
	upload := segment(asJPEG(t, corners(100, 100)), 0xFE, script)
	upload = append(segment(upload, 0xE1, exif(binary.BigEndian, 1)+"GPS 52.5 N"), script...)
	p, err := New(upload)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range [][]byte{p.Large, p.Small} {
		for _, secret := range []string{"script", "GPS", "Exif"} {
			if bytes.Contains(kept, []byte(secret)) {
				t.Errorf("%q is kept", secret)
			}
		}
	}
}

func TestNew_refusals(t *testing.T) {
	good, photo := asPNG(t, corners(100, 100)), asJPEG(t, corners(100, 100))
	// A header that promises much: only the size and its checksum are changed.
	bomb := bytes.Clone(good)
	binary.BigEndian.PutUint32(bomb[16:], 100_000)
	binary.BigEndian.PutUint32(bomb[20:], 100_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	var animated bytes.Buffer
	if err := gif.Encode(&animated, corners(100, 100), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		data []byte
		code string
	}{
		{"nothing", nil, "required"},
		{"too many bytes", append(bytes.Clone(good), make([]byte, MaxBytes)...), "too_large"},
		{"a bomb", bomb, "too_many_pixels"},
		{"4001 x 4000", asPNG(t, image.NewGray(image.Rect(0, 0, 4001, 4000))), "too_many_pixels"},
		{"too small", asPNG(t, corners(63, 100)), "too_small"},
		{"half a PNG", good[:len(good)/2], "unreadable_image"},
		{"half a JPEG", photo[:len(photo)/2], "unreadable_image"},
		{"the beginning of a JPEG", photo[:20], "unreadable_image"},
		{"a JPEG in many passes", append(bytes.Clone(photo), bytes.Repeat([]byte{0xFF, 0xDA}, maxPasses)...), "unknown_image"},
		{"SVG", []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><script/></svg>`), "unknown_image"},
		{"HTML", []byte("<!doctype html><p>"), "unknown_image"},
		{"GIF", animated.Bytes(), "unknown_image"},
		{"half a WebP", []byte("RIFF\x24\x00\x00\x00WEBPVP8L"), "unreadable_image"},
	} {
		_, err := New(tt.data)
		e, ok := errors.AsType[*fault.InvalidError](err)
		if !ok || len(e.Faults) != 1 || e.Faults[0].Location != "image" || e.Faults[0].Code != tt.code {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.code)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add([]byte("RIFF\x24\x00\x00\x00WEBPVP8L"))
	f.Add(append([]byte{0xFF, 0xD8, 0xFF, 0xE1, 0, 20}, "Exif\x00\x00II*\x00\x08\x00\x00\x00\x02\x00"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = New(data)
		_ = orientationOf(data)
	})
}
