package places

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/policy"
)

// A room cannot escalate a request after its time-out, be that the room's own or the installation's.
func TestRoomFields_escalateBeforeTheTimeOut(t *testing.T) {
	for _, c := range []struct {
		own, installation, escalate time.Duration
		ok                          bool
	}{
		{0, 2 * time.Hour, time.Hour, true},
		{0, 2 * time.Hour, 2 * time.Hour, false},
		{0, 2 * time.Hour, 3 * time.Hour, false},
		{4 * time.Hour, 2 * time.Hour, 3 * time.Hour, true},
		{time.Hour, 2 * time.Hour, time.Hour, false},
		{time.Hour, 2 * time.Hour, 0, true}, // the installation's
	} {
		r := &meeting.Room{Room: policy.Room{Name: "Room", Capacity: 1}}
		f := RoomFields{Name: new("Room"), ApprovalTimeout: &c.own, EscalateAfter: &c.escalate}
		err := f.apply(r, roomLookUp{users: map[int64]meeting.Person{}, timeout: c.installation})
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
