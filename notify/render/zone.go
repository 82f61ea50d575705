package render

import (
	"sync"
	"time"
)

// zones remembers what it has read: time.LoadLocation opens a file each time. Only names that
// exist are kept, of which there are some hundreds.
var zones sync.Map // name -> *time.Location

// zone returns the IANA zone of that name, or nil. "Local" would be the server's and is none.
func zone(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	if l, ok := zones.Load(name); ok {
		return l.(*time.Location)
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, l)
	return l
}
