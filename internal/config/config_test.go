package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/test/must"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestEnvironmentWinsOverFile(t *testing.T) {
	t.Parallel()
	c, err := Load(Sources{
		File:    write(t, "c.yaml", "addr: 127.0.0.1:1\ndata: /from/file\nllm:\n  model: from-file\n"),
		EnvFile: write(t, "env", "SLIPBOX_DATA=/from/env-file\nSLIPBOX_LLM_MODEL=from-env-file\n"), // C087
		Environ: map[string]string{"SLIPBOX_LLM_MODEL": "from-env", "SLIPBOX_CONTEXT_ENCODING": "estimate", "SLIPBOX_ADDR": ""},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Addr != "127.0.0.1:1" || c.Data != "/from/env-file" || c.LLM.Model != "from-env" {
		t.Errorf("addr %q, data %q, model %q", c.Addr, c.Data, c.LLM.Model)
	}
	if c.Context.Encoding != search.Estimate || Default().Context.Encoding != search.O200k {
		t.Errorf("contexts are counted by %q", c.Context.Encoding)
	}
	if c.Jobs.Workers != Default().Jobs.Workers {
		t.Errorf("a setting that is not given lost its default")
	}
}

// What is set and has no effect is named, with its variable and what it needs.
func TestUnused(t *testing.T) {
	t.Parallel()
	c := Default()
	if got := c.Unused(); len(got) != 0 {
		t.Errorf("the defaults have %v", got)
	}
	c.LLM.EmbedModel, c.LLM.RerankModel = "bge-m3", "rerank-1"
	want := []string{
		"llm.embed_model (SLIPBOX_EMBED_MODEL): is not used: the embedder is local; openai and ollama ask an endpoint",
		"llm.rerank_model (SLIPBOX_RERANK_MODEL): is not used without rerank_url, the endpoint that orders hits",
	}
	if got := c.Unused(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.LLM.EmbedProvider, c.LLM.EmbedBaseURL, c.LLM.RerankURL = llm.ProviderOllama, "http://127.0.0.1:11434", "http://127.0.0.1:1"
	if got := c.Unused(); len(got) != 0 {
		t.Errorf("what is used is named: %v", got)
	}
}

func TestAllProblemsTogether(t *testing.T) {
	t.Parallel()
	_, err := Load(Sources{
		File:    write(t, "c.yaml", "adr: 127.0.0.1:1\n"),
		Environ: map[string]string{"SLIPBOX_JOB_WORKERS": "many", "SLIPBOX_STOP_TIMEOUT": "soon"},
	})
	for _, want := range []string{"adr", `SLIPBOX_JOB_WORKERS: "many" is not a whole number`, `SLIPBOX_STOP_TIMEOUT: "soon" is not a duration`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	c := Default()
	c.Addr, c.Jobs.Workers, c.LLM.Provider, c.Log.Level, c.Context.Encoding = "nowhere", 0, "gpt", "loud", "p50k_base"
	err = c.Validate()
	for _, want := range []string{"addr", "jobs.workers", "gpt", "loud", "SLIPBOX_CONTEXT_ENCODING", "p50k_base"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	c := Default()
	c.LLM.APIKey = "sk-secret"
	c.Auth.WrappingKey = "wrapping-secret"
	c.DatabaseURL = "postgres://app:db-secret@db/slipbox"
	c.MigrateDatabaseURL = "postgres://db/slipbox?user=owner&password=owner-secret@1&sslmode=disable&sslpassword=tls-secret"
	c.RedisURL = "redis://:p@ss@cache:6379" // an @ inside the password
	out := must.Get(c.Redacted())(t)
	for _, secret := range []string{"sk-secret", "wrapping-secret", "db-secret", "p@ss", "ss@cache", "owner-secret", "@1", "tls-secret"} {
		if strings.Contains(string(out), secret) {
			t.Errorf("%q is printed:\n%s", secret, out)
		}
	}
	for _, kept := range []string{"postgres://app:[redacted]@db/slipbox", "cache:6379", "user=owner", "sslmode=disable", "127.0.0.1:8080"} {
		if !strings.Contains(string(out), kept) {
			t.Errorf("%q is missing:\n%s", kept, out)
		}
	}
	if c.LLM.APIKey != "sk-secret" {
		t.Error("redacting changed the settings themselves")
	}
}

// The defaults are valid, and a key alone does not switch a model on.
func TestDefaultIsValid(t *testing.T) {
	t.Parallel()
	must.Do(t, Default().Validate())
	c := must.Get(Load(Sources{Environ: map[string]string{"OPENAI_API_KEY": "sk-alone"}}))(t)
	if c.LLM.UsesModel() {
		t.Error("a key alone switches a model on")
	}
}

func TestNamedModelKeepsTheMainKeyAtItsHost(t *testing.T) {
	t.Parallel()
	c := Default()
	c.LLM.BaseURL, c.LLM.APIKey, c.LLM.Model = "https://models.example/v1", "sk-main", "main"
	c.Models = map[string]Model{
		"fast":  {Model: "small"},
		"other": {Model: "big", BaseURL: "https://elsewhere.example/v1", APIKeyEnv: "OTHER_KEY"},
	}
	if m := c.LLMFor("fast", nil); m.Model != "small" || m.APIKey != "sk-main" {
		t.Errorf("fast: model %q, key %q", m.Model, m.APIKey)
	}
	if m := c.LLMFor("other", map[string]string{"OTHER_KEY": "sk-other"}); m.BaseURL != "https://elsewhere.example/v1" || m.APIKey != "sk-other" {
		t.Errorf("other: url %q, key %q", m.BaseURL, m.APIKey)
	}
	if m := c.LLMFor("other", nil); m.APIKey != "" {
		t.Errorf("the main key is sent to another host")
	}
	c.Models["fast"] = Model{Model: "small", BaseURL: "https://elsewhere.example/v1/chat/completions?key=abc"}
	if m := c.LLMFor("fast", nil); m.Endpoint() != "https://elsewhere.example/v1?key=abc" || m.APIKey != "" {
		t.Errorf("the address of a request is %s", m.Endpoint())
	}
	c.Models[AnyModel] = Model{}
	if m := c.LLMFor(AnyModel, nil); !m.UsesModel() || m.APIKey != "sk-main" || slices.Contains(c.ModelNames(), AnyModel) || len(c.ModelNames()) != 2 {
		t.Errorf("any: %+v, of %v", m, c.ModelNames())
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for want, x := range map[string]func(*Config){
		"models.*.model":    func(c *Config) { c.Models = map[string]Model{AnyModel: {Model: "small"}} },
		"models.*.base_url": func(c *Config) { c.Models, c.LLM = map[string]Model{AnyModel: {}}, llm.Config{} },
		"models.fast.model": func(c *Config) { c.Models = map[string]Model{"fast": {}} },
	} {
		wrong := c
		x(&wrong)
		if err := wrong.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Each mistake in the settings of servers is reported with its name and the fix, and without a secret.
func TestServersSettings(t *testing.T) {
	t.Parallel()
	const key = "a wrapping key that all of them share"
	for name, x := range map[string]struct {
		set  func(*Config)
		want []string
	}{
		"a host that is none": {func(c *Config) { c.Outbound.AllowHosts = []string{"https://example.com"} }, []string{"SLIPBOX_ALLOW_HOSTS", "is no host"}},
		"every host":          {func(c *Config) { c.Outbound.AllowHosts = []string{"*"} }, []string{"SLIPBOX_ALLOW_HOSTS", "must name hosts"}},
		"no wrapping key":     {func(c *Config) { c.DatabaseURL, c.Auth.WrappingKey = "postgres://db/x", "" }, []string{"SLIPBOX_WRAPPING_KEY", "required"}},
		"standby alone":       {func(c *Config) { c.ReplicaURL = "postgres://standby/x" }, []string{"DATABASE_REPLICA_URL", "needs DATABASE_URL"}},
		"redis alone":         {func(c *Config) { c.RedisURL = "redis://cache" }, []string{"REDIS_URL", "DATABASE_URL"}},
		"other schemes": {func(c *Config) {
			c.DatabaseURL, c.MigrateDatabaseURL, c.RedisURL = "mysql://u:s3cret@db", "db.internal:s3cret", "http://:s3cret@cache"
		}, []string{"(DATABASE_URL): must begin with postgres://", "(MIGRATE_DATABASE_URL): must", "(REDIS_URL): must begin with redis://"}},
		"exec mode":   {func(c *Config) { c.Database.ExecMode = "fast" }, []string{"database.exec_mode", "simple_protocol"}},
		"connections": {func(c *Config) { c.Database.Connections = -1 }, []string{"database.connections"}},
		"timeouts":    {func(c *Config) { c.Database.LockTimeout = -1 }, []string{"lock_timeout"}},
		"prefix":      {func(c *Config) { c.Redis.Prefix = "a*b" }, []string{"redis.prefix"}},
		"cache":       {func(c *Config) { c.Cache.Bytes, c.Redis.CacheTTL, c.Redis.Timeout = -1, 0, time.Minute }, []string{"cache.bytes", "redis.cache_ttl", "redis.timeout"}},
		"jobs": {func(c *Config) { c.Jobs.Decides, c.Jobs.Tasks, c.Jobs.Stages = -1, 0, []string{"dance"} }, []string{
			"jobs.decides", "jobs.tasks", `"dance"`, "prepare, decide, task or send",
		}},
		"no stage":        {func(c *Config) { c.Jobs.Stages = nil }, []string{"jobs.stages"}},
		"metrics address": {func(c *Config) { c.MetricsAddr = "9090" }, []string{"metrics_addr", "SLIPBOX_METRICS_ADDR"}},
		"worker address":  {func(c *Config) { c.WorkerAddr = "9090" }, []string{"worker_addr"}},
	} {
		c := Default()
		c.Auth.WrappingKey = key
		x.set(&c)
		err := c.Validate()
		for _, want := range x.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error does not name %q: %v", name, want, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the error contains a password: %v", name, err)
		}
	}
	c := must.Get(Load(Sources{Environ: map[string]string{
		"DATABASE_URL": "postgres://db/x", "REDIS_URL": "rediss://cache", "SLIPBOX_WRAPPING_KEY": key, "SLIPBOX_JOB_STAGES": "task,decide",
	}}))(t)
	if err := c.Validate(); err != nil || !c.Servers() || len(c.Jobs.Stages) != 2 {
		t.Errorf("servers are refused: %v, %+v", err, c.Jobs)
	}
}

// Settings that have no default: empty means that they are not set. With no model, nothing is asked
// at an endpoint; 0 requests per minute is no limit.
var withoutDefault = []string{
	"MetricsAddr", "ProfileAddr", "DatabaseURL", "ReplicaURL", "MigrateDatabaseURL", "RedisURL", "HTTP.TrustedProxies", "HTTP.PublicURL", "HTTP.CORSOrigins", "HTTP.EmbeddingNames", "LLM.BaseURL", "LLM.Model", "LLM.APIKey",
	"LLM.KeyHeader", "LLM.EmbedBaseURL", "LLM.EmbedAPIKey", "LLM.EmbedKeyHeader", "LLM.EmbedModel", "LLM.EmbedDim",
	"LLM.RerankURL", "LLM.RerankModel", "LLM.RerankAPIKey", "LLM.RerankAlways", "LLM.EmbedImages",
	"Models", "Auth.WrappingKey", "Database.Distributed", "Index.Dir", "Chat.RemoteImages", "Outbound.AllowHosts", "Limits.RequestsPerMinute",
	"Limits.SingleTenant", "Limits.ModelTokensPerDay", "UnknownVariables",
}

func emptyFields(v reflect.Value, path string) (names []string) {
	for f, x := range v.Fields() {
		name := strings.TrimPrefix(path+"."+f.Name, ".")
		switch {
		case x.Kind() == reflect.Struct:
			names = append(names, emptyFields(x, name)...)
		case x.IsZero() || x.Kind() == reflect.Map && x.Len() == 0:
			names = append(names, name)
		}
	}
	return names
}

// One setting turns off every limit between tenants that has a default, and no limit that is set.
func TestSingleTenant(t *testing.T) {
	for name, c := range map[string]struct{ set, want Limits }{
		"default":    {Limits{}, Limits{JobShare: 75, RequestsPerSecond: 1000, QueuedJobs: 50_000, ParseSecondsPerHour: 1200}},
		"single":     {Limits{SingleTenant: true}, Limits{SingleTenant: true, JobShare: 100}},
		"single set": {Limits{SingleTenant: true, QueuedJobs: 5, JobShare: 50}, Limits{SingleTenant: true, JobShare: 50, QueuedJobs: 5}},
		"set":        {Limits{QueuedJobs: 5, RequestsPerSecond: 6}, Limits{JobShare: 75, RequestsPerSecond: 6, QueuedJobs: 5, ParseSecondsPerHour: 1200}},
	} {
		if got := c.set.InForce(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestInForceFillsEveryDefault(t *testing.T) {
	t.Parallel()
	c := Default()
	c.LLM.EncoderDir = t.TempDir() // no weights
	used := c.InForce()
	if got := emptyFields(reflect.ValueOf(used), ""); !slices.Equal(got, withoutDefault) {
		t.Errorf("empty settings:\n%q, want\n%q", got, withoutDefault)
	}
	if l := used.LLM; l.Provider != llm.ProviderHeuristic || l.EmbedProvider != llm.EmbedHash || l.Timeout != time.Minute || l.MaxTokens != 1000 ||
		l.Temperature != 0.7 || l.MaxTries != 3 {
		t.Errorf("llm: %+v", l)
	}
	if err := used.Validate(); err != nil {
		t.Error(err)
	}
	if c.LLM.Timeout != 0 || c.Jobs.Prepares != 0 {
		t.Error("InForce changed the settings themselves")
	}
}

// The printed settings mean the same when they are read as a file.
func TestInForceIsAFile(t *testing.T) {
	t.Parallel()
	c := Default()
	c.LLM.EncoderDir = t.TempDir()
	c.LLM.BaseURL, c.LLM.EmbedProvider, c.LLM.EmbedModel = "http://127.0.0.1:11434/v1/", llm.ProviderOllama, "bge-m3"
	c.Models = map[string]Model{"careful": {Model: "large"}}
	used := c.InForce()
	if l := used.LLM; l.Provider != llm.ProviderOpenAI || l.Model != llm.DefaultOpenAIModel || l.BaseURL != "http://127.0.0.1:11434/v1" || l.EmbedDim != 1024 {
		t.Errorf("llm: %+v", l)
	}
	out := must.Get(used.Redacted())(t)
	read, err := Load(Sources{File: write(t, "c.yaml", string(out))})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(used, read, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(used, read.InForce(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// A variable that looks like a setting and is none is reported with the name that was probably meant. Variables of clients,
// of the composition and of Kubernetes are none of ours to report.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	c := must.Get(Load(Sources{
		EnvFile: write(t, "env", "SLIPBOX_LOG_LEVELS=debug\n"),
		Environ: map[string]string{
			"SLIPBOX_JOB_WORKRES": "3", "slipbox_addr": "x", "SLIPBOX_COLOR": "red", "SLIPBOX_EMPTY": "", "DATABASE_URI": "x", "SLIPBOX_DATA": "d",
			"SLIPBOX_KEY": "k", "SLIPBOX_URL": "u", "SLIPBOX_PORT": "8080", "SLIPBOX_SERVICE_HOST": "h", "SLIPBOX_SERVICE_PORT_HTTP": "1",
			"SLIPBOX_PORT_8080_TCP_ADDR": "h", "HOME": "/",
		},
	}))(t)
	want := []string{
		"SLIPBOX_COLOR", "SLIPBOX_JOB_WORKRES (did you mean SLIPBOX_JOB_WORKERS?)", "SLIPBOX_LOG_LEVELS (did you mean SLIPBOX_LOG_LEVEL?)",
		"slipbox_addr (did you mean SLIPBOX_ADDR?)",
	}
	if !slices.Equal(c.UnknownVariables, want) {
		t.Errorf("%q, want %q", c.UnknownVariables, want)
	}
}

// Secrets and addresses from files end with a line end, wherever they are read.
func TestWhiteSpaceAroundValues(t *testing.T) {
	t.Parallel()
	c := must.Get(Load(Sources{
		File:    write(t, "c.yaml", "llm:\n  base_url: \" http://a/v1\\n\"\n  embed_api_key: |\n    sk-file\nmodels:\n  big: {base_url: \"http://b/v1 \", model: m, api_key_env: BIG}\n"),
		EnvFile: write(t, "env", "SLIPBOX_WRAPPING_KEY=\" 0123456789012345678901234567890123\\n\"\n"),
		Environ: map[string]string{"SLIPBOX_LLM_API_KEY": "sk-env\r\n", "DATABASE_URL": "\tpostgres://h/d\n", "SLIPBOX_CORS_ORIGINS": "http://x , http://y\n", "SLIPBOX_LLM_TIMEOUT": "8s\n", "SLIPBOX_DATA": " "},
	}))(t)
	got := []string{c.LLM.BaseURL, c.LLM.EmbedAPIKey, c.LLM.APIKey, c.DatabaseURL, c.Auth.WrappingKey, c.LLMFor("big", map[string]string{"BIG": "sk-big\n"}).APIKey, c.Models["big"].BaseURL}
	want := []string{"http://a/v1", "sk-file", "sk-env", "postgres://h/d", "0123456789012345678901234567890123", "sk-big", "http://b/v1"}
	if !slices.Equal(got, want) || c.LLM.Timeout != 8*time.Second || c.Data != Default().Data || !slices.Equal(c.HTTP.CORSOrigins, []string{"http://x", "http://y"}) {
		t.Errorf("got %q, %s, %q, %q", got, c.LLM.Timeout, c.Data, c.HTTP.CORSOrigins)
	}
}

// Files may begin with a byte order mark, and values with it or another mark without width.
func TestMarksAroundValues(t *testing.T) {
	t.Parallel()
	const mark, space, joiner = "\ufeff", "\u200b", "\u2060"
	for _, m := range []string{mark, space, joiner, mark + "\n" + space} {
		c, err := Load(Sources{
			File:    write(t, "c.yaml", mark+"llm:\n  base_url: \""+m+"http://a/v1\"\n  embed_api_key: \""+m+"sk-file"+m+"\"\nmodels:\n  big: {base_url: http://b/v1, model: m, api_key_env: BIG}\n"),
			EnvFile: write(t, "env", mark+"SLIPBOX_RERANK_API_KEY=\""+m+"sk-rerank\"\n"),
			Environ: map[string]string{"SLIPBOX_LLM_API_KEY": m + "sk-env\r\n", "SLIPBOX_LLM_TIMEOUT": m + "8s", "SLIPBOX_DATA": m},
		})
		if err != nil {
			t.Fatalf("%q: %v", m, err)
		}
		got := []string{c.LLM.BaseURL, c.LLM.EmbedAPIKey, c.LLM.APIKey, c.LLM.RerankAPIKey, c.LLMFor("big", map[string]string{"BIG": m + "sk-big\r\n"}).APIKey}
		want := []string{"http://a/v1", "sk-file", "sk-env", "sk-rerank", "sk-big"}
		if !slices.Equal(got, want) || c.LLM.Timeout != 8*time.Second || c.Data != Default().Data {
			t.Errorf("%q: got %q, %s, %q", m, got, c.LLM.Timeout, c.Data)
		}
	}
}

// Rests and spare processors are used where they were measured, and can be set elsewhere.
func TestShares(t *testing.T) {
	t.Parallel()
	for cpus, want := range map[int]time.Duration{1: 4 * time.Millisecond, 2: 4 * time.Millisecond, 3: 0, 4: 0, 8: 0} {
		if spare, rest := shares(cpus); rest != want || (spare > 0) != (want > 0) {
			t.Errorf("%d CPUs: %d spare processors, a rest of %s", cpus, spare, rest)
		}
	}
}

// All wrong values are named together, each with its variable and its path.
func TestAllProblemsAreNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file    string
		environ map[string]string
		want    []string
	}{
		{"", map[string]string{
			"SLIPBOX_LOG_LEVEL": "loud", "SLIPBOX_JOB_WORKERS": "abc", "SLIPBOX_JOB_TASKS": "0", "SLIPBOX_LLM": "foo", "SLIPBOX_COPY_BATCH": "xyz",
			"SLIPBOX_REDIS_TIMEOUT": "soon", "SLIPBOX_KEY_ENV": "a_b", "SLIPBOX_ADDR": ":99999", "SLIPBOX_TOKEN_TTL": "2h",
		}, []string{
			"log.level (SLIPBOX_LOG_LEVEL): ", `SLIPBOX_JOB_WORKERS: "abc"`, "jobs.tasks (SLIPBOX_JOB_TASKS): ", "llm.provider (SLIPBOX_LLM): ", `SLIPBOX_COPY_BATCH: "xyz"`,
			`SLIPBOX_REDIS_TIMEOUT: "soon"`, "auth.env (SLIPBOX_KEY_ENV): ", "addr (SLIPBOX_ADDR): ", "auth.token_ttl (SLIPBOX_TOKEN_TTL): ",
		}},
		{"", map[string]string{"SLIPBOX_BODY_BYTES": "-5"}, []string{"http.body_bytes (SLIPBOX_BODY_BYTES): "}},
		{"addr: x\nlog: {levl: debug}\nindex: {bytes: 1}\n", nil, []string{`unknown field "levl"`, "addr (SLIPBOX_ADDR): ", "index.bytes (SLIPBOX_INDEX_BYTES): "}},
		{"", map[string]string{"SLIPBOX_REQUESTS_PER_SECOND": "-1"}, []string{"limits.requests_per_second (SLIPBOX_REQUESTS_PER_SECOND), limits.queued_jobs (SLIPBOX_QUEUED_JOBS): "}},
	} {
		src := Sources{Environ: tt.environ}
		if tt.file != "" {
			src.File = filepath.Join(t.TempDir(), "slipbox.yaml")
			must.Do(t, os.WriteFile(src.File, []byte(tt.file), 0o600))
		}
		_, err := LoadValid(src)
		if err == nil {
			t.Fatalf("%v%v: no error", tt.file, tt.environ)
		}
		for _, want := range tt.want {
			if strings.Count(err.Error(), want) != 1 {
				t.Errorf("%q is not named once in:\n%v", want, err)
			}
		}
		if n := len(strings.Split(err.Error(), "\n")); tt.file == "" && n != len(tt.want) {
			t.Errorf("%d problems, want %d:\n%v", n, len(tt.want), err)
		}
	}
	if _, err := LoadValid(Sources{}, func(c *Config) { c.Addr = "nowhere" }); err == nil {
		t.Error("a wrong flag is valid")
	}
}
