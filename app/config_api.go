package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/meeting"
)

type configAnswer struct {
	Body struct {
		Settings map[string]any `json:"settings" doc:"As in config.yaml; what may hold a secret is masked"`
		Restart  []string       `json:"restart" nullable:"false" doc:"Keys whose new value waits for a restart"`
		Keys     []ConfigKey    `json:"keys" nullable:"false" doc:"Each setting with what there is to know of it, in the order of config.yaml"`
		File     string         `json:"file" doc:"That was read by this process"`
		LoadedAt time.Time      `json:"loaded_at" doc:"When the file was last read and accepted"`
		Refused  *RefusedConfig `json:"refused" doc:"Why the file as it is now is not in force; null: it is"`
		Zones    []ChangedZone  `json:"changed_zones" nullable:"false" doc:"Time zones with other rules than when meetings were booked; punctual zones check lists the meetings"`
	}
}

// ChangedZone is a time zone with other rules than before.
type ChangedZone struct {
	Timezone  string    `json:"timezone" example:"America/Sao_Paulo"`
	ChangedAt time.Time `json:"changed_at" doc:"When a server noticed it at its start"`
}

// ConfigKey is one setting.
type ConfigKey struct {
	Key     string       `json:"key" example:"booking.approval.timeout"`
	Kind    string       `json:"kind" enum:"text,number,boolean,duration,rate,schedule,list,mapping"`
	Value   any          `json:"value" doc:"As it was last accepted"`
	Default any          `json:"default"`
	Origin  ConfigOrigin `json:"origin"`
	Restart bool         `json:"restart" doc:"A running server does not take over a change"`
	Waits   bool         `json:"waits" doc:"This process still runs with another value, until it is restarted"`
	Secret  bool         `json:"secret" doc:"Its value is masked"`
}

// ConfigOrigin is where the value of a setting came from.
type ConfigOrigin struct {
	Kind     string `json:"kind" enum:"default,file,environment"`
	Line     int    `json:"line,omitempty" doc:"Of the file"`
	Column   int    `json:"column,omitempty" doc:"Of the file"`
	Variable string `json:"variable,omitempty" doc:"Of the environment"`
}

// RefusedConfig is a file that cannot be used; the settings before it stay in force.
type RefusedConfig struct {
	At     time.Time         `json:"at"`
	Faults []ConfigFileFault `json:"faults" nullable:"false"`
}

// ConfigFileFault is one thing wrong with a configuration.
type ConfigFileFault struct {
	Source  string `json:"source" doc:"The file, or the variable of the environment"`
	Line    int    `json:"line" doc:"0: it has none"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Excerpt string `json:"excerpt" doc:"The lines around it, secrets masked"`
}

// registerConfig shows admins the settings in force. current tells them and the keys that wait
// for a restart, state where they came from.
func registerConfig(api huma.API, current func() (settings *Config, restart []string), state *configState, zones func(context.Context) ([]meeting.ZoneRules, error)) {
	huma.Register(api, huma.Operation{
		OperationID: "get-config", Method: http.MethodGet, Path: "/config", Summary: "The settings in force", Tags: []string{"Operation"},
	}, func(ctx context.Context, _ *struct{}) (*configAnswer, error) {
		settings, restart := current()
		changed, err := zones(ctx)
		if err != nil {
			return nil, err
		}
		file := state.told()
		out := &configAnswer{}
		out.Body.Settings = shown(reflect.ValueOf(settings).Elem()).(map[string]any)
		out.Body.Restart = append([]string{}, restart...)
		out.Body.Keys = configKeys(settings, restart, file.origins)
		out.Body.File, out.Body.LoadedAt = file.name, file.loadedAt.UTC()
		out.Body.Zones = []ChangedZone{}
		for _, z := range changed {
			out.Body.Zones = append(out.Body.Zones, ChangedZone{z.Zone, z.ChangedAt.UTC()})
		}
		if file.refused != nil {
			out.Body.Refused = &RefusedConfig{At: file.refusedAt.UTC(), Faults: faultsOf(file.refused)}
		}
		return out, nil
	})
}

type planInput struct {
	Body struct {
		Config string `json:"config" maxLength:"262144" doc:"The file's content"`
	}
}

type planAnswer struct {
	Body struct {
		Valid  bool              `json:"valid"`
		Faults []ConfigFileFault `json:"faults" nullable:"false" doc:"If it is not valid"`
		Plan   *ConfigPlan       `json:"plan" doc:"The first 200 of each kind; null: it is not valid"`
		Totals *PlanTotals       `json:"totals" doc:"Of all; null: it is not valid"`
	}
}

// registerPlan tells admins what a file would change.
func (a *application) registerPlan(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "plan-config", Method: http.MethodPost, Path: "/config/plan", Tags: []string{"Operation"},
		Summary: "What a configuration file would change, for what is booked too; writes nothing",
	}, func(ctx context.Context, in *planInput) (*planAnswer, error) {
		out := &planAnswer{}
		out.Body.Faults = []ConfigFileFault{}
		next, err := readConfig(defaultConfigFile, []byte(in.Body.Config), a.environ)
		if err != nil {
			out.Body.Faults = faultsOf(err)
			return out, nil
		}
		p, ok := account.FromContext(ctx)
		if !ok {
			return nil, account.ErrUnauthorized
		}
		by := meeting.Actor{Kind: meeting.ActorUser, ID: p.UserID, Name: p.Name, Email: p.Email, Role: meeting.Role(p.Role)}
		plan, totals, err := planConfig(ctx, a.meetings, by, a.latest.Load(), next.config, 200)
		if err != nil {
			return nil, err
		}
		out.Body.Valid, out.Body.Plan, out.Body.Totals = true, plan, totals
		return out, nil
	})
}

// faultsOf why a configuration cannot be used.
func faultsOf(err error) []ConfigFileFault {
	e, ok := isConfigError(err)
	if !ok {
		return []ConfigFileFault{{Message: err.Error()}}
	}
	faults := make([]ConfigFileFault, len(e.Faults))
	for i, f := range e.Faults {
		faults[i] = ConfigFileFault{Source: f.Source, Line: f.Line, Column: f.Column, Message: f.Message}
		if f.Source == e.File && f.Line > 0 {
			faults[i].Excerpt = excerpt(e.lines, f.Line, f.Column)
		}
	}
	return faults
}

// configKeys lists every setting. restart are the keys that wait for one.
func configKeys(c *Config, restart []string, origins map[string]origin) []ConfigKey {
	waits := map[string]bool{}
	for _, k := range restart {
		waits[k] = true
	}
	var keys []ConfigKey
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
		k := ConfigKey{Key: path, Kind: kind, Restart: needsRestart, Secret: secret != "", Waits: waits[path], Origin: originOf(path, origins)}
		if k.Value, k.Default = shown(v), shown(def); secret != "" {
			k.Value, k.Default = masked(v, secret), masked(def, secret)
		}
		keys = append(keys, k)
	}
	walk("", reflect.ValueOf(c).Elem(), reflect.ValueOf(DefaultConfig()).Elem(), false, "")
	return keys
}

// kindOf a value as it is written; empty: it is a section.
func kindOf(v reflect.Value) string {
	switch v.Interface().(type) {
	case time.Duration:
		return "duration"
	case Rate:
		return "rate"
	case Schedule:
		return "schedule"
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

// originOf the value at a path; of a mapping that was not set as a whole, that of a part of it.
func originOf(path string, origins map[string]origin) ConfigOrigin {
	o, ok := origins[path]
	if !ok {
		for _, part := range slices.Sorted(maps.Keys(origins)) {
			if strings.HasPrefix(part, path+".") {
				o, ok = origins[part], true
				break
			}
		}
	}
	switch {
	case !ok:
		return ConfigOrigin{Kind: "default"}
	case o.line == 0:
		return ConfigOrigin{Kind: "environment", Variable: o.source}
	default:
		return ConfigOrigin{Kind: "file", Line: o.line, Column: o.column}
	}
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

// masked hides what is secret of a value, as its tag says: the password in a URL, or all of it,
// so that only whether there is something can be told.
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

// secretParameter is what the name of a URL's parameter has in it whose value is nobody's business.
var secretParameter = regexp.MustCompile(`(?i)pass|secret|token|key|%`)

// maskPassword leaves of a URL what leads to a server, but not what opens it: the password before
// the host, a name that stands there alone, since a password is easily put there, and parameters
// that look like one. It does not parse: passwords also stand in addresses that are wrong. Where
// an @ may belong to a parameter nothing is shown.
func maskPassword(address string) string {
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			if _, query, asked := strings.Cut(rest[:at], "?"); asked && strings.Contains(query, "=") {
				return scheme + "://" + mask
			}
			user, _, named := strings.Cut(rest[:at], ":")
			if rest = mask + rest[at:]; named {
				rest = user + ":" + rest
			}
		}
		address = scheme + "://" + rest
	}
	address, query, asked := strings.Cut(address, "?")
	if !asked {
		return address
	}
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		if name, _, _ := strings.Cut(p, "="); secretParameter.MatchString(name) {
			parameters[i] = name + "=" + mask
		}
	}
	return address + "?" + strings.Join(parameters, "&")
}
