package account

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DeviceTTL is how long a device stays known after a sign-in: the longest that browsers keep a cookie.
const DeviceTTL = 400 * 24 * time.Hour

// maxMarks bounds how many users a shared device is known for.
const maxMarks = 5

// devices signs the cookies of browsers in which users signed in, so that failed sign-ins elsewhere
// never keep them out there. Such a cookie gives no other right. It holds a mark for each of the
// latest users: the id of the device for this user, the time, and the signature of both.
type devices struct{ key []byte }

var markForm = regexp.MustCompile(`^([A-Z2-7]{26})-([0-9]{1,12})-([0-9a-f]{64})$`)

func (d devices) mark(userID int64, device string, at int64) string {
	h := hmac.New(sha256.New, d.key)
	fmt.Fprintf(h, "%d %s %d", userID, device, at)
	return fmt.Sprintf("%s-%d-%s", device, at, hex.EncodeToString(h.Sum(nil)))
}

// known returns the id that the device with this cookie has for the user; empty: not known.
func (d devices) known(cookie string, userID int64, now time.Time) string {
	for _, m := range marks(cookie) {
		part := markForm.FindStringSubmatch(m)
		at, _ := strconv.ParseInt(part[2], 10, 64)
		if now.Sub(time.Unix(at, 0)) < DeviceTTL && hmac.Equal([]byte(m), []byte(d.mark(userID, part[1], at))) {
			return part[1]
		}
	}
	return ""
}

// renew returns the cookie of a device on which the user has just signed in.
func (d devices) renew(cookie string, userID int64, now time.Time) string {
	device := d.known(cookie, userID, now)
	others := slices.DeleteFunc(marks(cookie), func(m string) bool { return device != "" && strings.HasPrefix(m, device) })
	if device == "" {
		device = rand.Text()
	}
	all := append([]string{d.mark(userID, device, now.Unix())}, others...)
	return strings.Join(all[:min(len(all), maxMarks)], ".")
}

// marks of a cookie that have their form.
func marks(cookie string) []string {
	all := strings.SplitN(cookie, ".", maxMarks+1)
	return slices.DeleteFunc(all[:min(len(all), maxMarks)], func(m string) bool { return !markForm.MatchString(m) })
}
