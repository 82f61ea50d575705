package problem

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaProblem is a request that does not fit the description of the API. The values sent
// are not echoed: they may be secrets.
func schemaProblem(detail string, errs []error) *Problem {
	p := New(http.StatusUnprocessableEntity, "invalid", "Invalid request")
	for _, err := range errs {
		if len(p.Errors) >= MaxErrors {
			p.Omitted++
		} else if q := invalidProblem(err); q != nil { // of a query that can be read otherwise
			p.Errors = append(p.Errors, q.Errors...)
		} else if d, ok := errors.AsType[*huma.ErrorDetail](err); ok {
			p.Errors = append(p.Errors, schemaFault(d))
		} else if err != nil {
			p.Errors = append(p.Errors, ProblemFault{Location: "body", Message: err.Error(), Code: "invalid"})
		}
	}
	if len(p.Errors) == 0 { // huma found the body missing or unreadable
		code := "invalid"
		if strings.Contains(detail, "required") {
			code = "required"
		}
		p.Errors = []ProblemFault{{Location: "body", Message: detail, Code: code}}
	}
	return p
}

func schemaFault(d *huma.ErrorDetail) ProblemFault {
	f := ProblemFault{Location: d.Location, Message: d.Message, Code: schemaCode(d)}
	if name, ok := strings.CutPrefix(d.Message, "expected required property "); ok {
		f.Location += "." + strings.TrimSuffix(name, " to be present")
		f.Message = "is required"
	}
	if strings.HasPrefix(d.Message, "expected string to be") { // the rest may quote what was sent
		f.Message, _, _ = strings.Cut(d.Message, ": ")
	}
	if strings.HasPrefix(d.Message, "required ") {
		f.Message = "is required"
	}
	switch { // what the decoder says is about Go, not about the request
	case strings.HasPrefix(d.Message, "json: cannot unmarshal number"):
		f.Message, f.Code = "contains a number that is too large", "out_of_range"
	case strings.HasPrefix(d.Message, "json: "), isGo(d.Message):
		f.Message, f.Code = "must match the types in the API reference", "malformed"
	}
	f.Location = cmp.Or(f.Location, "body")
	return f
}

// isGo reports whether a message is the text of an error of a Go type that decodes itself. It may
// hold what was sent.
func isGo(message string) bool {
	return strings.HasPrefix(message, "parsing time ") || strings.Contains(message, "UnmarshalJSON") || strings.Contains(message, "UnmarshalText") ||
		strings.Contains(message, "strconv.")
}

// schemaCode names huma's texts, which have no code of their own.
func schemaCode(d *huma.ErrorDetail) string {
	for _, c := range schemaCodes {
		if strings.HasPrefix(d.Message, c.prefix) {
			return c.code
		}
	}
	return "invalid"
}

// The first prefix that fits counts.
var schemaCodes = []struct{ prefix, code string }{
	{"expected required property", "required"},
	{"required ", "required"},
	{"unexpected property", "unknown_field"},
	{"unknown query parameter", "unknown_parameter"},
	{"expected length >=", "too_short"},
	{"expected length <=", "too_long"},
	{"expected array length >=", "too_few"},
	{"expected array length <=", "too_many"},
	{"expected number >", "too_small"},
	{"expected number <", "too_large"},
	{"expected value to be one of", "unknown_value"},
	{"expected array items to be unique", "duplicate"},
	{"expected string to be RFC", "malformed"},
	{"expected string to match", "malformed"},
	{"expected string to be", "malformed"},
	{"expected duration", "malformed"},
	{"expected ", "wrong_type"},
	{"invalid ", "malformed"},
	{"must be a time like", "invalid_time"},
	{"must be after from", "invalid_span"},
	{"must be a cursor", "invalid_cursor"},
}
