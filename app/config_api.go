package app

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

type configAnswer struct {
	Body struct {
		Settings map[string]any `json:"settings" doc:"As in config.yaml; what may hold a secret is masked"`
		Restart  []string       `json:"restart" nullable:"false" doc:"Keys whose new value waits for a restart"`
	}
}

// registerConfig shows admins the settings in force. current tells them and the keys that wait
// for a restart.
func registerConfig(api huma.API, current func() (settings *Config, restart []string)) {
	huma.Register(api, huma.Operation{
		OperationID: "get-config", Method: http.MethodGet, Path: "/config", Summary: "The settings in force", Tags: []string{"Operation"},
	}, func(context.Context, *struct{}) (*configAnswer, error) {
		settings, restart := current()
		out := &configAnswer{}
		out.Body.Settings = shown(reflect.ValueOf(settings).Elem()).(map[string]any)
		out.Body.Restart = append([]string{}, restart...)
		return out, nil
	})
}

// shown is a setting as it would be written in the file.
func shown(v reflect.Value) any {
	switch x := v.Interface().(type) {
	case time.Duration:
		return shortDuration(x)
	case fmt.Stringer:
		return x.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		m := map[string]any{}
		for f := range v.Type().Fields() {
			value := v.FieldByIndex(f.Index)
			if f.Tag.Get("secret") != "" {
				m[f.Tag.Get("yaml")] = masked(value)
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

// masked tells only whether there is something, and the kind of a URL.
func masked(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Map:
		m := map[string]any{}
		for _, k := range v.MapKeys() {
			m[k.String()] = mask
		}
		return m
	case v.String() == "":
		return ""
	default:
		return mask
	}
}
