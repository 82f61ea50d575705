package app

import (
	"fmt"
	"testing"
)

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
