package booking_test

import (
	"testing"

	"punctual/meeting"
)

func TestPerson_Address(t *testing.T) {
	same(t, "a device", meeting.Person{Email: "door-1@door.INVALID"}.Address(meeting.Email), "")
	same(t, "a person", meeting.Person{Email: "ann@example.org"}.Address(meeting.Email), "ann@example.org")
}
