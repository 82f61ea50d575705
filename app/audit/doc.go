// Package audit keeps what was done to an installation: who changed which room, person, token,
// pause, dead letter or setting, when and from where. What happened to meetings is their history,
// which it reads along.
//
// Stores note a change through [Trail.Note], in the transaction that makes it: there is no change
// without its entry and no entry of a change that was not made. The table refuses updates, and
// deletes of what is younger than a month. Secrets are masked on the way in, so that nobody who
// reads a backup finds them either.
package audit
