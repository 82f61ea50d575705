package sms

import "strings"

// premium are prefixes of numbers that cost more than others: premium-rate and shared-cost services,
// and satellite and global networks.
var premium = []string{
	"+1900", "+1976", // North America
	"+31900", "+31906", "+31909", "+3290", "+3389", "+34803", "+34806", "+34807", "+34905", "+3989", "+41900", "+41901", "+41906",
	"+43900", "+43930", "+43931", "+43939", "+44871", "+44872", "+44873", "+4490", "+4491", "+4498", "+45901", "+45904", "+45905", "+46900", "+46939", "+46944", "+47820", "+47829", "+4870",
	"+49137", "+49900", "+35360", "+351760", "+35815", "+358600", "+358700", "+420900", "+420906", "+420909", // Europe
	"+55900", "+61190", "+64900", "+65190", "+7803", "+7809", "+81990", "+82060", "+852900", "+90900", "+972190", // other countries
	"+870", "+878", "+881", "+882", "+883", "+888", "+979", // no country
}

// allowed reports whether messages to a number are allowed. countries are prefixes of countries or
// of parts of them; none: any. A premium number needs a prefix that covers its range.
func allowed(number string, countries []string) bool {
	bare, international := strings.CutPrefix(number, "+")
	if !international {
		bare, international = strings.CutPrefix(number, "00")
	}
	number = "+" + bare // without + or 00 the gateway decides, so assume the most expensive reading
	longest := func(prefixes []string) int {
		n := 0
		for _, p := range prefixes {
			if strings.HasPrefix(number, p) {
				n = max(n, len(p))
			}
		}
		return n
	}
	named, costly := longest(countries), longest(premium)
	switch {
	case costly > 0:
		return named >= costly
	case len(countries) == 0:
		return true
	}
	return international && named > 0
}
