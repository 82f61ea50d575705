// Package booking implements the use cases of single meetings for users and jobs: booking, changing and
// canceling, check-in, responses and undo.
//
// [Service] loads what a change refers to, applies the rules of package meeting inside the [Store]'s
// update, and notifies the queue after the commit. The other use cases, such as those of packages approval,
// series and places, stand on what it exports for that: [Service.LookUp], [Service.Change],
// [Service.PlanAndSave] and others.
package booking
