// Package topics is the delay queue for other systems: named topics of jobs with JSON bodies. When
// a job is due, a client pops it under a lease and finishes it over HTTP.
//
// The database is the source of truth. A [delayjob.Queue] holds the near future. Its messages carry
// the job name "topic.<name>", the job's ID and its revision, but no body. So a job due in a year
// costs the queue nothing, and the loader can refill a queue that lost everything. A pop claims
// messages and then takes their rows, and the rows decide: they count the attempts, hold the lease
// and know which topics are paused. Therefore a queue flush or a killed process never causes two
// deliveries at the same time and never loses an attempt.
//
// Jobs of a topic with a webhook are not popped. A [Pusher] runs a consumer that claims the
// messages, takes the rows in the same way and posts the bodies.
//
// # What a crash costs
//
// If an add was answered, the job is in the database. If the direct add to the queue was lost, the
// next pass of the loader repeats it. If the answer to a pop is lost, the job stays reserved until
// its time to run ends. Then it is delivered again, as the next attempt. The same happens if a
// process dies while it posts a job. If a finish was answered, it is in the database; the next
// claim drops any message left in the queue. Delivery is at least once: a job may run twice if its
// holder takes longer than its lease.
package topics
