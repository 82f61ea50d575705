package app

import (
	"sync"
	"time"
)

// fileState is what there is to tell of the configuration file besides the settings.
type fileState struct {
	name      string
	origins   map[string]origin // of the settings that were last accepted
	loadedAt  time.Time
	refused   error // why the file as it is now is not in force; nil: it is
	refusedAt time.Time
}

// configState keeps a fileState. Safe for concurrent use; a nil one takes what it is told and
// keeps nothing.
type configState struct {
	now func() time.Time

	mu   sync.Mutex
	file fileState
}

// accept notes that the file, as it is now, is in force.
func (s *configState) accept(name string, origins map[string]origin) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = fileState{name: name, origins: origins, loadedAt: s.now()}
}

// refuse notes that the file, as it is now, cannot be used.
func (s *configState) refuse(err error) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file.refused, s.file.refusedAt = err, s.now()
}

func (s *configState) told() fileState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file
}
