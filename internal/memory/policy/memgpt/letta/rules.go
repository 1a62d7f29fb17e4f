package letta

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// lettaNames are the names that tools have in Letta where they differ from ours.
var lettaNames = map[string]string{
	"archival_insert": "archival_memory_insert",
	"archival_search": "archival_memory_search",
}

// toLetta returns the name of a tool in an agent file.
func toLetta(tool string) string { return cmp.Or(lettaNames[tool], tool) }

// fromLetta returns the name of a tool of an agent file here.
func fromLetta(tool string) string {
	for ours, name := range lettaNames {
		if name == tool {
			return ours
		}
	}
	return tool
}

// The types of rules in agent files.
const (
	ruleFirst    = "run_first"
	ruleExit     = "exit_loop"
	ruleRequired = "required_before_exit"
	ruleParent   = "parent_last_tool"
	ruleCount    = "max_count_per_step"
	ruleApproval = "requires_approval"
	ruleContinue = "continue_loop"
)

// toolSend is the tool that ends a run anyway.
const toolSend = "send_message"

// exportRules returns rules and approvals as an agent file has them.
func exportRules(rules []memory.ToolRule, approve []string) []rulePart {
	out := []rulePart{}
	for _, r := range rules {
		tool := toLetta(r.Tool)
		switch r.Rule {
		case memory.RuleFirst:
			out = append(out, rulePart{Tool: tool, Type: ruleFirst})
		case memory.RuleLast:
			out = append(out, rulePart{Tool: tool, Type: ruleExit}, rulePart{Tool: tool, Type: ruleRequired})
		case memory.RuleAfter:
			for _, before := range r.After {
				out = append(out, rulePart{Tool: toLetta(before), Type: ruleParent, Children: []string{tool}})
			}
		case memory.RuleMost:
			out = append(out, rulePart{Tool: tool, Type: ruleCount, Most: &r.Most})
		}
	}
	for _, tool := range approve {
		out = append(out, rulePart{Tool: toLetta(tool), Type: ruleApproval})
	}
	return out
}

// importRules returns the rules and approvals of an agent file that can be kept here. Those that cannot, or that become
// another rule, are listed.
//
//nolint:gocognit // one kind of rule after another
func importRules(list []rulePart, field string, out *left) (rules []memory.ToolRule, approve []string) {
	after := map[string]int{} // positions of the rules
	add := func(r memory.ToolRule) {
		if !slices.ContainsFunc(rules, func(o memory.ToolRule) bool { return o.Tool == r.Tool && o.Rule == r.Rule }) {
			rules = append(rules, r)
		}
	}
	for i, r := range list {
		at, tool := memory.ElementField(field, i), fromLetta(r.Tool)
		required := slices.ContainsFunc(list, func(o rulePart) bool { return o.Tool == r.Tool && o.Type == ruleRequired })
		exits := slices.ContainsFunc(list, func(o rulePart) bool { return o.Tool == r.Tool && o.Type == ruleExit })
		if len(r.Args) > 0 && !isEmpty(r.Args) {
			out.add(at+".args", "a call has the arguments that the model writes")
		}
		switch {
		case tool == "":
			out.add(at, "it names no tool")
		case r.Type == ruleFirst:
			add(memory.ToolRule{Tool: tool, Rule: memory.RuleFirst})
		case r.Type == ruleExit && tool == toolSend && !required:
			// A run ends with it anyway.
		case r.Type == ruleExit:
			add(memory.ToolRule{Tool: tool, Rule: memory.RuleLast})
			if !required {
				out.add(at, fmt.Sprintf("became the rule %q, which also forbids to end without it", memory.RuleLast))
			}
		case r.Type == ruleRequired && exits:
			// ruleExit became a rule that is both.
		case r.Type == ruleRequired:
			add(memory.ToolRule{Tool: tool, Rule: memory.RuleLast})
			out.add(at, fmt.Sprintf("became the rule %q, with which the run ends", memory.RuleLast))
		case r.Type == ruleParent:
			for _, child := range r.Children {
				child = fromLetta(child)
				if place, ok := after[child]; ok {
					rules[place].After = append(rules[place].After, tool)
					continue
				}
				after[child] = len(rules)
				rules = append(rules, memory.ToolRule{Tool: child, Rule: memory.RuleAfter, After: []string{tool}})
			}
		case r.Type == ruleCount && r.Most != nil && *r.Most >= 1:
			add(memory.ToolRule{Tool: tool, Rule: memory.RuleMost, Most: *r.Most})
		case r.Type == ruleApproval:
			if !slices.Contains(approve, tool) {
				approve = append(approve, tool)
			}
		case r.Type == ruleContinue:
			out.add(at, "the agent asks for another step with request_heartbeat")
		default:
			out.add(at, fmt.Sprintf("there is no rule like %q here", r.Type))
		}
	}
	return rules, approve
}
