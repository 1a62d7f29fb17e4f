package postgres_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
)

// instance is a Postgres beside the shared one. The test is its superuser.
type instance struct {
	t    *testing.T
	dir  string
	env  []string
	bin  string
	port string
}

// newInstance starts it, with more environment of scripts/services.sh.
func newInstance(t *testing.T, more ...string) *instance {
	t.Helper()
	// Postgres does not run as root, and must be able to reach its folder.
	dir, err := os.MkdirTemp("/var/tmp", "slipbox-roles-") //nolint:usetesting // see above
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	port := commandtest.FreePort(t)
	i := &instance{t: t, dir: dir, port: port}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasSuffix(name, "DATABASE_URL") && name != "REDIS_URL" && !strings.HasPrefix(name, "PG") {
			i.env = append(i.env, kv)
		}
	}
	i.env = append(i.env, "SLIPBOX_SERVICES_DIR="+dir+"/services", "SLIPBOX_PG_PORT="+port, "SLIPBOX_REDIS_PORT=1")
	i.env = append(i.env, more...)
	t.Cleanup(func() {
		i.services("down", "replica", "postgres")
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	i.services("up", "postgres")
	i.bin = strings.TrimSpace(i.services("bindir"))
	return i
}

func (i *instance) services(args ...string) string {
	i.t.Helper()
	return i.run("../../../scripts/services.sh", args...)
}

// psql runs a statement as the superuser, who connects by the socket.
func (i *instance) psql(statements string) {
	i.t.Helper()
	i.psqlAt(i.port, statements)
}

// psqlAt is psql at another server of the folder.
func (i *instance) psqlAt(port, statements string) {
	i.t.Helper()
	i.run(filepath.Join(i.bin, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", filepath.Join(i.dir, "services", "sockets"),
		"-p", port, "-U", "postgres", "-d", "slipbox", "-c", statements)
}

// url is the address that scripts/services.sh uses; its password protects nothing.
func (i *instance) url(role string) string {
	return fmt.Sprintf("postgres://%s:dev-only@127.0.0.1:%s/slipbox?sslmode=disable", role, i.port)
}

func (i *instance) run(name string, args ...string) string {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, complaint strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = i.env, &out, &complaint, time.Second
	if err := cmd.Run(); err != nil {
		i.t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, &out, &complaint)
	}
	return out.String()
}
