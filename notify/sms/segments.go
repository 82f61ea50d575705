package sms

import "unicode/utf16"

// The characters of the GSM 7-bit default alphabet and of its extension table, 3GPP TS 23.038. One of the
// extension takes the place of two.
const (
	gsmBasic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmMore  = "\f^{}\\[~]|€"
)

var gsmWidth = func() map[rune]int {
	widths := map[rune]int{}
	for _, r := range gsmBasic {
		widths[r] = 1
	}
	for _, r := range gsmMore {
		widths[r] = 2
	}
	return widths
}()

// Segments returns into how many parts a text is split. Providers charge each part. A text within the
// GSM alphabet has 160 characters in one part or 153 in each of several, any other text 70 or 67 units
// of UTF-16. No part ends within a character.
func Segments(text string) int {
	widths, single, part := make([]int, 0, len(text)), 160, 153
	for _, r := range text {
		w, ok := gsmWidth[r]
		if !ok {
			return split(utf16Widths(text), 70, 67)
		}
		widths = append(widths, w)
	}
	return split(widths, single, part)
}

func utf16Widths(text string) []int {
	widths := make([]int, 0, len(text))
	for _, r := range text {
		widths = append(widths, max(1, utf16.RuneLen(r)))
	}
	return widths
}

// split counts the parts of characters of these widths.
func split(widths []int, single, part int) int {
	total := 0
	for _, w := range widths {
		total += w
	}
	if total <= single {
		return 1
	}
	parts, used := 1, 0
	for _, w := range widths {
		if used+w > part {
			parts, used = parts+1, 0
		}
		used += w
	}
	return parts
}
