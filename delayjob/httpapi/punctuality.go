package httpapi

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/delayjob/lateness"

	"github.com/danielgtaylor/huma/v2"
)

// Histogram counts executions by the [lateness.Bounds].
type Histogram struct {
	Counts []int64 // by bound; the last one: later than all bounds
	Max    time.Duration
}

// LatenessStore is what the report reads.
type LatenessStore interface {
	// Between adds up the hours that begin within [from, to), by job and bound.
	Between(ctx context.Context, from, to time.Time) ([]lateness.Count, error)
	// Hours adds up the hours that begin within [from, to) of a job, or of all jobs if it is empty, by hour and bound.
	Hours(ctx context.Context, job string, from, to time.Time) ([]lateness.Count, error)
}

// MeetingLateness counts how late the meetings within a span were started and ended. from and to are
// the parameters of the query, which may be empty; since and until are the span that they mean. An
// invalid one is a [fault.InvalidError].
type MeetingLateness func(ctx context.Context, from, to string, bounds []time.Duration) (started, ended Histogram, since, until time.Time, err error)

type punctualityView struct {
	From     time.Time         `json:"from"`
	To       time.Time         `json:"to"`
	Items    []latenessOfJob   `json:"items" nullable:"false" doc:"Lateness of each job type"`
	Total    LatenessView      `json:"total" doc:"Lateness of all job types together"`
	Step     string            `json:"step" enum:"hour,day" doc:"Length of each period in times"`
	Times    []latenessOfTime  `json:"times" nullable:"false" doc:"Lateness by hour, or by day (UTC) if the range is longer than eight days. Periods in which nothing ran are omitted"`
	Meetings latenessOfMeeting `json:"meetings" doc:"Lateness of meetings that were due to start within the range"`
}

type latenessOfJob struct {
	Job string `json:"job" example:"meeting.start" doc:"Job type; topic.* stands for all topics after the first hundred"`
	LatenessView
}

type latenessOfMeeting struct {
	Started LatenessView `json:"started" doc:"How late starts were applied"`
	Ended   LatenessView `json:"ended" doc:"How late ends were applied, without meetings that a user ended"`
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
	UpTo  *float64 `json:"up_to_seconds" nullable:"true" doc:"Upper bound of the bucket, which starts where the previous one ends; null for the last bucket, which has none"`
	Count int64    `json:"count"`
}

func viewLateness(l Histogram) LatenessView {
	v := LatenessView{Histogram: make([]lateBucket, len(lateness.Bounds)+1)}
	for i := range v.Histogram {
		if i < len(lateness.Bounds) {
			v.Histogram[i].UpTo = new(lateness.Bounds[i].Seconds())
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

func percentile(l Histogram, count int64, p float64) *float64 {
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
			from = lateness.Bounds[i-1]
		}
		if i < len(lateness.Bounds) {
			to = min(to, lateness.Bounds[i])
		}
		return rounded(from + time.Duration((rank-below)/float64(n)*float64(to-from)))
	}
	return rounded(l.Max)
}

func rounded(d time.Duration) *float64 { return new(math.Round(d.Seconds()*1e4) / 1e4) }

type punctualityQuery struct {
	Accept string `header:"Accept" doc:"text/csv returns a table with a line for each job type" example:"text/csv"`
	Format string `query:"format" enum:"json,csv" doc:"csv returns a table with a line for each job type; defaults to what Accept names"`
	From   string `query:"from" doc:"Start of the range, rounded to whole hours; defaults to 30 days before to" example:"2027-02-01T00:00:00Z"`
	To     string `query:"to" doc:"End of the range, at most 366 days after from; defaults to now" example:"2027-03-01T00:00:00Z"`
	Job    string `query:"job" maxLength:"100" doc:"Limits times to this job type" example:"meeting.start"`
}

func (a *api) registerPunctuality(r huma.API) {
	huma.Register(r, huma.Operation{
		OperationID: "report-punctuality", Method: http.MethodGet, Path: "/reports/punctuality", Tags: []string{"Reports"},
		Summary: "Get how late jobs ran, within the last 180 days",
		Errors:  []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusUnprocessableEntity},
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			"application/json": {Schema: r.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[punctualityView](), true, "")},
			"text/csv":         {Schema: &huma.Schema{Type: huma.TypeString}},
		}}},
	}, a.report)
}

func (a *api) report(ctx context.Context, in *punctualityQuery) (*huma.StreamResponse, error) {
	started, ended, from, to, err := a.Meetings(ctx, in.From, in.To, lateness.Bounds)
	if err != nil {
		return nil, err
	}
	a.Flush(ctx) // to include what has just run
	counts, err := a.Lateness.Between(ctx, from.Truncate(time.Hour), to)
	if err != nil {
		return nil, err
	}
	hours, err := a.Lateness.Hours(ctx, in.Job, from.Truncate(time.Hour), to)
	if err != nil {
		return nil, err
	}
	step, name := time.Hour, "hour"
	if to.Sub(from) > hourlyUpTo {
		step, name = 24*time.Hour, "day"
	}
	out := &punctualityView{
		From: from.UTC(), To: to.UTC(), Items: latenessOfJobs(counts), Total: latenessOfAll(counts),
		Step: name, Times: latenessOfTimes(hours, step),
		Meetings: latenessOfMeeting{Started: viewLateness(started), Ended: viewLateness(ended)},
	}
	contentType, write := "application/json", func(w io.Writer) error { return json.NewEncoder(w).Encode(out) }
	if in.Format == "csv" || in.Format == "" && strings.Contains(strings.ToLower(in.Accept), "text/csv") {
		contentType, write = "text/csv; charset=utf-8", out.table
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", contentType)
		ctx.SetHeader("Vary", "Accept")
		_ = write(ctx.BodyWriter()) // fails only if the client disconnects
	}}, nil
}

// table writes a line for each job type, for the starts and ends of meetings, and for all jobs together.
func (v *punctualityView) table(w io.Writer) error {
	t := csv.NewWriter(w)
	head := []string{"job", "count", "p50_seconds", "p90_seconds", "p99_seconds", "max_seconds"}
	for _, b := range v.Total.Histogram {
		if b.UpTo == nil {
			head = append(head, "later")
			continue
		}
		head = append(head, "up_to_"+decimal(b.UpTo))
	}
	_ = t.Write(head) // checked by Error below
	line := func(name string, l LatenessView) {
		cells := []string{name, strconv.FormatInt(l.Count, 10), decimal(l.P50), decimal(l.P90), decimal(l.P99), decimal(l.Max)}
		for _, b := range l.Histogram {
			cells = append(cells, strconv.FormatInt(b.Count, 10))
		}
		_ = t.Write(cells)
	}
	for _, i := range v.Items {
		line(i.Job, i.LatenessView)
	}
	line("Meetings started", v.Meetings.Started)
	line("Meetings ended", v.Meetings.Ended)
	line("Total", v.Total)
	t.Flush()
	return t.Error()
}

// decimal is empty for null.
func decimal(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', -1, 64)
}

// hourlyUpTo is the longest time that a report goes through by the hour.
const hourlyUpTo = 8 * 24 * time.Hour

// addLate adds a count. That of a bound that there is no more is put into the next one.
func addLate(l *Histogram, c lateness.Count) {
	if l.Counts == nil {
		l.Counts = make([]int64, len(lateness.Bounds)+1)
	}
	i := len(lateness.Bounds)
	if c.Bound > 0 {
		i, _ = slices.BinarySearch(lateness.Bounds, c.Bound)
	}
	l.Counts[i] += c.Count
	l.Max = max(l.Max, c.Max)
}

func latenessOfAll(counts []lateness.Count) LatenessView {
	l := Histogram{Counts: make([]int64, len(lateness.Bounds)+1)}
	for _, c := range counts {
		addLate(&l, c)
	}
	return viewLateness(l)
}

func latenessOfTimes(counts []lateness.Count, step time.Duration) []latenessOfTime {
	times := []latenessOfTime{}
	for len(counts) > 0 {
		start := counts[0].Hour.Truncate(step)
		var l Histogram
		n := 0
		for ; n < len(counts) && counts[n].Hour.Truncate(step).Equal(start); n++ {
			addLate(&l, counts[n])
		}
		times = append(times, latenessOfTime{start, viewLateness(l)})
		counts = counts[n:]
	}
	return times
}

func latenessOfJobs(counts []lateness.Count) []latenessOfJob {
	byJob := map[string]*Histogram{}
	var jobs []string
	for _, c := range counts {
		l := byJob[c.Job]
		if l == nil {
			l = &Histogram{}
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
