// Package rest holds what the REST packages of all areas have in common: versions in headers, and
// null for missing values.
package rest

import (
	"strconv"
	"strings"
	"time"
)

// ETag returns the ETag of a version.
func ETag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// IfMatch returns the version that an If-Match header requires, or nil for any. A malformed tag
// matches no version.
func IfMatch(header string) *int64 {
	tag := strings.TrimSpace(header)
	if tag == "" || tag == "*" {
		return nil
	}
	tag = strings.TrimPrefix(tag, "W/") // a proxy that compresses responses makes the tag weak
	version, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64)
	if err != nil {
		version = -1
	}
	return &version
}

// OrNull returns nil for the zero value.
func OrNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// InstantOrNull returns t in UTC, or nil for the zero time.
func InstantOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
