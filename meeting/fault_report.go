package meeting

import "time"

// FaultReport says that something in a room is broken.
type FaultReport struct {
	ID        int64
	RoomID    int64
	Room      string // its name, read only
	Category  FaultCategory
	Text      string
	By        int64     // user who reported it; 0: erased since
	ByName    string    // read only
	DoneAt    time.Time // zero: open
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// FaultCategory says who can help.
type FaultCategory string

// FaultCategories lists all categories. Other needs a text.
var FaultCategories = []FaultCategory{"equipment", "cleanliness", "temperature", OtherFault}

// OtherFault is the category of a fault that only its text describes.
const OtherFault FaultCategory = "other"

// FaultReportQuery filters reports; a zero field does not filter.
type FaultReportQuery struct {
	RoomID int64
	Viewer *Actor // only reports on rooms that they may see
	Open   bool
	Done   bool
}

// Shown returns the report as the actor may see it.
func (r *FaultReport) Shown(by Actor) *FaultReport {
	if RoleRanks[by.Role] < RoleRanks[Manager] && by.ID != r.By {
		seen := *r
		seen.By, seen.ByName = 0, ""
		return &seen
	}
	return r
}
