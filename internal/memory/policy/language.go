package policy

// Language is the language of a prompt and of its answer: "en" or "zh".
type Language string

// The languages of prompts.
const (
	English Language = "en"
	Chinese Language = "zh"
)
