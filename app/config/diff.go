package config

import "reflect"

// Change is a setting in which two configurations differ.
type Change struct {
	Key      string
	From, To any  // as written in the file; secrets are masked
	Restart  bool // a running server does not apply it
}

// Diff lists the settings in which two configurations differ, in the order of config.yaml.
func Diff(old, next *Config) []Change {
	var changes []Change
	before := Settings(old, nil)
	for i, s := range Settings(next, nil) {
		if !reflect.DeepEqual(before[i].value, s.value) {
			changes = append(changes, Change{Key: s.Key, From: before[i].Value, To: s.Value, Restart: s.Restart})
		}
	}
	return changes
}

// Keys splits the keys of changes into those that a running server applies and those that need a
// restart.
func Keys(changes []Change) (live, restart []string) {
	for _, c := range changes {
		if c.Restart {
			restart = append(restart, c.Key)
		} else {
			live = append(live, c.Key)
		}
	}
	return live, restart
}
