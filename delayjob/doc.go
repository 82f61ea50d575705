// Package delayjob runs work at a given time, on one machine or many.
//
// A [DelayJob] says which messages fall due in a window (Load) and what to do with one
// (Execute). A [Loader] asks all jobs for the coming window and adds the messages to a
// [Queue]; a [Consumer] claims what is due and gives each message to the job of its name.
// The database that Load reads is the truth; a Queue may lose everything at any time.
//
// # Guarantees
//
//   - At least once: what is pending in the database at its due time is executed, as long
//     as eventually one consumer, one loader and the database are up.
//   - Never early: nothing is claimed before its due time on the engine's clock.
//   - Fencing: only the holder of the current lease can acknowledge, return or extend a
//     message; anybody else gets [ErrLeaseLost].
//   - No silent drop: each message ends acknowledged, removed, replaced by a newer version,
//     or dead and recorded.
//
// Exactly once is not promised, because nobody can: an effect must be conditional on the
// state it changes, so that a second delivery finds nothing to do. Order between messages
// is not promised either.
//
// # What a crash costs
//
// Before the claim: nothing. Between claim and effect: the rest of the lease, at most two and
// a half seconds, then another consumer runs it. A crash is charged as an attempt only to a
// message that was held in several ([Want.FreeCrashes]). Between effect and acknowledgement: the same, and the second run finds
// its work done. A queue that loses its content (a flush, a fail-over) shows it by a missing
// epoch; the loader then fills it again at once. While a queue does not answer at all a
// [Fallback] works in its place.
package delayjob
