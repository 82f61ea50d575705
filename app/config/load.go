package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"punctual/notify/render"
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

// FirstAdmin returns the address and the password of the first admin, empty if environ sets none. Like
// settings, each may be the content of a file.
func FirstAdmin(environ []string) (email, password string, err error) {
	vars := variables(environ)
	_, email, err = take(vars, EnvAdminEmail)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", EnvAdminEmail+fileSuffix, err)
	}
	if _, password, err = take(vars, EnvAdminPassword); err != nil {
		return "", "", fmt.Errorf("%s: %w", EnvAdminPassword+fileSuffix, err)
	}
	return email, password, nil
}

// Load reads a file over the defaults, lets the PUNCTUAL_ variables of environ override it, and
// validates the result and the templates of mails. A missing [DefaultFile] means the defaults. If settings are wrong, it returns
// all faults together as an [*Error], and the warnings.
func Load(file string, environ []string) (Loaded, error) {
	src, err := os.ReadFile(file)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) || file != DefaultFile) {
		return Loaded{}, err
	}
	l, err := Parse(file, src, environ)
	if err != nil {
		return l, err
	}
	_, err = render.ReadOverrides(l.Config.Notifications.Templates)
	if e, ok := errors.AsType[*render.TemplateError](err); ok {
		faults := make([]Fault, len(e.Faults))
		for i, f := range e.Faults {
			faults[i] = Fault{f.File, f.Line, f.Column, f.Message}
		}
		err = newError(file, src, nil, faults)
	}
	if err != nil {
		return Loaded{Warnings: l.Warnings}, err
	}
	return l, nil
}

// Parse does what [Load] does with the content of a file. It does not read the templates of mails:
// the content may come from a client, which must not learn what is in folders of the server.
func Parse(file string, src []byte, environ []string) (Loaded, error) {
	if len(src) > maxFile {
		return Loaded{}, &Error{File: file, Faults: []Fault{{Source: file, Line: 1, Column: 1, Message: fmt.Sprintf("must be at most %d bytes", maxFile)}}, lines: []string{""}}
	}
	c, b, warnings := bindAll(file, src, environ)
	if _, given := b.origins["http.base_url"]; !given {
		c.HTTP.BaseURL = localURL(c.HTTP.Addr, c.HTTP.TLS.Enabled())
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

// bindAll reads a file and variables over the defaults. It leaves out what it does not understand.
func bindAll(file string, src []byte, environ []string) (c *Config, b *binder, warnings []string) {
	c, b = Default(), newBinder(file)
	b.bindDocument(bytes.TrimPrefix(src, []byte("\ufeff")), "", reflect.ValueOf(c).Elem())
	return c, b, b.override(c, environ)
}

// LoadHTTP reads only where a server listens. Faults do not count: a running server keeps its settings
// while its file is faulty.
func LoadHTTP(file string, environ []string) HTTP {
	src, err := os.ReadFile(file)
	if err != nil || len(src) > maxFile {
		src = nil
	}
	c, _, _ := bindAll(file, src, environ)
	return c.HTTP
}

func localURL(addr string, secure bool) string {
	host, port, _ := net.SplitHostPort(addr)
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Default().HTTP.BaseURL // the address is invalid and reported as such
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && (ip.IsUnspecified() || ip.IsLoopback()) {
		host = "localhost"
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port)
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
//
// NAME_FILE names a file with the value instead, such as a mounted secret.
func (b *binder) override(c *Config, environ []string) (warnings []string) {
	vars := variables(environ)
	for _, k := range []string{EnvAdminEmail, EnvAdminPassword} {
		delete(vars, k)
		delete(vars, k+fileSuffix)
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
	if env, text, err := take(vars, envName(path)); err != nil {
		b.faults = append(b.faults, Fault{Source: env, Message: err.Error()})
		b.unreadable(path)
	} else if env != "" {
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
		if len(b.faults) > before {
			b.unreadable(path)
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

// unreadable marks the section of a path as not understood.
func (b *binder) unreadable(path string) {
	section, _, _ := strings.Cut(path, ".")
	b.unread[section] = true
}

// variables returns the PUNCTUAL_ variables of environ that are not empty, by name.
func variables(environ []string) map[string]string {
	vars := map[string]string{}
	for _, e := range environ {
		if k, v, _ := strings.Cut(e, "="); strings.HasPrefix(k, "PUNCTUAL_") && v != "" {
			vars[k] = v
		}
	}
	return vars
}

// fileSuffix ends the name of a variable whose value is the name of a file.
const fileSuffix = "_FILE"

// take removes a variable from vars, and returns its value and the name under which it was set: its
// own, or that of the file. It returns no name if neither is set. An error belongs to that name. A
// line break at the end of the file is not part of the value.
func take(vars map[string]string, name string) (from, value string, err error) {
	value, set := vars[name]
	delete(vars, name)
	file, named := vars[name+fileSuffix]
	delete(vars, name+fileSuffix)
	switch {
	case set && named:
		return name + fileSuffix, "", fmt.Errorf("%s is set as well; set one of them", name)
	case set:
		return name, value, nil
	case !named:
		return "", "", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return name + fileSuffix, "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return name + fileSuffix, "", err
	case len(content) > maxFile:
		return name + fileSuffix, "", fmt.Errorf("%s has more than %d bytes", file, maxFile)
	}
	value = strings.TrimRight(string(content), "\r\n")
	if value == "" {
		return name + fileSuffix, "", fmt.Errorf("%s is empty", file)
	}
	return name + fileSuffix, value, nil
}

func envName(path string) string {
	return "PUNCTUAL_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(path))
}
