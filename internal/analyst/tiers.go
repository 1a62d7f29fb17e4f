package analyst

import "github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"

// tierCalls are the calls of MemoryOS.
func tierCalls() map[string]answerer {
	return map[string]answerer{
		memoryos.CallContinuity: answer(continues),
		memoryos.CallMeta:       answer(summarizeChain),
		memoryos.CallThemes:     answer(findThemes),
		memoryos.CallProfile:    answer(profile),
		memoryos.CallKnowledge:  answer(knowledge),
	}
}

func continues(memoryos.ContinuityInput) memoryos.Continuity { return memoryos.Continuity{} }

func summarizeChain(memoryos.MetaInput) memoryos.Meta { return memoryos.Meta{} }

func findThemes(memoryos.ThemesInput) memoryos.ThemesAnswer { return memoryos.ThemesAnswer{} }

func profile(in memoryos.ProfileInput) memoryos.Profile { return in.Old }

func knowledge(memoryos.KnowledgeInput) memoryos.Knowledge { return memoryos.Knowledge{} }
