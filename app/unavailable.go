package app

import (
	"context"
	"slices"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/notify"
	eventhook "punctual/notify/webhook"
)

// sending are the jobs that talk to servers of others. Their errors look like those of a database that is down,
// but an attempt may have sent something, so each counts. They ask about errors of the database themselves.
var sending = []string{notify.Email.Job(), notify.SMS.Job(), notify.Chat.Job(), eventhook.Job}

// databaseOutages is the middleware of all jobs: an error of an unavailable database uses up no
// attempt. Batch jobs return [delayjob.Unavailable] themselves, so that their batches are not split.
func databaseOutages(next delayjob.Handler) delayjob.Handler {
	return func(ctx context.Context, ms []delayjob.Message) []error {
		errs := next(ctx, ms)
		if slices.Contains(sending, ms[0].Job) {
			return errs
		}
		for i, err := range errs {
			if delayjob.ResultOf(err) == delayjob.ResultRetry && database.Unavailable(err) {
				errs[i] = delayjob.Unavailable(err)
			}
		}
		return errs
	}
}
