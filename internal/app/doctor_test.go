package app

import (
	"bytes"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// The start and doctor name the settings of a Postgres that loses what was acknowledged, and serve on it.
func TestUnsafePostgresIsNamed(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Auth.WrappingKey = db.URL, "a wrapping key that is long enough for all"
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	pg := must.Get(openServers(t.Context(), cfg, log, nil))(t)
	defer func() { _ = pg.Close() }()
	facts := must.Get(pg.Facts(t.Context()))(t)
	warnUnsafe(t.Context(), pg, log)
	found := doctorPostgres(t.Context(), cfg, slog.New(slog.DiscardHandler))[0]
	for _, name := range facts.Unsafe { // none, on servers of the developer's own
		if !strings.Contains(out.String(), name) || found.State != Note || !strings.Contains(found.Fix, name) {
			t.Errorf("%s is off; the log says %q, doctor %+v", name, out.String(), found)
		}
	}
	if len(facts.Unsafe) == 0 && (out.Len() > 0 || found.State != OK) {
		t.Errorf("the server is safe; the log says %q, doctor %+v", out.String(), found)
	}
}

// Doctor says whose word about a client's address is believed, and warns where a proxy is likely and none is named.
func TestDoctorNamesProxies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr    string
		trusted []string
		state   FindingState
		says    string
	}{
		{"127.0.0.1:8080", nil, OK, "none is trusted"},
		{"localhost:8080", nil, OK, "none is trusted"},
		{"0.0.0.0:8080", nil, Note, "none is trusted"},
		{":8080", nil, Note, "none is trusted"},
		{"0.0.0.0:8080", []string{"10.0.0.0/8"}, OK, "10.0.0.0/8"},
	} {
		cfg := config.Default()
		cfg.Addr, cfg.HTTP.TrustedProxies = c.addr, c.trusted
		if f := doctorProxies(cfg); f.State != c.state || !strings.Contains(f.Detail, c.says) || (f.State == Note) != strings.Contains(f.Fix, "SLIPBOX_TRUSTED_PROXIES") {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// Doctor tells who can connect by OAuth, and what is missing for the others.
func TestDoctorNamesThePublicAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr, public string
		state        FindingState
		says         string
	}{
		{"127.0.0.1:8080", "", OK, "from this machine only"},
		{"0.0.0.0:8080", "", Note, "from this machine only"},
		{"0.0.0.0:8080", "https://memory.example.com/", OK, "https://memory.example.com/mcp"},
	} {
		cfg := config.Default()
		cfg.Addr, cfg.HTTP.PublicURL = c.addr, c.public
		if f := doctorPublicURL(cfg); f.State != c.state || !strings.Contains(f.Detail, c.says) || (f.State == Note) != strings.Contains(f.Fix, "SLIPBOX_PUBLIC_URL") {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

// A store that cannot be opened for its owner, mode or mount is not damaged: doctor does not advise to replace it.
func TestDoctorNamesTheOwnerAndTheMount(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data = t.TempDir()
	if err := os.Mkdir(filepath.Join(cfg.Data, databaseFile), 0o500); err != nil { // as root, modes refuse nothing
		t.Fatal(err)
	}
	found := doctorStore(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if found.State != Bad || !strings.Contains(found.Fix, "owner") || !strings.Contains(found.Fix, "mount it writable") || strings.Contains(found.Fix, "restore") {
		t.Errorf("%+v", found)
	}
}

// What was erased may have left pieces in a file that is too large to be vacuumed by itself: the command is named, and does it.
func TestDoctorNamesTheVacuum(t *testing.T) {
	t.Parallel()
	cfg, log := config.Default(), slog.New(slog.DiscardHandler)
	cfg.Data, cfg.VacuumBelow = t.TempDir(), 4096
	st := must.Get(openEmbedded(t.Context(), cfg, time.Now, log, true))(t)
	op := grant.Operator("test")
	tn := must.Get(st.CreateTenant(t.Context(), op, tenant.Tenant{Name: "t"}))(t)
	must.Do(t, st.DeleteTenant(t.Context(), op, tn.ID))
	must.Do(t, st.Close())
	if found := doctorStore(t.Context(), cfg, log); found.State != Note || !strings.Contains(found.Fix, "gateway vacuum") {
		t.Errorf("%+v", found)
	}
	before, after, err := Vacuum(t.Context(), cfg, log)
	if err != nil || before == 0 || after == 0 {
		t.Errorf("%d, %d, %v", before, after, err)
	}
	if found := doctorStore(t.Context(), cfg, log); found.State != OK {
		t.Errorf("%+v", found)
	}
	cfg.DatabaseURL = "postgres://x"
	if _, _, err := Vacuum(t.Context(), cfg, log); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

// A store of an earlier build is whole: the server upgrades it.
func TestDoctorNamesTheUpgrade(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data = t.TempDir()
	path := filepath.Join(cfg.Data, databaseFile)
	st := must.Get(sqlite.Open(t.Context(), sqlite.Config{Path: path}, sqlite.Deps{Logger: slog.New(slog.DiscardHandler)}))(t)
	must.Do(t, st.Close())
	db := must.Get(sql.Open("sqlite", path))(t)
	must.Get(db.ExecContext(t.Context(), "DELETE FROM goose_db_version WHERE version_id > 1"))(t)
	must.Do(t, db.Close())
	found := doctorStore(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if found.State != Bad || !strings.Contains(found.Detail, "schema version 1, this build needs") || !strings.Contains(found.Fix, "gateway serve") || strings.Contains(found.Fix, "restore") {
		t.Errorf("%+v", found)
	}
}
