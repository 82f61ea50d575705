package app

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"punctual/account"
	"punctual/app/config"
	"punctual/meeting"
)

type configAnswer struct {
	Body struct {
		Settings map[string]any `json:"settings" doc:"Settings in the structure of config.yaml; values that may hold a secret are masked"`
		Restart  []string       `json:"restart" nullable:"false" doc:"Keys whose new value takes effect after a restart"`
		Keys     []ConfigKey    `json:"keys" nullable:"false" doc:"Details of each setting, in the order of config.yaml"`
		File     string         `json:"file" doc:"Path of the configuration file that this process read"`
		LoadedAt time.Time      `json:"loaded_at" doc:"When the file was last read and accepted"`
		Refused  *RefusedConfig `json:"refused" doc:"Why the current content of the file was refused; null if it is in force"`
		Zones    []ChangedZone  `json:"changed_zones" nullable:"false" doc:"Time zones whose rules have changed since meetings were booked; punctual zones check lists the meetings"`
	}
}

// ChangedZone is a time zone whose rules changed.
type ChangedZone struct {
	Timezone  string    `json:"timezone" example:"America/Sao_Paulo"`
	ChangedAt time.Time `json:"changed_at" doc:"When a server first noticed the change at startup"`
}

// ConfigKey is one setting.
type ConfigKey struct {
	Key     string       `json:"key" example:"booking.approval.timeout"`
	Kind    string       `json:"kind" enum:"text,number,boolean,duration,rate,schedule,size,list,mapping"`
	Value   any          `json:"value" doc:"Value that was last accepted"`
	Default any          `json:"default"`
	Origin  ConfigOrigin `json:"origin"`
	Restart bool         `json:"restart" doc:"Whether a change takes effect only after a restart"`
	Waits   bool         `json:"waits" doc:"Whether this process still uses the previous value until it restarts"`
	Secret  bool         `json:"secret" doc:"Whether the value is masked"`
}

// ConfigOrigin is the origin of a setting's value.
type ConfigOrigin struct {
	Kind     string `json:"kind" enum:"default,file,environment"`
	Line     int    `json:"line,omitempty" doc:"Line in the file"`
	Column   int    `json:"column,omitempty" doc:"Column in the file"`
	Variable string `json:"variable,omitempty" doc:"Environment variable that sets the value"`
}

// RefusedConfig is an invalid file. The previous settings stay in force.
type RefusedConfig struct {
	At     time.Time         `json:"at"`
	Faults []ConfigFileFault `json:"faults" nullable:"false"`
}

// ConfigFileFault is one thing wrong with a configuration.
type ConfigFileFault struct {
	Source  string `json:"source" doc:"The file or environment variable with the fault"`
	Line    int    `json:"line" doc:"Line in the file; 0 if the fault has no line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Excerpt string `json:"excerpt" doc:"The surrounding lines, with secrets masked"`
}

// registerConfig adds the operation that shows admins the current settings. current returns the
// settings and the keys that wait for a restart; state holds their origin.
func registerConfig(api huma.API, current func() (settings *config.Config, restart []string), state *config.State, zones func(context.Context) ([]meeting.ZoneRules, error)) {
	huma.Register(api, huma.Operation{
		OperationID: "get-config", Method: http.MethodGet, Path: "/config", Summary: "Get the current settings", Tags: []string{"Operation"},
	}, func(ctx context.Context, _ *struct{}) (*configAnswer, error) {
		settings, restart := current()
		changed, err := zones(ctx)
		if err != nil {
			return nil, err
		}
		file := state.File()
		out := &configAnswer{}
		out.Body.Settings = config.Masked(settings)
		out.Body.Restart = append([]string{}, restart...)
		out.Body.Keys = viewSettings(settings, restart, file.Origins)
		out.Body.File, out.Body.LoadedAt = file.Name, file.LoadedAt.UTC()
		out.Body.Zones = []ChangedZone{}
		for _, z := range changed {
			out.Body.Zones = append(out.Body.Zones, ChangedZone{z.Zone, z.ChangedAt.UTC()})
		}
		if file.Refused != nil {
			out.Body.Refused = &RefusedConfig{At: file.RefusedAt.UTC(), Faults: faultsOf(file.Refused)}
		}
		return out, nil
	})
}

type planInput struct {
	Body struct {
		Config string `json:"config" maxLength:"262144" doc:"Content of the configuration file"`
	}
}

type planAnswer struct {
	Body struct {
		Valid  bool              `json:"valid"`
		Faults []ConfigFileFault `json:"faults" nullable:"false" doc:"Faults of the file; omitted if it is valid"`
		Plan   *ConfigPlan       `json:"plan" doc:"Changes, at most 200 of each kind; null if the file is not valid"`
		Totals *PlanTotals       `json:"totals" doc:"Total number of changes of each kind; null if the file is not valid"`
	}
}

func (a *Application) registerPlan(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "plan-config", Method: http.MethodPost, Path: "/config/plan", Tags: []string{"Operation"},
		Summary: "Preview what a configuration file would change, including for booked meetings; saves nothing",
	}, func(ctx context.Context, in *planInput) (*planAnswer, error) {
		out := &planAnswer{}
		out.Body.Faults = []ConfigFileFault{}
		next, err := config.Parse(config.DefaultFile, []byte(in.Body.Config), a.environ)
		if err != nil {
			out.Body.Faults = faultsOf(err)
			return out, nil
		}
		p, ok := account.FromContext(ctx)
		if !ok {
			return nil, account.ErrUnauthorized
		}
		by := meeting.Actor{Kind: meeting.ActorUser, ID: p.UserID, Name: p.Name, Email: p.Email, Role: meeting.Role(p.Role)}
		plan, totals, err := planConfig(ctx, a.forecasts, by, a.latest.Load(), next.Config, 200)
		if err != nil {
			return nil, err
		}
		out.Body.Valid, out.Body.Plan, out.Body.Totals = true, plan, totals
		return out, nil
	})
}

func faultsOf(err error) []ConfigFileFault {
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		return []ConfigFileFault{{Message: err.Error()}}
	}
	faults := make([]ConfigFileFault, len(e.Faults))
	for i, f := range e.Faults {
		faults[i] = ConfigFileFault{Source: f.Source, Line: f.Line, Column: f.Column, Message: f.Message, Excerpt: e.Excerpt(f)}
	}
	return faults
}

func viewSettings(c *config.Config, restart []string, origins map[string]config.Origin) []ConfigKey {
	settings := config.Settings(c, origins)
	keys := make([]ConfigKey, len(settings))
	for i, s := range settings {
		keys[i] = ConfigKey{
			Key: s.Key, Kind: s.Kind, Value: s.Value, Default: s.Default, Origin: viewOrigin(s.Origin),
			Restart: s.Restart, Waits: slices.Contains(restart, s.Key), Secret: s.Secret,
		}
	}
	return keys
}

func viewOrigin(o config.Origin) ConfigOrigin {
	switch {
	case o == config.Origin{}:
		return ConfigOrigin{Kind: "default"}
	case o.Line == 0:
		return ConfigOrigin{Kind: "environment", Variable: o.Source}
	default:
		return ConfigOrigin{Kind: "file", Line: o.Line, Column: o.Column}
	}
}
