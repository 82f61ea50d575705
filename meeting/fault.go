package meeting

import (
	"fmt"
	"strings"
)

// MaxFaults of one request are collected; more help nobody, and each one costs.
const MaxFaults = 200

// faults collects what is wrong, so that whoever asked learns everything at once.
type faults []Fault

func (f *faults) add(location, code, format string, args ...any) {
	if len(*f) >= MaxFaults {
		return
	}
	*f = append(*f, Fault{Location: location, Code: code, Message: fmt.Sprintf(format, args...)})
}

// broken adds a rule that would be broken, with its figures.
func (f *faults) broken(location, code string, of Figures, format string, args ...any) {
	*f = append(*f, Fault{Location: location, Code: code, Message: fmt.Sprintf(format, args...), Figures: of})
}

// place adds faults of a value at its location in the request. Faults that name a field of the
// request are at that field.
func (f *faults) place(location string, found []Fault) {
	for _, v := range found {
		if v.Location != "" {
			v.Location = "body." + v.Location
		} else {
			v.Location = location
		}
		if len(*f) < MaxFaults {
			*f = append(*f, v)
		}
	}
}

// err is all that is wrong; nil: nothing is.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &InvalidError{Faults: f}
}

// below moves the faults of a field, and of what is in it, to another place.
func (f faults) below(field, place string) {
	for i := range f {
		if rest, ok := strings.CutPrefix(f[i].Location, field); ok {
			f[i].Location = place + rest
		}
	}
}

// behind returns f without what first says already: a field that could not be decoded is
// reported once, and not as missing too.
func (f faults) behind(first []Fault) []Fault {
	all := append([]Fault(nil), first...)
	for _, fault := range f {
		if !covered(fault.Location, first) {
			all = append(all, fault)
		}
	}
	return all
}

func covered(location string, by []Fault) bool {
	for _, f := range by {
		rest, ok := strings.CutPrefix(location, f.Location)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && f.Location != "body" {
			return true
		}
	}
	return false
}
