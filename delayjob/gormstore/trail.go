package gormstore

import (
	"context"

	"gorm.io/gorm"

	"punctual/delayjob/admin"
	"punctual/delayjob/topics"
)

// Trail notes what operators do, in the transaction that does it. Of what it was and is there are
// rows and maps of fields; none: it was not there, or is no more.
type Trail interface {
	Note(tx *gorm.DB, action, id, name string, before, after []any) error
}

// silence notes nothing.
type silence struct{}

func (silence) Note(*gorm.DB, string, string, string, []any, []any) error { return nil }

// Noting returns the dead letters with a trail in which they note what becomes of them.
func (s *DeadLetters) Noting(t Trail) *DeadLetters { return &DeadLetters{s.db, t} }

// Noting returns the settings with a trail in which they note what changes.
func (s *Pauses) Noting(t Trail) *Pauses { return &Pauses{s.db, t} }

// Noting returns the topics with a trail in which they note what operators do to them.
func (s *Topics) Noting(t Trail) *Topics {
	noting := *s
	noting.trail = t
	return &noting
}

// NoteRequeued implements [topics.Store].
func (s *Topics) NoteRequeued(ctx context.Context, k topics.Key) error {
	return s.trail.Note(s.db.WithContext(ctx), "topic_job.requeued", k.Topic+"/"+k.ID, k.ID, nil, nil)
}

// The actions upon dead letters.
const (
	requeued  = "dead_letter.requeued"
	discarded = "dead_letter.discarded"
)

// NoteRequeued records retries of dead letters that have no record.
func (s *DeadLetters) NoteRequeued(ctx context.Context, ids ...string) error {
	for _, id := range ids {
		if err := s.trail.Note(s.db.WithContext(ctx), requeued, id, id, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// died returns the summary of a dead letter for the trail.
func died(f admin.DeadLetter) []any {
	return []any{map[string]any{"error": f.Error, "attempts": f.Attempts, "dead_at": f.DeadAt.UTC()}}
}
