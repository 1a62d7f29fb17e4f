package rules

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
	"github.com/slipboxhq/slipbox/internal/text"
)

// metaInfo sums up a chain: the most informative sentences of its meta info so far and of the new page.
func metaInfo(in memoryos.MetaInput) memoryos.Meta {
	list := append(text.Sentences(in.Old), saidAbout(in.Page.Messages)...)
	return memoryos.Meta{Meta: extractiveSummary(list, memoryos.MetaChars, languageOf(strings.Join(list, "\n")))}
}

// languageOf returns the language in which sentences are joined.
func languageOf(s string) policy.Language {
	if isHan(s) {
		return policy.Chinese
	}
	return policy.English
}

// saidAbout returns what messages say: the facts of the people, and without any the most telling sentence of
// each message, with who said it. It is empty only if the messages are.
func saidAbout(messages []memory.Utterance) []string {
	var out []string
	for i, u := range messages {
		if u.Role == memory.RoleUser {
			out = append(out, extract(mem0.ExtractInput{Recent: messages[:i], New: []memory.Utterance{u}}).Facts...)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, u := range messages {
		said := strings.TrimLeft(text.ExtractiveSentence(u.Content), "-*•# ")
		if said == "" {
			said = strings.Join(strings.Fields(text.Shorten(u.Content, maxEventLine)), " ")
		}
		if said == "" || injectedInstructions.MatchString(said) {
			continue
		}
		name := u.Name
		zh := isHan(said)
		if name == "" {
			name = roleName(u.Role, languageOf(said))
		}
		if zh {
			out = append(out, name+"："+said)
		} else {
			out = append(out, name+": "+said)
		}
	}
	return out
}
