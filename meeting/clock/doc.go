// Package clock relates instants to what wall clocks show in a time zone: times that clocks
// skip or show twice, times as requests give them, and [Slot], an interval of instants.
//
// The wall-clock time of an instant is kept as a [time.Time] in UTC with the same fields.
package clock
