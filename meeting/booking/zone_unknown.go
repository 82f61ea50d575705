package booking

import (
	"punctual/account/fault"
)

// UnknownZone returns the error for a stored time zone that the zone data no longer contain.
func (s *Service) UnknownZone(name string) error {
	s.logUnknown(name)
	return fault.Invalid("timezone", "unknown_timezone", "must be a known time zone: %q is unknown on this server", name)
}

// logUnknown logs each name once.
func (s *Service) logUnknown(name string) {
	if _, logged := s.unknown.LoadOrStore(name, true); !logged {
		s.log.Error("time zone unknown, its rooms and series cannot be booked", "timezone", name)
	}
}
