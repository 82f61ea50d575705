// Package doctor examines an installation as it is: the configuration, the database, Redis, the mail
// server, the clocks, the disk and the running server. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"punctual/app/config"
)

// Level says how bad a finding is.
type Level string

const (
	OK      Level = "ok"
	Warning Level = "warning" // works, but is probably not meant to be so
	Fault   Level = "fault"   // does not work
)

// Finding is one thing that a check found. It contains no secrets.
type Finding struct {
	Check  string `json:"check"`
	Level  Level  `json:"level"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"` // what to do; empty for OK
}

// Check examines one thing. Examine returns at least one finding, and returns soon after ctx ends.
// Findings need no Check: it is the check's name.
type Check struct {
	Name    string
	Examine func(ctx context.Context) []Finding
}

// patience is how long one check may take.
const patience = 10 * time.Second

// Examine runs all checks at the same time, and returns their findings in the order of the checks. One
// that takes too long is a fault.
func Examine(ctx context.Context, checks ...Check) []Finding {
	found := make([][]Finding, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() { found[i] = c.run(ctx) })
	}
	all.Wait()
	var list []Finding
	for i, fs := range found {
		for _, f := range fs {
			f.Check = checks[i].Name
			list = append(list, f)
		}
	}
	return list
}

func (c Check) run(ctx context.Context) []Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	done := make(chan []Finding, 1)
	go func() { done <- c.Examine(ctx) }()
	select {
	case found := <-done:
		return found
	case <-ctx.Done():
		return failure("Check whether the server or the network is overloaded.", "no answer within %s", patience)
	}
}

// Worst is the highest level of the findings; OK if there are none.
func Worst(found []Finding) Level {
	worst := OK
	for _, f := range found {
		if f.Level == Fault || worst == OK {
			worst = f.Level
		}
	}
	return worst
}

// Of returns the checks of an installation with these settings.
func Of(c *config.Config) []Check {
	return []Check{
		{"settings", func(context.Context) []Finding { return settings(c) }},
		{"database", func(ctx context.Context) []Finding { return examineDatabase(ctx, c.Database.URL) }},
		{"queue", func(ctx context.Context) []Finding { return examineQueue(ctx, c) }},
		{"mail", func(ctx context.Context) []Finding { return examineMail(ctx, c) }},
		{"clock", func(ctx context.Context) []Finding { return examineClocks(ctx, c) }},
		{"disk", func(context.Context) []Finding { return examineDisk(c) }},
		{"certificate", func(context.Context) []Finding { return examineCertificate(c.HTTP.TLS, time.Now()) }},
		{"server", func(ctx context.Context) []Finding { return examineServer(ctx, c.HTTP) }},
	}
}

// Configuration returns what loading a configuration resulted in: its faults and warnings, or that it is valid.
func Configuration(file string, warnings []string, err error) []Finding {
	var found []Finding
	if e, ok := errors.AsType[*config.Error](err); ok {
		for _, f := range e.Faults {
			found = append(found, failure("Correct the setting; punctual config check shows it with the surrounding lines.", "%s", f)...)
		}
	} else if err != nil {
		found = append(found, failure("Name the file with --config, or correct its permissions.", "%v", err)...)
	}
	for _, w := range warnings {
		found = append(found, warning("Rename or remove the variable.", "%s", w)...)
	}
	if _, gone := os.Stat(file); len(found) == 0 && gone != nil {
		found = ok("there is no %s, so the defaults apply", file)
	} else if len(found) == 0 {
		found = ok("%s is valid", file)
	}
	for i := range found {
		found[i].Check = "configuration"
	}
	return found
}

func ok(format string, args ...any) []Finding {
	return []Finding{{Level: OK, Found: fmt.Sprintf(format, args...)}}
}

func warning(advice, format string, args ...any) []Finding {
	return []Finding{{Level: Warning, Found: fmt.Sprintf(format, args...), Advice: advice}}
}

func failure(advice, format string, args ...any) []Finding {
	return []Finding{{Level: Fault, Found: fmt.Sprintf(format, args...), Advice: advice}}
}
