package tests

import (
	"errors"
	"fmt"
	"strings"
)

// Of error correction level M, by version from 1 on (ISO/IEC 18004, table 9).
var (
	qrBlocks     = []int{1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10}
	qrCorrection = []int{10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24} // codewords a block
)

// readQR reads a QR code that is drawn without faults, dark modules as '#', one line a row,
// without the margin: level M, bytes, up to version 15.
func readQR(drawn string) (string, error) {
	rows := strings.Split(strings.TrimSpace(drawn), "\n")
	size := len(rows)
	version := (size - 17) / 4
	if size != 17+4*version || version < 1 || version > len(qrBlocks) {
		return "", fmt.Errorf("%d rows", size)
	}
	for _, r := range rows {
		if len(r) != size {
			return "", fmt.Errorf("a row of %d modules, not %d", len(r), size)
		}
	}
	dark := func(x, y int) bool { return rows[y][x] == '#' }

	format := 0
	for i, at := range [15][2]int{{8, 0}, {8, 1}, {8, 2}, {8, 3}, {8, 4}, {8, 5}, {8, 7}, {8, 8}, {7, 8}, {5, 8}, {4, 8}, {3, 8}, {2, 8}, {1, 8}, {0, 8}} {
		if dark(at[0], at[1]) {
			format |= 1 << i
		}
	}
	format = (format ^ 0x5412) >> 10
	if format>>3 != 0 {
		return "", errors.New("the level is not M")
	}
	flipped := qrMask(format & 7)
	fixed := qrFixed(version, size)

	var bits []bool
	for right := size - 1; right > 0; right -= 2 { // two columns at a time, up and down
		if right == 6 {
			right--
		}
		for i := range size {
			y := i
			if (right+1)&2 == 0 {
				y = size - 1 - i
			}
			for _, x := range []int{right, right - 1} {
				if !fixed(x, y) {
					bits = append(bits, dark(x, y) != flipped(x, y))
				}
			}
		}
	}
	data := qrData(version, bits)
	number := func(n int) (v int) {
		for range n {
			v = v<<1 | data[0]
			data = data[1:]
		}
		return v
	}
	if mode := number(4); mode != 4 {
		return "", fmt.Errorf("mode %d, not bytes", mode)
	}
	length := number(8)
	if version > 9 {
		length = length<<8 | number(8)
	}
	if len(data) < length*8 {
		return "", fmt.Errorf("%d bytes do not fit", length)
	}
	text := make([]byte, length)
	for i := range text {
		text[i] = byte(number(8))
	}
	return string(text), nil
}

// qrMask tells which modules a mask turns.
func qrMask(mask int) func(x, y int) bool {
	return func(x, y int) bool {
		return [8]int{(x + y) % 2, y % 2, x % 3, (x + y) % 3, (x/3 + y/2) % 2, x*y%2 + x*y%3, (x*y%2 + x*y%3) % 2, ((x+y)%2 + x*y%3) % 2}[mask] == 0
	}
}

// qrFixed tells which modules hold no data.
func qrFixed(version, size int) func(x, y int) bool {
	var centres []int
	if version > 1 {
		n := version/7 + 2
		step := (version*8 + n*3 + 5) / (n*4 - 4) * 2
		centres = append(centres, 6)
		for i := n - 2; i >= 0; i-- {
			centres = append(centres, size-7-i*step)
		}
	}
	last := size - 7
	return func(x, y int) bool {
		if x == 6 || y == 6 || x < 9 && y < 9 || x < 9 && y >= size-8 || x >= size-8 && y < 9 {
			return true
		}
		if version >= 7 && (x < 6 && y >= size-11 || y < 6 && x >= size-11) {
			return true
		}
		for _, cx := range centres {
			for _, cy := range centres {
				corner := cx == 6 && cy == 6 || cx == 6 && cy == last || cx == last && cy == 6
				if !corner && max(x-cx, cx-x, y-cy, cy-y) <= 2 {
					return true
				}
			}
		}
		return false
	}
}

// qrData are the bits of the data, in order: codewords of the blocks are drawn by turns.
func qrData(version int, bits []bool) (data []int) {
	words := len(bits) / 8
	blocks, correction := qrBlocks[version-1], qrCorrection[version-1]
	short := blocks - words%blocks // of which the last data word is missing
	length := words/blocks - correction
	of := make([][]int, blocks)
	for i, k := 0, 0; i <= length; i++ {
		for b := range of {
			if i == length && b < short {
				continue
			}
			for _, bit := range bits[8*k : 8*k+8] {
				v := 0
				if bit {
					v = 1
				}
				of[b] = append(of[b], v)
			}
			k++
		}
	}
	for _, b := range of {
		data = append(data, b...)
	}
	return data
}
