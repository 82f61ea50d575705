// Package caldav lets calendar programs read and change meetings (RFC 4791, RFC 6578, RFC 6638).
//
// The calendar of a user has what they organize and are invited to, a series as one object. The
// calendars of rooms are for reading, and show no more than a room's feed.
package caldav
