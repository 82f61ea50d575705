// Package topics is the delay queue for other systems: named topics of JSON bodies that become
// due, are popped under a lease and finished, over HTTP.
//
// The database is the truth and a [delayjob.Queue] holds the near future, as messages that are
// the job "topic.<name>", the job's ID and its revision, without the body: what is due in a
// year costs the queue nothing, and a queue that loses everything is filled again by the
// loader. A pop claims these messages itself and then takes the rows, which decide: they count
// the attempts, hold the lease and know of pauses, so that a flush of the queue or a kill of
// this process neither hands a job out twice at a time nor forgets an attempt.
//
// A topic with a webhook is not popped. A [Pusher] has a consumer claim its messages, takes the
// rows in the same way and posts the bodies.
//
// # What a crash costs
//
// An add that was answered is in the database; if the direct add to the queue was lost, the
// loader's next pass makes up for it. A pop whose answer is lost leaves the job reserved until
// its time to run is over; then it is delivered again as the next attempt. So is a job whose
// post was on its way when its process died. A finish that was answered is in the database; a
// message left in the queue is found to be over when it is claimed. Delivery is at least once:
// a job may run twice when its holder takes longer than its lease.
package topics
