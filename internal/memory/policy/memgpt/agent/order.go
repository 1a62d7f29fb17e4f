package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// violation returns why the rules forbid a call after the calls before it, and which tools they allow;
// "" when they allow it.
func violation(p *memory.Paging, tool string, before []*callState) string {
	if why := forbidden(p, tool, before); why != "" {
		return fmt.Sprintf("%s may not be called now: %s. Allowed now: %s", tool, why, strings.Join(allowed(p, before), ", "))
	}
	return ""
}

// allowed returns the names of the tools that may be called after some calls.
func allowed(p *memory.Paging, before []*callState) (out []string) {
	for _, t := range p.Tools {
		if forbidden(p, t.Name, before) == "" {
			out = append(out, t.Name)
		}
	}
	return out
}

// forbidden returns the rule that a call would break; "": none. Only calls that have succeeded count.
func forbidden(p *memory.Paging, tool string, before []*callState) string {
	times := 0
	done := map[string]bool{}
	for _, c := range before {
		if c.ok() {
			done[c.Tool] = true
			if c.Tool == tool {
				times++
			}
		}
	}
	var first []string
	for _, r := range p.Rules {
		switch {
		case r.Rule == memory.RuleFirst:
			first = append(first, r.Tool)
		case r.Tool != tool:
		case r.Rule == memory.RuleMost && times >= r.Most:
			return fmt.Sprintf("at most %d times in a run", r.Most)
		case r.Rule == memory.RuleAfter && !slices.ContainsFunc(r.After, func(name string) bool { return done[name] }):
			return "only after " + strings.Join(r.After, " or ")
		}
	}
	if len(first) > 0 && len(done) == 0 && !slices.Contains(first, tool) {
		return "a run begins with " + strings.Join(first, " or ")
	}
	return ""
}

// isLast reports whether a tool has the rule last.
func isLast(p *memory.Paging, tool string) bool {
	return slices.ContainsFunc(p.Rules, func(r memory.ToolRule) bool { return r.Rule == memory.RuleLast && r.Tool == tool })
}

// lastMissing returns the tools with which a run has to end, and has not; nil: it may end.
func lastMissing(p *memory.Paging, calls []*callState) (out []string) {
	for _, r := range p.Rules {
		if r.Rule != memory.RuleLast {
			continue
		}
		if slices.ContainsFunc(calls, func(c *callState) bool { return c.Tool == r.Tool && c.ok() }) {
			return nil
		}
		out = append(out, r.Tool)
	}
	return out
}
