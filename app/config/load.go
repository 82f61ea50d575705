package config

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

// maxFile limits the bytes of a file. All settings need far less.
const maxFile = 256 << 10

// DefaultFile is read if no file is named. It may be missing.
const DefaultFile = "config.yaml"

// Variables with the prefix of settings that are not settings: they create the first admin.
const (
	EnvAdminEmail    = "PUNCTUAL_ADMIN_EMAIL"
	EnvAdminPassword = "PUNCTUAL_ADMIN_PASSWORD"
)

// Loaded is a configuration that was read.
type Loaded struct {
	Config   *Config           // nil if it cannot be used
	Origins  map[string]Origin // where values were set, by path
	Warnings []string          // name variables that look like settings and are none
}

// Env returns a variable of environ, "" if it is not set.
func Env(environ []string, name string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// Load reads a file over the defaults, lets the PUNCTUAL_ variables of environ override it, and
// validates the result. A missing [DefaultFile] means the defaults. If settings are wrong, it returns
// all faults together as an [*Error], and the warnings.
func Load(file string, environ []string) (Loaded, error) {
	src, err := os.ReadFile(file)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || file != DefaultFile) {
		return Loaded{}, err
	}
	return Parse(file, src, environ)
}

// Parse does what [Load] does with the content of a file.
func Parse(file string, src []byte, environ []string) (Loaded, error) {
	if len(src) > maxFile {
		return Loaded{}, &Error{File: file, Faults: []Fault{{Source: file, Line: 1, Column: 1, Message: fmt.Sprintf("must be at most %d bytes", maxFile)}}, lines: []string{""}}
	}
	c := Default()
	b := newBinder(file)
	b.bindDocument(bytes.TrimPrefix(src, []byte("\ufeff")), "", reflect.ValueOf(c).Elem())
	warnings := b.override(c, environ)
	if _, given := b.origins["http.base_url"]; !given {
		c.HTTP.BaseURL = localURL(c.HTTP.Addr)
	}
	for _, broken := range c.validate() {
		if b.understood(broken.path) {
			o := b.origin(broken.path)
			b.faults = append(b.faults, Fault{o.Source, o.Line, o.Column, broken.path + " " + broken.message})
		}
	}
	if err := newError(file, src, b.secrets, b.faults); err != nil {
		return Loaded{Warnings: warnings}, err
	}
	return Loaded{c, b.origins, warnings}, nil
}

func localURL(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Default().HTTP.BaseURL // the address is invalid and reported as such
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (b *binder) origin(path string) Origin {
	for {
		if o, ok := b.origins[path]; ok {
			return o
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return Origin{Source: b.source, Line: 1, Column: 1}
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
		if k, v, _ := strings.Cut(e, "="); strings.HasPrefix(k, "PUNCTUAL_") && v != "" && k != EnvAdminEmail && k != EnvAdminPassword {
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
	if jobs, ok := v.Interface().(map[string]Job); ok {
		for _, job := range JobNames {
			entry := reflect.New(reflect.TypeFor[Job]()).Elem()
			entry.Set(reflect.ValueOf(jobs[job]))
			before := len(vars)
			b.overrideStruct(vars, join(path, job), entry, secret)
			if len(vars) < before {
				jobs[job] = entry.Interface().(Job)
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
	b.origins[path] = Origin{Source: env}
	if secret {
		b.secrets = append(b.secrets, text)
	}
	if v.Kind() != reflect.Map && v.Kind() != reflect.Slice {
		if err := setScalar(v, text); err != nil {
			b.faults = append(b.faults, Fault{Source: env, Message: err.Error()})
		}
		return
	}
	inner := newBinder(env)
	inner.bindDocument([]byte(text), path, v)
	b.secrets = append(b.secrets, inner.secrets...)
	maps.Copy(b.origins, inner.origins)
	b.faults = append(b.faults, inner.faults...)
}

func envName(path string) string {
	return "PUNCTUAL_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(path))
}
