// Package finding answers which rooms are free, and when: availability, suggestions, the grid of
// rooms, how busy days are, and the people to invite.
package finding
