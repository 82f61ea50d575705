package database

import "crypto/sha256"

// SumOfLines is the checksum of the last line of a backup.
func SumOfLines(lines []string) string {
	h := sha256.New()
	for _, l := range lines {
		h.Write([]byte(l + "\n"))
	}
	return sumOf(h)
}
