package mem0

import (
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// unguided is why the guidance of an add was not followed.
const unguided = "guidance needs a model; what was said is quoted"

// guidedPrompt returns the prompt of "extract" for an exchange whose caller says what is to be noted: the same rules, and
// how the guidance is read.
func (p *prompts) guidedPrompt() policy.Prompt {
	out := p.guidance
	out.System = p.extract.System + "\n\n" + p.guidance.System
	out.Version = p.extract.Version + "+" + p.guidance.Version
	return out
}

// categorize tags facts with the categories that the answer has for them, as far as the caller names them.
func (e *Extraction) categorize(g *memory.Guidance, facts []candidate) {
	if g == nil || len(g.Categories) == 0 {
		return
	}
	named := map[string][]string{}
	for i, fact := range e.Facts {
		if i < len(e.categories) {
			named[policy.CleanLine(fact, memory.MaxContentBytes/4)] = e.categories[i]
		}
	}
	for i := range facts {
		facts[i].note.Tags = g.Known(named[facts[i].text])
	}
}
