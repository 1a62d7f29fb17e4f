package mem0

import (
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The values of Mem0's settings that are texts.
const (
	UnitMessages = "messages"
	UnitPairs    = "pairs" // exchanges: a message and its answer

	FromBoth      = "both"
	FromUser      = "user"      // facts about a person, from the person's messages
	FromAssistant = "assistant" // facts about an agent, from the agent's messages

	ModeDecide  = "decide"   // every fact is compared with similar memories
	ModeAddOnly = "add_only" // every fact is added unless a memory has the same text

	SummaryFull        = "full"
	SummaryIncremental = "incremental"

	MemoryFacts      = "facts"
	MemoryProcedural = "procedural"

	ScopeCollection = "collection"
	ScopeSession    = "session" // memories of different sessions are kept apart
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
	RecentChars     int     // of each recent message, 0: all; 1000
	MessageChars    int     // of each new message in a prompt; 16000
	Similar         int     // s of the paper: memories that the decision about a fact sees; 10
	MaxFacts        int     // of one exchange; 20
	FactChars       int     // of the longest fact that is kept; 500
	ExtractFrom     string  // whose messages facts are taken from; "both"
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
		Analyst: policy.AnalystAuto, MaxTokens: 2000, RecentMessages: 10, RecentUnit: UnitMessages, RecentChars: 1000, MessageChars: 16_000,
		Similar: 10, MaxFacts: 20, FactChars: 500, ExtractFrom: FromBoth, Scope: ScopeCollection, Mode: ModeDecide,
		MergeSimilarity: 0.95, MaxDeletes: 5, MemoryType: MemoryFacts, SummaryEvery: 10, SummaryMode: SummaryFull,
		SummaryChars: 2000, SummaryFacts: 300, EvoThreshold: 100, GraphConfig: defaultGraphConfig(),
	}
}

// settings returns the constants that a collection may override, in the order in which
// they are shown.
func settings() []policy.Setting[Config] {
	return append([]policy.Setting[Config]{
		{"memory_type", "facts: short facts of what is said; procedural: one record of an agent's run for each session", 0, 0, []string{MemoryFacts, MemoryProcedural}, func(c *Config) any { return &c.MemoryType }},
		{"mode", "decide: each fact is compared with similar memories and is added, is merged, replaces one, or is ignored; add_only: each is added unless a memory has the same text", 0, 0, []string{ModeDecide, ModeAddOnly}, func(c *Config) any { return &c.Mode }},
		{"extract_from", "whose messages facts are taken from: user for facts about a person, assistant for facts about an agent", 0, 0, []string{FromBoth, FromUser, FromAssistant}, func(c *Config) any { return &c.ExtractFrom }},
		{"scope", "collection: one memory; session: what was said in different sessions (runs) is kept apart", 0, 0, []string{ScopeCollection, ScopeSession}, func(c *Config) any { return &c.Scope }},
		{"graph", "entities and their relations are stored beside the facts", 0, 0, nil, func(c *Config) any { return &c.Graph }},
		{"recent_messages", "before the exchange, as background of the extraction, in recent_unit", 0, 100, nil, func(c *Config) any { return &c.RecentMessages }},
		{"recent_unit", "messages, or pairs: of a message and its answer", 0, 0, []string{UnitMessages, UnitPairs}, func(c *Config) any { return &c.RecentUnit }},
		{"recent_chars", "characters of each recent message in a prompt; 0: all", 0, memory.MaxContentBytes, nil, func(c *Config) any { return &c.RecentChars }},
		{"message_chars", "characters of each new message in a prompt", 200, memory.MaxContentBytes, nil, func(c *Config) any { return &c.MessageChars }},
		{"similar", "most similar memories that the decision about a fact sees", 1, 50, nil, func(c *Config) any { return &c.Similar }},
		{"max_facts", "of one exchange", 1, 25, nil, func(c *Config) any { return &c.MaxFacts }},
		{"fact_chars", "characters of the longest fact that is kept", 50, 4000, nil, func(c *Config) any { return &c.FactChars }},
		{"merge_similarity", "cosine from which two new facts of one exchange are the same", 0, 1, nil, func(c *Config) any { return &c.MergeSimilarity }},
		{"max_deletes", "memories that one exchange may delete", 0, 100, nil, func(c *Config) any { return &c.MaxDeletes }},
		{"summary_every", "exchanges between two summaries; 0: none", 0, 1000, nil, func(c *Config) any { return &c.SummaryEvery }},
		{"summary_mode", "full: from all facts; incremental: from the last summary and what changed since", 0, 0, []string{SummaryFull, SummaryIncremental}, func(c *Config) any { return &c.SummaryMode }},
		{"summary_chars", "characters of the summary", 100, 8000, nil, func(c *Config) any { return &c.SummaryChars }},
		{"summary_facts", "newest facts that a summary is written from", 10, 1000, nil, func(c *Config) any { return &c.SummaryFacts }},
		{"evo_threshold", "changing exchanges between two consolidations", 1, 1e6, nil, func(c *Config) any { return &c.EvoThreshold }},
		{"temperature", "of the model", 0, 2, nil, func(c *Config) any { return &c.Temperature }},
		{"max_tokens", "of one answer", 64, 32768, nil, func(c *Config) any { return &c.MaxTokens }},
		{"analyst", "auto: the model if one is configured; heuristic: never a model", 0, 0, []string{policy.AnalystAuto, policy.AnalystHeuristic}, func(c *Config) any { return &c.Analyst }},
		{"model", "a model that the gateway's settings name; empty: the main one", 0, 0, nil, func(c *Config) any { return &c.Model }},
	}, graphSettings()...)
}

// config returns the policy's defaults with a collection's overrides.
func (p *Policy) config(raw json.RawMessage) (Config, error) {
	return policy.ParseSettings(raw, p.defaults, settings())
}
