package config

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
)

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

const mask = "***"

// secretValue finds what looks like a secret even in a file that is no YAML.
var secretValue = regexp.MustCompile(`(?i)(password"?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}#]+)|(://[^\s:@/]*:)[^\s@]+(@)|((?:authorization|[\w-]*(?:token|secret|key))"?\s*:\s*)("[^"]*"?|'[^']*'?|[^,}#]+)`)

// maskLines splits the file into lines fit to be shown.
func maskLines(src []byte, secrets []string) []string {
	text := secretValue.ReplaceAllString(string(src), "${1}${3}${5}"+mask+"${4}")
	lines := strings.Split(strings.ReplaceAll(hide(text, secrets, 2), "\r\n", "\n"), "\n")
	shown := true // whether the last key's value may be
	for i, line := range lines {
		lines[i], shown = maskUnknown(line, shown)
		lines[i] = cut(lines[i], maxExcerptLine)
	}
	return lines
}

var keyed = regexp.MustCompile(`([\w.-]+)(["']?\s*:(?:\s+|$))([^,{}\[\]]*)`)

// maskUnknown hides the values of keys that are no settings, which may be misspelt secrets, and
// comments, which may hold old ones or be the rest of a secret with a # in it. A line
// without a key goes with the key before it; after reports that for the lines that follow.
func maskUnknown(line string, before bool) (masked string, after bool) {
	code, comment := line, ""
	if i := strings.Index(" "+line, " #"); i >= 0 {
		code, comment = line[:i], "# "+mask
	}
	if !keyed.MatchString(code) {
		if text := strings.TrimSpace(code); !before && text != "" {
			indent := code[:strings.Index(code, text)]
			return indent + mask + comment, false
		}
		return code + comment, before
	}
	after = true
	masked = keyed.ReplaceAllStringFunc(code, func(pair string) string {
		part := keyed.FindStringSubmatch(pair)
		if after = settingNames()[part[1]]; after || strings.TrimSpace(part[3]) == "" {
			return pair
		}
		value := strings.TrimRight(part[3], " \t")
		return part[1] + part[2] + mask + part[3][len(value):]
	})
	return masked + comment, after
}

var settingNames = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, job := range JobNames {
		names[job] = true
	}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer:
			walk(t.Elem())
		case reflect.Struct:
			for f := range t.Fields() {
				name, secret := f.Tag.Get("yaml"), f.Tag.Get("secret")
				if name == "" {
					continue
				}
				if secret != "true" {
					names[name] = true
				}
				walk(f.Type)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
	return names
})

// hide masks secrets of at least so many bytes; less would mask every other word.
func hide(text string, secrets []string, least int) string {
	for _, s := range secrets {
		if len(s) >= least {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	return text
}
