package auth

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// memStore implements the stores with maps, for tests of refusals. The engines
// have their own suite, and store_test.go tests this package over SQLite.
type memStore struct {
	GrantStore // over an engine only

	mu      sync.Mutex
	keys    map[keyID]Key
	tenants map[uuid.UUID]tenant.Tenant
	agents  map[keyID]tenant.Agent
	signing []SigningKey
	audits  []memory.AuditEntry
	fail    error                    // returned by every method when set
	reads   int                      // calls of KeyByID
	before  func(id uuid.UUID) error // called before an update, when set
}

func newMemStore() *memStore {
	return &memStore{keys: map[keyID]Key{}, tenants: map[uuid.UUID]tenant.Tenant{}, agents: map[keyID]tenant.Agent{}}
}

func (m *memStore) CreateKey(_ context.Context, s tenant.Scope, k Key, a memory.AuditEntry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k.Tenant = s.Tenant()
	m.keys[keyID{s.Tenant(), k.ID}] = k
	m.audits = append(m.audits, a)
	return m.fail
}

func (m *memStore) KeyByID(_ context.Context, tenantID, id uuid.UUID) (Key, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.fail != nil {
		return Key{}, m.fail
	}
	k, ok := m.keys[keyID{tenantID, id}]
	if !ok {
		return Key{}, fault.Missing("API key")
	}
	return k, nil
}

func (m *memStore) ListKeys(_ context.Context, s tenant.Scope, after uuid.UUID, limit int) ([]Key, error) {
	return m.list(s.Tenant(), after, limit), nil
}

func (m *memStore) list(tenantID, after uuid.UUID, limit int) []Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Key
	for at, k := range m.keys {
		if at.tenant == tenantID && slices.Compare(at.id[:], after[:]) > 0 {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b Key) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return out[:min(limit, len(out))]
}

func (m *memStore) update(at keyID, fn func(*Key) error) (Key, error) {
	if m.before != nil {
		if err := m.before(at.id); err != nil {
			return Key{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.keys[at]
	if !ok {
		return Key{}, fault.Missing("API key")
	}
	if err := fn(&k); err != nil {
		return Key{}, err
	}
	m.keys[at] = k
	return k, nil
}

func (m *memStore) UpdateKey(_ context.Context, s tenant.Scope, id uuid.UUID, _ memory.AuditEntry, fn func(*Key) error) (Key, error) {
	return m.update(keyID{s.Tenant(), id}, fn)
}

func (m *memStore) CreateOperatorKey(_ context.Context, _ tenant.Operator, k Key) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keys[keyID{uuid.Nil, k.ID}] = k
	return nil
}

func (m *memStore) ListOperatorKeys(_ context.Context, _ tenant.Operator, after uuid.UUID, limit int) ([]Key, error) {
	return m.list(uuid.Nil, after, limit), nil
}

func (m *memStore) UpdateOperatorKey(_ context.Context, _ tenant.Operator, id uuid.UUID, fn func(*Key) error) (Key, error) {
	return m.update(keyID{uuid.Nil, id}, fn)
}

func (m *memStore) SigningKeys(context.Context) ([]SigningKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.signing), m.fail
}

func (m *memStore) AddSigningKey(_ context.Context, k SigningKey, sawNewest string, verifyFor time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.signing) > 0 && m.signing[0].KID != sawNewest {
		return nil
	}
	for i := range m.signing {
		if old := &m.signing[i]; old.RetiresAt.IsZero() {
			old.RetiresAt, old.ExpiresAt = k.CreatedAt, k.CreatedAt.Add(verifyFor)
		}
	}
	m.signing = slices.Insert(m.signing, 0, k)
	return nil
}

func (m *memStore) TenantByID(_ context.Context, id uuid.UUID) (tenant.Tenant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tenants[id]
	if !ok {
		return tenant.Tenant{}, fault.Missing("tenant")
	}
	return t, nil
}

func (m *memStore) EnsureAgent(ctx context.Context, s tenant.Scope, name string) (tenant.Agent, error) {
	if a, err := m.AgentByRef(ctx, s, name); err == nil {
		return a, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	a := tenant.Agent{ID: uuid.Must(uuid.NewV7()), Name: name}
	m.agents[keyID{s.Tenant(), a.ID}] = a
	return a, nil
}

func (m *memStore) AgentByRef(_ context.Context, s tenant.Scope, ref string) (tenant.Agent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at, a := range m.agents {
		if at.tenant == s.Tenant() && (a.Name == ref || a.ID.String() == ref) {
			return a, nil
		}
	}
	return tenant.Agent{}, fault.Missing("agent")
}

// fixture is a Service over a memStore, with one tenant and a manual clock.
type fixture struct {
	*Service
	*clock.Clock
	store  *memStore
	tenant uuid.UUID
	admin  tenant.Scope
	cfg    Config
}

func newFixture(tb testing.TB) *fixture {
	tb.Helper()
	b := &fixture{store: newMemStore(), tenant: uuid.Must(uuid.NewV7()), Clock: clock.New(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))}
	b.cfg = Config{Secret: []byte("a secret of thirty-two bytes, or more")}
	b.store.tenants[b.tenant] = tenant.Tenant{ID: b.tenant, Name: "acme", State: tenant.Active}
	b.admin = grant.Scope(b.tenant, uuid.Nil, "test", tenant.AllPermissions()...)
	b.Service = b.newService(tb, b.cfg)
	return b
}

// newService returns the Service of a second process over the same store.
func (b *fixture) newService(tb testing.TB, cfg Config) *Service {
	tb.Helper()
	s := must.Get(New(Deps{
		Keys: b.store, SigningKeys: b.store, Grants: b.store, Directory: b.store, Agents: b.store, Clock: b.Now, Logger: slog.New(slog.DiscardHandler),
	}, cfg))(tb)
	return s
}

func (b *fixture) key(tb testing.TB, n NewKey) CreatedKey {
	tb.Helper()
	k := must.Get(b.Keys.Create(tb.Context(), b.admin, n))(tb)
	return k
}

// tamper changes the row of a key.
func (b *fixture) tamper(id uuid.UUID, change func(*Key)) {
	at := keyID{b.tenant, id}
	k := b.store.keys[at]
	change(&k)
	b.store.keys[at] = k
}

func (b *fixture) principal(tb testing.TB, credential string) Principal {
	tb.Helper()
	p := must.Get(b.Authenticator.Authenticate(tb.Context(), credential))(tb)
	return p
}

func (b *fixture) token(tb testing.TB, key string, r TokenRequest) Token {
	tb.Helper()
	tok := must.Get(b.Tokens.Exchange(tb.Context(), b.principal(tb, key), r))(tb)
	return tok
}

func (b *fixture) wantRefused(t *testing.T, credential string) *fault.Error {
	t.Helper()
	p, err := b.Authenticator.Authenticate(t.Context(), credential)
	return checkRefusal(t, p, err)
}

func checkRefusal(t *testing.T, p Principal, err error) *fault.Error {
	t.Helper()
	wantCode(t, err, fault.Unauthenticated)
	if !p.Scope.IsZero() || !p.Operator.IsZero() || p.KeyID != uuid.Nil || len(p.Permissions()) != 0 {
		t.Fatalf("a refused credential has a principal: %+v", p)
	}
	return err.(*fault.Error) //nolint:errorlint // the outermost error is wanted
}

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Fatalf("error is %v, want code %s", err, code)
	}
}
