package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"punctual/account/fault"
)

// Setting is one setting of a [Config].
type Setting struct {
	Key            string // its path, such as booking.approval.timeout
	Kind           string // text, number, boolean, duration, rate, schedule, size, list or mapping
	Value, Default any    // as written in the file; secrets are masked
	Origin         Origin // where the value was set; zero: nowhere, it is the default
	Restart        bool   // a running server does not apply a change
	Secret         bool   // its value is masked

	value any // not masked
}

// Settings lists every setting of c, in the order of config.yaml. origins are those that [Load]
// returned with c; nil leaves out where the values were set.
func Settings(c *Config, origins map[string]Origin) []Setting {
	var all []Setting
	var walk func(path string, v, def reflect.Value, needsRestart bool, secret string)
	walk = func(path string, v, def reflect.Value, needsRestart bool, secret string) {
		kind := kindOf(v)
		if kind == "" {
			for f := range v.Type().Fields() {
				walk(join(path, f.Tag.Get("yaml")), v.FieldByIndex(f.Index), def.FieldByIndex(f.Index),
					needsRestart || f.Tag.Get("restart") != "", cmp.Or(secret, f.Tag.Get("secret")))
			}
			return
		}
		s := Setting{Key: path, Kind: kind, Restart: needsRestart, Secret: secret != "", Origin: originOf(path, origins), value: v.Interface()}
		if s.Value, s.Default = shown(v), shown(def); secret != "" {
			s.Value, s.Default = masked(v, secret), masked(def, secret)
		}
		all = append(all, s)
	}
	walk("", reflect.ValueOf(c).Elem(), reflect.ValueOf(Default()).Elem(), false, "")
	return all
}

// Masked returns c as written in the file, secrets masked.
func Masked(c *Config) map[string]any {
	return shown(reflect.ValueOf(c).Elem()).(map[string]any)
}

func kindOf(v reflect.Value) string {
	switch v.Interface().(type) {
	case time.Duration:
		return "duration"
	case Rate:
		return "rate"
	case Schedule:
		return "schedule"
	case Size:
		return "size"
	}
	switch v.Kind() {
	case reflect.Struct:
		return ""
	case reflect.Map:
		return "mapping"
	case reflect.Slice:
		return "list"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "text"
	default:
		return "number"
	}
}

// originOf returns where the value at path was set. For a mapping that was not set as a whole it
// is the place of a part of it.
func originOf(path string, origins map[string]Origin) Origin {
	if o, ok := origins[path]; ok {
		return o
	}
	for _, part := range slices.Sorted(maps.Keys(origins)) {
		if strings.HasPrefix(part, path+".") {
			return origins[part]
		}
	}
	return Origin{}
}

func shown(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Duration:
		return fault.FormatDuration(x)
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		m := map[string]any{}
		for f := range v.Type().Fields() {
			value := v.FieldByIndex(f.Index)
			if secret := f.Tag.Get("secret"); secret != "" {
				m[f.Tag.Get("yaml")] = masked(value, secret)
				continue
			}
			m[f.Tag.Get("yaml")] = shown(value)
		}
		return m
	case reflect.Map:
		m := map[string]any{}
		for _, k := range v.MapKeys() {
			m[k.String()] = shown(v.MapIndex(k))
		}
		return m
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = shown(v.Index(i))
		}
		return list
	default:
		return v.Interface()
	}
}

// masked hides the secret parts of a value according to its tag: the password in a URL, or the
// whole value. Then it shows only whether the value is set.
func masked(v reflect.Value, secret string) any {
	switch {
	case v.Kind() == reflect.Map:
		m := map[string]any{}
		for _, k := range v.MapKeys() {
			m[k.String()] = mask
		}
		return m
	case v.String() == "":
		return ""
	case secret == "password":
		return maskPassword(v.String())
	default:
		return mask
	}
}
