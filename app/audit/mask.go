package audit

import "strings"

// Mask replaces a secret. It shows that a secret is set or has changed.
const Mask = "***"

var secretWords = []string{"password", "secret", "token", "hash", "credential", "headers"}

// masked changes hold no secrets. A user's password hash goes by the name of the password.
func masked(changes map[string]Change) map[string]Change {
	m := make(map[string]Change, len(changes))
	for name, c := range changes {
		if isSecret(name) {
			m[strings.TrimSuffix(name, "_hash")] = Change{hidden(c.From), hidden(c.To)}
			continue
		}
		m[name] = Change{within(c.From), within(c.To)}
	}
	return m
}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func hidden(v any) any {
	if isNothing(v) {
		return nil
	}
	return Mask
}

func within(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, inner := range v {
			if isSecret(key) {
				m[key] = hidden(inner)
				continue
			}
			m[key] = within(inner)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = within(v[i])
		}
		return list
	}
	return v
}
