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

// ConfigOrigin is the origin of a setting's value.
type ConfigOrigin struct {
	Kind     string `json:"kind" enum:"default,file,environment"`
	Line     int    `json:"line,omitempty" doc:"Of the file"`
	Column   int    `json:"column,omitempty" doc:"Of the file"`
	Variable string `json:"variable,omitempty" doc:"Of the environment"`
}

// RefusedConfig is an invalid file. The previous settings stay in force.
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

// registerConfig adds the operation that shows admins the current settings. current returns the
// settings and the keys that wait for a restart; state holds their origin.
func registerConfig(api huma.API, current func() (settings *config.Config, restart []string), state *config.State, zones func(context.Context) ([]meeting.ZoneRules, error)) {
	huma.Register(api, huma.Operation{
		OperationID: "get-config", Method: http.MethodGet, Path: "/config", Summary: "The settings in force", Tags: []string{"Operation"},
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

func (a *Application) registerPlan(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "plan-config", Method: http.MethodPost, Path: "/config/plan", Tags: []string{"Operation"},
		Summary: "What a configuration file would change, for what is booked too; writes nothing",
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
