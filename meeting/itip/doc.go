// Package itip reads iCalendar (RFC 5545) as calendar programs write it: Outlook, Exchange, Google,
// Apple and Thunderbird all have habits of their own. It knows no database and no HTTP.
//
// [Read] limits size, nesting and the number of events while it reads. It groups events by UID into
// an [Object]: a master and the dates that differ from it. [Object.Dates] turns that into a
// recurrence set. A time zone that cannot be resolved is a fault of its event, never UTC.
package itip
