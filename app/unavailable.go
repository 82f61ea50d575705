package app

import (
	"context"

	"punctual/app/database"
	"punctual/delayjob"
)

// databaseOutages is the middleware of all jobs: an error of an unavailable database uses up no
// attempt. Batch jobs return [delayjob.Unavailable] themselves, so that their batches are not split.
func databaseOutages(next delayjob.Handler) delayjob.Handler {
	return func(ctx context.Context, ms []delayjob.Message) []error {
		errs := next(ctx, ms)
		for i, err := range errs {
			if delayjob.ResultOf(err) == delayjob.ResultRetry && database.Unavailable(err) {
				errs[i] = delayjob.Unavailable(err)
			}
		}
		return errs
	}
}
