package app

import (
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	failures "punctual/delayjob/gormstore"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// punctualityAPI tells how late jobs ran.
type punctualityAPI struct {
	kept     *failures.Lateness
	pending  *lateness // what this process has not written down yet
	meetings *meeting.Service
}

type punctualityView struct {
	From     time.Time         `json:"from"`
	To       time.Time         `json:"to"`
	Items    []latenessOfJob   `json:"items" nullable:"false" doc:"By job"`
	Total    LatenessView      `json:"total" doc:"Of all jobs"`
	Step     string            `json:"step" enum:"hour,day" doc:"Of times"`
	Times    []latenessOfTime  `json:"times" nullable:"false" doc:"By hour, or by day (UTC) if there are more than eight of them; those in which nothing ran are left out"`
	Meetings latenessOfMeeting `json:"meetings" doc:"Of meetings that were to begin within the time"`
}

type latenessOfJob struct {
	Job string `json:"job" example:"meeting.start" doc:"topic.*: all topics but the first hundred"`
	LatenessView
}

type latenessOfMeeting struct {
	Started LatenessView `json:"started" doc:"From their start to when it was applied"`
	Ended   LatenessView `json:"ended" doc:"From their end to when it was applied; without those that people ended"`
}

type latenessOfTime struct {
	Start time.Time `json:"start"`
	LatenessView
}

// LatenessView is how late something was. Percentiles are interpolated within a bucket.
type LatenessView struct {
	Count     int64        `json:"count"`
	P50       *float64     `json:"p50_seconds" nullable:"true"`
	P90       *float64     `json:"p90_seconds" nullable:"true"`
	P99       *float64     `json:"p99_seconds" nullable:"true"`
	Max       *float64     `json:"max_seconds" nullable:"true"`
	Histogram []lateBucket `json:"histogram" nullable:"false"`
}

type lateBucket struct {
	UpTo  *float64 `json:"up_to_seconds" nullable:"true" doc:"And later than the bucket before; null: later than all"`
	Count int64    `json:"count"`
}

// viewLateness of the counts by each of the lateBounds, and behind the last one.
func viewLateness(l meeting.Lateness) LatenessView {
	v := LatenessView{Histogram: make([]lateBucket, len(lateBounds)+1)}
	for i := range v.Histogram {
		if i < len(lateBounds) {
			v.Histogram[i].UpTo = new(lateBounds[i].Seconds())
		}
		v.Histogram[i].Count = l.Counts[i]
		v.Count += l.Counts[i]
	}
	if v.Count == 0 {
		return v
	}
	v.P50, v.P90, v.P99 = percentile(l, v.Count, 0.5), percentile(l, v.Count, 0.9), percentile(l, v.Count, 0.99)
	v.Max = rounded(l.Max)
	return v
}

// percentile takes what is in a bucket for evenly spread, up to the latest of all.
func percentile(l meeting.Lateness, count int64, p float64) *float64 {
	rank := p * float64(count)
	var below float64
	for i, n := range l.Counts {
		if n == 0 || below+float64(n) < rank {
			below += float64(n)
			continue
		}
		var from time.Duration
		to := l.Max
		if i > 0 {
			from = lateBounds[i-1]
		}
		if i < len(lateBounds) {
			to = min(to, lateBounds[i])
		}
		return rounded(from + time.Duration((rank-below)/float64(n)*float64(to-from)))
	}
	return rounded(l.Max)
}

// rounded to the tenth of a millisecond.
func rounded(d time.Duration) *float64 { return new(math.Round(d.Seconds()*1e4) / 1e4) }

type punctualityQuery struct {
	From string `query:"from" doc:"Thirty days before to, if it is left out; whole hours count" example:"2027-02-01T00:00:00Z"`
	To   string `query:"to" doc:"Now, if it is left out; at most 366 days after from" example:"2027-03-01T00:00:00Z"`
	Job  string `query:"job" maxLength:"100" doc:"The times of this job alone" example:"meeting.start"`
}

func (a *punctualityAPI) register(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "report-punctuality", Method: http.MethodGet, Path: "/reports/punctuality", Tags: []string{"Reports"},
		Summary: "How late each kind of job ran, within the last 180 days",
		Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity},
	}, a.report)
}

func (a *punctualityAPI) report(ctx context.Context, in *punctualityQuery) (*struct{ Body punctualityView }, error) {
	span, err := in.span()
	if err != nil {
		return nil, err
	}
	started, ended, span, err := a.meetings.Punctuality(ctx, span, lateBounds)
	if err != nil {
		return nil, err
	}
	a.pending.flush(ctx) // one wants to see what has just happened
	counts, err := a.kept.Between(ctx, span.Start.Truncate(time.Hour), span.End)
	if err != nil {
		return nil, err
	}
	hours, err := a.kept.Hours(ctx, in.Job, span.Start.Truncate(time.Hour), span.End)
	if err != nil {
		return nil, err
	}
	step, name := time.Hour, "hour"
	if span.End.Sub(span.Start) > hourlyUpTo {
		step, name = 24*time.Hour, "day"
	}
	out := &struct{ Body punctualityView }{punctualityView{
		From: span.Start.UTC(), To: span.End.UTC(), Items: latenessOfJobs(counts), Total: latenessOfAll(counts),
		Step: name, Times: latenessOfTimes(hours, step),
		Meetings: latenessOfMeeting{Started: viewLateness(started), Ended: viewLateness(ended)},
	}}
	return out, nil
}

func (in *punctualityQuery) span() (span clock.Slot, err error) {
	var f queryFaults
	span = clock.Slot{Start: f.instant("query.from", in.From), End: f.instant("query.to", in.To)}
	return span, f.err()
}

// hourlyUpTo is the longest time that a report goes through by the hour.
const hourlyUpTo = 8 * 24 * time.Hour

// addLate adds a count. That of a bound that there is no more is put into the next one.
func addLate(l *meeting.Lateness, c failures.LateCount) {
	if l.Counts == nil {
		l.Counts = make([]int64, len(lateBounds)+1)
	}
	i := len(lateBounds)
	if c.Bound > 0 {
		i, _ = slices.BinarySearch(lateBounds, c.Bound)
	}
	l.Counts[i] += c.Count
	l.Max = max(l.Max, c.Max)
}

func latenessOfAll(counts []failures.LateCount) LatenessView {
	l := meeting.Lateness{Counts: make([]int64, len(lateBounds)+1)}
	for _, c := range counts {
		addLate(&l, c)
	}
	return viewLateness(l)
}

// latenessOfTimes adds up counts, which are in the order of their hours, by steps.
func latenessOfTimes(counts []failures.LateCount, step time.Duration) []latenessOfTime {
	times := []latenessOfTime{}
	for len(counts) > 0 {
		start := counts[0].Hour.Truncate(step)
		var l meeting.Lateness
		n := 0
		for ; n < len(counts) && counts[n].Hour.Truncate(step).Equal(start); n++ {
			addLate(&l, counts[n])
		}
		times = append(times, latenessOfTime{start, viewLateness(l)})
		counts = counts[n:]
	}
	return times
}

// latenessOfJobs by job.
func latenessOfJobs(counts []failures.LateCount) []latenessOfJob {
	byJob := map[string]*meeting.Lateness{}
	var jobs []string
	for _, c := range counts {
		l := byJob[c.Job]
		if l == nil {
			l = &meeting.Lateness{}
			byJob[c.Job] = l
			jobs = append(jobs, c.Job)
		}
		addLate(l, c)
	}
	slices.Sort(jobs)
	items := make([]latenessOfJob, len(jobs))
	for i, job := range jobs {
		items[i] = latenessOfJob{job, viewLateness(*byJob[job])}
	}
	return items
}
