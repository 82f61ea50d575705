package branding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/photo"
)

const (
	maxOrganization = 60
	maxMessage      = 300
	maxLogoSide     = 480 // in pixels
)

// Fields are the requested fields of the branding; nil: not requested.
type Fields struct {
	Name         *string
	Message      *string
	MessageUntil *clock.Time
	NoEnd        bool    // of the message
	Logo         *[]byte // a PNG, JPEG, WebP or SVG; empty: none

	Faults []meeting.Fault // found while decoding
}

// apply sets the fields. picture is what Logo shows, nil unless it was requested.
func (f *Fields) apply(b *meeting.Branding, picture *photo.Picture, loc *time.Location) error {
	var found fault.List
	if f.Name != nil {
		b.Name = strings.TrimSpace(*f.Name)
		found.Line("name", b.Name, maxOrganization)
	}
	if f.Message != nil {
		b.Message = strings.TrimSpace(*f.Message)
		found.Line("message", b.Message, maxMessage)
	}
	if f.NoEnd {
		b.MessageUntil = time.Time{}
	}
	if until := (clock.Moment{}); f.MessageUntil != nil && booking.ResolveTime(f.MessageUntil, &until, clock.Time.In, "message_until", true, loc, &found) {
		b.MessageUntil = until.At
	}
	if f.Logo != nil {
		b.Logo = ""
		if picture != nil {
			sum := sha256.Sum256(picture.Content)
			b.Logo = hex.EncodeToString(sum[:8])
		}
	}
	return fault.Merge(f.Faults, found).Err()
}

// Branding returns the branding. A message that has ended is left out.
func (s *Service) Branding(ctx context.Context) (*meeting.Branding, error) {
	b, err := s.store.Branding(ctx)
	if err == nil && !b.MessageUntil.IsZero() && !s.booking.Now().Before(b.MessageUntil) {
		b.Message, b.MessageUntil = "", time.Time{}
	}
	return b, err
}

// Update changes the branding. ifMatch, unless nil, is the expected version.
func (s *Service) Update(ctx context.Context, by meeting.Actor, ifMatch *int64, f Fields) (*meeting.Branding, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	var picture *photo.Picture
	if f.Logo != nil && len(*f.Logo) > 0 {
		p, err := photo.NewPicture(*f.Logo, maxLogoSide)
		if e, ok := errors.AsType[*meeting.InvalidError](err); ok {
			for _, found := range e.Faults {
				found.Location = "logo"
				f.Faults = append(f.Faults, found)
			}
		} else if err != nil {
			return nil, err
		}
		picture = p
	}
	loc := clock.ZoneOrUTC(s.booking.Settings().Timezone)
	return s.store.UpdateBranding(ctx, f.Logo != nil, picture, func(b *meeting.Branding) error {
		if err := fault.CheckVersion(ifMatch, b.Version); err != nil {
			return err
		}
		if err := f.apply(b, picture, loc); err != nil {
			return err
		}
		b.UpdatedAt = s.booking.Now()
		return nil
	})
}

// Logo returns the logo and its version. Only its content and type are set.
func (s *Service) Logo(ctx context.Context) (*photo.Picture, string, error) { return s.store.Logo(ctx) }
