package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

func newGuard(t *testing.T, clock func() time.Time, cfg GuardConfig) *Guard {
	t.Helper()
	g := must.Get(NewGuard(clock, slog.New(slog.DiscardHandler), cfg))(t)
	return g
}

// wrongKey returns the text of a key with a secret that nobody has.
func wrongKey(t *testing.T, tenantID, id uuid.UUID) string {
	t.Helper()
	k := newKeyText("live", tenantID, id)
	return k.text()
}

var (
	near = netip.MustParseAddr("192.0.2.1")
	far  = netip.MustParseAddr("198.51.100.7")
)

// try does what a gateway does with a credential.
func try(t *testing.T, g *Guard, s *Service, credential string, from netip.Addr) error {
	t.Helper()
	_, err := g.Authenticate(t.Context(), s.Authenticator.Authenticate, credential, from)
	return err
}

// refusing is a Verifier that knows no credential.
func refusing(context.Context, string) (Principal, error) {
	return Principal{}, fault.New(fault.Unauthenticated, "no")
}

// Many wrong credentials from one address are told to wait, while right ones of that address are accepted, also those
// that were never used before.
func TestGuardLimitsAnAddress(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	g := newGuard(t, b.Now, GuardConfig{PerAddress: 60})
	used, fresh := b.key(t, NewKey{Name: "used"}), b.key(t, NewKey{Name: "fresh"})
	must.Do(t, try(t, g, b.Service, used.Text, near))
	refused := map[fault.Code]int{}
	var wait time.Duration
	for i := range 1500 {
		wrong := wrongKey(t, b.tenant, uuid.New())
		if i%2 == 0 {
			wrong = fmt.Sprintf("e30.%d.AAAA", i) // a forged token
		}
		err := try(t, g, b.Service, wrong, near)
		refused[fault.CodeOf(err)]++
		if f, ok := errors.AsType[*fault.Error](err); ok {
			wait = f.RetryAfter
		}
	}
	if refused[fault.Unauthenticated] != 60 || refused[fault.RateLimited] != 1440 || wait != time.Second {
		t.Errorf("refused %v, with a wait of %s", refused, wait)
	}
	p := must.Get(b.Authenticator.Authenticate(t.Context(), b.key(t, NewKey{Name: "exchanged"}).Text))(t)
	token := must.Get(b.Tokens.Exchange(t.Context(), p, TokenRequest{}))(t)
	for name, credential := range map[string]string{"used key": used.Text, "fresh key": fresh.Text, "fresh token": token.AccessToken} {
		if err := try(t, g, b.Service, credential, near); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.Pass(wait)
	if err := try(t, g, b.Service, wrongKey(t, b.tenant, uuid.New()), near); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("after the wait: %v", err)
	}
}

// The secrets of one key cannot be guessed from many addresses, and the client with the right one continues.
func TestGuardLimitsAKey(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	g := newGuard(t, b.Now, GuardConfig{PerKey: 10})
	k := b.key(t, NewKey{Name: "k"})
	must.Do(t, try(t, g, b.Service, k.Text, far))
	limited := 0
	for i := range 30 {
		from := netip.AddrFrom4([4]byte{10, 0, byte(i), 1})
		if err := try(t, g, b.Service, wrongKey(t, b.tenant, k.ID), from); fault.Is(err, fault.RateLimited) {
			limited++
		}
	}
	if limited != 20 {
		t.Errorf("%d of 30 were limited", limited)
	}
	if err := try(t, g, b.Service, k.Text, far); err != nil {
		t.Errorf("the right secret: %v", err)
	}
	if err := try(t, g, b.Service, wrongKey(t, b.tenant, uuid.New()), near); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("another key: %v", err)
	}
}

// A client that repeats one old credential is told so each time, reads the store once, and takes
// nothing from others at its address.
func TestGuardCountsACredentialOnce(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	g := newGuard(t, b.Now, GuardConfig{PerAddress: 2, PerKey: 2})
	old := wrongKey(t, b.tenant, uuid.New())
	before := b.store.reads
	for range 100 {
		if err := try(t, g, b.Service, old, near); !fault.Is(err, fault.Unauthenticated) {
			t.Fatal(err)
		}
	}
	if n := b.store.reads - before; n != 1 {
		t.Errorf("%d reads of the store", n)
	}
	k := b.key(t, NewKey{Name: "k"})
	if err := try(t, g, b.Service, k.Text, near); err != nil {
		t.Errorf("a right key at the address: %v", err)
	}
	// A credential that is refused after it was accepted counts, and is answered as before.
	must.Get(b.Keys.Revoke(t.Context(), b.admin, k.ID))(t)
	if err := try(t, g, b.Service, k.Text, near); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a revoked key: %v", err)
	}
	if err := try(t, g, b.Service, "nonsense", near); !fault.Is(err, fault.RateLimited) {
		t.Errorf("the third refusal: %v", err)
	}
	// A failure of the store says nothing about a credential.
	down := fault.New(fault.Unavailable, "down")
	for range 5 {
		failing := func(context.Context, string) (Principal, error) { return Principal{}, down }
		if _, err := g.Authenticate(t.Context(), failing, "other", far); !errors.Is(err, down) {
			t.Error(err)
		}
	}
	if _, err := g.Authenticate(t.Context(), refusing, "more", far); !fault.Is(err, fault.Unauthenticated) {
		t.Error(err)
	}
}

// An unknown id is looked up again after a short time.
func TestUnknownIDsAreRememberedBriefly(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := uuid.New()
	ask := func(want int) {
		t.Helper()
		before := b.store.reads
		for range 50 {
			b.wantRefused(t, wrongKey(t, b.tenant, id)) // each with another secret
		}
		if n := b.store.reads - before; n != want {
			t.Errorf("%d reads of the store, want %d", n, want)
		}
	}
	ask(1)
	ask(0)
	b.Pass(MaxStatusTTL)
	ask(1)
}

// Beyond the budget of an address its unknown keys are looked up one at a time, and a key that waits too long is told so.
func TestGuardLooksUpOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGuard(t, time.Now, GuardConfig{PerAddress: 1})
		g.note("a", near, fault.New(fault.Unauthenticated, "no"))
		var mu sync.Mutex
		atOnce, most, asked := 0, 0, 0
		slow := func(context.Context, string) (Principal, error) {
			mu.Lock()
			atOnce++
			asked++
			most = max(most, atOnce)
			mu.Unlock()
			<-time.After(lookupWait / 4) // of the test's own clock
			mu.Lock()
			atOnce--
			mu.Unlock()
			return Principal{}, nil
		}
		var accepted, limited int
		var all sync.WaitGroup
		for range 20 {
			key := wrongKey(t, uuid.New(), uuid.New())
			all.Go(func() {
				_, err := g.Authenticate(t.Context(), slow, key, near)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					accepted++
				case fault.Is(err, fault.RateLimited):
					limited++
				}
			})
		}
		all.Wait()
		if most != 1 || accepted != asked || accepted < 4 || accepted+limited != 20 {
			t.Errorf("%d concurrently, %d asked, %d accepted, %d limited", most, asked, accepted, limited)
		}
	})
}

// The memory of a Guard does not grow with addresses and credentials.
func TestGuardIsBounded(t *testing.T) {
	t.Parallel()
	g := newGuard(t, time.Now, GuardConfig{PerAddress: 1, PerKey: 1})
	for i := range 3 * maxGuarded {
		g.note(fmt.Sprint(i), netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), fault.New(fault.Unauthenticated, "no"))
	}
	g.addresses.CleanUp()
	g.refused.CleanUp()
	if a, r := g.addresses.EstimatedSize(), g.refused.EstimatedSize(); a > maxGuarded || r > maxGuarded {
		t.Errorf("%d addresses, %d credentials", a, r)
	}
}

func TestGuardSites(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::ffff:1", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"fe80::1%eth0", "fe80::2%eth1", true},
	} {
		if same := site(netip.MustParseAddr(tc.a)) == site(netip.MustParseAddr(tc.b)); same != tc.same {
			t.Errorf("%s and %s: one site: %v", tc.a, tc.b, same)
		}
	}
	if site(netip.Addr{}) != (netip.Prefix{}) {
		t.Error("no address has a site")
	}
}

// Refusals are reported by one line per minute, with their number.
func TestGuardReportsOncePerMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &lockedLog{}
		g := must.Get(NewGuard(time.Now, slog.New(slog.NewTextHandler(log, nil)), GuardConfig{PerAddress: 1}))(t)
		g.note("a", near, fault.New(fault.Unauthenticated, "no"))
		for i := range 100 {
			if _, err := g.Authenticate(t.Context(), refusing, fmt.Sprint(i), near); !fault.Is(err, fault.RateLimited) {
				t.Fatal(err)
			}
		}
		if text := log.String(); text != "" {
			t.Errorf("too early: %s", text)
		}
		<-time.After(3 * time.Minute) // of the test's own clock
		synctest.Wait()
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "requests=100") {
			t.Errorf("log: %s", text)
		}
	})
}

// lockedLog is a buffer for loggers of several goroutines.
type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
