package notify

import "time"

// Reception is what the provider of a channel reported about a notification that it had accepted.
type Reception string

const (
	Unreported  Reception = "" // nothing, or nothing final
	Delivered   Reception = "delivered"
	Undelivered Reception = "undelivered"
)

// Receipt is a final report about a notification.
type Receipt struct {
	ID      int64
	Version int64 // of the delivery; a report about an older one is ignored
	Reception
	At     time.Time
	Reason string // of Undelivered, in the words of the provider
}
