package httpapi

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// AwayBody is a time in which a user is away, half-open, and who decides in their place.
type AwayBody struct {
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	DeputyID *int64    `json:"deputy_id,omitempty" minimum:"1" nullable:"true" doc:"A manager or admin; null: nobody"`
}

func awayOf(a account.Away) *AwayBody {
	if a == (account.Away{}) {
		return nil
	}
	b := &AwayBody{From: a.From, Until: a.Until}
	if a.DeputyID != 0 {
		b.DeputyID = &a.DeputyID
	}
	return b
}

// AwayInput may be left out, which is not the same as null.
type AwayInput struct {
	given bool
	value *AwayBody
}

// UnmarshalJSON is called for what is given, null included.
func (i *AwayInput) UnmarshalJSON(b []byte) error {
	i.given = true
	return json.Unmarshal(b, &i.value)
}

// Schema is that of the value, or null. It is one object schema, since huma names the faulty
// field of an object but not of an anyOf.
func (AwayInput) Schema(r huma.Registry) *huma.Schema {
	s := *huma.SchemaFromType(r, reflect.TypeFor[AwayBody]())
	s.Nullable = true
	return &s
}

func (i AwayInput) away() *account.Away {
	switch {
	case !i.given:
		return nil
	case i.value == nil:
		return &account.Away{}
	}
	a := account.Away{From: i.value.From, Until: i.value.Until}
	if i.value.DeputyID != nil {
		a.DeputyID = *i.value.DeputyID
	}
	return &a
}
