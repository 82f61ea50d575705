package config

import "punctual/account/fault"

// SCIM says what becomes of users whom a directory of people deletes.
type SCIM struct {
	Meetings   string `yaml:"meetings"`     // keep, cancel or hand_over
	HandOverTo string `yaml:"hand_over_to"` // address of the user who takes over
}

func (c *SCIM) validate(r *rules) {
	r.oneOf("auth.scim.meetings", c.Meetings, "keep", "cancel", "hand_over")
	r.check((c.Meetings == "hand_over") == (c.HandOverTo != ""), "auth.scim.hand_over_to", "must be the address of a user with auth.scim.meetings: hand_over, and empty otherwise")
	if c.HandOverTo != "" {
		var found fault.List
		found.Email("email", c.HandOverTo)
		r.check(found.Err() == nil, "auth.scim.hand_over_to", "is %q; it must be an email address", c.HandOverTo)
	}
}
