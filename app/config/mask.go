package config

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// secretParameter matches names of URL parameters whose values are secret.
var secretParameter = regexp.MustCompile(`(?i)pass|secret|token|key|%`)

// maskPassword masks the secret parts of a URL: the password before the host, a user name without a
// password, because people put passwords there, and parameters that look like one. It does not
// parse the URL, because passwords also appear in malformed ones. Where an @ may belong to a
// parameter, it masks everything.
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

// secretValue finds text that looks like a secret, even in a file that is not YAML.
var secretValue = regexp.MustCompile(`(?i)(password"?\s*:\s*)("[^"]*"?|'[^']*'?|[^\s,}#]+)|(://[^\s:@/]*:)[^\s@]+(@)|((?:authorization|[\w-]*(?:token|secret|key))"?\s*:\s*)("[^"]*"?|'[^']*'?|[^,}#]+)`)

var userInfo = regexp.MustCompile(`("[\w+.-]*://)[^\s"]*@`)

// maskUserInfo masks what stands before the host in the URLs that a message quotes.
func maskUserInfo(message string) string { return userInfo.ReplaceAllString(message, "${1}"+mask+"@") }

// loneUser finds user names without a password: people put passwords there.
var loneUser = regexp.MustCompile(`://[^\s:@/"']+@`)

// maskLines splits the file into lines that may be shown.
func maskLines(src []byte, secrets []string) []string {
	text := secretValue.ReplaceAllString(string(src), "${1}${3}${5}"+mask+"${4}")
	text = loneUser.ReplaceAllString(text, "://"+mask+"@")
	lines := strings.Split(strings.ReplaceAll(hide(text, secrets, 2), "\r\n", "\n"), "\n")
	shown := true // whether the last key's value may be shown
	for i, line := range lines {
		lines[i], shown = maskUnknown(line, shown)
		lines[i] = cut(lines[i], maxExcerptLine)
	}
	return lines
}

var keyed = regexp.MustCompile(`([\w.-]+)(["']?\s*:(?:\s+|$))([^,{}\[\]]*)`)

// maskUnknown masks the values of unknown keys, which may be misspelled secrets, and comments,
// which may contain old ones or the rest of a secret with a # in it. A line without a key belongs
// to the key before it; after reports this for the following lines.
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

// hide masks secrets of at least this many bytes; shorter ones would mask ordinary words.
func hide(text string, secrets []string, least int) string {
	for _, s := range secrets {
		if len(s) >= least {
			text = strings.ReplaceAll(text, s, mask)
		}
	}
	return text
}
