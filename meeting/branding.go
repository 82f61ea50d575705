package meeting

import "time"

// Branding is what the page, the sign-in page and door displays show of the organization.
type Branding struct {
	Name         string    // empty: none
	Message      string    // plain text; empty: none
	MessageUntil time.Time // when the message disappears; zero: never
	Logo         string    // version of the logo; empty: none
	Version      int64     // 0: nothing was ever set
	UpdatedAt    time.Time
}
