package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// The providers of completion.
const (
	ProviderOpenAI    = "openai"    // any OpenAI-compatible endpoint
	ProviderOllama    = "ollama"    // Ollama through its OpenAI-compatible API, without a key
	ProviderHeuristic = "heuristic" // no model
)

// The providers of embedding. ProviderOpenAI and ProviderOllama name endpoints
// here too.
const (
	EmbedLocal        = "local"        // the sentence encoders in this process, trained on talk, by the language of a text
	EmbedPublished    = "published"    // the same without what was learned of talk
	EmbedEnglish      = "english"      // the one for English alone
	EmbedMultilingual = "multilingual" // the one for about a hundred languages alone
	EmbedHash         = "hash"         // hashed n-grams
)

// providers lists the valid values of Config.Provider.
func providers() []string { return []string{ProviderOpenAI, ProviderOllama, ProviderHeuristic} }

// embedProviders lists the valid values of Config.EmbedProvider.
func embedProviders() []string {
	return []string{EmbedLocal, EmbedPublished, EmbedEnglish, EmbedMultilingual, ProviderOpenAI, ProviderOllama, EmbedHash}
}

// Defaults of Config.
const (
	DefaultOpenAIURL        = "https://api.openai.com/v1"
	DefaultOllamaURL        = "http://127.0.0.1:11434/v1"
	DefaultOpenAIModel      = "gpt-4o-mini"
	DefaultOllamaModel      = "llama3.2"
	DefaultOpenAIEmbedModel = "text-embedding-3-small"
	DefaultOllamaEmbedModel = "all-minilm"
	DefaultTemperature      = 0.7
	DefaultMaxTokens        = 1000
	DefaultMaxTokensCeiling = 16_000
	DefaultTimeout          = 60 * time.Second
	DefaultMaxTries         = 3
	DefaultRetryWait        = 500 * time.Millisecond
	DefaultMaxRetryWait     = 20 * time.Second
	DefaultBreakerFailures  = 5
	DefaultBreakerPause     = 10 * time.Second
	DefaultMaxConcurrent    = 8
	DefaultEmbedBatch       = 64
	DefaultEmbedMaxRunes    = 8000
	DefaultEmbedCache       = 4096
	DefaultRerankTimeout    = 2 * time.Second
)

// Config selects the model and the embedder, and sets timeouts and retries. The zero Config is
// valid: the analyst by rules, and the local embedder where its weights are installed.
//
// A model is used only if BaseURL or Model is set: a key alone sends nothing anywhere.
type Config struct {
	// Provider is openai, ollama or heuristic. Empty: openai when BaseURL or Model is set, else heuristic.
	Provider string `yaml:"provider" env:"SLIPBOX_LLM"`
	// BaseURL includes the /v1, and may include the path of a request behind it. Empty: the provider's own.
	BaseURL string `yaml:"base_url" env:"SLIPBOX_LLM_BASE_URL"`
	// Model is the name at the endpoint. Empty: gpt-4o-mini for openai, llama3.2 for ollama.
	Model string `yaml:"model" env:"SLIPBOX_LLM_MODEL"`
	// APIKey is required for OpenAI's own endpoint.
	APIKey string `yaml:"api_key" env:"SLIPBOX_LLM_API_KEY" secret:"true"`
	// KeyHeader is the header that carries the key alone, such as api-key. Empty: Authorization, as a bearer token.
	KeyHeader string `yaml:"key_header" env:"SLIPBOX_LLM_KEY_HEADER"`

	// EmbedProvider is local, talk, english, multilingual, openai, ollama or hash. Empty: local where the weights of both
	// encoders are installed, else english where its weights are, else hash.
	EmbedProvider string `yaml:"embedder" env:"SLIPBOX_EMBEDDER"`
	// EmbedBaseURL includes the /v1. Empty: BaseURL when that is set, else the provider's own.
	EmbedBaseURL string `yaml:"embed_base_url" env:"SLIPBOX_EMBED_BASE_URL"`
	// EmbedAPIKey defaults to APIKey, but only for the host of APIKey.
	EmbedAPIKey string `yaml:"embed_api_key" env:"SLIPBOX_EMBED_API_KEY" secret:"true"`
	// EmbedKeyHeader is KeyHeader for EmbedAPIKey. Empty: KeyHeader, but only for the host of APIKey.
	EmbedKeyHeader string `yaml:"embed_key_header" env:"SLIPBOX_EMBED_KEY_HEADER"`
	// EncoderDir has the weights of the local embedder. Empty: slipbox/encoder in the user's cache directory.
	EncoderDir string `yaml:"encoder_dir" env:"SLIPBOX_ENCODER_DIR"`
	// EmbedModel is the name at the endpoint. Empty: text-embedding-3-small for openai, all-minilm for ollama.
	EmbedModel string `yaml:"embed_model" env:"SLIPBOX_EMBED_MODEL"`
	// EmbedDim is the length of a vector. 0: known from the model's name, otherwise a problem.
	EmbedDim int `yaml:"embed_dim" env:"SLIPBOX_EMBED_DIM"`

	// RerankURL is an endpoint that orders documents by relevance, in the form of Cohere, such as
	// https://api.cohere.com/v2/rerank. Empty: none.
	RerankURL string `yaml:"rerank_url" env:"SLIPBOX_RERANK_URL"`
	// RerankModel is the name at the endpoint. It is required with RerankURL.
	RerankModel string `yaml:"rerank_model" env:"SLIPBOX_RERANK_MODEL"`
	// RerankAPIKey is sent to RerankURL as a bearer token.
	RerankAPIKey string `yaml:"rerank_api_key" env:"SLIPBOX_RERANK_API_KEY" secret:"true"`
	// RerankTimeout is how long a search waits for the endpoint; 0: 2 s. Then it keeps its own order.
	RerankTimeout time.Duration `yaml:"rerank_timeout" env:"SLIPBOX_RERANK_TIMEOUT"`
	// RerankAlways has the endpoint order the hits of every search that says nothing about it.
	RerankAlways bool `yaml:"rerank_always" env:"SLIPBOX_RERANK_ALWAYS"`

	// Temperature of calls that set none; 0: 0.7.
	Temperature float64 `yaml:"temperature" env:"SLIPBOX_LLM_TEMPERATURE"`
	// MaxTokens of an answer, for calls that set none; 0: 1000.
	MaxTokens int `yaml:"max_tokens" env:"SLIPBOX_LLM_MAX_TOKENS"`
	// MaxTokensCeiling is the most tokens that an answer gets which was cut off with less, as of a model that thinks; 0:
	// 16,000. Calls that ask for more get what they ask for.
	MaxTokensCeiling int `yaml:"max_tokens_ceiling" env:"SLIPBOX_LLM_MAX_TOKENS_CEILING"`

	// Timeout of one request; 0: 60 s.
	Timeout time.Duration `yaml:"timeout" env:"SLIPBOX_LLM_TIMEOUT"`
	// MaxTries is how many requests a call or batch sends when the transport fails; 0: 3.
	MaxTries int `yaml:"max_tries" env:"SLIPBOX_LLM_MAX_TRIES"`
	// RetryWait comes before the second try, with jitter, and grows for later ones; 0: 0.5 s.
	RetryWait time.Duration `yaml:"retry_wait" env:"SLIPBOX_LLM_RETRY_WAIT"`
	// MaxRetryWait is the longest wait; a longer Retry-After is returned to the caller; 0: 20 s.
	MaxRetryWait time.Duration `yaml:"max_retry_wait" env:"SLIPBOX_LLM_MAX_RETRY_WAIT"`
	// BreakerFailures is how many failed requests in a row open the circuit breaker; 0: 5.
	BreakerFailures int `yaml:"breaker_failures" env:"SLIPBOX_LLM_BREAKER_FAILURES"`
	// BreakerPause is the time until one request may test the endpoint again; 0: 10 s.
	BreakerPause time.Duration `yaml:"breaker_pause" env:"SLIPBOX_LLM_BREAKER_PAUSE"`
	// MaxConcurrent bounds concurrent requests, for completion and embedding separately; 0: 8.
	MaxConcurrent int `yaml:"max_concurrent" env:"SLIPBOX_LLM_MAX_CONCURRENT"`

	// EmbedBatch is how many texts one request has; 0: 64.
	EmbedBatch int `yaml:"embed_batch" env:"SLIPBOX_EMBED_BATCH"`
	// EmbedMaxRunes is how many characters of a text are sent; 0: 8000.
	EmbedMaxRunes int `yaml:"embed_max_runes" env:"SLIPBOX_EMBED_MAX_RUNES"`
	// EmbedImages says that the endpoint's model embeds images into the space of its texts, as CLIP does, and takes them
	// as {"image": URL or base64}.
	EmbedImages bool `yaml:"embed_images" env:"SLIPBOX_EMBED_IMAGES"`
	// EmbedCache is how many embeddings of each embedder are kept in memory; 0: 4096; negative: none.
	EmbedCache int `yaml:"embed_cache" env:"SLIPBOX_EMBED_CACHE"`
}

// UsesModel reports whether a model is used, and not the analyst by rules.
func (c Config) UsesModel() bool {
	return c.Provider != ProviderHeuristic && (c.BaseURL != "" || c.Model != "")
}

// withDefaults returns c with zero fields replaced by defaults. c must be valid.
func (c Config) withDefaults() Config {
	if c.Provider == "" {
		// UsesModel is read first: it is false once the provider is ProviderHeuristic.
		if c.UsesModel() {
			c.Provider = ProviderOpenAI
		} else {
			c.Provider = ProviderHeuristic
		}
	}
	embedProvider := c.embedProvider()
	if embedProvider == ProviderOpenAI || embedProvider == ProviderOllama {
		c.EmbedBaseURL = c.embedURL()
		c.EmbedAPIKey, c.EmbedKeyHeader = c.embedKey(), c.embedKeyHeader()
		if c.EmbedModel == "" {
			c.EmbedModel = DefaultOpenAIEmbedModel
			if embedProvider == ProviderOllama {
				c.EmbedModel = DefaultOllamaEmbedModel
			}
		}
	}
	c.BaseURL = c.baseURL()
	if c.Model == "" {
		c.Model = DefaultOpenAIModel
		if c.Provider == ProviderOllama {
			c.Model = DefaultOllamaModel
		}
	}
	c.Temperature = cmp.Or(c.Temperature, DefaultTemperature)
	c.MaxTokens = cmp.Or(c.MaxTokens, DefaultMaxTokens)
	c.MaxTokensCeiling = cmp.Or(c.MaxTokensCeiling, DefaultMaxTokensCeiling)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.MaxTries = cmp.Or(c.MaxTries, DefaultMaxTries)
	c.RetryWait = cmp.Or(c.RetryWait, DefaultRetryWait)
	c.MaxRetryWait = cmp.Or(c.MaxRetryWait, DefaultMaxRetryWait)
	c.BreakerFailures = cmp.Or(c.BreakerFailures, DefaultBreakerFailures)
	c.BreakerPause = cmp.Or(c.BreakerPause, DefaultBreakerPause)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, DefaultMaxConcurrent)
	c.EmbedBatch = cmp.Or(c.EmbedBatch, DefaultEmbedBatch)
	c.EmbedMaxRunes = cmp.Or(c.EmbedMaxRunes, DefaultEmbedMaxRunes)
	c.EmbedCache = cmp.Or(c.EmbedCache, DefaultEmbedCache)
	c.RerankTimeout = cmp.Or(c.RerankTimeout, DefaultRerankTimeout)
	return c
}

// InForce returns the settings that a process started now would use: every default is filled in.
// Address and model of an endpoint that is not asked stay empty. The embedder is the local one only
// if its weights are on disk; they are not read or verified.
func (c Config) InForce() Config {
	out := c.withDefaults()
	if !c.UsesModel() {
		out.BaseURL, out.Model = c.BaseURL, c.Model
	}
	if dir, err := c.EncoderPath(); err == nil {
		out.EncoderDir = dir
	}
	out.EmbedProvider = c.embedProvider()
	if c.EmbedProvider == "" {
		switch {
		case weights.Present(encoder.MiniLM, out.EncoderDir) != nil:
			out.EmbedProvider = EmbedHash
		case weights.Present(encoder.E5, out.EncoderDir) != nil:
			out.EmbedProvider = EmbedEnglish
		}
	}
	if c.EmbedEndpoint() != "" {
		out.EmbedDim = cmp.Or(c.EmbedDim, knownDim(out.EmbedModel))
	}
	return out
}

// embedProvider returns the selected embedder, or the default one.
func (c Config) embedProvider() string {
	if c.EmbedProvider == "" {
		return EmbedLocal
	}
	return c.EmbedProvider
}

// baseURL returns the address for completion.
func (c Config) baseURL() string {
	switch {
	case c.Provider == ProviderOllama && c.BaseURL == "":
		return DefaultOllamaURL
	case c.Provider == ProviderOllama:
		return ollamaURL(c.BaseURL, completionPaths)
	case c.BaseURL == "":
		return DefaultOpenAIURL
	}
	return trimPath(c.BaseURL, completionPaths)
}

// The paths of requests, which people copy with the address of an endpoint.
var (
	completionPaths = []string{"/chat/completions", "/completions", "/responses"}
	embedPaths      = []string{"/embeddings"}
)

// trimPath returns an address without slashes at the end of its path, and without one of paths there.
func trimPath(s string, paths []string) string {
	base, query := splitQuery(s)
	for _, path := range paths {
		if rest, ok := strings.CutSuffix(base, path); ok {
			base = strings.TrimRight(rest, "/")
			break
		}
	}
	if query != "" {
		base += "?" + query
	}
	return base
}

// embedURL returns the address for embeddings.
func (c Config) embedURL() string {
	ollama := c.embedProvider() == ProviderOllama
	switch {
	case c.EmbedBaseURL != "" && ollama:
		return ollamaURL(c.EmbedBaseURL, embedPaths)
	case c.EmbedBaseURL != "":
		return trimPath(c.EmbedBaseURL, embedPaths)
	case c.BaseURL != "" || c.Provider == ProviderOllama:
		return c.baseURL()
	case ollama:
		return DefaultOllamaURL
	}
	return DefaultOpenAIURL
}

// embedKey returns the key for embedURL. The completion key is sent to its own host only.
func (c Config) embedKey() string {
	if c.EmbedAPIKey != "" || host(c.embedURL()) != host(c.baseURL()) {
		return c.EmbedAPIKey
	}
	return c.APIKey
}

// embedKeyHeader returns the header of embedKey.
func (c Config) embedKeyHeader() string {
	if c.EmbedKeyHeader != "" || c.EmbedAPIKey != "" || host(c.embedURL()) != host(c.baseURL()) {
		return c.EmbedKeyHeader
	}
	return c.KeyHeader
}

// ollamaURL accepts the address in the form that Ollama prints, without a path.
func ollamaURL(s string, paths []string) string {
	s = trimPath(s, paths)
	if u, err := url.Parse(s); err == nil && u.Path == "" {
		return JoinPath(s, "v1")
	}
	return s
}

// host returns scheme, host and port of a URL.
func host(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return s
	}
	return u.Scheme + "://" + u.Host
}

// Validate reports all problems in one error, each naming its setting.
//
//nolint:gocognit // a list of conditions, one after another
func (c Config) Validate() error {
	var problems []error
	problem := func(setting, format string, args ...any) {
		problems = append(problems, fmt.Errorf("llm.%s: "+format, append([]any{setting}, args...)...))
	}
	checkURL := func(setting, s string) {
		if s == "" {
			return
		}
		u, err := url.Parse(s)
		switch {
		case err != nil:
			problem(setting, "not a URL") // the parser's own message would repeat a password
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			problem(setting, "%q is not an http or https URL", u.Redacted())
		}
	}
	checkURL("base_url", c.BaseURL)
	checkURL("embed_base_url", c.EmbedBaseURL)
	checkURL("rerank_url", c.RerankURL)
	switch {
	case c.RerankURL != "" && c.RerankModel == "":
		problem("rerank_model", "missing: the endpoint is told which model to use")
	case c.RerankURL == "" && c.RerankAlways:
		problem("rerank_always", "needs rerank_url, the endpoint that orders hits")
	}
	for setting, s := range map[string]string{"api_key": c.APIKey, "embed_api_key": c.EmbedAPIKey, "rerank_api_key": c.RerankAPIKey} {
		if !httpguts.ValidHeaderFieldValue(s) {
			problem(setting, "has a line end or another control character inside")
		}
	}
	for setting, s := range map[string]string{"key_header": c.KeyHeader, "embed_key_header": c.EmbedKeyHeader} {
		if s != "" && !httpguts.ValidHeaderFieldName(s) {
			problem(setting, "%q is not a name of a header; the default is Authorization, and some services want api-key", s)
		}
	}

	switch {
	case c.Provider != "" && !slices.Contains(providers(), c.Provider):
		problem("provider", "unknown provider %q; use %s", c.Provider, wording.Or(providers()...))
	case (c.Provider == ProviderOpenAI || c.Provider == ProviderOllama) && !c.UsesModel():
		problem("model", "provider %q needs a model or a base URL: a model is used only if one of them is set", c.Provider)
	}
	openAI := c.Provider == ProviderOpenAI || c.Provider == "" && c.UsesModel()
	if openAI && c.APIKey == "" && isOpenAI(c.baseURL()) {
		problem("api_key", "missing: %s needs a key (SLIPBOX_LLM_API_KEY or OPENAI_API_KEY); a server of your own is named by base_url", DefaultOpenAIURL)
	}

	embed := c.embedProvider()
	switch {
	case !slices.Contains(embedProviders(), embed):
		problem("embedder", "unknown embedder %q; use %s", c.EmbedProvider, wording.Or(embedProviders()...))
	case embed == ProviderOpenAI || embed == ProviderOllama:
		if c.embedKey() == "" && isOpenAI(c.embedURL()) {
			problem("embed_api_key", "missing: %s needs a key (SLIPBOX_LLM_API_KEY or OPENAI_API_KEY); a server of your own is named by embed_base_url", DefaultOpenAIURL)
		}
		if c.EmbedModel != "" && c.EmbedDim == 0 && knownDim(c.EmbedModel) == 0 {
			problem("embed_dim", "the vector length of %q is not known; state it", c.EmbedModel)
		}
	}
	if c.EmbedImages && c.EmbedEndpoint() == "" {
		problem("embed_images", "the embedder %q takes no images; name an endpoint that does", embed)
	}
	if c.EmbedDim < 0 || c.EmbedDim > maxDim {
		problem("embed_dim", "%d is not within 0..%d", c.EmbedDim, maxDim)
	}
	if c.Temperature < 0 || c.Temperature > 2 {
		problem("temperature", "%g is not within 0..2", c.Temperature)
	}
	for setting, n := range map[string]int{
		"max_tokens": c.MaxTokens, "max_tokens_ceiling": c.MaxTokensCeiling, "max_tries": c.MaxTries, "breaker_failures": c.BreakerFailures,
		"max_concurrent": c.MaxConcurrent, "embed_batch": c.EmbedBatch, "embed_max_runes": c.EmbedMaxRunes,
	} {
		if n < 0 {
			problem(setting, "%d is negative", n)
		}
	}
	for setting, d := range map[string]time.Duration{
		"timeout": c.Timeout, "retry_wait": c.RetryWait, "max_retry_wait": c.MaxRetryWait, "breaker_pause": c.BreakerPause, "rerank_timeout": c.RerankTimeout,
	} {
		if d < 0 {
			problem(setting, "%s is negative", d)
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

// Unused returns a line for each setting that is set and has no effect, beginning with its name.
func (c Config) Unused() []string {
	var out []string
	if embed := c.embedProvider(); c.EmbedEndpoint() == "" {
		for setting, set := range map[string]bool{"embed_base_url": c.EmbedBaseURL != "", "embed_model": c.EmbedModel != "", "embed_dim": c.EmbedDim != 0, "embed_api_key": c.EmbedAPIKey != ""} {
			if set {
				out = append(out, "llm."+setting+": is not used: the embedder is "+embed+"; "+ProviderOpenAI+" and "+ProviderOllama+" ask an endpoint")
			}
		}
	}
	if c.RerankURL == "" {
		for setting, set := range map[string]bool{"rerank_model": c.RerankModel != "", "rerank_api_key": c.RerankAPIKey != ""} {
			if set {
				out = append(out, "llm."+setting+": is not used without rerank_url, the endpoint that orders hits")
			}
		}
	}
	slices.Sort(out)
	return out
}

// isOpenAI reports whether an address is OpenAI's own, the only one that is known to require a key.
func isOpenAI(base string) bool {
	u, err := url.Parse(base)
	return err == nil && strings.EqualFold(u.Hostname(), "api.openai.com")
}

// maxDim is the longest vector that is accepted.
const maxDim = 8192

// knownDim returns the native vector length of a model, 0 if unknown. It ignores a tag such as
// ":latest".
func knownDim(model string) int {
	name, _, _ := strings.Cut(model, ":")
	return map[string]int{
		"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536,
		"all-minilm": 384, "nomic-embed-text": 768, "mxbai-embed-large": 1024, "bge-m3": 1024,
		"snowflake-arctic-embed": 1024, "embeddinggemma": 768,
	}[name]
}

// EmbedKey returns the key for EmbedEndpoint and the header that carries it.
func (c Config) EmbedKey() (key, header string) { return c.embedKey(), c.embedKeyHeader() }

// knownWindow returns how many characters of one text a model reads, 0 if unknown: three for each token that it takes. A
// language that needs more tokens is learned from a refusal.
func knownWindow(model string) int64 {
	name, _, _ := strings.Cut(model, ":")
	name = name[strings.LastIndexByte(name, '/')+1:]
	return 3 * map[string]int64{
		"all-minilm": 256, "mxbai-embed-large": 512, "snowflake-arctic-embed": 512, "nomic-embed-text": 2048, "embeddinggemma": 2048,
		"text-embedding-3-small": 8191, "text-embedding-3-large": 8191, "text-embedding-ada-002": 8191, "bge-m3": 8192,
	}[name]
}

// Endpoint returns the address for completion; "" without a model.
func (c Config) Endpoint() string {
	if !c.UsesModel() {
		return ""
	}
	return c.baseURL()
}

// EmbedEndpoint returns the address for embeddings; "" for an embedder in this process.
func (c Config) EmbedEndpoint() string {
	if p := c.embedProvider(); p != ProviderOpenAI && p != ProviderOllama {
		return ""
	}
	return c.embedURL()
}
