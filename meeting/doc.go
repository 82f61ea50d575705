// Package meeting is the domain: rooms, the meetings that hold them, and the rules for both,
// in plain Go. It knows no SQL, no HTTP and no queue but the form of its messages.
//
// # Terms
//
// A [Room] may belong to a [Site]; times of day in its [Policy] are in the zone that it, its
// site or the installation names. A [Meeting] holds one or more rooms, all or none, for a
// [clock.Slot], a half-open interval. What it takes of each room is an [Occupancy]: the slot with
// the room's buffers around it. The store refuses two that overlap, whoever asked and when;
// nothing here tries to be sure of a free room before.
//
// A [Series] is a [recurrence.Rule] by which a meeting recurs in the wall-clock time of a zone, and what
// all its dates have in common. Each date is a meeting of its own, which follows the series
// field by field until a field is changed for it alone. A change of a series is planned in
// full, as a [SeriesChange], and saved in one go.
//
// Who finds a room taken may stand in line for it: a [Wait] is the place, with the meeting that
// is wished for. When a meeting gives up what it held, those who wait for any of it are looked
// at in the order in which they came; the first whose whole wish is free gets it, or an offer
// that holds it for a time.
//
// People are a [Person] each, with a user of the installation behind them or not: the
// organizer, who booked, and the attendees. An [Actor] is who does something: a user, a
// timer, or the installation itself. A [Reminder] goes out some time before the start or
// the end; a [Notice] is one thing to tell one person by one channel.
//
// # States
//
//	pending      -> confirmed | rejected | cancelled
//	confirmed    -> in_progress | cancelled | released
//	in_progress  -> ended | released
//
// A meeting is pending while somebody has to decide, and rejected when nobody has by its
// deadline, the earlier of a time-out and the start. A confirmed one that is to move where
// somebody else must decide stays where it is; the move alone waits, as a [Request] with a
// [PendingChange]. Start and end are written by jobs; [Meeting.EffectiveStatus]
// is what holds at an instant, even if its job is a moment behind.
//
// # Who may do what
//
//	see a meeting                everybody; a private one is "Busy" and nobody's to all but its
//	                             participants, the approvers of its rooms and admins
//	book                         every user
//	change, cancel               its organizer and admins
//	approve                      an approver whom all its rooms that need approval name, level by
//	                             level, and admins
//	reject                       an approver of one of its rooms, at any level, and admins
//	see who waits, end a wait    who waits, and admins
//	create and change rooms      admins
//	close rooms, override rules  admins; see [Blackout] and [Override]
//
// An approver is a user with the role manager, or admin, whom the room names; where it names
// nobody the admins decide. While one is away their deputy is an approver, too. Whoever may approve a meeting alone has approved it by booking.
//
// # Shape
//
// Rules are pure functions and methods of [Meeting] and [Room]. A method that changes a
// meeting records what it did, as history and as notices; the store writes both with it, in
// one transaction. [Service] is the use cases: it looks up what a change refers to, runs the
// rule inside the [Store]'s update, and tells the queue after the commit. Package jobs does
// what falls due, package httpapi is the REST resource, package gormstore the database.
package meeting
