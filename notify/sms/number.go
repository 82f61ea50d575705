package sms

import (
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// networks are calling codes that belong to no country: satellite and global networks, which are expensive.
var networks = map[int32]bool{870: true, 878: true, 881: true, 882: true, 883: true, 888: true, 979: true}

// allowed reports whether messages to a number in E.164 form are allowed. countries are prefixes of
// countries or of parts of them; none: any. A number that costs more than others of its country needs a
// prefix that is longer than the calling code, and one of a global network needs its calling code.
func allowed(number string, countries []string) bool {
	n, err := phonenumbers.Parse(number, "")
	if err != nil {
		return false
	}
	named := 0
	for _, p := range countries {
		if strings.HasPrefix(number, p) {
			named = max(named, len(p))
		}
	}
	code := len("+" + strconv.Itoa(int(n.GetCountryCode())))
	switch {
	case networks[n.GetCountryCode()]:
		return named >= code
	case costly(n):
		return named > code
	}
	return len(countries) == 0 || named > 0
}

func costly(n *phonenumbers.PhoneNumber) bool {
	switch phonenumbers.GetNumberType(n) {
	case phonenumbers.PREMIUM_RATE, phonenumbers.SHARED_COST:
		return true
	}
	return false
}
