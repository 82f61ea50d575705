package gormstore

import (
	"strconv"
	"strings"
)

// lookBacks are the values of look_back_days, a column of meetings and occupancies: a row that
// overlaps an instant began at most that many days before it. Nearly all rows have the first.
var lookBacks = []int{1, 4, 16, 64, 256, 100_000}

// rowsWithin selects columns of the rows of a table that overlap the span of two parameters, in
// any order. An empty to has no end. It reads what began within a day before the span or in it,
// and of the few longer rows those of each look-back, so its cost does not depend on the longest.
func rowsWithin(table, columns, from, to string) string {
	return longRowsWithin(table, columns, from, to) +
		"\n\tUNION ALL SELECT " + columns + " FROM " + table + " AS o WHERE " + recent("o", from, to)
}

// longRowsWithin selects those of them that began a day before the span or earlier.
func longRowsWithin(table, columns, from, to string) string {
	var parts []string
	for _, days := range lookBacks[1:] {
		parts = append(parts, "SELECT "+columns+" FROM "+table+" AS o WHERE o.look_back_days > 1 AND o.look_back_days = "+strconv.Itoa(days)+ // both, so that SQLite uses the partial index
			" AND o.starts_at > "+daysBefore(from, days)+" AND o.starts_at <= "+daysBefore(from, lookBacks[0])+" AND "+touches("o", from, to))
	}
	return strings.Join(parts, "\n\tUNION ALL ")
}

// recent is the condition on a row that it overlaps the span and began at most a day before it.
func recent(row, from, to string) string {
	return row + ".starts_at > " + daysBefore(from, lookBacks[0]) + " AND " + touches(row, from, to)
}

func touches(row, from, to string) string {
	text := row + ".ends_at > " + from
	if to != "" {
		text += " AND " + row + ".starts_at < " + to
	}
	return text
}

func daysBefore(param string, days int) string {
	n := strconv.Itoa(days)
	return "{postgres: CAST(" + param + " AS timestamptz) - interval '" + n + " days'}{sqlite: " + param + " - " + n + " * 86400000000}"
}

// ofRoom is the condition on an occupancy o that it is of a room and overlaps a span. Those of a room
// never overlap each other, so only the last one before the span can reach into it.
func ofRoom(room, from, to string) string {
	return "o.room_id = " + room + " AND " + touches("o", from, to) + " AND o.starts_at >= COALESCE((SELECT max(p.starts_at) FROM occupancies p WHERE p.room_id = " +
		room + " AND p.starts_at <= " + from + "), " + from + ")"
}
