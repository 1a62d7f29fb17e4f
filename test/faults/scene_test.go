package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// scene is a Postgres, a Redis, a model and the processes of the product, all for this test and in
// one folder.
type scene struct {
	t    *testing.T
	book *book
	dir  string
	bin  string   // of Postgres and Redis
	own  []string // environment of scripts/services.sh
	env  []string // environment of the product

	pgPort, redisPort int
	model             *llmtest.Server
	gateways, workers []*process
}

const servicesScript = "../../scripts/services.sh"

// newScene builds the binaries, starts the servers and migrates the database.
func newScene(t *testing.T, b *book) *scene {
	t.Helper()
	s := &scene{t: t, book: b, dir: folder(t), pgPort: freePort(t), redisPort: freePort(t)}
	s.own = append(cleanEnviron(),
		"SLIPBOX_SERVICES_DIR="+filepath.Join(s.dir, "services"), "SLIPBOX_PG_FSYNC=on",
		fmt.Sprint("SLIPBOX_PG_PORT=", s.pgPort), fmt.Sprint("SLIPBOX_REDIS_PORT=", s.redisPort))
	s.cleanUp()
	for _, sub := range []string{"run", "log", "bin"} {
		must.Do(t, os.Mkdir(filepath.Join(s.dir, sub), 0o755))
	}
	bin, err := s.services("bindir")
	if err == nil {
		_, err = s.services("up")
	}
	if err != nil && os.Getenv("SLIPBOX_REQUIRE_SERVICES") != "1" {
		t.Skipf("no Postgres and Redis: %v", err)
	}
	s.must(err)
	s.bin = strings.TrimSpace(bin)
	s.build()
	s.model = llmtest.New(t)
	s.model.EmbedDim(embedDim)
	s.settings()
	s.gateway("migrate", "up")
	return s
}

// folder creates the folder of the scene. It is not a t.TempDir: Postgres does not run as root and
// must be able to read it.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "slipbox-faults-") //nolint:usetesting // see above
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// cleanUp starts clean.sh, which stops and removes everything when this process has ended or the
// test is over.
func (s *scene) cleanUp() {
	cmd := exec.Command("./clean.sh", s.dir)
	cmd.Env = s.own
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C must not stop it
	wait, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	s.must(err)
	s.t.Cleanup(func() {
		if to := os.Getenv("SLIPBOX_FAULT_LOGS"); to != "" {
			if err := os.CopyFS(filepath.Join(to, filepath.Base(s.dir)), os.DirFS(filepath.Join(s.dir, "log"))); err != nil {
				s.t.Error(err)
			}
		}
		_ = wait.Close()
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("clean up %s: %v", s.dir, err)
		}
	})
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// services runs the script that manages Postgres and Redis.
func (s *scene) services(args ...string) (stdout string, err error) {
	return output(s.own, servicesScript, args...)
}

// build copies the binaries of SLIPBOX_BINARIES into the folder of the scene, or builds them when it
// is not set.
func (s *scene) build() {
	race := os.Getenv("SLIPBOX_FAULT_RACE") == "1"
	if built := os.Getenv("SLIPBOX_BINARIES"); built != "" && !race {
		s.must(os.CopyFS(filepath.Join(s.dir, "bin"), os.DirFS(built)))
		return
	}
	args := []string{"build"}
	if race {
		args = append(args, "-race")
	}
	args = append(args, "-o", filepath.Join(s.dir, "bin")+"/", "../../cmd/gateway", "../../cmd/worker")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		s.t.Fatalf("go build: %v\n%s", err, out)
	}
}

// embedDim is the dimension of the vectors of the model server.
const embedDim = 64

// settings returns the settings of all processes. Caches are small, so that they fill soon and later
// growth is a leak. The circuit breaker opens early, so that a run has many outages.
func (s *scene) settings() {
	s.env = append(cleanEnviron(),
		s.url("DATABASE_URL", "slipbox_app"), s.url("MIGRATE_DATABASE_URL", "slipbox_owner"),
		fmt.Sprintf("REDIS_URL=redis://default:%s@127.0.0.1:%d/0", password, s.redisPort),
		"SLIPBOX_WRAPPING_KEY=a wrapping key that all of them share",
		"SLIPBOX_LLM=openai", "SLIPBOX_LLM_MODEL=fake", "SLIPBOX_LLM_BASE_URL="+s.model.URL(),
		"SLIPBOX_LLM_TIMEOUT=2s", "SLIPBOX_LLM_MAX_TRIES=2", "SLIPBOX_LLM_RETRY_WAIT=100ms", "SLIPBOX_LLM_BREAKER_PAUSE=1s",
		"SLIPBOX_EMBEDDER=openai", "SLIPBOX_EMBED_MODEL=fake-embed", fmt.Sprint("SLIPBOX_EMBED_DIM=", embedDim), "SLIPBOX_EMBED_CACHE=256",
		"SLIPBOX_DATABASE_CONNECTIONS=12", "SLIPBOX_INDEX_BYTES=4194304", "SLIPBOX_CACHE_BYTES=1048576",
		"SLIPBOX_JOB_SWEEP_INTERVAL=5s", "SLIPBOX_LOG_LEVEL=warn")
}

// password is the one in scripts/services.sh. It is not a secret.
const password = "dev-only"

func (s *scene) url(name, role string) string {
	return fmt.Sprintf("%s=postgres://%s:%s@127.0.0.1:%d/slipbox?sslmode=disable", name, role, password, s.pgPort)
}

// gateway runs a command of the gateway, which must succeed.
func (s *scene) gateway(args ...string) string {
	s.t.Helper()
	out := must.Get(output(s.env, filepath.Join(s.dir, "bin", "gateway"), args...))(s.t)
	return out
}

// key creates a tenant and returns a key.
func (s *scene) key(tenant string) string {
	s.t.Helper()
	s.gateway("tenant", "create", tenant)
	var k struct {
		Key string `json:"key"`
	}
	s.must(json.Unmarshal([]byte(s.gateway("key", "create", "--tenant", tenant, "--json")), &k))
	return k.Key
}

// query returns the rows of a statement, as the owner without row-level security.
func query[T any](s *scene, statement string) ([]T, error) {
	out, err := s.psql("SELECT coalesce(json_agg(r), '[]') FROM (" + statement + ") r")
	if err != nil {
		return nil, err
	}
	var rows []T
	err = json.Unmarshal([]byte(out), &rows)
	return rows, err
}

func (s *scene) psql(statement string) (string, error) {
	return output(cleanEnviron(), filepath.Join(s.bin, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1",
		"-h", filepath.Join(s.dir, "services", "sockets"), "-p", strconv.Itoa(s.pgPort), "-U", "postgres", "-d", "slipbox", "-c", statement)
}

func (s *scene) redisCLI(args ...string) error {
	_, err := output(append(cleanEnviron(), "REDISCLI_AUTH="+password), filepath.Join(s.bin, "redis-cli"), append([]string{"-p", strconv.Itoa(s.redisPort)}, args...)...)
	return err
}

// serverPID reads the process id file of a server.
func (s *scene) serverPID(file string) (int, error) {
	raw, err := os.ReadFile(filepath.Join(s.dir, "services", file))
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	return strconv.Atoi(strings.TrimSpace(line))
}

// output runs a command and returns its output. The error contains its stderr.
func output(env []string, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, complaint strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &out, &complaint, time.Second
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out.String(), complaint.String())
	}
	return out.String(), nil
}

var settingName = regexp.MustCompile(`^(SLIPBOX_|DATABASE_URL|MIGRATE_DATABASE_URL|REDIS_URL|OPENAI_|OTEL_|PG)`)

// cleanEnviron returns the environment without settings of slipbox, except for the paths of tools.
func cleanEnviron() []string {
	var out []string
	for _, kv := range os.Environ() {
		if !settingName.MatchString(kv) || strings.HasPrefix(kv, "SLIPBOX_TOOLS=") {
			out = append(out, kv)
		}
	}
	return out
}

// freePort returns a free port below the range for client sockets, so that it is free again after
// each restart.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + rand.IntN(10_000)
		if l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}
