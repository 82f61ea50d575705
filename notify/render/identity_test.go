package render

import "testing"

func TestIdentity(t *testing.T) {
	i := Identity{Domain: "new", FormerDomain: "old", FormerMeeting: 7, FormerSeries: 3}
	for got, want := range map[string]string{
		i.meeting(7): "meeting-7@old", i.meeting(8): "meeting-8@new", i.series(3): "series-3@old", i.series(4): "series-4@new",
		Identity{}.meeting(1): "meeting-1@localhost",
	} {
		if got != want {
			t.Errorf("UID %s, want %s", got, want)
		}
	}
}
