package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"
)

// Clients may invent methods; they must not make series without end either.
func TestMeasure_inventedMethods(t *testing.T) {
	m, r := newMetrics(), gin.New()
	r.Use(m.measure)
	r.GET("/known", func(*gin.Context) {})
	for i := range 50 {
		for _, method := range []string{"GET", "HEAD", "POST", fmt.Sprint("INVENTED", i)} {
			for _, path := range []string{"/known", fmt.Sprint("/unknown/", i)} {
				r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, path, http.NoBody))
			}
		}
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range families {
		if f.GetName() != "http_request_duration_seconds" {
			continue
		}
		found = true
		if n := len(f.GetMetric()); n != 4 {
			t.Errorf("%d series, want those of GET /known, and of GET, HEAD and all others elsewhere: %v", n, f.GetMetric())
		}
	}
	if !found {
		t.Error("requests are not measured")
	}
}

// Names of topics are for others to choose; they must not make series without end.
func TestTopicLabels(t *testing.T) {
	t.Parallel()
	var l topicLabels
	for i := range 3 * shownTopics {
		job := fmt.Sprint("topic.t", i)
		want := job
		if i >= shownTopics {
			want = otherTopics
		}
		if got := l.label(job); got != want {
			t.Fatalf("%s is shown as %s, want %s", job, got, want)
		}
	}
	for job, want := range map[string]string{"topic.t0": "topic.t0", "topic.t299": otherTopics, "meeting.start": "meeting.start"} {
		if got := l.label(job); got != want {
			t.Errorf("%s is shown as %s, want %s", job, got, want)
		}
	}
}
