package redis

import (
	"context"
	"crypto/x509"
	"errors"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// directTimeout bounds a call past the guard, unless Config.Timeout is longer. No request waits for one.
const directTimeout = time.Second

// oldest is the first major version of Redis that is supported.
const oldest = 7

// Direct makes one call past the guard, even while the breaker is open. Its error is
// Unavailable, with the fix in the message.
func (c *Client) Direct(ctx context.Context, fn func(context.Context, *goredis.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.atLeast(directTimeout))
	defer cancel()
	if err := fn(ctx, c.client); err != nil {
		return fault.Wrap(err, fault.Unavailable, "redis: %s", explain(err))
	}
	return nil
}

// Check asks the server past the guard. It is Unavailable, with the fix in the message, when the
// server cannot be reached, refuses the password, or is older than 7. A nil Client passes.
func (c *Client) Check(ctx context.Context) error {
	if c == nil {
		return nil
	}
	info, err := c.info(ctx, "server")
	if err != nil {
		return err
	}
	return checkVersion(info["redis_version"])
}

// checkVersion refuses a version before the oldest. An unknown version passes.
func checkVersion(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldest {
		return fault.New(fault.Unavailable, "redis: version %s is too old, upgrade it to %d or newer", version, oldest)
	}
	return nil
}

// evictsKeys reports whether a maxmemory-policy may drop keys without an expiry.
func evictsKeys(policy string) bool { return strings.HasPrefix(policy, "allkeys-") }

// logServer logs at start what an operator should know about the server.
func (c *Client) logServer(ctx context.Context) {
	if err := c.Check(ctx); err != nil {
		if fault.Is(err, fault.Unavailable) && !isNetwork(err) {
			c.log.ErrorContext(ctx, "redis cannot be used as it is", "error", err)
		}
		var f *fault.Error
		if errors.As(err, &f) && f.Err != nil {
			c.mark(ctx, false, f.Err)
		}
		return
	}
	memory, err := c.info(ctx, "memory")
	if err != nil {
		return // it answered a moment ago, and the guard will report more
	}
	if policy := memory["maxmemory_policy"]; evictsKeys(policy) {
		c.log.WarnContext(ctx, "redis may drop wake-ups of workers when its memory is full; jobs are not lost, but start up to 2 s later: set maxmemory-policy to volatile-lru or noeviction",
			"policy", policy)
	}
}

// info reads a section of INFO. It is empty when the user may not ask.
func (c *Client) info(ctx context.Context, section string) (map[string]string, error) {
	m := map[string]string{}
	err := c.Direct(ctx, func(ctx context.Context, r *goredis.Client) error {
		text, err := r.Info(ctx, section).Result()
		if hasReply(err, "NOPERM") {
			return r.Ping(ctx).Err()
		}
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				m[name] = value
			}
		}
		return err
	})
	return m, err
}

// Facts are what an operator may want to know about the server. Version and Policy are "" when
// the user may not ask.
type Facts struct {
	Version string
	Policy  string        // maxmemory-policy
	Evicts  bool          // the policy may drop wake-ups
	Skew    time.Duration // of its clock against this process; above 0: it is ahead
}

// Facts asks the server, as Check does and with the same errors.
func (c *Client) Facts(ctx context.Context) (Facts, error) {
	if err := c.Check(ctx); err != nil {
		return Facts{}, err
	}
	var f Facts
	err := c.Direct(ctx, func(ctx context.Context, r *goredis.Client) error {
		before := time.Now()
		at, err := r.Time(ctx).Result()
		f.Skew = at.Sub(before.Add(time.Since(before) / 2))
		return err
	})
	if err != nil {
		return Facts{}, err
	}
	server, err := c.info(ctx, "server")
	if err != nil {
		return Facts{}, err
	}
	memory, err := c.info(ctx, "memory")
	if err != nil {
		return Facts{}, err
	}
	f.Version, f.Policy = server["redis_version"], memory["maxmemory_policy"]
	f.Evicts = evictsKeys(f.Policy)
	return f, nil
}

// isNetwork reports whether no server answered at all.
func isNetwork(err error) bool {
	var e *fault.Error
	if !errors.As(err, &e) || e.Err == nil {
		return false
	}
	var reply goredis.Error
	return !errors.As(e.Err, &reply)
}

func hasReply(err error, words ...string) bool {
	var reply goredis.Error
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

// explain says what to do about a failure. Errors of the client name the address, never the password.
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
