// Package policy holds the rules for when a room may be booked, for how long and how often: opening
// hours, lengths, notice, the grid, blackouts, quotas, and the limits of the installation. It knows
// neither meetings nor stores.
package policy
