package series

import (
	"slices"
	"testing"

	"punctual/meeting"
	"punctual/meeting/policy"
)

func TestAssign(t *testing.T) {
	a, b, c := &meeting.Room{Room: policy.Room{ID: 1}}, &meeting.Room{Room: policy.Room{ID: 2}}, &meeting.Room{Room: policy.Room{ID: 3}}
	for _, tt := range []struct {
		choices [][]*meeting.Room
		want    []*meeting.Room
	}{
		{[][]*meeting.Room{{a, b}, {b, a}}, []*meeting.Room{a, b}},
		{[][]*meeting.Room{{a, b}, {a}}, []*meeting.Room{b, a}},
		{[][]*meeting.Room{{a, b}, {b, c}, {a}}, []*meeting.Room{b, c, a}},
		{[][]*meeting.Room{{a}, {a}}, nil},
		{[][]*meeting.Room{{a, b}, {b, a}, {a, b}}, nil},
		{[][]*meeting.Room{{}}, nil},
	} {
		if got := assign(tt.choices); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.choices, got, tt.want)
		}
	}
}
