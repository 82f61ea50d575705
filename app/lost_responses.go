package app

import (
	"errors"
	"net/url"
	"path"
	"time"

	"punctual/app/idempotency"
	meetinghttp "punctual/meeting/httpapi"
)

// lostResponses rebuild the responses that no GET returns, for retries of requests that lost theirs.
var lostResponses = map[string]idempotency.Rebuild{"SeriesResult": changedSeries}

// changedSeries returns the result of a change of a series: the series as it is now, and its meetings
// that changed since. If dates of a new series were skipped it fails, because the reasons are not stored.
func changedSeries(get func(path string, into any) error, location string, since time.Time) (any, error) {
	var state meetinghttp.SeriesState
	if err := get(location, &state); err != nil {
		return nil, err
	}
	for _, d := range state.Absent {
		if d.Reason == "skipped" && !state.CreatedAt.Before(since) {
			return nil, errors.New("the reasons of skipped dates are not stored")
		}
	}
	r := meetinghttp.SeriesResult{Series: state.Series, Meetings: []meetinghttp.Meeting{}, Skipped: []meetinghttp.SkippedDate{}, Saved: true}
	for query := (url.Values{"series_id": {path.Base(location)}, "limit": {"500"}}); ; {
		var page meetinghttp.Listing[meetinghttp.Meeting]
		if err := get(apiBase+"/meetings?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		for _, m := range page.Items {
			if !m.UpdatedAt.Before(since) {
				r.Meetings = append(r.Meetings, m)
			}
		}
		if page.NextCursor == nil {
			return r, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}
