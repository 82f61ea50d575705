package meeting

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// A clone shares nothing that is modified in place: no list and no request, also of fields to come.
// Decisions and origins are replaced as a whole, and what a store writes besides is left out.
func TestMeeting_clone(t *testing.T) {
	replaced := []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[*Decision](), reflect.TypeFor[*Origin](), reflect.TypeFor[*Undoable](), reflect.TypeFor[[]Entry](), reflect.TypeFor[[]Notice]()}
	each := func(v reflect.Value, do func(name string, field reflect.Value)) {
		for field, of := range v.Fields() {
			if field.IsExported() && !slices.Contains(replaced, field.Type) {
				do(field.Name, of)
			}
		}
	}
	var fill func(reflect.Value)
	fill = func(v reflect.Value) {
		each(v, func(_ string, field reflect.Value) {
			switch field.Kind() {
			case reflect.Slice:
				field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			case reflect.Pointer:
				field.Set(reflect.New(field.Type().Elem()))
				fill(field.Elem())
			case reflect.Struct:
				fill(field)
			}
		})
	}
	lists := 0
	var compare func(place string, a, b reflect.Value)
	compare = func(place string, a, b reflect.Value) {
		each(a, func(name string, field reflect.Value) {
			place, other := place+"."+name, b.FieldByName(name)
			switch field.Kind() {
			case reflect.Slice, reflect.Pointer:
				if lists++; field.Pointer() == other.Pointer() {
					t.Errorf("%s is shared", place)
				} else if field.Kind() == reflect.Pointer {
					compare(place, field.Elem(), other.Elem())
				}
			case reflect.Struct:
				compare(place, field, other)
			}
		})
	}
	var m Meeting
	fill(reflect.ValueOf(&m).Elem())
	c := m.Clone()
	if !reflect.DeepEqual(&m, c) {
		t.Errorf("the clone of %+v is %+v", m, c)
	}
	compare("meeting", reflect.ValueOf(m), reflect.ValueOf(*c))
	if lists < 10 {
		t.Errorf("compared %d lists and pointers", lists)
	}
	if c := (&Meeting{}).Clone(); !reflect.DeepEqual(c, &Meeting{}) {
		t.Errorf("the clone of nothing is %+v", c)
	}
}
