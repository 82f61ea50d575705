// Package meeting holds the types of punctual's domain, rooms and the meetings booked in them, and
// the rules by which they change. It is plain Go: it knows no SQL, no HTTP and no settings. It knows
// the format of queue messages, but not the queue.
//
// # Terms
//
// A [Room] may belong to a [Site]. Times of day in its [policy.Policy] are in the time zone of the room,
// its site or the installation, whichever is set first. A [Meeting] holds one or more rooms, all
// or none, for a [clock.Slot], a half-open interval. Its [Occupancy] of a room is the slot plus
// the room's buffers. The store rejects overlapping occupancies, also under concurrent requests,
// so this package never checks first that a room is free.
//
// A [Series] is a [recurrence.Rule] in the wall-clock time of a zone, plus the content that all
// its occurrences share. Each occurrence is a meeting of its own. It follows the series field by
// field until a field is changed for it alone. A change of a series is planned in full, as a
// [SeriesChange], and saved at once.
//
// If a room is taken, a user can join its waiting list: a [Wait] is the entry, with the meeting
// that the user wants. When a meeting releases a room, the entries that want it are checked in
// the order in which they were created. The first one whose rooms are all free gets the meeting,
// or an offer that holds the rooms for a limited time.
//
// A [Person] is anyone whom a meeting concerns, with or without a user account: the organizer, who
// booked, and the attendees. An [Actor] performs an action: a user, a timer, or the installation
// itself. A [Reminder] is sent some time before the start or the end. A [Notice] is one
// notification to one person on one channel.
//
// # States
//
//	pending      -> confirmed | rejected | cancelled
//	confirmed    -> in_progress | cancelled | released
//	in_progress  -> ended | released
//
// A meeting is pending while it waits for a decision. Its deadline is the earlier of a time-out
// and the start. If nobody decides by then, it is rejected, or confirmed if its policy says so.
// If moving a confirmed meeting needs approval, the meeting stays where it is. Only the move
// waits, as a [Request] with a [PendingChange]. Jobs record the start and the end.
// [Meeting.EffectiveStatus] is the status at an instant, even if its job is late.
//
// # Permissions
//
//	see a room                   all users, or groups; its approvers and admins; see [Access]
//	see a meeting                whoever sees one of its rooms; a private one, or one in a room that
//	                             shows details to certain groups, is "Busy", without names, to all
//	                             but its participants, the approvers of its rooms and admins
//	book                         whoever sees the room, or groups
//	book for somebody else       their delegates, see [Actor.For]; admins, and approvers of all its rooms,
//	                             see [Actor.MayBookFor]
//	change, cancel               its organizer, their delegates and admins
//	approve                      an approver of all its rooms that need approval, level by
//	                             level, and admins
//	reject                       an approver of one of its rooms, at any level, and admins
//	see or end a waiting entry   the user who waits, and admins
//	create and change rooms      admins
//	close rooms, override rules  admins; see [policy.Blackout] and [Override]
//
// An approver is a user with the role manager or admin whom the room names. If a room names
// nobody, the admins decide. While an approver is away, their deputy is an approver too. If the
// organizer may approve the meeting alone, booking it approves it.
//
// # Structure
//
// Rules are pure functions and methods. Those of a room alone are in package policy. A method that
// changes a meeting records the change as history and as notices. The store writes both with the
// meeting, in one transaction.
//
// Package booking implements the use cases of single meetings. Packages approval, series, waitlist,
// door, zones and places stand on it. Those that only read are finding, report, forecast and feed. Package jobs handles what becomes due, package httpapi is the REST
// resource, package gormstore the database.
package meeting
