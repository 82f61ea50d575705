package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"punctual/meeting"
	"punctual/meeting/booking"
)

// waitingPage limits how many requests are read at once.
const waitingPage = 200

// Approvers returns a text of who decides on which rooms at the moment. It changes when the
// approvers do. While no request waits it is empty, and the rooms are not read.
func (s *Service) Approvers(ctx context.Context) (string, error) {
	if waiting, err := s.store.Waiting(ctx, 0, 1); err != nil || len(waiting) == 0 {
		return "", err
	}
	var rooms []*meeting.Room
	for p := (meeting.Page{Limit: 500}); ; {
		some, next, err := s.store.ListRooms(ctx, meeting.RoomQuery{IncludeInactive: true}, p)
		if err != nil {
			return "", err
		}
		rooms = append(rooms, meeting.LevelsOf(some).At(meeting.FirstLevel)...)
		if next == "" {
			break
		}
		p.Cursor = next
	}
	known, err := s.booking.Roster(ctx, rooms)
	if err != nil {
		return "", err
	}
	var all []any
	for _, r := range rooms {
		all = append(all, []any{r.ID, r.Approval.ApproverIDs, r.Approval.SecondIDs, r.Approval.EscalateTo})
	}
	roles := map[int64]meeting.Role{}
	for _, p := range append(slices.Clone(known.Admins), slices.Collect(maps.Values(known.Known))...) {
		roles[p.UserID] = p.Role
	}
	text, err := json.Marshal([]any{all, known.Away, roles})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// NotifyNewApprovers notifies users who became approvers of a request after it was made, because a
// room names them now or they became a deputy. Each is notified once.
func (s *Service) NotifyNewApprovers(ctx context.Context) error {
	for after := meeting.ID(0); ; {
		ms, err := s.store.Waiting(ctx, after, waitingPage)
		if err != nil || len(ms) == 0 {
			return err
		}
		after = ms[len(ms)-1].ID
		look, err := s.booking.PrepareDecisions(ctx, ms)
		if err != nil {
			return err
		}
		var refs []meeting.Ref
		for _, m := range ms {
			if m.Waits(s.booking.Now()) && len(m.Request.NewApprovers(look(m).Plan)) > 0 {
				refs = append(refs, meeting.Ref{ID: m.ID, Version: m.Request.Number})
			}
		}
		if err := s.notifyNewApprovers(ctx, refs); err != nil {
			return err
		}
	}
}

// notifyNewApprovers is [Service.NotifyNewApprovers] for some requests. If dates of a series were
// requested together, the first pending one stands for all.
func (s *Service) notifyNewApprovers(ctx context.Context, refs []meeting.Ref) error {
	if len(refs) == 0 {
		return nil
	}
	requests, err := s.booking.RequestsMadeWith(ctx, refs)
	if err != nil {
		return err
	}
	series := map[int64]*meeting.Series{}
	for _, r := range requests {
		id := r.Dates[0].SeriesID
		if series[id] == nil {
			if series[id], err = s.store.Series(ctx, id); err != nil {
				return err
			}
		}
	}
	_, err = s.booking.OnRequests(ctx, meeting.JobApprovalRemind, refs, func(m *meeting.Meeting, c booking.Preparation, by meeting.Actor) error {
		fresh := m.Request.NewApprovers(c.Plan)
		if len(fresh) == 0 || !m.Waits(c.At) {
			return booking.ErrUnchanged
		}
		i := slices.IndexFunc(requests, func(r booking.JointRequest) bool {
			return r.Dates[0].RequestedWith(m) && r.Dates[0].SeriesID == m.SeriesID
		})
		silent := m.Request.Notified == nil || i >= 0 && requests[i].Dates[0].ID != m.ID
		had := len(m.Notices)
		m.NotifyDeciders(meeting.NoticeApprovalRequest, fresh, by, c.At)
		switch {
		case silent:
			m.Notices = m.Notices[:had]
		case i >= 0:
			m.AskFor(series[m.SeriesID].Facts(requests[i].Dates, by).Series)
		}
		return nil
	})
	return err
}
