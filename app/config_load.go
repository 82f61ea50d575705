package app

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxConfigFile is many times what all settings need.
const maxConfigFile = 256 << 10

// defaultConfigFile is read if it is there.
const defaultConfigFile = "config.yaml"

// Variables of our prefix that are not settings.
const (
	envAdminEmail    = "PUNCTUAL_ADMIN_EMAIL"
	envAdminPassword = "PUNCTUAL_ADMIN_PASSWORD"
)

// LoadConfig reads a file over the defaults, lets the PUNCTUAL_ variables of environ override
// it, and checks the whole. A missing defaultConfigFile means the defaults. Faults come all
// together as a [*ConfigError]. warnings name variables that look like settings and are none.
func LoadConfig(file string, environ []string) (c *Config, warnings []string, err error) {
	l, err := loadConfig(file, environ)
	return l.config, l.warnings, err
}

// loaded is a configuration that was read; config is nil if it cannot be used.
type loaded struct {
	config   *Config
	origins  map[string]origin // by path: where values were set
	warnings []string
}

func loadConfig(file string, environ []string) (loaded, error) {
	src, err := os.ReadFile(file)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || file != defaultConfigFile) {
		return loaded{}, err
	}
	return readConfig(file, src, environ)
}

func readConfig(file string, src []byte, environ []string) (loaded, error) {
	if len(src) > maxConfigFile {
		return loaded{}, &ConfigError{File: file, Faults: []ConfigFault{{Source: file, Line: 1, Column: 1, Message: fmt.Sprintf("must be at most %d bytes", maxConfigFile)}}, lines: []string{""}}
	}
	c := DefaultConfig()
	b := newBinder(file)
	b.bindDocument(bytes.TrimPrefix(src, []byte("\ufeff")), "", reflect.ValueOf(c).Elem())
	warnings := b.override(c, environ)
	if _, given := b.origins["http.base_url"]; !given {
		c.HTTP.BaseURL = localURL(c.HTTP.Addr)
	}
	for _, broken := range c.validate() {
		if b.understood(broken.path) {
			o := b.origin(broken.path)
			b.faults = append(b.faults, ConfigFault{o.source, o.line, o.column, broken.path + " " + broken.message})
		}
	}
	if err := newConfigError(file, src, b.secrets, b.faults); err != nil {
		return loaded{warnings: warnings}, err
	}
	return loaded{c, b.origins, warnings}, nil
}

// localURL is the address of a server on this machine that listens on addr.
func localURL(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return DefaultConfig().HTTP.BaseURL // the address is at fault, and is told so
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// origin of a value: its own place, or that of the nearest section around it.
func (b *binder) origin(path string) origin {
	for {
		if o, ok := b.origins[path]; ok {
			return o
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return origin{source: b.source, line: 1, column: 1}
		}
		path = path[:i]
	}
}

// override applies environment variables. A single value is taken as it is, a list or a
// mapping is written as YAML or JSON: PUNCTUAL_HTTP_TRUSTED_PROXIES='["10.0.0.0/8"]'. An
// empty variable counts as not set.
func (b *binder) override(c *Config, environ []string) (warnings []string) {
	vars := map[string]string{}
	for _, e := range environ {
		if k, v, _ := strings.Cut(e, "="); strings.HasPrefix(k, "PUNCTUAL_") && v != "" && k != envAdminEmail && k != envAdminPassword {
			vars[k] = v
		}
	}
	b.overrideStruct(vars, "", reflect.ValueOf(c).Elem(), false)
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		if !strings.HasPrefix(k, "PUNCTUAL_SERVICE_") && !strings.HasPrefix(k, "PUNCTUAL_PORT") { // Kubernetes sets those
			warnings = append(warnings, fmt.Sprintf("%s is set, but there is no such setting", k))
		}
	}
	return warnings
}

func (b *binder) overrideStruct(vars map[string]string, path string, v reflect.Value, secret bool) {
	for f := range v.Type().Fields() {
		b.overrideValue(vars, join(path, f.Tag.Get("yaml")), v.FieldByIndex(f.Index), secret || f.Tag.Get("secret") != "")
	}
}

func (b *binder) overrideValue(vars map[string]string, path string, v reflect.Value, secret bool) {
	_, isScalar := v.Addr().Interface().(scalar)
	if v.Kind() == reflect.Struct && !isScalar {
		b.overrideStruct(vars, path, v, secret)
		return
	}
	env := envName(path)
	if text, ok := vars[env]; ok {
		delete(vars, env)
		b.setFromEnv(env, path, text, v, secret)
	}
	if jobs, ok := v.Interface().(map[string]JobConfig); ok {
		for _, job := range strategies {
			entry := reflect.New(reflect.TypeFor[JobConfig]()).Elem()
			entry.Set(reflect.ValueOf(jobs[job]))
			before := len(vars)
			b.overrideStruct(vars, join(path, job), entry, secret)
			if len(vars) < before {
				jobs[job] = entry.Interface().(JobConfig)
			}
		}
	}
}

func (b *binder) setFromEnv(env, path, text string, v reflect.Value, secret bool) {
	before := len(b.faults)
	defer func() {
		if section, _, _ := strings.Cut(path, "."); len(b.faults) > before {
			b.unread[section] = true
		}
	}()
	b.origins[path] = origin{source: env}
	if secret {
		b.secrets = append(b.secrets, text)
	}
	if v.Kind() != reflect.Map && v.Kind() != reflect.Slice {
		if err := setScalar(v, text); err != nil {
			b.faults = append(b.faults, ConfigFault{Source: env, Message: err.Error()})
		}
		return
	}
	inner := newBinder(env)
	inner.bindDocument([]byte(text), path, v)
	b.secrets = append(b.secrets, inner.secrets...)
	maps.Copy(b.origins, inner.origins)
	b.faults = append(b.faults, inner.faults...)
}

// envName of a setting: queue.jobs.meeting.start.lease is PUNCTUAL_QUEUE_JOBS_MEETING_START_LEASE.
func envName(path string) string {
	return "PUNCTUAL_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(path))
}
