package booking

import (
	"context"
	"errors"
	"fmt"

	"punctual/account/fault"
	"punctual/meeting"
)

// LookUpType finds the type that the meeting will have; nil: none, or an unknown one.
func (s *Service) LookUpType(ctx context.Context, f *Fields, base *meeting.Meeting) (*meeting.Type, error) {
	var id int64
	switch {
	case f.TypeID != nil:
		id = *f.TypeID
	case base != nil:
		id = base.TypeID
	}
	if id == 0 {
		return nil, nil
	}
	t, err := s.store.Type(ctx, id)
	if errors.Is(err, meeting.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up type: %w", err)
	}
	return t, nil
}

// meetingType sets the type: the requested one, or the one that the meeting has.
func (f *Fields) meetingType(t *meeting.Terms, base *meeting.Meeting, k Known, found *fault.List) {
	t.Type = k.Type
	if f.TypeID == nil || *f.TypeID == 0 {
		return
	}
	has := base != nil && base.TypeID == *f.TypeID
	if k.Type == nil || !k.Type.Active && !has {
		found.Add("type_id", "unknown_type", "must be an active meeting type")
	}
}
