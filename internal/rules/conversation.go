package rules

import "github.com/slipboxhq/slipbox/internal/memory"

// utterance is an utterance of a conversation with its sentences, which are read once though many rules ask for them.
type utterance struct {
	memory.Utterance
	sentences []string
}

// conversationOf returns utterances with their sentences.
func conversationOf(list ...[]memory.Utterance) []utterance {
	var out []utterance
	for _, part := range list {
		for _, u := range part {
			out = append(out, utterance{u, utteredSentences(u.Content)})
		}
	}
	return out
}

// lastSentences returns the sentences at the end of what somebody says.
func (u *utterance) lastSentences() []string {
	if len(u.Content) <= maxRead {
		return u.sentences
	}
	return lastSentences(u.Content)
}
