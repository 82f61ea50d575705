package httpapi

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
)

// AwayBody is an absence and the deputy who decides meanwhile.
type AwayBody struct {
	From     time.Time `json:"from"`
	Until    time.Time `json:"until"`
	DeputyID *int64    `json:"deputy_id,omitempty" minimum:"1" nullable:"true" doc:"ID of the manager or admin who decides during the absence; null if there is no deputy"`
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

// AwayInput distinguishes a missing field from null.
type AwayInput struct {
	present bool
	value   *AwayBody
}

// UnmarshalJSON is called only if the field is present, including null.
func (i *AwayInput) UnmarshalJSON(b []byte) error {
	i.present = true
	return json.Unmarshal(b, &i.value)
}

// Schema implements [huma.SchemaProvider]. It is one nullable object schema, because huma names
// the invalid field of an object but not of an anyOf.
func (AwayInput) Schema(r huma.Registry) *huma.Schema {
	s := *huma.SchemaFromType(r, reflect.TypeFor[AwayBody]())
	s.Nullable = true
	return &s
}

func (i AwayInput) away() *account.Away {
	switch {
	case !i.present:
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
