// Package deploy has no code. Its tests check the files in this folder.
package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/slipboxhq/slipbox/test/must"
)

type service struct {
	Image       string                       `yaml:"image"`
	Build       struct{ Dockerfile string }  `yaml:"build"`
	Entrypoint  []string                     `yaml:"entrypoint"`
	Command     []string                     `yaml:"command"`
	Environment map[string]string            `yaml:"environment"`
	Ports       []string                     `yaml:"ports"`
	Volumes     []string                     `yaml:"volumes"`
	Healthcheck struct{ Test []string }      `yaml:"healthcheck"`
	DependsOn   map[string]map[string]string `yaml:"depends_on"`
	Profiles    []string                     `yaml:"profiles"`

	Deploy struct {
		Resources struct{ Limits struct{ CPUs, Memory string } }
	} `yaml:"deploy"`
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw := must.Get(os.ReadFile(name))(t)
	return string(raw)
}

func services(t *testing.T) map[string]service {
	t.Helper()
	var c struct{ Services map[string]service }
	must.Do(t, yaml.Unmarshal([]byte(read(t, "compose.yaml")), &c))
	names := slices.Sorted(maps.Keys(c.Services))
	if want := []string{"gateway", "grafana", "jaeger", "migrate", "postgres", "prometheus", "redis", "worker"}; !slices.Equal(names, want) {
		t.Fatalf("services %v, want %v", names, want)
	}
	return c.Services
}

// like fails the test unless the whole text matches the expression.
func like(t *testing.T, what, got, expression string) {
	t.Helper()
	if !regexp.MustCompile(`^(?:` + expression + `)$`).MatchString(got) {
		t.Errorf("%s is %q, want %s", what, got, expression)
	}
}

func TestComposeRunsThisBuild(t *testing.T) {
	t.Parallel()
	all := services(t)
	for name, want := range map[string]string{
		"migrate": `migrate up`,
		"gateway": `serve`,
		"worker":  `/usr/local/bin/worker`,
	} {
		s := all[name]
		like(t, name+"'s command", strings.Join(slices.Concat(s.Entrypoint, s.Command), " "), want)
		like(t, name+"'s Dockerfile", s.Build.Dockerfile, `deploy/Dockerfile`)
	}
}

// The health checks run the program itself, which asks for its readiness at the address that
// other containers use.
func TestComposeHealthChecks(t *testing.T) {
	t.Parallel()
	all := services(t)
	for name, addr := range map[string]string{"gateway": "SLIPBOX_ADDR", "worker": "SLIPBOX_WORKER_ADDR"} {
		s := all[name]
		like(t, name+"'s health check", strings.Join(s.Healthcheck.Test, " "), `CMD /usr/local/bin/`+name+` health`)
		like(t, name+"'s "+addr, s.Environment[addr], `0\.0\.0\.0:\d+`)
		if slices.Contains(s.Command, "--addr") {
			t.Errorf("%s does not listen at the address of its health check: %v", name, s.Command)
		}
	}
}

// digest is what pins an image for good.
const digest = `@sha256:[0-9a-f]{64}`

// No container takes more than its share of the machine; what runs this build knows its own.
func TestComposeLimits(t *testing.T) {
	t.Parallel()
	for name, s := range services(t) {
		limits := s.Deploy.Resources.Limits
		like(t, name+"'s CPUs", limits.CPUs, `[12]`)
		like(t, name+"'s memory", limits.Memory, `\d+[mg]`)
		if s.Build.Dockerfile != "" {
			like(t, name+"'s memory", limits.Memory, "2g")
			like(t, name+"'s GOMEMLIMIT", s.Environment["GOMEMLIMIT"], strconv.Itoa(2<<10*9/10)+"MiB")
			like(t, name+"'s index", s.Environment["SLIPBOX_INDEX_BYTES"], strconv.Itoa(1<<30))
		}
	}
}

// Servers are pinned to a patch version, have a health check, and can be reached only by the
// other containers.
func TestComposePinsServers(t *testing.T) {
	t.Parallel()
	all := services(t)
	for name, image := range map[string]string{
		"postgres": `pgvector/pgvector:0\.([89]|\d\d)\.\d+-pg1[5-9]` + digest,
		"redis":    `redis:([789]|\d\d)\.\d+\.\d+(-\w+)?` + digest,
	} {
		s := all[name]
		like(t, name+"'s image", s.Image, image)
		if len(s.Healthcheck.Test) == 0 {
			t.Errorf("%s has no health check", name)
		}
		if len(s.Ports) > 0 {
			t.Errorf("%s publishes %v", name, s.Ports)
		}
	}
	for _, port := range all["gateway"].Ports {
		like(t, "the gateway's port", port, `127\.0\.0\.1:.*:8080`)
	}
}

// What watches starts only when it is asked for, is pinned, and can be reached from this machine only.
func TestComposeWatches(t *testing.T) {
	t.Parallel()
	all := services(t)
	for _, name := range []string{"grafana", "jaeger", "prometheus"} {
		s := all[name]
		like(t, name+"'s profile", strings.Join(s.Profiles, " "), "watch")
		like(t, name+"'s image", s.Image, `[a-z]+/[a-z]+:v?\d+\.\d+\.\d+`+digest)
		for _, port := range s.Ports {
			like(t, name+"'s port", port, `127\.0\.0\.1:.*`)
		}
	}
}

// Prometheus takes its settings, with the alerts, and asks gateway and worker at the ports that they listen at.
func TestComposePrometheus(t *testing.T) {
	t.Parallel()
	var c struct {
		Configs map[string]struct{ Content string }
	}
	must.Do(t, yaml.Unmarshal([]byte(read(t, "compose.yaml")), &c))
	all, settings := services(t), c.Configs["prometheus"].Content
	for name, addr := range map[string]string{"gateway": "SLIPBOX_ADDR", "worker": "SLIPBOX_WORKER_ADDR"} {
		_, port, _ := strings.Cut(all[name].Environment[addr], ":")
		if want := "{names: [" + name + "], type: A, port: " + port + "}"; !strings.Contains(settings, want) {
			t.Errorf("Prometheus does not ask %s", want)
		}
	}

	promtool := must.Get(exec.CommandContext(t.Context(), "../scripts/install-promtool.sh").Output())(t)
	dir := t.TempDir()
	settings = strings.ReplaceAll(settings, "/etc/prometheus/", dir+"/")
	for name, text := range map[string]string{"prometheus.yml": settings, "rules.yaml": read(t, "prometheus/rules.yaml")} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	check := exec.CommandContext(t.Context(), strings.TrimSpace(string(promtool)), "check", "config", filepath.Join(dir, "prometheus.yml"))
	if out, err := check.CombinedOutput(); err != nil || !strings.Contains(string(out), "rules found") {
		t.Errorf("promtool check config: %v\n%s", err, out)
	}
}

// No process starts before the servers are ready and the schema is migrated.
func TestComposeStartsInOrder(t *testing.T) {
	t.Parallel()
	all := services(t)
	for name, on := range map[string]map[string]string{
		"migrate": {"postgres": "service_healthy"},
		"gateway": {"postgres": "service_healthy", "redis": "service_healthy", "migrate": "service_completed_successfully"},
		"worker":  {"postgres": "service_healthy", "redis": "service_healthy", "migrate": "service_completed_successfully"},
	} {
		for other, condition := range on {
			like(t, name+" waits until "+other, all[name].DependsOn[other]["condition"], condition)
		}
	}
}

// Gateway and worker get the password of the serving role only, and no secret has a default.
func TestComposeSecrets(t *testing.T) {
	t.Parallel()
	all := services(t)
	url := func(role, password string) string {
		return `postgres://` + role + `:\$\{` + password + `:\?[^}]+\}@postgres:5432/slipbox\?sslmode=disable`
	}
	for _, name := range []string{"gateway", "worker"} {
		env := all[name].Environment
		like(t, name+"'s DATABASE_URL", env["DATABASE_URL"], url("slipbox_app", "SLIPBOX_APP_PASSWORD"))
		like(t, name+"'s REDIS_URL", env["REDIS_URL"], `redis://redis:6379/0`)
		like(t, name+"'s SLIPBOX_WRAPPING_KEY", env["SLIPBOX_WRAPPING_KEY"], `\$\{SLIPBOX_WRAPPING_KEY:\?[^}]+\}`)
		for key, value := range env {
			if strings.Contains(strings.ToLower(key+value), "owner") || strings.Contains(key, "MIGRATE") {
				t.Errorf("%s gets a secret of the owner in %s", name, key)
			}
		}
	}
	like(t, "MIGRATE_DATABASE_URL", all["migrate"].Environment["MIGRATE_DATABASE_URL"], url("slipbox_owner", "SLIPBOX_OWNER_PASSWORD"))

	for _, at := range regexp.MustCompile(`\$\{\w*(?:PASSWORD|WRAPPING_KEY)\b[^}]*\}`).FindAllString(read(t, "compose.yaml"), -1) {
		if !strings.Contains(at, ":?") {
			t.Errorf("%s must be required", at)
		}
	}
}

// The container of the database gets the variables from which roles.sql reads the passwords.
func TestComposeCreatesRoles(t *testing.T) {
	t.Parallel()
	postgres := services(t)["postgres"]
	if !slices.Contains(postgres.Volumes, "./roles.sql:/docker-entrypoint-initdb.d/roles.sql:ro") {
		t.Errorf("roles.sql is not among the volumes %v", postgres.Volumes)
	}
	variables := regexp.MustCompile(`(?m)^\\getenv \w+ (\w+)$`).FindAllStringSubmatch(read(t, "roles.sql"), -1)
	if len(variables) != 2 {
		t.Errorf("roles.sql reads %v, want two passwords", variables)
	}
	for _, v := range variables {
		if postgres.Environment[v[1]] == "" {
			t.Errorf("roles.sql reads %s, which is not in the container's environment", v[1])
		}
	}
}
