package mem0

import (
	"bytes"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The values of Mem0's settings that are texts.
const (
	unitMessages = "messages"
	unitPairs    = "pairs" // exchanges: a message and its answer

	fromBoth      = "both"
	fromUser      = "user"      // facts about a person, from the person's messages
	fromAssistant = "assistant" // facts about an agent, from the agent's messages

	extractByModel = "model"
	extractQuoted  = "quotations" // what was said, as without a model; the model decides what it does to the memories

	modeDecide  = "decide"   // every fact is compared with similar memories
	modeAddOnly = "add_only" // every fact is added unless a memory has the same text

	summaryFull        = "full"
	summaryIncremental = "incremental"

	memoryFacts      = "facts"
	memoryProcedural = "procedural"

	scopeCollection = "collection"
	scopeSession    = "session" // memories of different sessions are kept apart
)

// Config holds the constants of Mem0 and Mem0g. A collection overrides some of them with
// its policy_config, by the names in settings. The value after each is its default.
type Config struct {
	Analyst         string  // "auto": the model if there is one; "heuristic": never a model
	Model           string  // one of the models that the settings name; "": the main one
	Temperature     float64 // of the model; 0
	MaxTokens       int     // of one answer; 2000
	RecentMessages  int     // m of the paper: before the exchange, as background of the extraction; 10
	RecentUnit      string  // of m; "messages"
	RecentChars     int     // of each recent message, 0: all; 200
	MessageChars    int     // of each new message in a prompt; 16000
	Similar         int     // s of the paper: memories that the decision about a fact sees; 10
	MaxFacts        int     // of one exchange; 20
	FactChars       int     // of the longest fact that is kept; 500
	ExtractFrom     string  // whose messages facts are taken from; "both"
	Extraction      string  // "model"
	Scope           string  // "collection", or "session": memories of different sessions are kept apart
	Mode            string  // "decide"
	MergeSimilarity float64 // cosine from which two new facts of one exchange are the same; 0.95
	MaxDeletes      int     // memories that one exchange may delete; 5
	MemoryType      string  // "facts", or "procedural": one record for each session
	SummaryEvery    int     // K, exchanges between two summaries, 0: none; 10
	SummaryMode     string  // "full"
	SummaryChars    int     // of the summary; 2000
	SummaryFacts    int     // newest facts that a summary is written from; 300
	Graph           bool    // entities and relations are stored too; false for mem0, true for mem0g
	EvoThreshold    int     // changing exchanges between two consolidations; 100

	GraphConfig // used when Graph is set
}

// DefaultConfig returns the documented defaults of mem0. Those of mem0g differ only in Graph.
func DefaultConfig() Config {
	return Config{
		Analyst: policy.AnalystAuto, MaxTokens: 2000, RecentMessages: 10, RecentUnit: unitMessages, RecentChars: 200, MessageChars: 16_000,
		Similar: 10, MaxFacts: 20, FactChars: 500, ExtractFrom: fromBoth, Extraction: extractByModel, Scope: scopeCollection, Mode: modeDecide,
		MergeSimilarity: 0.95, MaxDeletes: 5, MemoryType: memoryFacts, SummaryEvery: 10, SummaryMode: summaryFull,
		SummaryChars: 2000, SummaryFacts: 300, EvoThreshold: 100, GraphConfig: defaultGraphConfig(),
	}
}

// settings returns the constants that a collection may override, in the order in which
// they are shown.
func settings() []policy.Setting[Config] {
	return append([]policy.Setting[Config]{
		policy.ChoiceSetting("memory_type", "facts: short facts of what is said; procedural: one record of an agent's run for each session",
			[]string{memoryFacts, memoryProcedural}, func(c *Config) any { return &c.MemoryType }),
		policy.ChoiceSetting("mode", "decide: each fact is compared with similar memories and is added, is merged, replaces one, or is ignored; add_only: each is added unless a memory has the same text",
			[]string{modeDecide, modeAddOnly}, func(c *Config) any { return &c.Mode }),
		policy.ChoiceSetting("extract_from", "whose messages facts are taken from: user for facts about a person, assistant for facts about an agent",
			[]string{fromBoth, fromUser, fromAssistant}, func(c *Config) any { return &c.ExtractFrom }),
		policy.ChoiceSetting("extraction", "model: facts are worded by a model; quotations: they are quoted as without a model, and the model decides what they do to the memories, which suits a small model",
			[]string{extractByModel, extractQuoted}, func(c *Config) any { return &c.Extraction }),
		policy.ChoiceSetting("scope", "collection: one memory; session: what was said in different sessions (runs) is kept apart",
			[]string{scopeCollection, scopeSession}, func(c *Config) any { return &c.Scope }),
		policy.PlainSetting("graph", "entities and their relations are stored beside the facts", func(c *Config) any { return &c.Graph }),
		policy.NumberSetting("recent_messages", "before the exchange, as background of the extraction, in recent_unit",
			0, 100, func(c *Config) any { return &c.RecentMessages }),
		policy.ChoiceSetting("recent_unit", "messages, or pairs: of a message and its answer",
			[]string{unitMessages, unitPairs}, func(c *Config) any { return &c.RecentUnit }),
		policy.NumberSetting("recent_chars", "characters of each recent message in a prompt; 0: all",
			0, memory.MaxContentBytes, func(c *Config) any { return &c.RecentChars }),
		policy.NumberSetting("message_chars", "characters of each new message in a prompt",
			200, memory.MaxContentBytes, func(c *Config) any { return &c.MessageChars }),
		policy.NumberSetting("similar", "most similar memories that the decision about a fact sees",
			1, 50, func(c *Config) any { return &c.Similar }),
		policy.NumberSetting("max_facts", "of one exchange", 1, 25, func(c *Config) any { return &c.MaxFacts }),
		policy.NumberSetting("fact_chars", "characters of the longest fact that is kept", 50, 4000, func(c *Config) any { return &c.FactChars }),
		policy.NumberSetting("merge_similarity", "cosine from which two new facts of one exchange are the same",
			0, 1, func(c *Config) any { return &c.MergeSimilarity }),
		policy.NumberSetting("max_deletes", "memories that one exchange may delete", 0, 100, func(c *Config) any { return &c.MaxDeletes }),
		policy.NumberSetting("summary_every", "exchanges between two summaries; 0: none",
			0, 1000, func(c *Config) any { return &c.SummaryEvery }),
		policy.ChoiceSetting("summary_mode", "full: from all facts; incremental: from the last summary and what changed since",
			[]string{summaryFull, summaryIncremental}, func(c *Config) any { return &c.SummaryMode }),
		policy.NumberSetting("summary_chars", "characters of the summary", 100, 8000, func(c *Config) any { return &c.SummaryChars }),
		policy.NumberSetting("summary_facts", "newest facts that a summary is written from",
			10, 1000, func(c *Config) any { return &c.SummaryFacts }),
		policy.NumberSetting("evo_threshold", "changing exchanges between two consolidations",
			1, 1e6, func(c *Config) any { return &c.EvoThreshold }),
		policy.NumberSetting("temperature", "of the model", 0, 2, func(c *Config) any { return &c.Temperature }),
		policy.NumberSetting("max_tokens", "of one answer", 64, 32768, func(c *Config) any { return &c.MaxTokens }),
		policy.AnalystSetting(func(c *Config) any { return &c.Analyst }),
		policy.ModelSetting(func(c *Config) any { return &c.Model }),
	}, graphSettings()...)
}

// config returns the policy's defaults with a collection's overrides.
func (p *Policy) config(raw json.RawMessage) (Config, error) {
	return policy.ParseSettings(withoutRetired(raw), p.defaults, settings())
}

// retiredSetting is a setting that collections may still have stored: whether quotations are kept, which is all that is
// kept now without a model.
const retiredSetting = "excerpts"

// withoutRetired returns overrides without the setting that has no meaning any more.
func withoutRetired(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(retiredSetting)) {
		return raw
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) != nil {
		return raw
	}
	delete(given, retiredSetting)
	out, err := json.Marshal(given)
	if err != nil {
		return raw
	}
	return out
}
