package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
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
			out = append(out, personFacts(append(slices.Clone(messages[:i]), u), memoryos.MaxKnowledge)...)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, u := range messages {
		if said := quoted(u); said != "" {
			out = append(out, said)
		}
	}
	return out
}

// quoted returns the most telling sentence of a message, with who said it; "" if there is nothing to quote.
func quoted(u memory.Utterance) string {
	sentences := utteredSentences(addressForm.ReplaceAllString(markup.ReplaceAllString(u.Content, "$1"), "$1"))
	if u.Role != memory.RoleUser {
		sentences = slices.DeleteFunc(sentences, func(s string) bool { return strings.ContainsAny(s, "?？") || strings.HasSuffix(s, ":") })
	}
	said := strings.TrimLeft(text.ExtractiveSentence(strings.Join(sentences, "\n")), "-*•# ")
	if said == "" || injectedInstructions.MatchString(said) {
		return ""
	}
	name := cmp.Or(u.Name, roleName(u.Role, languageOf(said)))
	if isHan(said) {
		return name + "：" + said
	}
	return name + ": " + said
}
