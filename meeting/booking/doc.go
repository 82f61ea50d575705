// Package booking implements the use cases of meetings for users and jobs: booking, changing and
// canceling, approvals, series, the waiting list, check-in, and the administration of rooms.
//
// [Service] loads what a change refers to, applies the rules of package meeting inside the [Store]'s
// update, and notifies the queue after the commit.
package booking
