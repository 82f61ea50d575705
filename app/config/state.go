package config

import (
	"sync"
	"time"
)

// FileState is the state of the configuration file besides the settings.
type FileState struct {
	Name      string
	Origins   map[string]Origin // of the settings that were last accepted
	LoadedAt  time.Time
	Refused   error // why the present content is not in effect; nil: it is
	RefusedAt time.Time
}

// State remembers the outcome of the last attempts to load the configuration file. It is safe for
// concurrent use. The methods Accept and Refuse of a nil State do nothing.
type State struct {
	now func() time.Time

	mu   sync.Mutex
	file FileState
}

// NewState returns a State that takes the time from now.
func NewState(now func() time.Time) *State { return &State{now: now} }

// Accept records that the present content of the file is in effect.
func (s *State) Accept(name string, origins map[string]Origin) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = FileState{Name: name, Origins: origins, LoadedAt: s.now()}
}

// Refuse records that the present content of the file cannot be used.
func (s *State) Refuse(err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file.Refused, s.file.RefusedAt = err, s.now()
}

// File returns the state of the file.
func (s *State) File() FileState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file
}
