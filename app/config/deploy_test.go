package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestDeploy_manifests: the manifests of deploy/kubernetes are YAML, the settings in them are settings of
// this version, and probes ask the paths that the server answers.
func TestDeploy_manifests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Kind string
			Data map[string]string
		}
		if err := yaml.Unmarshal(src, &object); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		switch object.Kind {
		case "ConfigMap":
			if _, warnings, err := parse(file, []byte(object.Data["config.yaml"]), nil); err != nil || len(warnings) > 0 {
				t.Errorf("%s: %v %v", file, warnings, err)
			}
		case "Deployment":
			paths := regexp.MustCompile(`path: (/\w+)`).FindAllStringSubmatch(string(src), -1)
			probes, err := os.ReadFile("../probes.go")
			if err != nil || len(paths) != 3 {
				t.Fatalf("%s: %d probes, %v", file, len(paths), err)
			}
			for _, found := range paths {
				if !strings.Contains(string(probes), `"`+found[1]+`"`) {
					t.Errorf("%s: no probe answers at %s", file, found[1])
				}
			}
		}
	}
}

// TestDeploy_variables: each variable that a file of deploy/ or the compose file sets is one that the
// program reads. Values are not checked, because they name servers and files elsewhere.
func TestDeploy_variables(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\bPUNCTUAL_[A-Z0-9_]*[A-Z0-9]\b`)
	// Not settings: variables that the compose file itself reads, and the first admin.
	others := []string{"PUNCTUAL_PORT", EnvAdminEmail, EnvAdminPassword}
	var environ []string
	files := []string{"../../docker-compose.yml"}
	for _, pattern := range []string{"helm/punctual/*.yaml", "helm/punctual/templates/*", "systemd/*", "debian/*"} {
		found, err := filepath.Glob("../../deploy/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range name.FindAllString(string(src), -1) {
			if setting := strings.TrimSuffix(found, "_FILE"); !slices.Contains(others, setting) {
				environ = append(environ, setting+"=x")
			}
		}
	}
	if len(environ) == 0 {
		t.Fatal("no variables found")
	}
	slices.Sort(environ)
	l, _ := Parse("", nil, slices.Compact(environ))
	for _, warning := range l.Warnings {
		t.Error(warning)
	}
}
