package memoryos

import (
	"encoding/json"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The presets.
const (
	presetPaper  = "paper"
	presetCode   = "code"
	presetLoCoMo = "locomo"
)

// How the session is chosen that leaves the middle tier.
const (
	EvictLeastUsed = "least_used"
	EvictColdest   = "coldest"
)

// What leaves a full short tier.
const (
	migrateOne = "one" // what it has no room for
	migrateAll = "all" // all but the newest exchange, as one batch of themes
)

// The persons that a collection remembers.
const (
	personsOne     = "one"     // users of a second name are refused
	personsSeveral = "several" // no profile is made, since it would mix them
)

// Config holds the constants of MemoryOS. A collection overrides some of them with its policy_config, by the names
// in settings. The values after each are those of the presets: code, then paper and locomo where they differ.
type Config struct {
	Preset            string  // "code"
	ShortCapacity     int     // pairs of the short tier; 10, 7, 1
	Migrate           string  // "one"
	MidCapacity       int     // sessions of the middle tier; 2,000, 200, 2,000
	KnowledgeCapacity int     // entries about the user, and as many about the assistant; 100
	HeatThreshold     float64 // from which a session is analyzed; 5
	MergeThreshold    float64 // from which a theme joins a session; 0.6
	KeywordWeight     float64 // of the Jaccard index in a match; 1
	TauSeconds        float64 // in which recency fades to 1/e; 86,400, 10^7
	Alpha             float64 // weight of visits; 1, 1, 0.8
	Beta              float64 // weight of interaction; 1, 1, 0.8
	Gamma             float64 // weight of recency; 1, 1, 0.0001
	Eviction          string  // least_used, coldest
	Sessions          int     // whose pages a search looks at; 5
	Pages             int     // that a search finds; 7, 5, 10
	KnowledgeHits     int     // of each list that a search finds; 20, 10, 20
	Floor             float64 // least similarity of a session and of a page; 0.1
	KnowledgeFloor    float64 // least similarity of knowledge; 0.01, 0.01, 0.1
	Persons           string  // "one"
	UserName          string  // of the person in prompts; "": as the messages say
	Temperature       float64 // of the model; 0.7
	MaxTokens         int     // of one answer; 2,000
	MaterialChars     int     // of what was said in one prompt; defaultMaterialChars
	Analyst           string  // policy.AnalystAuto
	Model             string  // named by the gateway's settings; "": the main one
}

// DefaultConfig returns the values of the preset code.
func DefaultConfig() Config { return presetConfig(presetCode) }

// presetConfig returns the values of a preset.
func presetConfig(name string) Config {
	c := Config{
		Preset: name, ShortCapacity: 10, Migrate: migrateOne, MidCapacity: 2_000, KnowledgeCapacity: 100, HeatThreshold: 5, MergeThreshold: 0.6, KeywordWeight: 1,
		TauSeconds: 86_400, Alpha: 1, Beta: 1, Gamma: 1, Eviction: EvictLeastUsed, Sessions: 5, Pages: 7, KnowledgeHits: 20, Floor: 0.1,
		KnowledgeFloor: 0.01, Persons: personsOne, Temperature: 0.7, MaxTokens: 2_000, MaterialChars: defaultMaterialChars, Analyst: policy.AnalystAuto,
	}
	switch name {
	case presetPaper:
		c.ShortCapacity, c.MidCapacity, c.TauSeconds, c.Eviction, c.Pages, c.KnowledgeHits = 7, 200, 1e7, EvictColdest, 5, 10
	case presetLoCoMo:
		c.ShortCapacity, c.Alpha, c.Beta, c.Gamma, c.Pages, c.KnowledgeFloor = 1, 0.8, 0.8, 0.0001, 10, 0.1
	}
	return c
}

// settings returns the constants that a collection may override, in the order in which they are shown.
func settings() []policy.Setting[Config] {
	type config = Config
	number := policy.NumberSetting[config]
	return []policy.Setting[Config]{
		policy.ChoiceSetting("preset", "the defaults of the others: those of the published code, of the paper, or of its LoCoMo script",
			[]string{presetCode, presetPaper, presetLoCoMo}, func(c *Config) any { return &c.Preset }),
		number("short_capacity", "exchanges of the short tier", 1, 1_000, func(c *Config) any { return &c.ShortCapacity }),
		policy.ChoiceSetting("migrate", "what leaves a full short tier for the middle tier. one: the oldest exchange; all: all but the newest, at most 16 at once, whose themes are found together",
			[]string{migrateOne, migrateAll}, func(c *Config) any { return &c.Migrate }),
		number("mid_capacity", "sessions of the middle tier", 1, 20_000, func(c *Config) any { return &c.MidCapacity }),
		number("knowledge_capacity", "entries about the user, and as many about the assistant; without a model they are quotations, of which ten count as one", 1, 10_000, func(c *Config) any { return &c.KnowledgeCapacity }),
		number("heat_threshold", "heat from which a session is analyzed", 0, 1e6, func(c *Config) any { return &c.HeatThreshold }),
		number("merge_threshold", "match, 0 to 1 plus keyword_weight, from which a theme joins a session", 0, 11, func(c *Config) any { return &c.MergeThreshold }),
		number("keyword_weight", "of shared keywords in a match", 0, 10, func(c *Config) any { return &c.KeywordWeight }),
		number("recency_tau_seconds", "seconds in which recency fades to 1/e", 1, 1e9, func(c *Config) any { return &c.TauSeconds }),
		number("alpha", "weight of visits in heat", 0, 1_000, func(c *Config) any { return &c.Alpha }),
		number("beta", "weight of interaction in heat", 0, 1_000, func(c *Config) any { return &c.Beta }),
		number("gamma", "weight of recency in heat", 0, 1_000, func(c *Config) any { return &c.Gamma }),
		policy.ChoiceSetting("eviction", "which session leaves a full middle tier: the one that was read least, or the coldest",
			[]string{EvictLeastUsed, EvictColdest}, func(c *Config) any { return &c.Eviction }),
		number("sessions", "sessions whose pages a search looks at", 1, 200, func(c *Config) any { return &c.Sessions }),
		number("pages", "pages that a search finds", 1, 100, func(c *Config) any { return &c.Pages }),
		number("knowledge_hits", "entries of each kind of knowledge that a search finds", 1, 200, func(c *Config) any { return &c.KnowledgeHits }),
		number("floor", "least similarity of a session or page that a search finds by meaning", 0, 1, func(c *Config) any { return &c.Floor }),
		number("knowledge_floor", "least similarity of knowledge that a search finds by meaning", 0, 1, func(c *Config) any { return &c.KnowledgeFloor }),
		policy.ChoiceSetting("persons", "one: messages of a user with a second name are refused; several: they are accepted, but no profile is made",
			[]string{personsOne, personsSeveral}, func(c *Config) any { return &c.Persons }),
		policy.PlainSetting("user_name", "of the person in prompts; empty: as the messages say", func(c *Config) any { return &c.UserName }),
		number("temperature", "of the model", 0, 2, func(c *Config) any { return &c.Temperature }),
		number("max_tokens", "of one answer", 64, 32_768, func(c *Config) any { return &c.MaxTokens }),
		number("material_chars", "characters of what was said in one prompt; more is cut, its longest parts first", 500, 64<<10, func(c *Config) any { return &c.MaterialChars }),
		policy.AnalystSetting(func(c *Config) any { return &c.Analyst }),
		policy.ModelSetting(func(c *Config) any { return &c.Model }),
	}
}

// ParseConfig returns the values of the preset with a collection's overrides.
func ParseConfig(raw json.RawMessage) (Config, error) {
	named, err := policy.ParseSettings(raw, DefaultConfig(), settings())
	if err != nil {
		return named, err
	}
	return policy.ParseSettings(raw, presetConfig(named.Preset), settings())
}

// Tau returns the time in which recency fades to 1/e.
func (c *Config) Tau() time.Duration { return time.Duration(c.TauSeconds * float64(time.Second)) }
