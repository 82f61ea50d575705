package render

import (
	"time"

	"punctual/notify"
)

// Variables are the parts of a text message, for providers that send only texts they know. Each is one line
// in the language and time zone of the recipient; what does not apply is empty.
type Variables struct {
	Name  string // of the recipient
	Title string // of the meeting, shortened
	Where string // rooms
	Start string // Feb 10, 10:00
	End   string // 11:00
}

// Variables returns the parts of n for a message that is read at now.
func (r *Renderer) Variables(n notify.Notification, now time.Time) (Variables, error) {
	v, err := r.view(n, now)
	if err != nil {
		return Variables{}, err
	}
	vars := Variables{Name: v.Recipient, Title: v.ShortTitle, Where: v.Where}
	if !v.facts.Start.IsZero() {
		vars.Start, vars.End = v.ShortStart, v.EndTime
	}
	return vars, nil
}
