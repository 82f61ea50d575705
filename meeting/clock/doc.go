// Package clock relates instants to local times in a time zone: times that clocks skip or repeat,
// times as in requests, and [Slot], an interval of instants.
//
// The wall-clock time of an instant is kept as a [time.Time] in UTC with the same fields.
package clock
