// Package photo turns uploaded pictures into small ones: photos of rooms, floor plans and logos. Pixels
// are drawn anew, and SVGs are written anew, so that nothing else of an upload reaches readers: no place
// where it was taken, no script.
package photo
