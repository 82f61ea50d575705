package meeting

// Role of a user, from the least to the most rights.
type Role string

const (
	Member  Role = "member"  // books
	Manager Role = "manager" // also decides for the rooms that name them as approver
	Admin   Role = "admin"   // everything
)

// ActorKind tells who acts.
type ActorKind string

const (
	ActorUser   ActorKind = "user"
	ActorTimer  ActorKind = "timer"  // a delay job; Name is the job's
	ActorSystem ActorKind = "system" // the installation itself: import, demo
)

// Actor is who does something.
type Actor struct {
	Kind  ActorKind
	ID    int64 // of a user; else 0
	Name  string
	Email string // of a user
	Role  Role   // of a user
}
