// Package check renders the Helm chart and validates what it makes. It is a module of its own, so that
// Helm is no dependency of the program.
package check

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const (
	chartFolder = "../helm/punctual"
	plainFolder = "../kubernetes"
)

var update = flag.Bool("update", false, "write deploy/kubernetes from the chart")

// plain are the values of the manifests in deploy/kubernetes.
const plain = `existingSecret: punctual
config: { http: { base_url: "https://rooms.example.org" }, email: { driver: "off" }, log: { format: json } }
ingress: { enabled: true, host: rooms.example.org, tlsSecret: punctual-tls }`

const secrets = `secret: { PUNCTUAL_DATABASE_URL: "postgres://p:w@db/punctual", PUNCTUAL_QUEUE_URL: "redis://redis:6379" }
`

// everything turns on each optional part.
const everything = `existingSecret: punctual
imagePullSecrets: [{ name: registry }]
image: { repository: registry.example.org/punctual, tag: "1.0" }
workers: { enabled: true, replicas: 3, resources: { limits: { memory: 1Gi } } }
autoscaling: { enabled: true }
ingress: { enabled: true, className: nginx, annotations: { a: b }, tlsSecret: tls }
migrationJob: true
serviceMonitor: { enabled: true, labels: { release: prometheus } }
networkPolicy: { enabled: true, from: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: ingress } } }] }
serviceAccount: { annotations: { a: b } }
podAnnotations: { a: b }
nodeSelector: { kubernetes.io/arch: arm64 }
tolerations: [{ key: a, operator: Exists }]
affinity: { nodeAffinity: {} }`

// render returns the manifests by file name, without the notes.
func render(t *testing.T, values string) (map[string]string, error) {
	t.Helper()
	chart, err := loader.LoadDir(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	read, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	options := chartutil.ReleaseOptions{Name: "punctual", Namespace: "punctual", IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, read, options, nil)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for name, text := range rendered {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(text) != "" {
			files[path.Base(name)] = text
		}
	}
	return files, nil
}

// documents returns the objects of one file.
func documents(text string) []string {
	var found []string
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		if strings.TrimSpace(document) != "" {
			found = append(found, strings.TrimSpace(document)+"\n")
		}
	}
	return found
}

// decode fails for a field that Kubernetes does not know, for a wrong type, and for a key that occurs twice.
func decode(t *testing.T, file, document string) (kind string, object any) {
	t.Helper()
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(document), &head); err != nil {
		t.Fatalf("%s: %v\n%s", file, err, document)
	}
	switch head.APIVersion + " " + head.Kind {
	case "apps/v1 Deployment":
		object = new(appsv1.Deployment)
	case "autoscaling/v2 HorizontalPodAutoscaler":
		object = new(autoscalingv2.HorizontalPodAutoscaler)
	case "batch/v1 Job":
		object = new(batchv1.Job)
	case "monitoring.coreos.com/v1 ServiceMonitor":
		object = new(serviceMonitor)
	case "networking.k8s.io/v1 Ingress":
		object = new(networkingv1.Ingress)
	case "networking.k8s.io/v1 NetworkPolicy":
		object = new(networkingv1.NetworkPolicy)
	case "policy/v1 PodDisruptionBudget":
		object = new(policyv1.PodDisruptionBudget)
	case "v1 ConfigMap":
		object = new(corev1.ConfigMap)
	case "v1 Secret":
		object = new(corev1.Secret)
	case "v1 Service":
		object = new(corev1.Service)
	case "v1 ServiceAccount":
		object = new(corev1.ServiceAccount)
	default:
		t.Fatalf("%s: unknown kind %s %s", file, head.APIVersion, head.Kind)
	}
	if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
		t.Errorf("%s: %v\n%s", file, err, document)
	}
	return head.Kind, object
}

// serviceMonitor has the fields of the Prometheus operator that the chart sets.
type serviceMonitor struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		Endpoints []struct {
			Port          string `json:"port"`
			Path          string `json:"path"`
			Interval      string `json:"interval"`
			Authorization *struct {
				Credentials corev1.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// TestChart_valid: all objects are as Kubernetes defines them, selectors find the pods, and every kind that
// the chart can make is made.
func TestChart_valid(t *testing.T) {
	for name, c := range map[string]struct {
		values string
		kinds  string
	}{
		"least":      {secrets, "ConfigMap Deployment PodDisruptionBudget Secret Service ServiceAccount"},
		"plain":      {plain, "ConfigMap Deployment Ingress PodDisruptionBudget Service ServiceAccount"},
		"everything": {everything, "ConfigMap Deployment Deployment HorizontalPodAutoscaler Ingress Job NetworkPolicy PodDisruptionBudget PodDisruptionBudget Service Service ServiceAccount ServiceMonitor"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := render(t, c.values)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			var pods []map[string]string
			var selectors []map[string]string
			for file, text := range files {
				for _, document := range documents(text) {
					kind, object := decode(t, file, document)
					kinds = append(kinds, kind)
					switch o := object.(type) {
					case *appsv1.Deployment:
						pods = append(pods, o.Spec.Template.Labels)
						selectors = append(selectors, o.Spec.Selector.MatchLabels)
						checkContainer(t, o.Spec.Template.Spec)
					case *batchv1.Job:
						checkContainer(t, o.Spec.Template.Spec)
					case *corev1.Service:
						selectors = append(selectors, o.Spec.Selector)
					case *policyv1.PodDisruptionBudget:
						selectors = append(selectors, o.Spec.Selector.MatchLabels)
					}
				}
			}
			slices.Sort(kinds)
			if got := strings.Join(kinds, " "); got != c.kinds {
				t.Errorf("kinds\n%s\nwant\n%s", got, c.kinds)
			}
			for _, selector := range selectors {
				found := 0
				for _, labels := range pods {
					if matches(selector, labels) {
						found++
					}
				}
				if found != 1 {
					t.Errorf("selector %v finds %d deployments, want 1", selector, found)
				}
			}
		})
	}
}

func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// checkContainer: the "restricted" standard of Kubernetes for pods.
func checkContainer(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	s := pod.SecurityContext
	if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.SeccompProfile == nil || s.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("the security context of the pod is %+v", s)
	}
	for _, container := range pod.Containers {
		s := container.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("the security context of %s is %+v", container.Name, s)
		}
	}
}

// TestChart_refuses values that cannot work, and names them.
func TestChart_refuses(t *testing.T) {
	for values, want := range map[string]string{
		``:                                                "existingSecret or secret.PUNCTUAL_DATABASE_URL",
		`secret: { PUNCTUAL_DATABASE_URL: x }`:            "existingSecret or secret.PUNCTUAL_QUEUE_URL",
		secrets + `existingSecret: a`:                     "secret: must be empty",
		secrets + `migrationJob: true`:                    "migrationJob: needs existingSecret",
		secrets + `replica: 2`:                            "replica",
		secrets + `replicas: many`:                        "replicas",
		secrets + `service: { port: 70000 }`:              "port",
		secrets + `ingress: { enabled: yes, hosts: [a] }`: "hosts",
		`secret: { DATABASE_URL: x }`:                     "DATABASE_URL",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to name %s", values, err, want)
		}
	}
}

// TestChart_secretRestartsPods: pods read variables only when they start.
func TestChart_secretRestartsPods(t *testing.T) {
	one, err := render(t, secrets)
	if err != nil {
		t.Fatal(err)
	}
	two, err := render(t, strings.Replace(secrets, "p:w@", "p:x@", 1))
	if err != nil {
		t.Fatal(err)
	}
	if one["deployment.yaml"] == two["deployment.yaml"] {
		t.Error("the deployment does not change with the secret")
	}
}

// TestChart_lint is `helm lint`.
func TestChart_lint(t *testing.T) {
	values, err := chartutil.ReadValues([]byte(secrets))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range lint.All(chartFolder, values, "punctual", true).Messages {
		if m.Severity >= support.WarningSev {
			t.Error(m)
		}
	}
}

// TestManifests_areTheChart: deploy/kubernetes is what the chart makes of these values (make manifests).
func TestManifests_areTheChart(t *testing.T) {
	files, err := render(t, plain)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for name, text := range files {
		text = strings.Join(documents(text), "---\n")
		text = strings.ReplaceAll(text, "app.kubernetes.io/managed-by: Helm", "app.kubernetes.io/managed-by: kubectl")
		want[name] = "# Made from deploy/helm/punctual by make manifests.\n" + text
	}
	want["kustomization.yaml"] = kustomization(slices.Sorted(maps.Keys(want)))
	for name, text := range want {
		file := path.Join(plainFolder, name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("%s is not what the chart makes (%v): run make manifests", file, err)
		}
	}
	entries, err := os.ReadDir(plainFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := want[e.Name()]; !ok {
			t.Errorf("%s/%s is made from nothing in the chart: delete it", plainFolder, e.Name())
		}
	}
}

// kustomization lists the files, so that kubectl apply -k takes them all.
func kustomization(files []string) string {
	var b strings.Builder
	b.WriteString("# Made from deploy/helm/punctual by make manifests.\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: punctual\nresources:\n")
	for _, file := range files {
		b.WriteString("  - " + file + "\n")
	}
	b.WriteString("images:\n  - { name: punctual, newName: punctual, newTag: latest }\n")
	return b.String()
}

// TestSchema_isOne: values.schema.json is JSON, and knows every value of values.yaml.
func TestSchema_isOne(t *testing.T) {
	schema, err := os.ReadFile(chartFolder + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var properties struct{ Properties map[string]any }
	if err := json.Unmarshal(schema, &properties); err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ReadValuesFile(chartFolder + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for key := range values {
		if _, ok := properties.Properties[key]; !ok {
			t.Errorf("values.schema.json: %s is missing", key)
		}
	}
}
