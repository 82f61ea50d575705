// Package account is about people and programs that use the installation: who they are, how
// they prove it, and what they may call.
//
// A [User] has one [Role]. A person signs in by e-mail and password and gets a session; a
// program uses an API token that its owner made, perhaps with fewer rights ([Scope]). Both
// are a [Token]: 256 random bits of which only the SHA-256 is stored, so that who reads the
// database cannot sign in with it. The first admin is made by [Service.Bootstrap].
//
// Whether an operation may be called at all is decided in one place, the table in authz.go.
// Whether this person may do it to that meeting is a rule of the meeting, elsewhere.
package account
