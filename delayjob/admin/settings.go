package admin

import "punctual/delayjob"

// Settings returns the options in force of each job: its own, overridden by over, with the defaults of
// the engine for the rest.
func Settings(jobs []delayjob.DelayJob, over map[string]delayjob.Options) map[string]delayjob.Options {
	m := map[string]delayjob.Options{}
	for _, j := range jobs {
		var o delayjob.Options
		if c, ok := j.(delayjob.Configurer); ok {
			o = c.Options()
		}
		_, batch := j.(delayjob.BatchJob)
		m[j.Name()] = o.Merge(over[j.Name()]).WithDefaults(batch)
	}
	return m
}
