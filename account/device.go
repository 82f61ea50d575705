package account

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/account/signing"
)

// DeviceTTL is how long a device stays known after a sign-in. Browsers keep no cookie longer.
const DeviceTTL = 400 * 24 * time.Hour

const maxMarks = 5

// devices signs a cookie for each browser in which a user signed in. Failed sign-ins elsewhere
// never lock out a known device. The cookie gives no other right. It holds a mark for each of the
// latest users: the ID of the device for this user, the time, and a signature of both.
type devices struct{ keys *signing.Ring }

var markForm = regexp.MustCompile(`^([A-Z2-7]{26})-([0-9]{1,12})-([0-9a-f]{64})$`)

func (d devices) mark(userID int64, device string, at int64) string {
	return fmt.Sprintf("%s-%d-%s", device, at, hex.EncodeToString(d.keys.Sign(signedMark(userID, device, at))))
}

func signedMark(userID int64, device string, at int64) []byte {
	return fmt.Appendf(nil, "%d %s %d", userID, device, at)
}

func (d devices) known(cookie string, userID int64, now time.Time) string {
	for _, m := range marks(cookie) {
		part := markForm.FindStringSubmatch(m)
		at, _ := strconv.ParseInt(part[2], 10, 64)
		signature, _ := hex.DecodeString(part[3]) // of 32 bytes, by its form
		if now.Sub(time.Unix(at, 0)) < DeviceTTL && d.keys.Verify(signedMark(userID, part[1], at), signature) {
			return part[1]
		}
	}
	return ""
}

func (d devices) renew(cookie string, userID int64, now time.Time) string {
	device := d.known(cookie, userID, now)
	others := slices.DeleteFunc(marks(cookie), func(m string) bool { return device != "" && strings.HasPrefix(m, device) })
	if device == "" {
		device = rand.Text()
	}
	all := append([]string{d.mark(userID, device, now.Unix())}, others...)
	return strings.Join(all[:min(len(all), maxMarks)], ".")
}

func marks(cookie string) []string {
	all := strings.SplitN(cookie, ".", maxMarks+1)
	return slices.DeleteFunc(all[:min(len(all), maxMarks)], func(m string) bool { return !markForm.MatchString(m) })
}
