package config

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// Config is everything that can be set. The zero value is not usable; Default
// gives one that is.
type Config struct {
	Addr        string `yaml:"addr" env:"SLIPBOX_ADDR"`                      // host:port to listen on; default 127.0.0.1:8080
	Data        string `yaml:"data" env:"SLIPBOX_DATA"`                      // directory of the embedded store; default ./data
	DatabaseURL string `yaml:"database_url" env:"DATABASE_URL" secret:"url"` // servers' Postgres; not supported by this build
	RedisURL    string `yaml:"redis_url" env:"REDIS_URL" secret:"url"`       // servers' Redis; not supported by this build

	StopTimeout time.Duration `yaml:"stop_timeout" env:"SLIPBOX_STOP_TIMEOUT"` // how long a stop waits for requests and jobs; default 20 s

	HTTP   api.Config       `yaml:"http"`
	Log    Log              `yaml:"log"`
	LLM    llm.Config       `yaml:"llm"`
	Models map[string]Model `yaml:"models"` // further models, chosen by policy_config.model
	Auth   Auth             `yaml:"auth"`
	Index  Index            `yaml:"index"`
	Jobs   Jobs             `yaml:"jobs"`
	Limits Limits           `yaml:"limits"`
}

// Model is a further model that a collection can choose by name. What is left
// out is as in the main model's settings.
type Model struct {
	Provider  string `yaml:"provider"`    // openai or ollama
	BaseURL   string `yaml:"base_url"`    // with its /v1
	Model     string `yaml:"model"`       // required
	APIKeyEnv string `yaml:"api_key_env"` // name of the environment variable that holds its key
}

// LLMFor gives the settings of a named model: the main settings with what the
// name overrides. The key of the main model is never sent to another host.
func (c Config) LLMFor(name string, environ map[string]string) llm.Config {
	m := c.Models[name]
	out := c.LLM
	out.Model = m.Model
	if m.Provider != "" {
		out.Provider = m.Provider
	}
	if m.BaseURL != "" && m.BaseURL != out.BaseURL {
		out.BaseURL, out.APIKey = m.BaseURL, ""
	}
	if m.APIKeyEnv != "" {
		out.APIKey = environ[m.APIKeyEnv]
	}
	return out
}

// Log says what is logged to stderr, and how.
type Log struct {
	Level  string `yaml:"level" env:"SLIPBOX_LOG_LEVEL"`   // debug, info, warn, error; default info
	Format string `yaml:"format" env:"SLIPBOX_LOG_FORMAT"` // text, json; default text
}

// Auth are the settings of credentials.
type Auth struct {
	Env           string        `yaml:"env" env:"SLIPBOX_KEY_ENV"`                             // second part of a key's text; default live
	Issuer        string        `yaml:"issuer" env:"SLIPBOX_TOKEN_ISSUER"`                     // default slipbox
	Audience      string        `yaml:"audience" env:"SLIPBOX_TOKEN_AUDIENCE"`                 // default slipbox
	TokenTTL      time.Duration `yaml:"token_ttl" env:"SLIPBOX_TOKEN_TTL"`                     // default 15 m, at most 1 h
	WrappingKey   string        `yaml:"wrapping_key" env:"SLIPBOX_WRAPPING_KEY" secret:"true"` // wraps signing keys, 32 characters or more; default: a file made in the data directory
	SigningKeyAge time.Duration `yaml:"signing_key_age" env:"SLIPBOX_SIGNING_KEY_AGE"`         // default 30 days
}

// Index are the settings of the in-memory index.
type Index struct {
	Bytes int64 `yaml:"bytes" env:"SLIPBOX_INDEX_BYTES"` // memory for layer indexes; default 1 GiB
}

// Jobs are the settings of background work.
type Jobs struct {
	Workers       int           `yaml:"workers" env:"SLIPBOX_JOB_WORKERS"`               // jobs at once; default 8
	SweepInterval time.Duration `yaml:"sweep_interval" env:"SLIPBOX_JOB_SWEEP_INTERVAL"` // how often expired collections are looked for; default 30 s
	CopyBatch     int           `yaml:"copy_batch" env:"SLIPBOX_COPY_BATCH"`             // notes per transaction of a copy; default 1,000
}

// Limits are what a tenant may use unless its own limits say otherwise; 0 is
// no limit.
type Limits struct {
	RequestsPerMinute int64 `yaml:"requests_per_minute" env:"SLIPBOX_REQUESTS_PER_MINUTE"`
	WaitersPerTenant  int   `yaml:"waiters_per_tenant" env:"SLIPBOX_WAITERS_PER_TENANT"` // requests with wait=evolved at once; default 64
}

// Default gives the settings of a gateway that nobody configured.
func Default() Config {
	return Config{
		Addr:        "127.0.0.1:8080",
		Data:        "./data",
		StopTimeout: 20 * time.Second,
		HTTP:        api.DefaultConfig(),
		Log:         Log{Level: "info", Format: "text"},
		Index:       Index{Bytes: 1 << 30},
		Jobs:        Jobs{Workers: 8, SweepInterval: 30 * time.Second, CopyBatch: 1000},
		Limits:      Limits{WaitersPerTenant: 64},
	}
}

// minWrappingKey is the least length of a wrapping key given as a setting.
const minWrappingKey = 32

// Validate reports every setting that cannot work, each with its name.
func (c Config) Validate() error {
	var problems []error
	bad := func(name, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		bad("addr", "%q is not host:port", c.Addr)
	}
	if c.Data == "" {
		bad("data", "must name a directory")
	}
	if c.DatabaseURL != "" {
		bad("database_url (DATABASE_URL)", "this build has the embedded store only; unset it")
	}
	if c.RedisURL != "" {
		bad("redis_url (REDIS_URL)", "this build has no Redis support yet; unset it")
	}
	if c.StopTimeout <= 0 {
		bad("stop_timeout", "must be above 0")
	}
	if c.Auth.WrappingKey != "" && len(c.Auth.WrappingKey) < minWrappingKey {
		bad("auth.wrapping_key (SLIPBOX_WRAPPING_KEY)", "must have %d characters or more", minWrappingKey)
	}
	if c.Auth.TokenTTL < 0 || c.Auth.TokenTTL > time.Hour {
		bad("auth.token_ttl", "must be at most 1h")
	}
	if c.Index.Bytes < 1<<20 {
		bad("index.bytes", "must be 1048576 or more")
	}
	if c.Jobs.Workers < 1 || c.Jobs.Workers > 1024 {
		bad("jobs.workers", "must be 1 to 1024")
	}
	if c.Jobs.SweepInterval < time.Second {
		bad("jobs.sweep_interval", "must be 1s or more")
	}
	if c.Jobs.CopyBatch < 1 || c.Jobs.CopyBatch > 10_000 {
		bad("jobs.copy_batch", "must be 1 to 10000")
	}
	if c.Limits.WaitersPerTenant < 1 {
		bad("limits.waiters_per_tenant", "must be 1 or more")
	}
	if c.Limits.RequestsPerMinute < 0 {
		bad("limits.requests_per_minute", "must be 0 (no limit) or more")
	}
	if _, err := telemetry.NewLogger(io.Discard, telemetry.LogConfig(c.Log)); err != nil {
		bad("log", "%v", err)
	}
	if err := c.HTTP.Validate(); err != nil {
		bad("http", "%v", err)
	}
	problems = append(problems, c.LLM.Validate())
	for name, m := range c.Models {
		if m.Model == "" {
			bad("models."+name+".model", "is required")
		}
		if m.Provider != "" && m.Provider != llm.ProviderOpenAI && m.Provider != llm.ProviderOllama {
			bad("models."+name+".provider", "unknown provider %q; valid are %s, %s", m.Provider, llm.ProviderOpenAI, llm.ProviderOllama)
		}
	}
	return errors.Join(problems...)
}
