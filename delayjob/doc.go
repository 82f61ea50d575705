// Package delayjob runs work at a given time, on one machine or many.
//
//	mails := delayjob.NewTask(queue, "mail", func(ctx context.Context, m Mail) error {
//		return send(ctx, m)
//	}, delayjob.Options{})
//	_, err := mails.Schedule(ctx, time.Now().Add(time.Hour), Mail{To: "ada@example.org"})
//	...
//	err = delayjob.Run(ctx, delayjob.RunOptions{Queue: queue, Jobs: []delayjob.DelayJob{mails}})
//
// A [Queue] is in memory (package memqueue) or on Redis (package redisqueue). [Run] works until its
// context ends, and then stops gracefully. There are three kinds of jobs:
//
//   - a [Task] has typed payloads, which only the queue holds;
//   - a [Recurring] runs on a schedule, once for all processes;
//   - any other [DelayJob] takes its messages from a database, which is then the truth.
//
// # How it works
//
// A [DelayJob] defines which messages are due in a window (Load) and what to do with each
// (Execute). A [Loader] loads the messages of the coming window from all jobs and adds them to a
// [Queue]. A [Consumer] claims due messages and runs the job of each. The database that Load reads
// is the source of truth; a Queue may then lose everything at any time. A queue of tasks must be as
// durable as the tasks.
//
// # Guarantees
//
//   - At least once: what is pending in the database at its due time is executed, as long as
//     eventually one consumer, one loader and the database are up.
//   - Never early: nothing is claimed before its due time on the engine's clock.
//   - Fencing: only the holder of the current lease can acknowledge, return or extend a message.
//     All others get [ErrLeaseLost].
//   - No silent drop: each message ends acknowledged, removed, replaced by a newer version, or
//     dead and recorded.
//
// Exactly once is impossible, so it is not promised. Make each effect conditional on the state that
// it changes, so that a second delivery finds nothing to do. The order of messages is not
// guaranteed either.
//
// # What a crash costs
//
// A crash before the claim costs nothing. After a crash between claim and effect, another consumer
// runs the message when the lease ends, within two and a half seconds. An attempt is charged only
// to messages that were held in several crashes ([Want.FreeCrashes]). After a crash between effect
// and acknowledgment, the second run finds its work done.
//
// A queue that lost its content (a flush, a failover) has no epoch, and the loader fills it again
// at once. While a queue does not answer at all, a [Fallback] works in its place.
package delayjob
