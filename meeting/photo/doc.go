// Package photo turns uploaded pictures of rooms into small JPEGs. What it returns is drawn anew from
// the pixels, so that nothing else of an upload reaches readers: no place where it was taken, no script.
package photo
