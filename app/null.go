package app

import "time"

func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func instantOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
