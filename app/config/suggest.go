package config

import (
	"fmt"
	"strings"
)

// Suggest returns the end of a message about an unknown word: the known word that is most similar,
// or all known words if none is.
func Suggest(word string, known []string) string {
	best, at := 3, ""
	for _, k := range known {
		if d := editDistance(strings.ToLower(word), k); d < best && d < len(k) {
			best, at = d, k
		}
	}
	if at != "" {
		return fmt.Sprintf("; did you mean %s?", at)
	}
	return fmt.Sprintf("; use one of %s", strings.Join(known, ", "))
}

// editDistance returns the number of letters to insert, delete or replace (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal, row[j+1] = row[j+1], min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
