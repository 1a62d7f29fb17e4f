package redis

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// defaultPrefix begins the names of queues; installations that share a Redis differ in it.
const defaultPrefix = "slipbox"

// connect makes a client whose calls take at most a timeout each, and may be tried once more.
func connect(url string, timeout time.Duration, retry bool) (*redis.Client, error) {
	opts, err := redis.ParseURL(url)
	if err != nil {
		// Not wrapped: the error holds the URL, and that the password.
		return nil, fault.InvalidField("redis_url", "must be redis://[user:password@]host[:port][/database], or rediss:// for TLS; escape what is special in the password")
	}
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout, opts.PoolTimeout = 2*time.Second, timeout, timeout, timeout
	opts.DialerRetries = 1
	opts.ContextTimeoutEnabled = true
	opts.MaxRetries = -1
	if retry {
		// The pause also keeps a server that finds nobody there from asking without a rest.
		opts.MaxRetries, opts.MinRetryBackoff, opts.MaxRetryBackoff = 1, 500*time.Millisecond, 500*time.Millisecond
	}
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	logging.Disable() // the library's own log is process-wide and goes to stderr
	return redis.NewClient(opts), nil
}

// queueName of a stage; asynq knows no prefix for its keys, but puts this name in each.
func queueName(prefix string, s memory.Stage) string { return prefix + "-" + string(s) }

// payloadVersion is that of wake-ups. Workers leave newer ones to the sweep.
const payloadVersion = 1

// taskType is asynq's name for a wake-up.
const taskType = "wake"

// payload of a wake-up.
type payload struct {
	Version    int       `json:"v"`
	Tenant     uuid.UUID `json:"t"`
	Collection uuid.UUID `json:"c"`
}

func encode(r memory.Due) ([]byte, error) {
	return json.Marshal(payload{Version: payloadVersion, Tenant: r.Tenant, Collection: r.Collection})
}
