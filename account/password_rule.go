package account

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// common lists passwords that attackers try first, in lower case; see [isCommon].
var common = wordSet(`password passw0rd p@ssword p@ssw0rd passwort pa55word kennwort motdepasse contrasena mima
	12345678 123123123 12341234 11223344 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 1qazxsw2 q1w2e3r4 zaq12wsx
	qwerty qwertyui qwertyuiop qwertz qwertzui qwertzuiop azerty azertyuiop asdfgh asdfghjk asdfghjkl zxcvbnm yxcvbnm abcdefgh abcd abc
	iloveyou loveyou ichliebedich sunshine princess football baseball basketball superman batman trustno welcome willkommen letmein dragon monkey
	master shadow ninja freedom starwars pokemon charlie whatever computer internet michelle jennifer jessica ashley corvette mercedes samsung google facebook
	changeme administrator default geheim
	hallo hello schatz sommer winter herbst spring summer autumn fruehling punctual
	admin123 admin1234 secret123 test1234 user1234 guest123 root1234`)

// isCommon reports whether a password is a common one, perhaps followed by a few digits and marks:
// password1, Sommer2026!.
func isCommon(lower string) bool {
	word := strings.TrimRight(lower, "0123456789!?.,*#$%&_-+ ")
	return common[lower] || common[word] && len(lower)-len(word) <= 8
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// foldPassword returns the form in which passwords are hashed. The same characters typed on
// another keyboard or system are the same password (RFC 8265).
func foldPassword(p string) string { return norm.NFKC.String(p) }

// password checks a new password. It must not match own, such as the user's name and address.
func (fs *faults) password(p string, own ...string) {
	if !utf8.ValidString(p) {
		fs.add("password", "malformed", "must be valid UTF-8")
		return
	}
	p = foldPassword(p)
	switch lower := strings.ToLower(p); {
	case len(p) > maxPasswordBytes:
		fs.add("password", "too_long", "must have at most %d bytes", maxPasswordBytes)
	case utf8.RuneCountInString(p) < minPassword:
		fs.add("password", "too_short", "must have at least %d characters", minPassword)
	case isCommon(lower), distinct(lower) < 3, sequence(lower):
		fs.add("password", "too_common", "must not be a common password, a sequence or one or two characters repeated")
	case isOneOf(lower, own):
		fs.add("password", "too_common", "must not be your own name or address")
	}
}

func distinct(s string) int {
	seen := map[rune]bool{}
	for _, r := range s {
		if !unicode.IsSpace(r) {
			seen[r] = true
		}
	}
	return len(seen)
}

func sequence(s string) bool {
	rs := []rune(s)
	up, down := true, true
	for i := 1; i < len(rs); i++ {
		step := rs[i] - rs[i-1]
		up = up && (step == 1 || step == '0'-'9')
		down = down && (step == -1 || step == '9'-'0')
	}
	return up || down
}

func isOneOf(lower string, own []string) bool {
	bare := strings.Join(strings.Fields(lower), "")
	for _, word := range own {
		word = strings.ToLower(strings.Join(strings.Fields(foldPassword(word)), ""))
		local, domain, _ := strings.Cut(word, "@")
		if bare != "" && (bare == word || bare == local || bare == domain) {
			return true
		}
	}
	return false
}
