// Package account manages the people and programs that use the installation: who they are, how
// they sign in, and which operations they may call.
//
// A [User] has one [Role]. A person signs in by email and password and gets a session. A program
// uses an API token that its owner created, perhaps with fewer rights ([Scope]). Both are a
// [Token]: 256 random bits, stored only as a SHA-256 hash, so that nobody who reads the database
// can sign in. [Service.Bootstrap] creates the first admin.
//
// The table in authz.go decides whether a caller may use an operation at all. Whether they may do
// so with a particular meeting is a rule of package meeting.
package account
