package gormstore

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"punctual/meeting"
)

// ChatChannels returns the chat channels that are about some rooms.
func (s *Store) ChatChannels(ctx context.Context, roomIDs []int64) ([]meeting.ChatChannel, error) {
	return s.outbox.Channels(s.db.WithContext(ctx), roomIDs)
}

// post adds the notices about changes for chat channels, before history and notices are taken. series is that of new
// dates; nil: there are none.
func (s *Store) post(tx *gorm.DB, cs []change, series *meeting.Series, u *meeting.Undoable) error {
	var rooms []int64
	var changes []meeting.MeetingChange
	for _, c := range cs {
		if len(c.m.History) == 0 {
			continue
		}
		changes = append(changes, meeting.MeetingChange{Before: c.before, Now: c.m})
		rooms = slices.Concat(rooms, c.m.RoomIDs, c.m.RequestedRooms())
		if c.before != nil {
			rooms = append(rooms, c.before.RoomIDs...)
		}
	}
	slices.Sort(rooms)
	channels, err := s.outbox.Channels(tx, slices.Compact(rooms))
	if err != nil {
		return fmt.Errorf("chat channels: %w", err)
	}
	meeting.Post(changes, channels, series, u)
	return nil
}
