package places

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/photo"
)

// maxPhotos is how many bytes the photos of all rooms may take in the database.
const maxPhotos = 256 << 20

// SetRoomPhoto stores a PNG, JPEG or WebP as the photo of a room, in two sizes. ifMatch, unless nil, is
// the expected version. What it refuses is an [*meeting.InvalidError].
func (s *Service) SetRoomPhoto(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64, image []byte) (*meeting.Room, error) {
	if !by.MayManageRooms() {
		return nil, meeting.ErrForbidden
	}
	p, err := photo.New(image)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(p.Large)
	return s.changePhoto(ctx, id, ifMatch, p, hex.EncodeToString(sum[:8]))
}

// RemoveRoomPhoto removes the photo of a room, if it has one. ifMatch, unless nil, is the expected version.
func (s *Service) RemoveRoomPhoto(ctx context.Context, by meeting.Actor, id int64, ifMatch *int64) error {
	if !by.MayManageRooms() {
		return meeting.ErrForbidden
	}
	_, err := s.changePhoto(ctx, id, ifMatch, nil, "")
	return err
}

func (s *Service) changePhoto(ctx context.Context, id int64, ifMatch *int64, p *photo.Photo, version string) (*meeting.Room, error) {
	err := s.store.SetRoomPhoto(ctx, id, p, func(r *meeting.Room, others int64) error {
		if err := fault.CheckVersion(ifMatch, r.Version); err != nil {
			return err
		}
		if p != nil && others+int64(len(p.Large)+len(p.Small)) > maxPhotos {
			return fault.Invalid("image", "photos_full", "must fit in the %d MB for photos of all rooms; remove others first", maxPhotos>>20)
		}
		r.Photo, r.UpdatedAt = version, s.booking.Now()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.booking.Room(ctx, id)
}

// RoomPhoto returns the photo of a room that the actor may see as JPEG, and its version, which is another for each photo.
func (s *Service) RoomPhoto(ctx context.Context, by meeting.Actor, id int64, small bool) (picture []byte, version string, err error) {
	if _, err := s.booking.VisibleRoom(ctx, by, id); err != nil {
		return nil, "", err
	}
	return s.store.RoomPhoto(ctx, id, small)
}
