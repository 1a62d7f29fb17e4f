package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/cpus"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/outbound"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Config is every setting of a gateway or a worker. The zero value is not usable; Default returns
// one that is.
type Config struct {
	// Addr is the host:port that a gateway listens on; default 127.0.0.1:8080.
	Addr string `yaml:"addr" env:"SLIPBOX_ADDR"`
	// WorkerAddr is the host:port of a worker's health and metrics; default 127.0.0.1:0, any free port.
	WorkerAddr string `yaml:"worker_addr" env:"SLIPBOX_WORKER_ADDR"`
	// MetricsAddr is the host:port at which a gateway serves its metrics and health, and the metrics nowhere else; default none: with the API.
	MetricsAddr string `yaml:"metrics_addr" env:"SLIPBOX_METRICS_ADDR"`
	// ProfileAddr is the loopback host:port at which the process serves profiles (net/http/pprof); default none.
	ProfileAddr string `yaml:"profile_addr" env:"SLIPBOX_PROFILE_ADDR"`
	// Data is the directory of the embedded store; default ./data. Servers do not use it.
	Data string `yaml:"data" env:"SLIPBOX_DATA"`

	// DiskReserve is how many bytes beside the embedded store are kept free for deletions on a full disk;
	// default 16 MiB; 0: none.
	DiskReserve int64 `yaml:"disk_reserve" env:"SLIPBOX_DISK_RESERVE"`
	// VacuumBelow is the size, in bytes, below which the file of the embedded store is vacuumed after erasures; default 128 MiB; 0: never.
	VacuumBelow int64 `yaml:"vacuum_below" env:"SLIPBOX_VACUUM_BELOW"`

	// DatabaseURL is the servers' Postgres, with the role that serves; empty selects the embedded store.
	DatabaseURL string `yaml:"database_url" env:"DATABASE_URL" secret:"url"`
	// ReplicaURL is a standby of DatabaseURL, with the same role, for long reads of the past; default none.
	ReplicaURL string `yaml:"database_replica_url" env:"DATABASE_REPLICA_URL" secret:"url"`
	// MigrateDatabaseURL is the same database with the role that owns it, for "gateway migrate".
	MigrateDatabaseURL string `yaml:"migrate_database_url" env:"MIGRATE_DATABASE_URL" secret:"url"`
	// RedisURL is the servers' Redis. If it is set, workers run the jobs.
	RedisURL string `yaml:"redis_url" env:"REDIS_URL" secret:"url"`

	// SpareProcessors is how many processors Go's scheduler of a gateway has besides one for each CPU; default 2 on one or
	// two CPUs, 0 on more. GOMAXPROCS in the environment overrides it.
	SpareProcessors int `yaml:"spare_processors" env:"SLIPBOX_SPARE_PROCESSORS"`
	// StopTimeout is how long a stop waits for requests and jobs; default 20 s.
	StopTimeout time.Duration `yaml:"stop_timeout" env:"SLIPBOX_STOP_TIMEOUT"`

	HTTP     api.Config       `yaml:"http"`
	Log      Log              `yaml:"log"`
	LLM      llm.Config       `yaml:"llm"`
	Models   map[string]Model `yaml:"models"` // further models, chosen by policy_config.model; AnyModel passes on the names of requests
	Auth     Auth             `yaml:"auth"`
	Database Database         `yaml:"database"`
	Redis    Redis            `yaml:"redis"`
	Index    Index            `yaml:"index"`
	Cache    Cache            `yaml:"cache"`
	Context  Context          `yaml:"context"`
	Chat     Chat             `yaml:"chat"`
	Outbound Outbound         `yaml:"outbound"`
	Jobs     Jobs             `yaml:"jobs"`
	Limits   Limits           `yaml:"limits"`

	// UnknownVariables are the variables of the environment and its file that begin as settings do and are none; each
	// with the name that was probably meant.
	UnknownVariables []string `yaml:"-"`
}

// Servers reports whether the store is the servers' Postgres, and not the embedded one.
func (c Config) Servers() bool { return c.DatabaseURL != "" }

// Model is a further model that a collection can select by name. Empty fields are as in the main
// model's settings.
type Model struct {
	Provider  string `yaml:"provider"`    // openai or ollama
	BaseURL   string `yaml:"base_url"`    // with its /v1
	Model     string `yaml:"model"`       // required; not for AnyModel
	APIKeyEnv string `yaml:"api_key_env"` // name of the environment variable that holds its key
	KeyHeader string `yaml:"key_header"`  // header that carries the key alone, such as api-key; default Authorization
}

// AnyModel is the key in Models of the endpoint that clients of OpenAI may ask for any model.
const AnyModel = chat.AnyModel

// ModelNames returns the names of Models that collections choose from, sorted.
func (c Config) ModelNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Models)), func(name string) bool { return name == AnyModel })
}

// ModelHandles returns the name in Models of each handle, "" for that of the main model. A handle is PROVIDER/MODEL, and a
// model's own name if it has a slash, as behind a router. The main model comes first, then the others by name.
func (c Config) ModelHandles() map[string]string {
	out := map[string]string{}
	for _, name := range append([]string{""}, c.ModelNames()...) {
		set := c.LLM
		if name != "" {
			set = c.LLMFor(name, nil)
		}
		if set = set.InForce(); set.UsesModel() && set.Model != "" {
			for _, handle := range []string{set.Provider + "/" + set.Model, set.Model} {
				_, taken := out[handle]
				_, named := c.Models[handle]
				if !taken && !named && strings.Contains(handle, "/") {
					out[handle] = name
				}
			}
		}
	}
	return out
}

// LLMFor returns the settings of a named model: the main settings with those of the model over them.
// The key of the main model is never sent to another host.
func (c Config) LLMFor(name string, environ map[string]string) llm.Config {
	m := c.Models[name]
	out := c.LLM
	if name != AnyModel {
		out.Model = m.Model
	}
	if m.Provider != "" {
		out.Provider = m.Provider
	}
	if m.BaseURL != "" && m.BaseURL != out.BaseURL {
		out.BaseURL, out.APIKey, out.KeyHeader = m.BaseURL, "", ""
	}
	if m.KeyHeader != "" {
		out.KeyHeader = m.KeyHeader
	}
	if m.APIKeyEnv != "" {
		out.APIKey = clean(environ[m.APIKeyEnv])
	}
	return out
}

// InForce returns the settings with every default filled in, as a gateway started now on this
// machine would use them. What is still empty is not set: it has no default.
func (c Config) InForce() Config {
	models := make(map[string]Model, len(c.Models))
	for name, m := range c.Models {
		// An address is not filled in: one that differs from the main model's gets no key of it.
		m.Provider = c.LLMFor(name, nil).InForce().Provider
		models[name] = m
	}
	def := Default()
	c.Models = models
	c.LLM = c.LLM.InForce()
	c.Auth.Env = cmp.Or(c.Auth.Env, def.Auth.Env)
	c.Auth.Issuer = cmp.Or(c.Auth.Issuer, def.Auth.Issuer)
	c.Auth.Audience = cmp.Or(c.Auth.Audience, def.Auth.Audience)
	c.Auth.TokenTTL = cmp.Or(c.Auth.TokenTTL, def.Auth.TokenTTL)
	c.Auth.SigningKeyAge = cmp.Or(c.Auth.SigningKeyAge, def.Auth.SigningKeyAge)
	c.Database.Connections = cmp.Or(c.Database.Connections, max(16, 4*runtime.NumCPU())) // as the store does
	c.Jobs.Prepares, c.Jobs.Decides, c.Jobs.Tasks = c.Jobs.AtOnce()
	c.Limits = c.Limits.InForce()
	c.Limits.RequestsAtOnce = c.RequestsAtOnce()
	return c
}

// RequestsAtOnce returns how many requests of one tenant are worked on concurrently beside those of others; 0: no
// limit. More than there are CPUs would only make others wait, unless requests wait for an embedder elsewhere.
func (c Config) RequestsAtOnce() int {
	if c.Limits.RequestsAtOnce > 0 || c.Limits.SingleTenant {
		return c.Limits.RequestsAtOnce
	}
	n := max(2, cpus.Count())
	if c.LLM.EmbedEndpoint() != "" {
		n *= waitingRequests
	}
	return n
}

// Log are the settings of the log on stderr.
type Log struct {
	Level  string `yaml:"level" env:"SLIPBOX_LOG_LEVEL"`   // debug, info, warn, error; default info
	Format string `yaml:"format" env:"SLIPBOX_LOG_FORMAT"` // text, json; default text
}

// Auth are the settings of credentials.
type Auth struct {
	Env      string        `yaml:"env" env:"SLIPBOX_KEY_ENV"`             // second part of a key's text; default live
	Issuer   string        `yaml:"issuer" env:"SLIPBOX_TOKEN_ISSUER"`     // default slipbox
	Audience string        `yaml:"audience" env:"SLIPBOX_TOKEN_AUDIENCE"` // default slipbox
	TokenTTL time.Duration `yaml:"token_ttl" env:"SLIPBOX_TOKEN_TTL"`     // default 15 m, at most 1 h
	// WrappingKey encrypts the signing keys; 32 characters or more. Default: a file that is created in
	// the data directory. Required on servers.
	WrappingKey   string        `yaml:"wrapping_key" env:"SLIPBOX_WRAPPING_KEY" secret:"true"`
	SigningKeyAge time.Duration `yaml:"signing_key_age" env:"SLIPBOX_SIGNING_KEY_AGE"` // default 30 days
	// RefusalsPerAddress is how many different wrong credentials a network address may send in a minute,
	// before others that were not accepted before are refused with 429; default 60; 0: no limit.
	RefusalsPerAddress int `yaml:"refusals_per_address" env:"SLIPBOX_REFUSALS_PER_ADDRESS"`
	// RefusalsPerKey is the same for the wrong credentials that name one key, from all addresses;
	// default 600; 0: no limit.
	RefusalsPerKey int `yaml:"refusals_per_key" env:"SLIPBOX_REFUSALS_PER_KEY"`
}

// Database are the settings of the servers' Postgres.
type Database struct {
	// ExecMode is cache_statement (default), cache_describe, describe_exec, exec or simple_protocol.
	// Most poolers need one of the last two.
	ExecMode string `yaml:"exec_mode" env:"SLIPBOX_DATABASE_EXEC_MODE"`
	// Concurrent connections of one process; default 4 per CPU, at least 16.
	Connections int `yaml:"connections" env:"SLIPBOX_DATABASE_CONNECTIONS"`
	// StatementTimeout bounds one statement; default 30 s.
	StatementTimeout time.Duration `yaml:"statement_timeout" env:"SLIPBOX_DATABASE_STATEMENT_TIMEOUT"`
	// LockTimeout is how long a write waits for another write to its collection; default 10 s.
	LockTimeout time.Duration `yaml:"lock_timeout" env:"SLIPBOX_DATABASE_LOCK_TIMEOUT"`
	// Role is the serving role that "gateway migrate up" grants its rights; default slipbox_app.
	Role string `yaml:"role" env:"SLIPBOX_DATABASE_ROLE"`
	// Distributed is set where the extension Citus spreads tenants over machines: "gateway migrate up" distributes the tables.
	Distributed bool `yaml:"distributed" env:"SLIPBOX_DATABASE_DISTRIBUTED"`
}

// Redis are the settings of the servers' Redis.
type Redis struct {
	// Prefix of every key, so that several installations can share a server; default slipbox.
	Prefix string `yaml:"prefix" env:"SLIPBOX_REDIS_PREFIX"`
	// CacheTTL is the life of a cached note version; default 1 h.
	CacheTTL time.Duration `yaml:"cache_ttl" env:"SLIPBOX_REDIS_CACHE_TTL"`
	// Timeout is how long a call may take; then the request continues without Redis. Default 50 ms.
	Timeout time.Duration `yaml:"timeout" env:"SLIPBOX_REDIS_TIMEOUT"`
}

// Cache are the settings of a process's cache of note versions.
type Cache struct {
	Bytes int64 `yaml:"bytes" env:"SLIPBOX_CACHE_BYTES"` // default 64 MiB; 0: no cache
}

// Index are the settings of the in-memory index.
type Index struct {
	Bytes int64 `yaml:"bytes" env:"SLIPBOX_INDEX_BYTES"` // memory for layer indexes; default 1 GiB
	// Dir is a local directory for snapshots of indexes, which a start reads instead of the log. Default:
	// "index" in the data directory of an embedded store; on servers none are kept.
	Dir string `yaml:"dir" env:"SLIPBOX_INDEX_DIR"`
}

// Context are the settings of contexts for prompts.
type Context struct {
	// Encoding counts the tokens unless a request names one: o200k_base (default), estimate.
	Encoding search.Encoding `yaml:"encoding" env:"SLIPBOX_CONTEXT_ENCODING"`
}

// Chat are the limits of requests that are passed on to the model (POST /v1/chat/completions).
type Chat struct {
	// MaxChoices is the largest n: how many answers one request may ask for; default 8; 0: no limit.
	MaxChoices int64 `yaml:"max_choices" env:"SLIPBOX_CHAT_MAX_CHOICES"`
	// MaxTokens is the largest answer that a request may ask for, in tokens; default 131,072; 0: no limit.
	MaxTokens int64 `yaml:"max_tokens" env:"SLIPBOX_CHAT_MAX_TOKENS"`
	// RemoteImages passes on addresses of images and other media, which the model's endpoint then fetches
	// with its own access to the network; default off: only data: addresses, which hold the medium.
	RemoteImages bool `yaml:"remote_images" env:"SLIPBOX_CHAT_REMOTE_IMAGES"`
	// Timeout is for an answer that is streamed, from the request to its end; default 5m. One that is not streamed ends with
	// the request's own limit.
	Timeout time.Duration `yaml:"timeout" env:"SLIPBOX_CHAT_TIMEOUT"`
}

// Outbound are the settings of requests to addresses that tenants choose: their webhooks.
type Outbound struct {
	// AllowHosts are the hosts that every tenant may reach, also at addresses that are not public:
	// example.com, example.com:8443, *.example.com, 192.0.2.1. Default: none; tenants reach the public
	// hosts of their allowed_hosts.
	AllowHosts []string `yaml:"allow_hosts" env:"SLIPBOX_ALLOW_HOSTS"`
}

// Jobs are the settings of background work.
type Jobs struct {
	// Workers is the number of concurrent prepare jobs, and decide jobs, in one process; default 8.
	Workers int `yaml:"workers" env:"SLIPBOX_JOB_WORKERS"`
	// Prepares is the number of concurrent prepare jobs; default Workers.
	Prepares int `yaml:"prepares" env:"SLIPBOX_JOB_PREPARES"`
	// Decides is the number of concurrent decide jobs, of different collections; default Workers.
	Decides int `yaml:"decides" env:"SLIPBOX_JOB_DECIDES"`
	// Tasks is the number of other concurrent jobs: copies, imports, removals; default 2.
	Tasks int `yaml:"tasks" env:"SLIPBOX_JOB_TASKS"`
	// Stages that a worker runs: prepare, decide, task, send (to webhooks); default all.
	Stages []string `yaml:"stages" env:"SLIPBOX_JOB_STAGES"`
	// SweepInterval is the time between two searches for what expired, or other processes deleted; default 30 s.
	SweepInterval time.Duration `yaml:"sweep_interval" env:"SLIPBOX_JOB_SWEEP_INTERVAL"`
	// CopyBatch is the number of notes in one transaction of a copy, which holds the embedded writer meanwhile; default 250.
	CopyBatch int `yaml:"copy_batch" env:"SLIPBOX_COPY_BATCH"`
}

// AtOnce returns how many jobs of each stage run concurrently in one process.
func (j Jobs) AtOnce() (prepares, decides, tasks int) {
	return cmp.Or(j.Prepares, j.Workers), cmp.Or(j.Decides, j.Workers), j.Tasks
}

// Limits of each tenant that has no limits of its own; 0: no limit.
type Limits struct {
	RequestsPerMinute int64 `yaml:"requests_per_minute" env:"SLIPBOX_REQUESTS_PER_MINUTE"`
	// RequestsPerSecond at each gateway; default 1,000, and none for a single tenant.
	RequestsPerSecond int64 `yaml:"requests_per_second" env:"SLIPBOX_REQUESTS_PER_SECOND"`
	// QueuedJobs is the number of notes and messages that may wait for their policy; default 50,000,
	// and none for a single tenant.
	QueuedJobs int64 `yaml:"queued_jobs" env:"SLIPBOX_QUEUED_JOBS"`
	// SingleTenant turns off the limits that have a default; those that are set apply.
	SingleTenant bool `yaml:"single_tenant" env:"SLIPBOX_SINGLE_TENANT"`
	// JobShare is the percentage of a process's job slots that one tenant may use at the same time; default 75,
	// and 100 for a single tenant.
	JobShare int `yaml:"job_share" env:"SLIPBOX_JOB_SHARE"`
	// RequestsAtOnce is how many requests of one tenant a gateway works on concurrently while other tenants send
	// requests too. Default: as many as there are CPUs, at least 2; sixteen times as many if an embedder is a
	// service, for which requests wait; no limit for a single tenant.
	RequestsAtOnce int `yaml:"requests_at_once" env:"SLIPBOX_REQUESTS_AT_ONCE"`
	// FloodRest is how long a place of a tenant that sends more than its share rests before that tenant has it again, while others
	// send requests too; up to ten times as long while threads wait for a CPU. Default 4 ms on one or two CPUs, 0 on more; 0: not.
	FloodRest time.Duration `yaml:"flood_rest" env:"SLIPBOX_FLOOD_REST"`
	// ModelTokensPerDay of a tenant that has no limit of its own.
	ModelTokensPerDay int64 `yaml:"model_tokens_per_day" env:"SLIPBOX_MODEL_TOKENS_PER_DAY"`
	// ParseSecondsPerHour of a tenant that has no limit of its own, for turning files into text at each process that runs
	// jobs; default 1,200, and none for a single tenant.
	ParseSecondsPerHour int64 `yaml:"parse_seconds_per_hour" env:"SLIPBOX_PARSE_SECONDS_PER_HOUR"`
	// WaitersPerTenant is the number of concurrent requests with wait=evolved; default 64.
	WaitersPerTenant int `yaml:"waiters_per_tenant" env:"SLIPBOX_WAITERS_PER_TENANT"`
}

// Limits that apply unless there is a single tenant.
const (
	defaultJobShare          = 75 // percent; leaves slots for other tenants when one has long jobs
	defaultRequestsPerSecond = 1000
	defaultQueuedJobs        = 50_000
	defaultParseSeconds      = 1200
	waitingRequests          = 16 // for each request that computes, if an embedder is a service
)

// InForce returns the limits with their defaults.
func (l Limits) InForce() Limits {
	if !l.SingleTenant {
		l.JobShare = cmp.Or(l.JobShare, defaultJobShare)
		l.RequestsPerSecond = cmp.Or(l.RequestsPerSecond, defaultRequestsPerSecond)
		l.QueuedJobs = cmp.Or(l.QueuedJobs, defaultQueuedJobs)
		l.ParseSecondsPerHour = cmp.Or(l.ParseSecondsPerHour, defaultParseSeconds)
	}
	l.JobShare = cmp.Or(l.JobShare, 100)
	return l
}

// measuredCPUs is the greatest number of CPUs on which rests and spare processors were measured to help other tenants, on both
// engines. With more, neither is used unless it is set.
const measuredCPUs = 2

// shares returns the spare processors, and the rest of a place of a tenant that floods, for a number of CPUs.
func shares(cpus int) (spare int, rest time.Duration) {
	if cpus > measuredCPUs {
		return 0, 0
	}
	return 2, 4 * time.Millisecond
}

// Default returns the settings of a gateway without any configuration.
func Default() Config {
	spare, rest := shares(cpus.Count())
	return Config{
		Addr:        "127.0.0.1:8080",
		WorkerAddr:  "127.0.0.1:0",
		Data:        "./data",
		DiskReserve: 16 << 20,  // a removal's step, and the log of other short writes, several times over
		VacuumBelow: 128 << 20, // writes wait for about a second
		StopTimeout: 20 * time.Second, SpareProcessors: spare,
		HTTP: api.DefaultConfig(),
		Log:  Log{Level: "info", Format: "text"},
		Auth: Auth{
			Env: "live", Issuer: "slipbox", Audience: "slipbox", TokenTTL: 15 * time.Minute, SigningKeyAge: 30 * 24 * time.Hour,
			RefusalsPerAddress: 60, RefusalsPerKey: 600,
		},
		Database: Database{
			ExecMode: "cache_statement", StatementTimeout: 30 * time.Second, LockTimeout: 10 * time.Second, Role: "slipbox_app",
		},
		Redis:   Redis{Prefix: "slipbox", CacheTTL: time.Hour, Timeout: 50 * time.Millisecond},
		Index:   Index{Bytes: recall.DefaultIndexBytes},
		Cache:   Cache{Bytes: 64 << 20},
		Context: Context{Encoding: search.O200k},
		// More choices than OpenAI's own clients show, and the longest answers of the models of 2026.
		Chat: Chat{MaxChoices: 8, MaxTokens: 128 << 10, Timeout: 5 * time.Minute},
		Jobs: Jobs{
			Workers: 8, Tasks: 2, Stages: slices.Clone(stages), SweepInterval: 30 * time.Second, CopyBatch: 250,
		},
		Limits: Limits{WaitersPerTenant: 64, FloodRest: rest},
	}
}

// minDiskReserve is the least reserve: one step of a removal fits into it.
const minDiskReserve = 8 << 20

// keyEnv matches what a key's text may have as its second part.
var keyEnv = regexp.MustCompile(`^[a-z0-9]{1,16}$`)

// minWrappingKey is the least length of a wrapping key in the settings.
const minWrappingKey = 32

// Validate reports every setting that cannot work, with its name.
func (c Config) Validate() error {
	var problems []error
	refuse := func(wrong bool, name, format string, args ...any) {
		if wrong {
			problems = append(problems, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
		}
	}
	checkAddr := func(name, addr string) {
		_, port, err := net.SplitHostPort(addr)
		refuse(err != nil, name, "%q is not host:port", addr)
		if err == nil {
			_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
			refuse(err != nil, name, "%q has no port that can be: 0 to 65535", addr)
		}
	}
	checkAddr("addr", c.Addr)
	checkAddr("worker_addr", c.WorkerAddr)
	if c.MetricsAddr != "" {
		checkAddr("metrics_addr", c.MetricsAddr)
	}
	refuse(c.Auth.Env != "" && !keyEnv.MatchString(c.Auth.Env), "auth.env", "%q must be 1 to 16 lower case letters and digits", c.Auth.Env)
	refuse(c.Data == "", "data", "must name a directory")
	refuse(c.DiskReserve != 0 && c.DiskReserve < minDiskReserve, "disk_reserve", "must be 0 (none), or %d bytes or more", minDiskReserve)
	refuse(c.VacuumBelow < 0, "vacuum_below", "must be 0 (never) or more bytes")
	c.validateServers(refuse)
	refuse(c.ProfileAddr != "" && !isLoopback(c.ProfileAddr), "profile_addr", "must be a loopback address with a port, such as 127.0.0.1:6060: profiles show what the process works on")
	refuse(c.StopTimeout <= 0, "stop_timeout", "must be above 0")
	refuse(c.Auth.WrappingKey != "" && len(c.Auth.WrappingKey) < minWrappingKey, "auth.wrapping_key", "must have %d characters or more", minWrappingKey)
	refuse(c.Auth.TokenTTL < 0 || c.Auth.TokenTTL > time.Hour, "auth.token_ttl", "must be at most 1h")
	refuse(c.Auth.RefusalsPerAddress < 0 || c.Auth.RefusalsPerKey < 0, "auth.refusals_per_address, auth.refusals_per_key", "must be 0 (no limit) or more")
	refuse(c.Index.Bytes < 1<<20, "index.bytes", "must be 1048576 or more")
	refuse(!slices.Contains(search.Encodings(), c.Context.Encoding), "context.encoding", "%q must be %s", c.Context.Encoding, wording.Or(search.Encodings()...))
	refuse(c.Chat.MaxChoices < 0, "chat.max_choices", "must be 0 (no limit) or more")
	refuse(c.Chat.Timeout <= 0, "chat.timeout", "must be positive")
	refuse(c.Chat.MaxTokens < 0, "chat.max_tokens", "must be 0 (no limit) or more")
	allowed, err := outbound.ParseHosts(c.Outbound.AllowHosts...)
	refuse(err != nil, "outbound.allow_hosts", "%v", err)
	refuse(err == nil && allowed.HasAll(), "outbound.allow_hosts", "must name hosts: * would open this network to every tenant")
	c.Jobs.validate(refuse)
	refuse(c.Limits.JobShare < 0 || c.Limits.JobShare > 100, "limits.job_share", "must be 1 to 100 percent, or 0 for the default")
	refuse(c.Limits.RequestsAtOnce < 0, "limits.requests_at_once", "must be 1 or more, or 0 for the default")
	refuse(c.Limits.FloodRest < 0 || c.Limits.FloodRest > time.Second, "limits.flood_rest", "must be 0 (none) to 1s")
	refuse(c.SpareProcessors < 0 || c.SpareProcessors > 64, "spare_processors", "must be 0 to 64")
	refuse(c.Limits.ModelTokensPerDay < 0, "limits.model_tokens_per_day", "must be 0 or more; 0 is no limit")
	refuse(c.Limits.ParseSecondsPerHour < 0, "limits.parse_seconds_per_hour", "must be 0 or more; 0 is the default")
	refuse(c.Limits.WaitersPerTenant < 1, "limits.waiters_per_tenant", "must be 1 or more")
	refuse(c.Limits.RequestsPerMinute < 0, "limits.requests_per_minute", "must be 0 (no limit) or more")
	refuse(c.Limits.RequestsPerSecond < 0 || c.Limits.QueuedJobs < 0, "limits.requests_per_second, limits.queued_jobs", "must be 1 or more, or 0 for the default")
	_, err = telemetry.NewLogger(io.Discard, telemetry.LogConfig{Level: c.Log.Level})
	refuse(err != nil, "log.level", "%v", err)
	_, err = telemetry.NewLogger(io.Discard, telemetry.LogConfig{Format: c.Log.Format})
	refuse(err != nil, "log.format", "%v", err)
	for _, err := range parts(c.HTTP.Validate()) {
		problems = append(problems, fmt.Errorf("http.%w", err))
	}
	problems = append(problems, c.LLM.Validate())
	for name, m := range c.Models {
		anyModel := name == AnyModel
		refuse(!anyModel && m.Model == "", "models."+name+".model", "is required")
		refuse(anyModel && m.Model != "", "models."+name+".model", "is the one that a request names; leave it out")
		refuse(anyModel && m.Model == "" && !c.LLMFor(name, nil).UsesModel(), "models."+name+".base_url", "is required, unless llm.base_url is set")
		refuse(m.Provider != "" && m.Provider != llm.ProviderOpenAI && m.Provider != llm.ProviderOllama, "models."+name+".provider", "unknown provider %q; use %s", m.Provider, wording.Or(llm.ProviderOpenAI, llm.ProviderOllama))
	}
	return nameVariables(problems)
}

// Unused returns a line for each setting that is set and has no effect.
func (c Config) Unused() (out []string) {
	var lines []error
	for _, line := range c.LLM.Unused() {
		lines = append(lines, errors.New(line))
	}
	for _, err := range parts(nameVariables(lines)) {
		out = append(out, err.Error())
	}
	return out
}

// nameVariables adds to each problem the variables of the settings that it begins with.
func nameVariables(problems []error) error {
	variables := map[string]string{}
	for name, f := range settingFields(reflect.TypeFor[Config](), "") {
		variables[f.path] = name
	}
	var out []error
	for _, err := range parts(errors.Join(problems...)) {
		text := err.Error()
		paths, _, _ := strings.Cut(text, ": ")
		for at := range strings.SplitSeq(paths, ", ") {
			if name := variables[at]; name != "" {
				text = strings.Replace(text, at, at+" ("+name+")", 1)
			}
		}
		out = append(out, errors.New(text))
	}
	return errors.Join(out...)
}

// parts returns the errors that are joined in one.
func parts(err error) (out []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err != nil {
			out = append(out, err)
		}
		return out
	}
	for _, e := range joined.Unwrap() {
		out = append(out, parts(e)...)
	}
	return out
}

// validateServers checks the settings of Postgres and Redis.
func (c Config) validateServers(refuse func(wrong bool, name, format string, args ...any)) {
	for _, u := range []struct {
		name, url string // a problem does not quote the url, which may hold a password
		schemes   []string
	}{
		{"database_url", c.DatabaseURL, []string{"postgres", "postgresql"}},
		{"database_replica_url", c.ReplicaURL, []string{"postgres", "postgresql"}},
		{"migrate_database_url", c.MigrateDatabaseURL, []string{"postgres", "postgresql"}},
		{"redis_url", c.RedisURL, []string{"redis", "rediss", "unix"}},
	} {
		scheme, _, ok := strings.Cut(u.url, "://")
		refuse(u.url != "" && (!ok || !slices.Contains(u.schemes, scheme)), u.name, "must begin with %s://", u.schemes[0])
	}
	refuse(c.RedisURL != "" && !c.Servers(), "redis_url", "needs DATABASE_URL too; unset it to run the embedded store (`gateway serve`), which needs no Redis and no worker")
	refuse(c.ReplicaURL != "" && !c.Servers(), "database_replica_url", "needs DATABASE_URL too, the database that it is a standby of; unset it to run the embedded store")
	refuse(c.Servers() && c.Auth.WrappingKey == "", "auth.wrapping_key", "is required with DATABASE_URL, the same for every gateway and worker; `openssl rand -base64 32` makes one")
	modes := []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}
	refuse(c.Database.ExecMode != "" && !slices.Contains(modes, c.Database.ExecMode), "database.exec_mode", "unknown mode %q; use %s", c.Database.ExecMode, wording.Or(modes...))
	refuse(c.Database.Connections < 0 || c.Database.Connections > 10_000, "database.connections", "must be 0 (4 per CPU, at least 16) to 10000")
	refuse(c.Database.StatementTimeout < 0 || c.Database.LockTimeout < 0, "database.statement_timeout, database.lock_timeout", "must not be negative")
	refuse(c.Redis.Prefix == "" || strings.ContainsAny(c.Redis.Prefix, "{}*?[]\\ \t\r\n"), "redis.prefix", "must be a word without spaces and without {}*?[]\\")
	refuse(c.Redis.CacheTTL < time.Minute, "redis.cache_ttl", "must be 1m or more")
	refuse(c.Redis.Timeout < time.Millisecond || c.Redis.Timeout > 10*time.Second, "redis.timeout", "must be between 1ms and 10s")
	refuse(c.Cache.Bytes < 0, "cache.bytes", "must be 0 (no cache) or more")
}

// stages that a worker can serve.
var stages = []string{"prepare", "decide", "task", "send"}

func (j Jobs) validate(refuse func(wrong bool, name, format string, args ...any)) {
	for _, f := range []struct {
		name     string
		n, least int
	}{{"jobs.workers", j.Workers, 1}, {"jobs.prepares", j.Prepares, 0}, {"jobs.decides", j.Decides, 0}, {"jobs.tasks", j.Tasks, 1}} {
		refuse(f.n < f.least || f.n > 1024, f.name, "must be %d to 1024", f.least)
	}
	refuse(len(j.Stages) == 0, "jobs.stages", "must name %s", wording.Or(stages...))
	for _, s := range j.Stages {
		refuse(!slices.Contains(stages, s), "jobs.stages", "unknown stage %q; use %s", s, wording.Or(stages...))
	}
	refuse(j.SweepInterval < time.Second, "jobs.sweep_interval", "must be 1s or more")
	refuse(j.CopyBatch < 1 || j.CopyBatch > 10_000, "jobs.copy_batch", "must be 1 to 10000")
}

// isLoopback reports whether an address is one that only this machine reaches.
func isLoopback(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err == nil && at.Addr().IsLoopback()
}
