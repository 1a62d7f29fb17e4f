package memorybank

import (
	"encoding/json"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The ways of forgetting.
const (
	forgetOff       = "off"
	forgetThreshold = "threshold" // forgets pieces whose retention is below the floor
	forgetRandom    = "random"    // keeps a piece with the probability of its retention
)

// The persons that a collection remembers.
const (
	personsOne     = "one"     // users of a second name are refused
	personsSeveral = "several" // no portrait is drawn, since it would mix them
)

// languageAuto takes the language of the prompts from the conversation.
const languageAuto = "auto"

// Config holds the constants of MemoryBank. A collection overrides some of them with its
// policy_config, by the names in settings. The value after each is its default.
type Config struct {
	Analyst       string  // "auto": the model if there is one; "heuristic": never a model
	Model         string  // one of the models that the settings name; "": the main one
	Temperature   float64 // of the model; 0.7
	MaxTokens     int     // of one answer; 400
	Tau           float64 // days in which a memory of strength 1 fades to 1/e; 5 (the paper: 1)
	Forgetting    string  // of the scheduled pass; "off"
	ForgetHours   int     // between two scheduled passes; 24
	Floor         float64 // retention below which "threshold" forgets; 0.05
	SummaryDelay  int     // seconds from a turn to the summary of its day; 30
	SummaryChars  int     // of a day's summary; 500
	OverallChars  int     // of the shared history and of the portrait; 1500
	MaterialChars int     // of the material of one prompt; 12000
	Language      string  // of prompts and summaries: "auto", "en" or "zh"
	AssistantRole string  // what the companion is to the person, as prompts say it; "": a warm and attentive companion
	UserName      string  // of the person in prompts; "": as the messages say
	AssistantName string  // of the companion in prompts; "": as the messages say
	RecentTurns   int     // newest turns that a context shows; 7
	Persons       string  // whose messages the collection has; "one"
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		Analyst: policy.AnalystAuto, Temperature: 0.7, MaxTokens: 400, Tau: 5, Forgetting: forgetOff, ForgetHours: 24, Floor: 0.05,
		SummaryDelay: 30, SummaryChars: 500, OverallChars: 1500, MaterialChars: 12_000, Language: languageAuto, RecentTurns: 7, Persons: personsOne,
	}
}

// settings returns the constants that a collection may override, in the order in which
// they are shown.
func settings() []policy.Setting[Config] {
	return []policy.Setting[Config]{
		policy.NumberSetting("tau", "days in which a memory of strength 1 fades to 1/e", 0.001, 36500, func(c *Config) any { return &c.Tau }),
		policy.ChoiceSetting("forgetting", "off: only when asked; threshold: every forget_hours, what is retained less than the floor is forgotten; random: every forget_hours, each is kept with the probability of its retention",
			[]string{forgetOff, forgetThreshold, forgetRandom}, func(c *Config) any { return &c.Forgetting }),
		policy.NumberSetting("forget_hours", "hours between two passes of forgetting", 1, 8760, func(c *Config) any { return &c.ForgetHours }),
		policy.NumberSetting("floor", "retention below which threshold forgets", 0, 1, func(c *Config) any { return &c.Floor }),
		policy.NumberSetting("summary_delay", "seconds from a turn to the summary of its day, so that several turns are summarized together",
			0, 86400, func(c *Config) any { return &c.SummaryDelay }),
		policy.NumberSetting("summary_chars", "characters of a day's summary", 50, 4000, func(c *Config) any { return &c.SummaryChars }),
		policy.NumberSetting("overall_chars", "characters of the shared history and of the portrait",
			50, 8000, func(c *Config) any { return &c.OverallChars }),
		policy.NumberSetting("material_chars", "characters of the material of one prompt; a longer day is cut, its longest parts first",
			500, memory.MaxContentBytes, func(c *Config) any { return &c.MaterialChars }),
		policy.ChoiceSetting("language", "of prompts and summaries; auto: summaries are in that of the conversation, prompts in Chinese or else English",
			[]string{languageAuto, string(policy.English), string(policy.Chinese)}, func(c *Config) any { return &c.Language }),
		policy.PlainSetting("assistant_role", "what the companion is to the person, as prompts say it; empty: a warm and attentive companion",
			func(c *Config) any { return &c.AssistantRole }),
		policy.PlainSetting("user_name", "of the person in prompts; empty: as the messages say", func(c *Config) any { return &c.UserName }),
		policy.PlainSetting("assistant_name", "of the companion in prompts; empty: as the messages say",
			func(c *Config) any { return &c.AssistantName }),
		policy.NumberSetting("recent_turns", "newest turns that a context shows", 0, 50, func(c *Config) any { return &c.RecentTurns }),
		policy.ChoiceSetting("persons", "one: messages of a user with a second name are refused; several: they are accepted, and days are summarized, but no portrait is drawn",
			[]string{personsOne, personsSeveral}, func(c *Config) any { return &c.Persons }),
		policy.NumberSetting("temperature", "of the model", 0, 2, func(c *Config) any { return &c.Temperature }),
		policy.NumberSetting("max_tokens", "of one answer", 64, 32768, func(c *Config) any { return &c.MaxTokens }),
		policy.AnalystSetting(func(c *Config) any { return &c.Analyst }),
		policy.ModelSetting(func(c *Config) any { return &c.Model }),
	}
}

// parseConfig returns the defaults with a collection's overrides.
func parseConfig(raw json.RawMessage) (Config, error) {
	return policy.ParseSettings(raw, DefaultConfig(), settings())
}

func (c *Config) summaryDelay() time.Duration { return time.Duration(c.SummaryDelay) * time.Second }

func (c *Config) forgetInterval() time.Duration {
	return time.Duration(c.ForgetHours) * time.Hour
}

// language returns the language of the setting, or for languageAuto that of a text:
// Chinese or else English.
func (c *Config) language(content string) policy.Language {
	if c.Language != languageAuto {
		return policy.Language(c.Language)
	}
	if guess, _ := text.Guess(content); guess == text.Chinese {
		return policy.Chinese
	}
	return policy.English
}

// askedLanguage returns the language that the setting asks for, as a prompt names it; "": that of the conversation.
func (c *Config) askedLanguage() string {
	switch c.Language {
	case string(policy.English):
		return "English"
	case string(policy.Chinese):
		return "中文"
	}
	return ""
}

// role returns what the companion is to the person, in the language of a prompt.
func (c *Config) role(l policy.Language) string {
	switch {
	case c.AssistantRole != "":
		return c.AssistantRole
	case l == policy.Chinese:
		return "温暖体贴的陪伴者"
	default:
		return "a warm and attentive companion"
	}
}
