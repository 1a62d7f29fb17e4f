package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// GuardConfig configures a Guard.
type GuardConfig struct {
	// PerAddress is how many different credentials a network address may have refused per minute, with
	// a burst of as many; 0: any number. An IPv6 address stands for its /64.
	PerAddress int
	// PerKey is the same for the credentials that name one key, from all addresses.
	PerKey int
}

// Bounds of a Guard's memory, which no number of addresses or credentials exceeds.
const (
	// maxGuarded is how many addresses, keys and credentials are tracked, each; about 5 MB in all.
	// Those that were used least are dropped first.
	maxGuarded = 10_000
	// guardReport is the time between two lines of the log about refusals.
	guardReport = time.Minute
	// ipv6Site is the part of an IPv6 address that one client cannot choose (RFC 6177).
	ipv6Site = 64
)

// digest identifies a credential without keeping it.
type digest [sha256.Size]byte

// lookupWait is how long a key waits for its look-up, at an address whose budget is used up.
const lookupWait = time.Second

// Guard bounds what refused credentials cost. It counts refusals by the address of the client and by the
// key that a credential names. Credentials that were accepted, and those that were refused and counted
// already, are not counted.
//
// Many clients may share an address, so a right credential is accepted however many wrong ones came from
// there: the signature of a token is verified without a read of the store, and keys that are not known yet
// are looked up one at a time. What is refused then is RateLimited. A nil Guard counts nothing. It is safe
// for concurrent use.
type Guard struct {
	clock memory.Clock
	log   *slog.Logger

	perAddress, perKey int
	addresses          *otter.Cache[netip.Prefix, *budget]
	keys               *otter.Cache[uuid.UUID, *budget]
	registrations      *otter.Cache[netip.Prefix, *budget]
	accepted, refused  *otter.Cache[digest, struct{}]

	mu      sync.Mutex
	limited int // since the last report; above 0: a report is scheduled
}

// budget is how many refusals an address or a key has left.
type budget struct {
	refusals *rate.Limiter
	lookup   chan struct{} // holds the look-up that is made when none are left
}

// NewGuard returns a Guard. It starts no goroutine before the first refusal.
func NewGuard(clock memory.Clock, log *slog.Logger, cfg GuardConfig) (*Guard, error) {
	if clock == nil || log == nil {
		return nil, errors.New("auth: a Guard needs a clock and a logger")
	}
	if cfg.PerAddress < 0 || cfg.PerKey < 0 {
		return nil, errors.New("auth: the limits of a Guard must not be negative")
	}
	g := &Guard{clock: clock, log: log, perAddress: cfg.PerAddress, perKey: cfg.PerKey}
	var errs [5]error
	g.addresses, errs[0] = bounded[netip.Prefix, *budget]()
	g.keys, errs[1] = bounded[uuid.UUID, *budget]()
	g.accepted, errs[2] = bounded[digest, struct{}]()
	g.refused, errs[3] = bounded[digest, struct{}]()
	g.registrations, errs[4] = bounded[netip.Prefix, *budget]()
	return g, errors.Join(errs[:]...)
}

func bounded[K comparable, V any]() (*otter.Cache[K, V], error) {
	c, err := otter.New(&otter.Options[K, V]{MaximumSize: maxGuarded})
	if err != nil {
		return nil, fmt.Errorf("auth: make a bounded cache: %w", err)
	}
	return c, nil
}

// A Verifier is Authenticator.Authenticate.
type Verifier func(ctx context.Context, credential string) (Principal, error)

// Authenticate verifies a credential. It is RateLimited instead of Unauthenticated when the address,
// or the key that the credential names, had too many credentials refused, and when too many keys of the
// address wait for their look-up.
func (g *Guard) Authenticate(ctx context.Context, verify Verifier, credential string, from netip.Addr) (Principal, error) {
	if g == nil {
		return verify(ctx, credential)
	}
	at, wait := g.untilBudget(credential, from)
	if at != nil {
		select {
		case at.lookup <- struct{}{}:
			defer func() { <-at.lookup }()
		case <-time.After(lookupWait):
			return Principal{}, g.refuse(wait)
		case <-ctx.Done():
			return Principal{}, fault.Wrap(ctx.Err(), fault.Unavailable, "stopped while waiting for the look-up of a key")
		}
	}
	p, err := verify(ctx, credential)
	g.note(credential, from, err)
	if wait > 0 && fault.Is(err, fault.Unauthenticated) {
		return Principal{}, g.refuse(wait)
	}
	return p, err
}

// registrationsPerAddress is how many programs a network address registers per minute. Nothing of them is kept.
const registrationsPerAddress = 60

// AdmitRegistration counts the registration of a program. It is RateLimited when its address has made too many.
func (g *Guard) AdmitRegistration(from netip.Addr) error {
	if g == nil {
		return nil
	}
	now := g.clock()
	if b, ok := g.registrations.GetIfPresent(site(from)); ok {
		if wait := untilToken(b.refusals, now); wait > 0 {
			return &fault.Error{Code: fault.RateLimited, RetryAfter: wait, Message: "too many programs were registered lately; try again later"}
		}
	}
	count(g.registrations, site(from), registrationsPerAddress, now)
	return nil
}

// untilBudget returns how long the address or the key has no refusal left; 0: it has, or the credential is
// known. at is where a key waits for its look-up; nil: it does not.
func (g *Guard) untilBudget(credential string, from netip.Addr) (at *budget, wait time.Duration) {
	d := digest(sha256.Sum256([]byte(credential)))
	if _, ok := g.accepted.GetIfPresent(d); ok {
		return nil, 0
	}
	if _, ok := g.refused.GetIfPresent(d); ok {
		return nil, 0
	}
	now, id := g.clock(), namedKey(credential)
	if b, ok := g.addresses.GetIfPresent(site(from)); ok {
		if wait = untilToken(b.refusals, now); wait > 0 && id != uuid.Nil {
			at = b
		}
	}
	if b, ok := g.keys.GetIfPresent(id); ok && id != uuid.Nil {
		wait = max(wait, untilToken(b.refusals, now))
	}
	return at, wait
}

// refuse returns the error of a credential that is refused while there is no budget.
func (g *Guard) refuse(wait time.Duration) error {
	g.report()
	return &fault.Error{
		Code: fault.RateLimited, RetryAfter: wait,
		Message: "too many credentials were refused lately; check the key, and try again later",
	}
}

// note records the outcome of verifying a credential.
func (g *Guard) note(credential string, from netip.Addr, outcome error) {
	if outcome != nil && !fault.Is(outcome, fault.Unauthenticated) {
		return
	}
	d := digest(sha256.Sum256([]byte(credential)))
	if outcome == nil {
		g.accepted.SetIfAbsent(d, struct{}{})
		return
	}
	g.accepted.Invalidate(d)
	if _, first := g.refused.SetIfAbsent(d, struct{}{}); !first {
		return
	}
	now := g.clock()
	count(g.addresses, site(from), g.perAddress, now)
	if id := namedKey(credential); id != uuid.Nil {
		count(g.keys, id, g.perKey, now)
	}
}

// count takes a refusal of the budget of k.
func count[K comparable](budgets *otter.Cache[K, *budget], k K, perMinute int, now time.Time) {
	if perMinute == 0 {
		return
	}
	b, ok := budgets.GetIfPresent(k)
	if !ok {
		b, _ = budgets.SetIfAbsent(k, &budget{rate.NewLimiter(rate.Limit(perMinute)/60, perMinute), make(chan struct{}, 1)})
	}
	b.refusals.AllowN(now, 1)
}

// untilToken returns how long a limiter has no token; 0: it has one.
func untilToken(l *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(l.Limit()) * float64(time.Second))
}

// site returns the network that one client controls.
func site(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = ipv6Site
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // without an address, such as over a socket
	}
	return p
}

// namedKey returns the id of the key that a credential names; zero: none. Of a token only its issuer
// could tell.
func namedKey(credential string) uuid.UUID {
	if len(credential) > maxCredential || !strings.HasPrefix(credential, keyPrefix+"_") {
		return uuid.Nil
	}
	k, err := parseKeyText(credential)
	if err != nil {
		return uuid.Nil
	}
	return k.id
}

// report counts a refusal, and writes one line about all of them when a minute has passed.
func (g *Guard) report() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limited++; g.limited > 1 {
		return
	}
	time.AfterFunc(guardReport, func() {
		g.mu.Lock()
		n := g.limited
		g.limited = 0
		g.mu.Unlock()
		g.log.LogAttrs(context.Background(), slog.LevelWarn, "requests were refused before authentication: too many wrong credentials",
			slog.Int("requests", n), slog.Duration("within", guardReport))
	})
}
