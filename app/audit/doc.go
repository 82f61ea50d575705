// Package audit records what users do to an installation: who changed which room, user, token,
// pause, dead letter or setting, when and from where. Changes of meetings are in their histories,
// which lists of this package include.
//
// Stores record a change through [Trail.Note], in the transaction of the change. So there is no
// change without its entry, and no entry of a change that was rolled back. The table refuses
// updates, and deletes of entries younger than a month. Secrets are masked before they are stored,
// so that backups do not contain them.
package audit
