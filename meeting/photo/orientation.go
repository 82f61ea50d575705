package photo

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientationOf returns the orientation that a JPEG's EXIF names, 1 to 8; 1 (upright) if it names none.
func orientationOf(data []byte) int {
	for at := 2; at+4 <= len(data) && data[at] == 0xFF; {
		marker, length := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		if marker == 0xDA || length < 2 || at+2+length > len(data) {
			return 1
		}
		if segment := data[at+4 : at+2+length]; marker == 0xE1 && bytes.HasPrefix(segment, []byte("Exif\x00\x00")) {
			return orientationIn(segment[6:])
		}
		at += 2 + length
	}
	return 1
}

// orientationIn looks it up in the first directory of a TIFF.
func orientationIn(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	start := int64(order.Uint32(tiff[4:]))
	if start+2 > int64(len(tiff)) {
		return 1
	}
	const entry, tag = 12, 0x0112
	directory := tiff[start+2:]
	for range order.Uint16(tiff[start:]) {
		if len(directory) < entry {
			break
		}
		if order.Uint16(directory) == tag {
			if o := int(order.Uint16(directory[8:])); o >= 1 && o <= 8 {
				return o
			}
			break
		}
		directory = directory[entry:]
	}
	return 1
}

// turn returns the picture upright, given the orientation in which it is stored.
func turn(p *image.RGBA, orientation int) *image.RGBA {
	if orientation <= 1 {
		return p
	}
	width, height := p.Rect.Dx(), p.Rect.Dy()
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	if orientation > 4 {
		to = image.NewRGBA(image.Rect(0, 0, height, width))
	}
	for y := range height {
		for x := range width {
			left, top := x, y
			switch orientation {
			case 2:
				left = width - 1 - x
			case 3:
				left, top = width-1-x, height-1-y
			case 4:
				top = height - 1 - y
			case 5:
				left, top = y, x
			case 6:
				left, top = height-1-y, x
			case 7:
				left, top = height-1-y, width-1-x
			case 8:
				left, top = y, width-1-x
			}
			to.SetRGBA(left, top, p.RGBAAt(x, y))
		}
	}
	return to
}
