package account

// Added is a way to sign in that was added to an account.
type Added string

const (
	AddedPasskey      Added = "passkey"
	AddedSecondFactor Added = "second_factor" // codes of an authenticator app
	AddedAppPassword  Added = "app_password"  // of a calendar program
)

// AddedMail notifies a user that a way to sign in was added to their account, in case it was somebody else.
type AddedMail struct {
	To   *User
	What Added
	Name string // of the passkey or the app password
	Key  string // identifies what was added; a second mail with the same is not sent
}
