// Package recurrence expands the recurrence rules of RFC 5545 to dates. A [Rule] says on which
// days something recurs; a [Set] adds the first date, the zone, and dates to leave out or to add.
//
// Dates recur by wall-clock time: a series at 09:00 stays at 09:00 when clocks change.
package recurrence
