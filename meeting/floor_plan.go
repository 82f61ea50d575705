package meeting

import "time"

// FloorPlan is a picture of a floor with rooms on it.
type FloorPlan struct {
	ID            int64
	SiteID        int64 // 0: of rooms without a site
	Floor         string
	Picture       string // version of the picture
	Width, Height int    // of the picture, in pixels
	Rooms         []PlacedRoom
	Version       int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// PlacedRoom is where a room is on a floor plan. All numbers are parts of the picture's width or height,
// between 0 and 1. A room without a size is a point; otherwise X and Y are its upper left corner.
type PlacedRoom struct {
	RoomID int64   `json:"room_id"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}
