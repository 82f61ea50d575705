// Package caldav lets calendar programs read and change meetings (RFC 4791, RFC 6578, RFC 6638).
//
// The calendar of a user contains the meetings that they organize or are invited to, each series as one
// object. The calendars of rooms are read-only and show the same as a room's feed.
package caldav
