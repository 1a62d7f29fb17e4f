package postgres_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// CheckWrites says that a server is read-only, and that a write has met a full disk.
func TestCheckWrites(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	open := func(address string) *postgres.Store {
		s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: address}, postgres.Deps{}))(t)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	s := open(db.URL)
	must.Do(t, s.CheckWrites(t.Context()))
	if err := s.Translate(&pgconn.PgError{Code: "53100", Message: "could not extend file"}); !fault.Is(err, fault.StorageFull) {
		t.Errorf("a full disk is %v", err)
	}
	says(t, s.CheckWrites(t.Context()), fault.StorageFull, "full disk")

	readOnly := open(changed(t, db.URL, func(u *url.URL) {
		q := u.Query()
		q.Set("default_transaction_read_only", "on")
		u.RawQuery = q.Encode()
	}))
	says(t, readOnly.CheckWrites(t.Context()), fault.Unavailable, "read-only")
	_, err := readOnly.CreateTenant(context.WithoutCancel(t.Context()), grant.Operator("test"), tenant.Tenant{Name: "t"})
	says(t, err, fault.Unavailable, "read-only")
}
