package layered

import (
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The ways in which a full working layer makes room.
const (
	strategyWindow = "sliding_window"   // the oldest item leaves
	strategyPrune  = "importance_prune" // the item with the lowest workingKeep leaves
)

// The ways in which the episodic layer shrinks when it holds more than its capacity.
const (
	shrinkRank   = "rank"   // to 70 % of its capacity, those with the lowest episodicKeep leave
	shrinkGentle = "gentle" // those that are unimportant and rarely used leave
)

// Config holds the constants of the layers. A collection overrides some of them with its policy_config, by the
// names in settings. The value after each is its default.
type Config struct {
	Analyst     string  // "auto": the model if there is one; "heuristic": never a model
	Model       string  // one of the models that the settings name; "": the main one
	Temperature float64 // of the call abstract; 0.3
	MaxTokens   int     // of one answer; 1000

	WorkingCapacity  int     // items; 50
	WorkingStrategy  string  // "importance_prune"
	EpisodicCapacity int     // items, above which a consolidation shrinks the layer; 100
	EpisodicStrategy string  // "rank"
	Threshold        float64 // importance below which an item does not become an episode; 0.3
	ConsolidateEvery int     // turns between two consolidations; 5, 0: only on demand
	ConsolidateFrom  int     // items in the working layer from which a consolidation copies them; 10
	DecayDays        float64 // idle days after which importance halves, and again each so many days; 7, 0: never
	Abstract         bool    // a consolidation merges episodes of one topic into a text; true
	AbstractCosine   float64 // of two episodes of one topic, at least; 0.6
	RelevanceFloor   float64 // cosine at which a triple is found by meaning alone; 0.4
	RecentMessages   int     // newest messages that a context shows; 20
	EndAtOnce        bool    // what a message says to be over ends immediately; true
	Persons          string  // whose messages the collection has; "one"
}

// The persons that a collection remembers.
const (
	personsOne     = "one"     // users of a second name are refused
	personsSeveral = "several" // triples about a speaker have the speaker's name as subject
)

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Analyst: policy.AnalystAuto, Temperature: 0.3, MaxTokens: 1000,
		WorkingCapacity: 50, WorkingStrategy: strategyPrune, EpisodicCapacity: 100, EpisodicStrategy: shrinkRank, Threshold: 0.3,
		ConsolidateEvery: 5, ConsolidateFrom: 10, DecayDays: 7, Abstract: true, AbstractCosine: 0.6, RelevanceFloor: 0.4, RecentMessages: 20,
		EndAtOnce: true, Persons: personsOne,
	}
}

// settings returns the constants that a collection may override, in the order in which they are shown.
func settings() []policy.Setting[Config] {
	return []policy.Setting[Config]{
		policy.NumberSetting("working_capacity", "items that the working layer holds at most", 1, 1000, func(c *Config) any { return &c.WorkingCapacity }),
		policy.ChoiceSetting("working_strategy", "which item leaves a full working layer. sliding_window: the oldest; importance_prune: the one with the lowest 0.7 × importance + 0.3 × accesses/10",
			[]string{strategyWindow, strategyPrune}, func(c *Config) any { return &c.WorkingStrategy }),
		policy.NumberSetting("episodic_capacity", "items above which a consolidation shrinks the episodic layer", 10, 100_000, func(c *Config) any { return &c.EpisodicCapacity }),
		policy.ChoiceSetting("episodic_strategy", "how it shrinks. rank: to 70 % of the capacity, by 0.5 × importance + 0.5 × accesses/10; gentle: items with importance below 0.4 and fewer than 3 accesses leave",
			[]string{shrinkRank, shrinkGentle}, func(c *Config) any { return &c.EpisodicStrategy }),
		policy.NumberSetting("importance_threshold", "importance below which an item does not become an episode", 0, 1, func(c *Config) any { return &c.Threshold }),
		policy.NumberSetting("consolidate_every", "turns between two consolidations; 0: only on demand", 0, 1000, func(c *Config) any { return &c.ConsolidateEvery }),
		policy.NumberSetting("consolidate_from", "items in the working layer from which a consolidation copies the important ones to the episodic layer",
			1, 1000, func(c *Config) any { return &c.ConsolidateFrom }),
		policy.NumberSetting("decay_days", "idle days after which importance is half, and again after each so many; 0: it never decays", 0, 3650, func(c *Config) any { return &c.DecayDays }),
		policy.PlainSetting("abstract", "whether a consolidation merges episodes of one topic into a text in the semantic layer", func(c *Config) any { return &c.Abstract }),
		policy.NumberSetting("abstract_cosine", "cosine of two episodes of one topic, at least", 0.1, 1, func(c *Config) any { return &c.AbstractCosine }),
		policy.NumberSetting("relevance_floor", "cosine at which knowledge is found whose subject and object the query does not name", -1, 1, func(c *Config) any { return &c.RelevanceFloor }),
		policy.NumberSetting("recent_messages", "newest messages that a context shows", 0, 200, func(c *Config) any { return &c.RecentMessages }),
		policy.PlainSetting("end_at_once", "whether what a message says to be over ends at once, as a model decides; false: a new value must be repeated until it is the surest",
			func(c *Config) any { return &c.EndAtOnce }),
		policy.ChoiceSetting("persons", "one: messages of a user with a second name are refused; several: they are accepted, and what a named user says of themselves is kept under that name",
			[]string{personsOne, personsSeveral}, func(c *Config) any { return &c.Persons }),
		policy.NumberSetting("temperature", "of the model, when it writes an abstract", 0, 2, func(c *Config) any { return &c.Temperature }),
		policy.NumberSetting("max_tokens", "of one answer", 64, 32768, func(c *Config) any { return &c.MaxTokens }),
		policy.AnalystSetting(func(c *Config) any { return &c.Analyst }),
		policy.ModelSetting(func(c *Config) any { return &c.Model }),
	}
}

// parseConfig returns the defaults with a collection's overrides.
func parseConfig(raw json.RawMessage) (Config, error) {
	return policy.ParseSettings(raw, DefaultConfig(), settings())
}
