package cache

import (
	"context"
	"crypto/x509"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// checkTimeout bounds a check; it is on no request's way.
const checkTimeout = time.Second

// oldest is the first major version of Redis that is served.
const oldest = 7

// Check asks the server directly, whatever the breaker says. It is Unavailable, with
// the fix in the message, when the server cannot be reached, refuses the password, or is older than 7. A
// nil Redis is well.
func (r *Redis) Check(ctx context.Context) error {
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	info, err := r.info(ctx, "server")
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "redis: %s", explain(err))
	}
	return tooOld(info["redis_version"])
}

// tooOld refuses a version before the oldest; one that is not told is well.
func tooOld(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldest {
		return fault.New(fault.Unavailable, "redis: version %s is too old, upgrade it to %d or newer", version, oldest)
	}
	return nil
}

// greet logs at a start what an operator should know of the server.
func (r *Redis) greet(ctx context.Context) {
	if err := r.Check(ctx); err != nil {
		if fault.Is(err, fault.Unavailable) && !isNetwork(err) {
			r.log.ErrorContext(ctx, "redis cannot be used as it is", "error", err)
		}
		var f *fault.Error
		if errors.As(err, &f) && f.Err != nil {
			r.mark(ctx, false, f.Err)
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	memory, err := r.info(ctx, "memory")
	if err != nil {
		return // it was there a moment ago, and the guard will say more
	}
	if policy := memory["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") {
		r.log.WarnContext(ctx, "redis may drop wake-ups of workers when its memory is full; jobs are not lost, but start up to 2 s later: set maxmemory-policy to volatile-lru or noeviction",
			"policy", policy)
	}
}

// info reads a section of the server's account of itself. Empty when the user may not ask.
func (r *Redis) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := r.client.Info(ctx, section).Result()
	if hasReply(err, "NOPERM") {
		return map[string]string{}, r.client.Ping(ctx).Err()
	}
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m, nil
}

// isNetwork tells that no server answered at all.
func isNetwork(err error) bool {
	var e *fault.Error
	if !errors.As(err, &e) || e.Err == nil {
		return false
	}
	var reply redis.Error
	return !errors.As(e.Err, &reply)
}

func hasReply(err error, words ...string) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	for _, word := range words {
		if strings.HasPrefix(reply.Error(), word) {
			return true
		}
	}
	return false
}

// explain says what to do about a failure. What the client says names the address, never the password.
func explain(err error) string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case err == nil:
		return ""
	case hasReply(err, "WRONGPASS", "NOAUTH", "ERR invalid password", "ERR AUTH"):
		return "the user or the password is refused; correct REDIS_URL"
	case hasReply(err, "NOPERM"):
		return "its user may not do what is needed (" + err.Error() + "); extend the ACL, or use another user in REDIS_URL"
	case unknown:
		return "its certificate is of an unknown authority; name the file with that authority's certificate in SSL_CERT_FILE"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time; see whether the server runs and is not overloaded"
	default:
		return err.Error()
	}
}
