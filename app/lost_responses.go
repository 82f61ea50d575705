package app

import (
	"errors"
	"net/url"
	"path"

	"punctual/app/idempotency"
	meetinghttp "punctual/meeting/httpapi"
)

// lostResponses rebuild the responses that no GET returns, for retries of requests that lost theirs.
var lostResponses = map[string]idempotency.Rebuild{"SeriesResult": newSeries}

// newSeries returns the result of booking a series, as the series is now. If dates were skipped it
// fails, because the reasons are not stored.
func newSeries(get func(path string, into any) error, location string) (any, error) {
	var state meetinghttp.SeriesState
	if err := get(location, &state); err != nil {
		return nil, err
	}
	for _, d := range state.Absent {
		if d.Reason == "skipped" {
			return nil, errors.New("the reasons of skipped dates are not stored")
		}
	}
	r := meetinghttp.SeriesResult{Series: state.Series, Meetings: []meetinghttp.Meeting{}, Skipped: []meetinghttp.SkippedDate{}, Saved: true}
	for query := (url.Values{"series_id": {path.Base(location)}, "limit": {"500"}}); ; {
		var page meetinghttp.Listing[meetinghttp.Meeting]
		if err := get(apiBase+"/meetings?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		r.Meetings = append(r.Meetings, page.Items...)
		if page.NextCursor == nil {
			return r, nil
		}
		query.Set("cursor", *page.NextCursor)
	}
}
