package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// plant replaces old by its replacement once; old must occur.
func plant(t *testing.T, text, old, with string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q does not occur", old)
	}
	return strings.Replace(text, old, with, 1)
}

// expect fails unless there are mistakes and all of them contain the words.
func expect(t *testing.T, mistakes []string, words string) {
	t.Helper()
	if len(mistakes) == 0 {
		t.Fatalf("accepted; want a mistake that says %q", words)
	}
	for _, m := range mistakes {
		if !strings.Contains(m, words) {
			t.Errorf("got %q; want %q", m, words)
		}
	}
}

var testMetrics = metricNames("| `http.server.request.duration` | `slipbox.jobs.waiting`, `slipbox.jobs.oldest` | `pgxpool.*` |")

func TestMetricNames(t *testing.T) {
	t.Parallel()
	c := checker{metrics: testMetrics}
	for name, want := range map[string]bool{
		"http_server_request_duration_seconds_bucket": true, "slipbox_jobs_waiting": true, "pgxpool_acquired_connections": true,
		"slipbox_jobs": false, "slipbox_jobs_waiting_jobs": false, "http_server_request_durations": false,
	} {
		if got := c.isMetric(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
	if names := metricNames(read(t, "..", "..", "docs", "watching.md")); len(names) < 40 {
		t.Errorf("the page about monitoring has only %q", names)
	}
}

func TestReleaseWithoutMistakes(t *testing.T) {
	t.Parallel()
	mistakes, err := checkManifests(strings.NewReader(read(t, "testdata", "release.yaml")), testMetrics)
	if err != nil || len(mistakes) > 0 {
		t.Fatalf("%v %q", err, mistakes)
	}
}

func TestNothingRenderedIsAnError(t *testing.T) {
	t.Parallel()
	if mistakes, err := checkManifests(strings.NewReader("---\n# nothing\n---\n"), nil); err == nil {
		t.Fatalf("accepted: %q", mistakes)
	}
}

// Each case plants one mistake in the release. Exactly that mistake must be reported.
func TestPlantedMistakes(t *testing.T) {
	t.Parallel()
	release := read(t, "testdata", "release.yaml")
	for name, c := range map[string]struct{ old, with, want string }{
		"misspelt field":            {"replicas: 2", "replica: 2", `document 2 (kind: Deployment, name: app-gateway): strict decoding error: unknown field "spec.replica"`},
		"misspelt nested field":     {"readinessProbe:", "readynessProbe:", `unknown field "spec.template.spec.containers[0].readynessProbe"`},
		"field of another case":     {"terminationGracePeriodSeconds: 35", "terminationgraceperiodseconds: 35", `unknown field "spec.template.spec.terminationgraceperiodseconds"`},
		"field of a definition":     {"interval: 30s", "intervall: 30s", `unknown field "spec.podMetricsEndpoints[0].intervall"`},
		"text for a number":         {"replicas: 2", `replicas: "2"`, "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
		"number for a text":         {`value: "1073741824"`, "value: 1073741824", "cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string"},
		"list for an object":        {"emptyDir: {}", "emptyDir: []", "cannot unmarshal array"},
		"no quantity":               {"limits: {memory: 2Gi}", "limits: {memory: 2 gigabytes}", "quantities must match"},
		"field twice":               {"replicas: 2", "replicas: 2\n  replicas: 3", "already set in map"},
		"unknown kind":              {"kind: Ingress", "kind: Ingres", `no kind "Ingres"`},
		"unstable version":          {"apiVersion: policy/v1", "apiVersion: policy/v1beta1", "is not a stable version"},
		"same object twice":         {"name: policy", "name: opened", "NetworkPolicy/opened: is there twice"},
		"invalid name":              {"name: monitor", "name: Monitor_", "PodMonitor/Monitor_: name:"},
		"invalid label":             {"labels: {component: gateway}", "labels: {component: gateway way}", "Deployment/app-gateway: labels"},
		"root":                      {"runAsNonRoot: true", "runAsNonRoot: false", "pod security restricted: runAsNonRoot != true"},
		"no seccomp profile":        {"seccompProfile: {type: RuntimeDefault}", "fsGroup: 1", "pod security restricted: seccompProfile"},
		"privilege escalation":      {"allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "pod security restricted: allowPrivilegeEscalation != false"},
		"capabilities":              {"drop: [ALL]", "drop: [NET_RAW]", "pod security restricted: unrestricted capabilities"},
		"path of the host":          {"emptyDir: {}", "hostPath: {path: /}", "pod security restricted: "},
		"writable root":             {"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "gateway: readOnlyRootFilesystem must be true"},
		"token":                     {"      automountServiceAccountToken: false", "      automountServiceAccountToken: true", "automountServiceAccountToken must be false"},
		"image without tag":         {"app:1.2.3", "app", "is not pinned"},
		"latest":                    {"app:1.2.3", "app:latest", "is not pinned"},
		"literal secret":            {"{name: SLIPBOX_STOP_TIMEOUT,", "{name: SLIPBOX_LLM_API_KEY, value: x}\n            - {name: SLIPBOX_STOP_TIMEOUT,", "SLIPBOX_LLM_API_KEY holds a secret as a literal"},
		"password in a URL":         {"https://models", "https://user:word@models", "SLIPBOX_LLM_BASE_URL holds a secret as a literal"},
		"password in an argument":   {"args: [migrate, up]", `args: ["--database=postgres://u:p@h/d"]`, "an argument holds a password"},
		"variable twice":            {"- {name: GOMEMLIMIT, value: \"1932735283\"}", "- {name: SLIPBOX_STOP_TIMEOUT, value: 20s}", "SLIPBOX_STOP_TIMEOUT is set twice"},
		"a Secret":                  {"apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: app\nautomountServiceAccountToken: false", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app", "Secret/app: is a Secret"},
		"secret without key":        {"{name: app, key: url}", "{name: app, key: \"\"}", "DATABASE_URL names no secret"},
		"no memory limit":           {"limits: {memory: 64Mi}", "limits: {cpu: 1}", "a limit of memory must be set"},
		"request over limit":        {"requests: {cpu: 100m, memory: 1Gi}", "requests: {cpu: 100m, memory: 3Gi}", "requests more memory than its limit"},
		"index over limit":          {`"1073741824"`, `"2147483648"`, "SLIPBOX_INDEX_BYTES is \"2147483648\""},
		"number in floating point":  {`"1932735283"`, `"1.93e+09"`, "GOMEMLIMIT is \"1.93e+09\""},
		"killed before it stopped":  {"terminationGracePeriodSeconds: 35", "terminationGracePeriodSeconds: 25", "needs 25s to stop, and is killed after 25s"},
		"no startup probe":          {"startupProbe:\n            httpGet: {path: /healthz, port: http}", "", "has no startup probe"},
		"probe of a missing port":   {"{path: /readyz, port: 8080}", "{path: /readyz, port: 8081}", "the readiness probe asks no port"},
		"selector of other pods":    {"matchLabels: {component: gateway}", "matchLabels: {component: x}", "its selector does not match the labels of its pods"},
		"mount of no volume":        {"{name: tmp, mountPath: /tmp}", "{name: tmp, mountPath: /tmp}\n            - {name: temp, mountPath: /a}", "mounts temp, which is no volume"},
		"unused volume":             {"emptyDir: {}", "emptyDir: {}\n        - name: more\n          emptyDir: {}", "volume more is mounted nowhere"},
		"service of nobody":         {"selector: {component: gateway}", "selector: {component: gate}", "Service/app: selects no pods"},
		"service to a missing port": {"targetPort: http", "targetPort: https", "Service/app: its target port https is none of"},
		"ingress to nobody":         {"service: {name: app,", "service: {name: other,", "leads to no port of a service"},
		"ingress to a missing port": {"port: {name: web}", "port: {number: 8080}", "leads to no port of a service"},
		"scaling nobody":            {"name: app-worker}", "name: app-none}", "scales Deployment/app-none, which is not there"},
		"budget of nobody":          {"maxUnavailable: 1\n  selector: {matchLabels: {component: gateway}}", "maxUnavailable: 1\n  selector: {matchLabels: {component: x}}", "PodDisruptionBudget/budget: selects no pods"},
		"opened missing port":       {"ports: [{port: http}]", "ports: [{port: https}]", "opens port https"},
		"policy after its hook":     {"name: policy\n  annotations: {helm.sh/hook: pre-install}", "name: policy", "is made after Job/app-migrate"},
		"hook before its account":   {"restartPolicy: Never", "restartPolicy: Never\n      serviceAccountName: app", "runs before ServiceAccount/app is made"},
		"test made too early":       {"helm.sh/hook: test", "helm.sh/hook: pre-upgrade", "Pod/app-test: is a hook and runs before ServiceAccount/app is made"},
		"metrics of a missing port": {"{port: http, interval", "{port: https, interval", "asks a port for metrics"},
		"scaling against replicas":  {"name: app-worker}\n  maxReplicas", "name: app-gateway}\n  maxReplicas", "sets its replicas"},
		"scaling by no metric":      {"metric: {name: slipbox_jobs_oldest_seconds}", "metric: {name: slipbox_jobs_age_seconds}", "asks for slipbox_jobs_age_seconds"},
		"KEDA by no metric":         {"max(slipbox_jobs_oldest_seconds", "max(slipbox_jobs_oldest_minutes", "asks for slipbox_jobs_oldest_minutes"},
		"KEDA without Prometheus":   {"serverAddress: http://prometheus:9090", "serverAddress: ''", "asks no Prometheus"},
		"KEDA without threshold":    {"threshold: \"60\"", "threshold: \"\"", "is no number above 0"},
		"misspelt field of KEDA":    {"maxReplicaCount", "maxReplicas", "unknown field \"spec.maxReplicas\""},
		"alert on no metric":        {"rate(http_server_request_duration", "rate(http_server_request_time", "asks for http_server_request_time"},
		"dashboard of no metric":    {"slipbox_jobs_waiting", "slipbox_jobs_queued", "asks for slipbox_jobs_queued"},
		"dashboard that is no JSON": {`'{"expr": "slipbox_jobs_waiting"}'`, "'{'", "jobs.json is not JSON"},
		"metrics of a missing name": {"{port: web, path: /metrics}", "{port: metrics, path: /metrics}", "asks a port for metrics that Service/"},
		"metrics of one component":  {"name: app-worker\n  labels: {app: app}", "name: app-worker\n  labels: {app: x}", "reads no metrics of Deployment/app-worker"},
		"metrics behind a policy":   {"  ingress:\n    - ports: [{port: 9090}]\n", "", "NetworkPolicy/worker lets nobody read the metrics of Deployment/app-worker"},
		"collector behind a policy": {"[{port: 4318}]", "[{port: 4317}]", "OTEL_EXPORTER_OTLP_ENDPOINT of Deployment/app-worker is at port 4318, which is closed"},
		"route to a missing port":   {"backendRefs: [{name: app, port: 80}]", "backendRefs: [{name: app, port: 8080}]", "leads to port 8080 of app"},
		"route without a parent":    {"parentRefs: [{name: public}]", "parentRefs: []", "has no parent"},
		"unknown substitution":      {"/backup/$(RUN).db", "/backup/$(POD).db", "$(POD) is no variable"},
		"long name of a CronJob":    {"name: copies", "name: " + strings.Repeat("a", 53), "must be no more than 52"},
		"entry that is not made":    {"secretKey: url", "secretKey: uri", "reads the entry url of the secret app, which no ExternalSecret makes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mistakes, err := checkManifests(strings.NewReader(plant(t, release, c.old, c.with)), testMetrics)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, mistakes, c.want)
		})
	}
}
