package app

import "time"

// orNull is nil for the zero value.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// instantOrNull is an instant in UTC, nil for the zero time.
func instantOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
