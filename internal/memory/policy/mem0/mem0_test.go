package mem0

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestMem0Facts: both phases are in the outcome (C159, C186: extraction, then decisions). An exchange
// yields several facts, each a memory of its own with its source (C163, C170), in the wording of the
// decision and shorter than the message (C167). A fact without similar memories is an ADD without a call (C169).
func TestMem0Facts(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"User's name is Ada", "User has a dog called Rex", "User works as a nurse"}, []string{"User works as a nurse in a children's hospital nowadays"})
	k.answerDecide(func(in DecideInput) (Operation, int, string) {
		return OpAdd, 0, "User works in a children's hospital"
	})
	m := k.addMessage(memory.RoleUser, "Hi! My name is Ada, I have a dog called Rex and I work as a nurse, which is hard but I like it a lot.")
	o := readOutcome(t, k.learn(m, k.addMessage(memory.RoleAssistant, "Nice to meet you!")))
	want := []string{"User's name is Ada", "User has a dog called Rex", "User works as a nurse"}
	if diff := cmp.Diff(want, k.contents(memory.KindFact)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if o.Extract == nil || o.Extract.Calls != 1 || o.Extract.Prompt != "mem0/extract@2" || o.Extract.Facts != 3 || o.Decide == nil ||
		len(o.Facts) != 3 || o.Facts[0].Operation != OpAdd || o.Facts[0].Note == nil || o.Decision != decisionLearned {
		t.Errorf("the outcome does not show both phases: %+v", o)
	}
	if len(k.called("decide")) != 0 {
		t.Error("nothing is known, and something was asked about it")
	}
	n := k.fact("User has a dog called Rex")
	if !slices.Equal(n.Provenance.Sources, []uuid.UUID{m.ID}) || n.State != memory.StateEvolved || n.Analyst != memory.AnalystModel ||
		!n.OccurredAt.Equal(m.OccurredAt) || !strings.HasPrefix(n.Key, "md5:") || len(n.Key) != 36 {
		t.Errorf("the fact is %+v", n)
	}
	o = readOutcome(t, k.userSays("Nowadays I work as a nurse in a children's hospital, it is a wonderful place to be."))
	if o.Decide.Calls != 1 || len(k.contents(memory.KindFact)) != 4 {
		t.Errorf("the second exchange gave %+v", o)
	}
	if short := k.fact("User works in a children's hospital"); len(short.Content) > 50 {
		t.Errorf("not compact: %q", short.Content)
	}
}

// TestMem0Decisions: the operations on a fact (C171 UPDATE, C172 DELETE, C173 NOOP, C174 as it was chosen,
// C175 unknown targets, C192 no two memories that contradict each other).
func TestMem0Decisions(t *testing.T) {
	t.Parallel()
	const old = "User's name is John"
	number := func(n int) *int { return &n }
	said := func(s string) *string { return &s }
	rows := []struct {
		name   string
		known  string
		fact   string
		answer FactDecision
		want   []string
		same   bool // the memory keeps its id
		drop   FactsDropped
		op     Operation
	}{
		{"update merges", "User likes cheese pizza", "User likes chicken pizza",
			FactDecision{Operation: OpUpdate, Target: number(0), Text: said("User likes cheese and chicken pizza")},
			[]string{"User likes cheese and chicken pizza"}, true, FactsDropped{}, OpUpdate},
		{"a deletion keeps what the fact is not about", "User is vegetarian. User is allergic to peanuts.", "User is not vegetarian any more",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"User is allergic to peanuts. User is not vegetarian any more"}, true, FactsDropped{}, OpUpdate},
		{"a deletion whose text keeps the rest is done", "User likes tea. User likes coffee.", "User does not like coffee any more",
			FactDecision{Operation: OpDelete, Target: number(0), Text: said("User likes tea and does not like coffee any more")},
			[]string{"User likes tea and does not like coffee any more"}, false, FactsDropped{}, OpReplace},
		{"a deletion of something else deletes nothing", "User is vegetarian and allergic to peanuts", "User eats meat again",
			FactDecision{Operation: OpDelete, Target: number(0)},
			[]string{"User is vegetarian and allergic to peanuts", "User eats meat again"}, true, FactsDropped{}, OpAdd},
		{"an update of something else changes nothing", "User lives in Bonn", "User plays chess",
			FactDecision{Operation: OpUpdate, Target: number(0)}, []string{"User lives in Bonn", "User plays chess"}, true, FactsDropped{}, OpAdd},
		{"a name alone is not a subject", "用户叫林小雨。", "用户养了一只狗。",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"用户叫林小雨。", "用户养了一只狗。"}, true, FactsDropped{}, OpAdd},
		{"a deletion in Chinese keeps the rest", "用户对花生过敏。用户喝咖啡。", "用户对花生不再过敏。",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"用户喝咖啡。 用户对花生不再过敏。"}, true, FactsDropped{}, OpUpdate},
		{"a deletion of all takes all", "User likes tea and coffee", "User likes neither tea nor coffee any more",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"User likes neither tea nor coffee any more"}, false, FactsDropped{}, OpReplace},
		{"an update without text loses nothing", "User is vegetarian and allergic to peanuts", "User is allergic to nuts",
			FactDecision{Operation: OpUpdate, Target: number(0)},
			[]string{"User is vegetarian and allergic to peanuts", "User is allergic to nuts"}, true, FactsDropped{Lossy: 1}, OpAdd},
		{"an update keeps half of the words", "User plays chess in a club of sailors in Bonn", "User plays go",
			FactDecision{Operation: OpUpdate, Target: number(0), Text: said("User plays go in Bonn")},
			[]string{"User plays chess in a club of sailors in Bonn", "User plays go"}, true, FactsDropped{Lossy: 1}, OpAdd},
		{"a text with another name is not taken", "User likes pizza", "User likes chicken pizza",
			FactDecision{Operation: OpUpdate, Target: number(0), Text: said("User likes chicken pizza with Greta")},
			[]string{"User likes chicken pizza"}, true, FactsDropped{Texts: 1}, OpUpdate},
		{"update without text takes the fact", "User likes pizza", "User likes chicken pizza",
			FactDecision{Operation: OpUpdate, Target: number(0)}, []string{"User likes chicken pizza"}, true, FactsDropped{}, OpUpdate},
		{"update with a text of nothing takes the fact", "User likes pizza", "User likes chicken pizza",
			FactDecision{Operation: OpUpdate, Target: number(0), Text: said("")}, []string{"User likes chicken pizza"}, true, FactsDropped{}, OpUpdate},
		{"a text that nobody said is not taken", "User likes pizza", "User likes chicken pizza",
			FactDecision{Operation: OpUpdate, Target: number(0), Text: said("Bananas grow quickly near volcanic islands")},
			[]string{"User likes chicken pizza"}, true, FactsDropped{Texts: 1}, OpUpdate},
		{"update to what it says already", "User likes pizza", "The user likes pizza",
			FactDecision{Operation: OpUpdate, Target: number(0), Text: said("User likes pizza")}, []string{"User likes pizza"}, true, FactsDropped{}, OpNoop},
		{"delete leaves what is true", old, "User's name is Mike, not John",
			FactDecision{Operation: OpDelete, Target: number(0), Text: said("User's name is Mike")}, []string{"User's name is Mike"}, false, FactsDropped{}, OpReplace},
		{"delete without text leaves the fact", old, "User's name is Mike",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"User's name is Mike"}, false, FactsDropped{}, OpReplace},
		{"delete with the old text leaves the fact", old, "User's name is Mike",
			FactDecision{Operation: OpDelete, Target: number(0), Text: said(old)}, []string{"User's name is Mike"}, false, FactsDropped{}, OpReplace},
		{"a plan that is called off leaves that it was", "User plans a trip to Rome in May", "User cancelled the trip to Rome",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"User cancelled the trip to Rome"}, false, FactsDropped{}, OpReplace},
		{"what comes instead stays", "User plans a trip to Rome in May", "User cancelled the trip to Rome and visits Paris",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"User cancelled the trip to Rome and visits Paris"}, false, FactsDropped{}, OpReplace},
		{"a state that ended is worth knowing", "User is vegetarian", "User is no longer vegetarian",
			FactDecision{Operation: OpDelete, Target: number(0)}, []string{"User is no longer vegetarian"}, false, FactsDropped{}, OpReplace},
		{"noop changes nothing", "User likes pizza", "User is fond of pizza",
			FactDecision{Operation: OpNoop, Target: number(0), Text: said("User is fond of pizza")}, []string{"User likes pizza"}, true, FactsDropped{}, OpNoop},
		{"noop of an unknown handle", "User likes pizza", "User is fond of pizza",
			FactDecision{Operation: OpNoop, Target: number(7)}, []string{"User likes pizza", "User is fond of pizza"}, true, FactsDropped{Targets: 1}, OpAdd},
		{"noop of nothing", "用户喜欢喝茶。", "用户喜欢在山里喝茶。",
			FactDecision{Operation: OpNoop}, []string{"用户喜欢喝茶。", "用户喜欢在山里喝茶。"}, true, FactsDropped{Targets: 1}, OpAdd},
		{"add beside", "User likes pizza", "User likes pizza ovens",
			FactDecision{Operation: OpAdd, Target: number(0)}, []string{"User likes pizza", "User likes pizza ovens"}, true, FactsDropped{}, OpAdd},
		{"update of nothing", "User likes pizza", "User likes chicken pizza",
			FactDecision{Operation: OpUpdate}, []string{"User likes pizza", "User likes chicken pizza"}, true, FactsDropped{Targets: 1}, OpAdd},
		{"delete of an unknown handle", "User likes pizza", "User hates pizza",
			FactDecision{Operation: OpDelete, Target: number(7)}, []string{"User likes pizza", "User hates pizza"}, true, FactsDropped{Targets: 1}, OpAdd},
		{"a handle below zero", "User likes pizza", "User hates pizza",
			FactDecision{Operation: OpUpdate, Target: number(-1)}, []string{"User likes pizza", "User hates pizza"}, true, FactsDropped{Targets: 1}, OpAdd},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			k := newTestDesk(t, newTestMem0(t), "")
			k.answerExtract([]string{r.known}, []string{r.fact})
			raw := must.Get(json.Marshal(r.answer))(t)
			k.answerWith("decide", string(raw))
			k.userSays(r.known, withAttribute("project", "x"))
			was := k.fact(r.known)
			second := k.userSays(r.fact)
			if diff := cmp.Diff(r.want, k.contents(memory.KindFact)); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
			o := readOutcome(t, second)
			if diff := cmp.Diff(r.drop, o.Dropped); diff != "" || o.Facts[0].Operation != r.op {
				t.Errorf("outcome %+v", o)
			}
			if diff := cmp.Diff(learnedBy(r.op, r.known, r.want), second.Learned, cmpopts.IgnoreFields(memory.Learned{}, "Note", "Replaced")); diff != "" {
				t.Errorf("learned (-want +got):\n%s", diff)
			}
			now := pick(k.notes, []uuid.UUID{was.ID})
			if (len(now) == 1) != r.same {
				t.Fatalf("the memory stands: %v", len(now) == 1)
			}
			if r.same && now[0].Attributes["project"] != "x" {
				t.Errorf("the memory lost its attributes: %v", now[0].Attributes)
			}
			if r.op == OpUpdate && (len(now[0].Provenance.Sources) != 2 || now[0].Key == was.Key) {
				t.Errorf("the merged memory has sources %v and key %s", now[0].Provenance.Sources, now[0].Key)
			}
			if past := pick(k.log[was.From], []uuid.UUID{was.ID}); len(past) != 1 || past[0].Content != r.known {
				t.Error("what was known is not in the log")
			}
		})
	}
}

// TestMem0NothingToLearn: small talk yields no fact, in any form of the answer (C166). For system text, recalled
// memories and what a chat inserted no model is asked.
func TestMem0NothingToLearn(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`{"facts":[]}`, `{}`, `[]`, `<none>`, `None`, `"none"`, `{"facts":null}`, `{"facts":["<none>"]}`, "```json\n[]\n```", `There are none: {"facts": []}`,
	} {
		k := newTestDesk(t, newTestMem0(t), "")
		k.answerWith("extract", answer)
		o := readOutcome(t, k.userSays("Good morning! How are you?"))
		if len(k.contents(memory.KindFact)) != 0 || o.Decision != decisionNothing || len(k.called("decide")) != 0 {
			t.Errorf("%s: %+v", answer, o)
		}
	}
	k := newTestDesk(t, newTestMem0(t), "")
	silent := []memory.Note{
		k.addMessage(memory.RoleSystem, "You are Bob, who lives in Bonn."),
		k.addMessage(memory.RoleTool, `{"city":"Bonn"}`),
		k.addMessage(memory.RoleDeveloper, "Bob likes tea."),
		k.addMessage(memory.RoleUser, "I like tea.", withAttribute(memory.AttrRecall, true)),
		k.addMessage(memory.RoleUser, " <slipbox-memory>User likes tea.</slipbox-memory> "),
		k.addMessage(memory.RoleAssistant, "<SLIPBOX-MEMORY>User likes tea, and it does not end"),
	}
	o := readOutcome(t, k.learn(silent...))
	if len(k.Asked) != 0 || o.Decision != decisionNothing {
		t.Errorf("somebody was asked: %+v", o)
	}
	k.answerExtract([]string{"User likes milk"})
	k.userSays("<slipbox-memory>- User likes tea</slipbox-memory>\nI like milk.")
	in, _ := k.called("extract")[0].Input.(ExtractInput)
	if len(in.New) != 1 || in.New[0].Content != "I like milk." {
		t.Errorf("extracted from %+v", in.New)
	}
}

// TestMem0Forms: facts and decisions are read in the forms that models give them (C176: text around the object).
func TestMem0Forms(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string][]string{
		`{"facts":[{"fact":"User likes tea"},{"text":"User has a cat"}]}`: {"User likes tea", "User has a cat"},
		`{"facts":[["User likes tea",["User has a cat"]]]}`:               {"User likes tea", "User has a cat"},
		`["User likes tea"]`:         {"User likes tea"},
		`{"facts":"User likes tea"}`: {"User likes tea"},
		"Sure, here they are:\n```json\n{\"facts\": [\"User likes tea\"]}\n```\nAnything else?": {"User likes tea"},
		`{"facts":[42, 3.5, true, null, "", "  ", {"n":7}, "User likes tea"]}`:                  {"User likes tea"},
		`{"fact":"User likes tea"}`:                                                                       {"User likes tea"},
		`{"facts":["User likes tea","user likes TEA","User likes  tea"]}`:                                 {"User likes tea"},
		`{"facts":[{"subject":"User","predicate":"likes","object":"tea"}]}`:                               {"User likes tea"},
		`{"facts":["User likes tea\nand\u0000 has a\tcat"]}`:                                              {"User likes tea and has a cat"},
		`{"facts":["User likes tea", "` + strings.Repeat("User likes tea and a cat ", 40) + `"]}`:         {"User likes tea"},
		`{"facts":["User lives on the moon with seven dwarfs","User likes tea","Assistant has no name"]}`: {"User likes tea"},
	} {
		k := newTestDesk(t, newTestMem0(t), "")
		k.answerWith("extract", answer)
		k.userSays("I like tea, and I have a cat. 42")
		if diff := cmp.Diff(want, k.contents(memory.KindFact)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", answer, diff)
		}
	}
	for answer, want := range map[string]Operation{
		`{"operation":"noop","target":"0","text":null}`:                  OpNoop,
		`{"operation":"NONE","target":"0","text":null}`:                  OpNoop,
		`{"operation":"NONE","target":null,"text":null}`:                 OpAdd,
		`{"event":"UPDATE","id":0.0,"text":"User likes green tea"}`:      OpUpdate,
		"I think:\n{\"operation\":\"DELETE\",\"target\":0}\nbecause …":   OpReplace,
		`[{"operation":"ADD","target":null,"text":"User likes green"}]`:  OpAdd,
		`{"operation":"ADD","target":[],"text":{"a":1},"confidence":.9}`: OpNoop, // not JSON: nothing is done
	} {
		k := newTestDesk(t, newTestMem0(t), "")
		k.answerExtract([]string{"User likes tea"}, []string{"User likes green tea"})
		k.answerWith("decide", answer)
		k.userSays("I like tea.")
		dec := k.userSays("I like green tea.")
		o := readOutcome(t, dec)
		if strings.Contains(answer, "confidence") {
			if dec.Pending == "" || len(dec.Puts)+len(dec.Deletes) != 0 || o.Decision != decisionUnlearned {
				t.Errorf("%s: a failed decision wrote %+v", answer, o)
			}
			continue
		}
		if len(o.Facts) != 1 || o.Facts[0].Operation != want {
			t.Errorf("%s: %+v", answer, o)
		}
	}
}

// learnedBy returns what an operation on one memory teaches: nothing, or one change.
func learnedBy(op Operation, was string, now []string) []memory.Learned {
	switch op {
	case OpAdd:
		return []memory.Learned{{Memory: now[len(now)-1], Event: memory.LearnedAdd}}
	case OpUpdate:
		return []memory.Learned{{Memory: now[0], Event: memory.LearnedUpdate, Previous: was}}
	case OpReplace:
		return []memory.Learned{{Memory: now[0], Event: memory.LearnedReplace, Previous: was}}
	case OpDelete, OpNoop:
	}
	return nil
}

// TestMem0Background: the prompt has the summary (C161) and exactly the configured number of messages before
// the pair (C162), and facts that are only in these are not extracted again (C160).
func TestMem0Background(t *testing.T) {
	t.Parallel()
	rows := []struct {
		config string
		want   []string
	}{
		{`{}`, []string{"m5", "m6", "m7", "m8", "m9", "m10", "m11", "m12", "m13", "m14"}},
		{`{"recent_messages":3}`, []string{"m12", "m13", "m14"}},
		{`{"recent_messages":0}`, nil},
		{`{"recent_messages":2,"recent_unit":"pairs"}`, []string{"m11", "m12", "m13", "m14"}},
		{`{"recent_messages":3,"scope":"session"}`, nil},
		{`{"recent_messages":1,"extract_from":"user"}`, []string{"m14", "I am here to help."}},
	}
	for _, r := range rows {
		k := newTestDesk(t, newTestMem0(t), r.config)
		k.apply(memory.Decision{Puts: []memory.Note{{ID: k.NewID(), Kind: memory.KindSummary, Key: KeySummary, Content: "Bob lives in Bonn and has two sons."}}})
		for i := range 15 {
			turn := withAttribute(memory.AttrTurn, fmt.Sprint(i/2))
			if i%2 == 1 {
				turn = withAttribute(memory.AttrTurn, fmt.Sprint((i+1)/2))
			} else if i > 0 {
				turn = withAttribute(memory.AttrTurn, fmt.Sprint(i/2))
			}
			k.addMessage(memory.RoleUser, fmt.Sprintf("m%d", i), turn, withAttribute(memory.AttrSession, "yesterday"))
			if i == 13 {
				k.addMessage(memory.RoleSystem, "system text")
			}
		}
		k.answerWith("extract", `{"facts":["Bob lives in Bonn","Bob has two sons","User moves to the coast","m14"]}`)
		turn := withAttribute(memory.AttrTurn, "now")
		k.learn(k.addMessage(memory.RoleUser, "I move to the coast.", turn, withAttribute(memory.AttrSession, "today")), k.addMessage(memory.RoleAssistant, "I am here to help.", turn, withAttribute(memory.AttrSession, "today")))
		c := k.called("extract")[0]
		in, _ := c.Input.(ExtractInput)
		var recent []string
		for _, u := range in.Recent {
			if u.Content != "" { // where another talk begins
				recent = append(recent, u.Content)
			}
		}
		if diff := cmp.Diff(r.want, recent); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.config, diff)
		}
		for _, m := range r.want {
			if !strings.Contains(c.Prompt, `: `+m+`"`) {
				t.Errorf("%s: %s is not in the prompt", r.config, m)
			}
		}
		if in.Summary != "Bob lives in Bonn and has two sons." || !strings.Contains(c.Prompt, `"summary":"Bob lives in Bonn`) || !strings.Contains(c.System, "background") {
			t.Errorf("the summary is not shown as background: %s", c.Prompt)
		}
		if got := k.contents(memory.KindFact); !slices.Equal(got, []string{"User moves to the coast"}) {
			t.Errorf("%s: extracted %q", r.config, got)
		}
	}
	// A short answer is compared together with the question that it answers.
	k := newTestDesk(t, newTestMem0(t), "")
	k.addMessage(memory.RoleAssistant, "Do you like tea?")
	k.answerExtract([]string{"User likes tea"})
	k.userSays("Yes, I do.")
	if len(k.contents(memory.KindFact)) != 1 {
		t.Error("what a yes says was not learned")
	}
}

// TestMem0OneSpeaker: a message without a name gets the name of the only named user before it, in the call and in
// the facts. With two named users it gets none.
func TestMem0OneSpeaker(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		before []string
		want   string
	}{{nil, ""}, {[]string{"Nora", ""}, "Nora"}, {[]string{"Nora", "Bob", ""}, ""}} {
		k := newTestDesk(t, newTestMem0(t), "")
		for _, name := range r.before {
			if name == "" {
				k.addMessage(memory.RoleUser, "Something.")
				continue
			}
			k.addMessage(memory.RoleUser, "Something.", withAttribute(memory.AttrName, name))
		}
		k.addMessage(memory.RoleAssistant, "I see.", withAttribute(memory.AttrName, "Bot"))
		k.answerExtract([]string{"User likes tea"})
		k.userSays("I like tea.")
		in, _ := k.called("extract")[0].Input.(ExtractInput)
		name, _ := k.fact("User likes tea").Attributes[memory.AttrName].(string)
		if in.New[0].Name != r.want || name != r.want {
			t.Errorf("after %q: said by %q, learned of %q, want %q", r.before, in.New[0].Name, name, r.want)
		}
	}
}

// TestMem0Scopes: facts about a person come from the person's messages, facts about an agent from the agent's.
// Sessions are kept apart if they are the scope.
func TestMem0Scopes(t *testing.T) {
	t.Parallel()
	for from, want := range map[string][]string{fromBoth: {"I like tea.", "I am called Robby."}, fromUser: {"I like tea."}, fromAssistant: {"I am called Robby."}} {
		k := newTestDesk(t, newTestMem0(t), `{"extract_from":"`+from+`"}`)
		k.answerExtract([]string{"Somebody likes tea and is called Robby"})
		k.learn(k.addMessage(memory.RoleUser, "I like tea."), k.addMessage(memory.RoleAssistant, "I am called Robby."))
		in, _ := k.called("extract")[0].Input.(ExtractInput)
		var got []string
		for _, u := range in.New {
			got = append(got, u.Content)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", from, got)
		}
	}
	k := newTestDesk(t, newTestMem0(t), `{"scope":"session"}`)
	k.answers["extract"] = func(memory.Call) string { return `{"facts":["User drives a van"]}` }
	k.answerWith("decide", `{"operation":"NOOP","target":0,"text":null}`)
	for _, session := range []any{"a", "b", 7.0, nil, "a", "b", 7.0, nil} {
		if session == nil {
			k.userSays("I drive a van.")
		} else {
			k.userSays("I drive a van.", withAttribute(memory.AttrSession, session))
		}
	}
	if got := k.contents(memory.KindFact); len(got) != 4 {
		t.Errorf("the runs share memories: %q", got)
	}
}

// TestMem0DecidePrompt: the decision's prompt holds at most the configured number of memories, with handle, text and
// score, never an id (C168), and states the order of preference (C174) and what to do without any (C169).
func TestMem0DecidePrompt(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"similar":4}`)
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("User visited the museum of town %d", i))
	}
	k.answerExtract(many, []string{"User visited the museum of Bonn"})
	k.answerWith("decide", `{"operation":"ADD","target":null,"text":null}`)
	k.userSays("I visited the museum of town 0 to 11.")
	k.userSays("I visited the museum of Bonn.")
	calls := k.called("decide")
	c := calls[len(calls)-1]
	if n := strings.Count(c.Prompt, `"handle":`); n != 4 {
		t.Errorf("%d memories are shown", n)
	}
	for _, n := range k.notes {
		if strings.Contains(c.Prompt, n.ID.String()) {
			t.Error("an id is shown")
		}
	}
	for _, part := range []string{`"handle":0`, `"text":"User visited the museum of town`, `"score":0.`} {
		if !strings.Contains(c.Prompt, part) {
			t.Errorf("%s is not shown:\n%s", part, c.Prompt)
		}
	}
	for _, part := range []string{"NOOP before DELETE before UPDATE before ADD", "With no memories at all: ADD"} {
		if !strings.Contains(c.System, part) {
			t.Errorf("the prompt does not say %q", part)
		}
	}
}

// TestMem0Parallel: decisions of one exchange are asked for in parallel, and none is lost or done twice: the
// second about one target is asked for again, from what the first left (C177).
func TestMem0Parallel(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"User likes pizza"}, []string{"User likes cheese pizza", "User likes chicken pizza", "User likes pizza in Rome"})
	k.answerDecide(func(in DecideInput) (Operation, int, string) {
		for i, m := range in.Similar {
			if strings.HasPrefix(m.Content, "User likes") {
				return OpUpdate, i, m.Content + ", " + strings.TrimPrefix(in.Fact, "User likes ")
			}
		}
		return OpAdd, 0, ""
	})
	k.userSays("I like pizza.")
	o := readOutcome(t, k.userSays("I like cheese pizza, chicken pizza, and pizza in Rome."))
	if got := k.contents(memory.KindFact); !slices.Equal(got, []string{"User likes pizza, cheese pizza, chicken pizza, pizza in Rome"}) {
		t.Errorf("an update was lost: %q", got)
	}
	if o.Facts[0].Again || !o.Facts[1].Again || !o.Facts[2].Again || o.Decide.Calls != 5 {
		t.Errorf("decided again: %+v", o)
	}

	// A deletion, and a later fact about the same memory: what is true is stored once.
	k = newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"User lives in Beijing"}, []string{"User moved from Beijing to Shanghai", "User lives in Shanghai, not in Beijing"})
	k.answerDecide(func(in DecideInput) (Operation, int, string) {
		for i, m := range in.Similar {
			switch m.Content {
			case "User lives in Beijing":
				return OpDelete, i, "User lives in Shanghai"
			case "User lives in Shanghai":
				return OpNoop, i, ""
			}
		}
		return OpAdd, 0, ""
	})
	k.userSays("I live in Beijing.")
	o = readOutcome(t, k.userSays("I moved from Beijing to Shanghai. I live in Shanghai now, not in Beijing."))
	if got := k.contents(memory.KindFact); !slices.Equal(got, []string{"User lives in Shanghai"}) {
		t.Errorf("%q, %+v", got, o)
	}

	// Two new facts that say the same are one; two that differ in a name or a number are two.
	k = newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"User likes the sea", "User likes the sea.", "User was in Rome in 2019", "User was in Rome in 2020", "Ann sees Bob", "Bob sees Ann", "User is married", "User is not married"})
	o = readOutcome(t, k.userSays("I like the sea. I was in Rome in 2019 and 2020. Ann sees Bob and Bob sees Ann. I am married, I am not married."))
	if got := k.contents(memory.KindFact); len(got) != 7 {
		t.Errorf("%q %+v", got, o)
	}
}

// TestMem0AddOnly: without decisions every fact is added, once for each text.
func TestMem0AddOnly(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), `{"mode":"add_only"}`)
	k.answerExtract([]string{"User likes tea"}, []string{"User likes tea", "User likes green tea"}, []string{"User likes green tea"})
	for range 3 {
		k.userSays("I like tea, green tea.")
	}
	if got := k.contents(memory.KindFact); len(got) != 2 || len(k.called("decide")) != 0 {
		t.Errorf("%q after %d decisions", got, len(k.called("decide")))
	}
}

// TestMem0Edited: a memory whose text a caller changed does not count as its old text.
func TestMem0Edited(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"User likes tea"}, []string{"User likes tea"}, []string{"User likes tea"})
	k.answerWith("decide", `{"operation":"ADD","target":null,"text":null}`)
	k.userSays("I like tea.")
	edited := k.fact("User likes tea")
	edited.Content = "User likes mate tea"
	k.decide(policytest.Added(edited))
	k.apply(memory.Decision{Puts: []memory.Note{edited}})
	k.userSays("I like tea.")
	k.userSays("I like tea.")
	if got := k.contents(memory.KindFact); !slices.Equal(got, []string{"User likes mate tea", "User likes tea"}) {
		t.Errorf("live are %q", got)
	}
}

// TestMem0OutOfOrder: an older message neither changes nor deletes a memory, which lists what it says in the order of time.
func TestMem0OutOfOrder(t *testing.T) {
	t.Parallel()
	for _, op := range []Operation{OpUpdate, OpDelete} {
		k := newTestDesk(t, newTestMem0(t), "")
		k.answerExtract([]string{"User lives in Shanghai"}, []string{"User lives in Beijing"})
		k.answerDecide(func(DecideInput) (Operation, int, string) { return op, 0, "" })
		k.userSays("I live in Shanghai.")
		o := readOutcome(t, k.userSays("I live in Beijing.", withTime(policytest.Noon.Add(-24*time.Hour))))
		if got := k.contents(memory.KindFact); !slices.Equal(got, []string{"User lives in Shanghai"}) || o.Dropped.Older != 1 {
			t.Errorf("%s: %q %+v", op, got, o)
		}
		k.answerExtract([]string{"User lives in Chengdu"}, []string{"User lives in Chengdu"})
		for range 2 {
			dec := k.userSays("I live in Chengdu.", withTime(policytest.Noon.Add(-48*time.Hour)))
			if len(dec.Learned) > 0 {
				t.Errorf("%s: learned %+v", op, dec.Learned)
			}
		}
		now := k.fact("User lives in Shanghai")
		var listed []string
		for _, e := range memory.EarlierOf(&now) {
			listed = append(listed, e.OccurredAt.Format(time.DateOnly)+" "+e.Content)
		}
		if want := []string{"2026-03-02 User lives in Chengdu", "2026-03-03 User lives in Beijing"}; !slices.Equal(listed, want) {
			t.Errorf("%s: it lists %q", op, listed)
		}
		if len(now.Provenance.Sources) != 3 || !now.OccurredAt.After(policytest.Noon) {
			t.Errorf("%s: %+v", op, now)
		}
	}
}

// TestMem0Failures: an outage is an error and nothing is written; an answer that cannot be used leaves the
// exchange pending with nothing half-written.
func TestMem0Failures(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.Unavailable, "the endpoint is down")
	k := newTestDesk(t, newTestMem0(t), "")
	k.Err = down
	m := k.addMessage(memory.RoleUser, "I like tea.")
	if _, err := k.p.Decide(t.Context(), k, memory.Event{Kind: memory.EventExchange, Messages: []memory.Note{m}}); !errors.Is(err, down) {
		t.Errorf("an outage gave %v", err)
	}
	k.Err = nil
	k.answerWith("extract", "I will not answer that.")
	if dec := k.learn(m); dec.Pending == "" || len(dec.Puts)+len(dec.Deletes)+len(dec.Follow) != 0 {
		t.Errorf("a bad answer gave %+v", dec)
	}
	// One of several decisions fails: nothing of the exchange is written.
	k.answerExtract([]string{"User likes tea"}, []string{"User likes milk", "User likes green tea"})
	k.userSays("I like tea.")
	k.answers["decide"] = func(c memory.Call) string {
		if in, _ := c.Input.(DecideInput); in.Fact == "User likes milk" {
			return `{"operation":"ADD","target":null,"text":null}`
		}
		return `{"operation":"PERHAPS"}`
	}
	if dec := k.userSays("I like milk and green tea."); dec.Pending == "" || len(dec.Puts) != 0 || len(k.contents(memory.KindFact)) != 1 {
		t.Errorf("half of it was written: %+v", dec)
	}
}

// TestMem0Expiry: a fact expires when its message says. After that it is compared with nothing, also before its task runs.
func TestMem0Expiry(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	ends := policytest.Noon.Add(time.Hour)
	k.answerExtract([]string{"User parks on deck 3"}, []string{"User parks on deck 4"}, []string{"User parks on deck 4"}, []string{"User parks on deck 4"})
	k.answerWith("decide", `{"operation":"ADD","target":null,"text":null}`)
	dec := k.userSays("I park on deck 3.", withAttribute(memory.AttrExpires, ends.Format(time.RFC3339)))
	if len(dec.Follow) != 1 || dec.Follow[0].Task.Name != TaskExpire || !dec.Follow[0].After.Equal(ends) || dec.Follow[0].Task.Key == "" {
		t.Errorf("put off: %+v", dec.Follow)
	}
	if dec = k.decide(policytest.TaskEvent(TaskExpire, "", "")); len(dec.Deletes) != 0 {
		t.Error("deleted before its time")
	}
	k.now = ends
	o := readOutcome(t, k.userSays("I park on deck 4.", withAttribute(memory.AttrExpires, ends.Add(time.Hour).Format(time.RFC3339))))
	if len(o.Expired) != 1 || o.Facts[0].Similar != 0 || !slices.Equal(k.contents(memory.KindFact), []string{"User parks on deck 4"}) {
		t.Errorf("%+v, %q", o, k.contents(memory.KindFact))
	}
	k.now = ends.Add(2 * time.Hour)
	was := k.fact("User parks on deck 4")
	k.userSays("I park on deck 4.")
	if now := k.fact("User parks on deck 4"); now.ID != was.ID || now.Attributes[memory.AttrExpires] != nil || len(k.contents(memory.KindFact)) != 1 {
		t.Errorf("said again after it had expired: %+v", now)
	}
	k.userSays("I park on deck 4.", withAttribute(memory.AttrExpires, k.now.Add(time.Hour).Format(time.RFC3339))) // known: nothing changes
	k.now = k.now.Add(24 * time.Hour)
	if dec = k.decide(policytest.TaskEvent(TaskExpire, "", "")); len(dec.Deletes) != 0 {
		t.Error("a fact without an end was deleted")
	}
}

// TestMem0Note: a note is learned from like a user's message, and stays. A fact that a caller wrote is taken as it is.
func TestMem0Note(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"User likes tea"})
	n := policytest.Note(200, "I like tea.")
	dec := k.decide(policytest.Added(n))
	if !cmp.Equal(dec.Note, n) || len(dec.Puts) != 1 || dec.Puts[0].Provenance.Sources[0] != n.ID {
		t.Errorf("%+v", dec)
	}
	n.Kind = memory.KindFact
	asked := len(k.Asked)
	if dec = k.decide(policytest.Added(n)); !cmp.Equal(dec.Note, n) || len(dec.Puts) != 0 || len(k.Asked) != asked {
		t.Errorf("a fact gave %+v", dec)
	}
	if got, err := k.p.Prepare(t.Context(), k, n); err != nil || !cmp.Equal(got, n) {
		t.Errorf("prepare gave %+v, %v", got, err)
	}
	if _, err := k.p.Decide(t.Context(), k, policytest.TaskEvent("tidy", "", "")); !fault.Is(err, fault.Invalid) {
		t.Errorf("an unknown task gave %v", err)
	}
}

// TestMem0Reading: C193, facts only or facts with the graph is one setting, with another default in each policy.
func TestMem0Reading(t *testing.T) {
	t.Parallel()
	p := newTestMem0(t)
	g := must.Get(NewGraph())(t)
	for _, r := range []struct {
		p      *Policy
		config string
		graph  bool
	}{{p, ``, false}, {p, `{"graph":true}`, true}, {g, ``, true}, {g, `{"graph":false}`, false}} {
		got := r.p.Reading(json.RawMessage(r.config))
		if got.Graph != r.graph || slices.Contains(got.Kinds, memory.KindKnowledge) != r.graph || got.Recent != 10 || got.K != 0 ||
			!slices.Contains(got.Kinds, memory.KindFact) || slices.Contains(got.Kinds, memory.KindMessage) || len(got.Pinned) != 1 {
			t.Errorf("%s %s: %+v", r.p.Name(), r.config, got)
		}
	}
	if !p.Describe().Exchanges || g.Name() != "mem0g" || p.Name() != "mem0" {
		t.Error("the policies are not described as they are")
	}
	for config, field := range map[string]string{
		`{"recent_unit":"turns"}`: "policy_config.recent_unit", `{"similar":0}`: "policy_config.similar", `{"m":10}`: "policy_config.m",
		`{"merge_similarity":1.5}`: "policy_config.merge_similarity", `{"graph":"yes"}`: "policy_config.graph", `{"model":"other"}`: "policy_config.model",
	} {
		var f *fault.Error
		if err := p.CheckConfig(json.RawMessage(config)); !errors.As(err, &f) || f.Fields[0].Field != field {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// TestMem0RetiredSetting: a collection that stored a setting that is gone still loads; a name that never was is refused.
func TestMem0RetiredSetting(t *testing.T) {
	t.Parallel()
	p := newTestMem0(t)
	if err := p.CheckConfig(json.RawMessage(`{"excerpts":false,"similar":5}`)); err != nil {
		t.Error(err)
	}
	if c, err := p.config(json.RawMessage(`{"excerpts":false,"similar":5}`)); err != nil || c.Similar != 5 {
		t.Errorf("%+v, %v", c, err)
	}
	if p.CheckConfig(json.RawMessage(`{"excerpt":false}`)) == nil {
		t.Error("an unknown setting was taken")
	}
}

// A memory that a fact can neither end nor change is not asked about.
func TestMem0UnrelatedIsNotAsked(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerExtract([]string{"User lives in Bonn"}, []string{"User plays chess"}, []string{"User moved from Bonn to Kiel"})
	k.answerDecide(func(in DecideInput) (Operation, int, string) {
		if len(in.Similar) != 1 || in.Similar[0].Content != "User lives in Bonn" {
			t.Errorf("%q is compared with %+v", in.Fact, in.Similar)
		}
		return OpDelete, 0, ""
	})
	decided := func() int {
		n := 0
		for _, c := range k.Asked {
			if c.Name == "decide" {
				n++
			}
		}
		return n
	}
	k.userSays("I live in Bonn")
	k.userSays("I play chess")
	if decided() != 0 {
		t.Errorf("asked %d times about chess", decided())
	}
	k.userSays("I moved from Bonn to Kiel")
	if got := k.contents(memory.KindFact); decided() != 1 || !slices.Equal(got, []string{"User plays chess", "User moved from Bonn to Kiel"}) {
		t.Errorf("asked %d times; facts %q", decided(), got)
	}
}

// TestMem0Guidance compares the prompt with guidance with its golden file, with hostile text in all places. An answer's categories
// are tags as far as the caller has named them.
func TestMem0Guidance(t *testing.T) {
	t.Parallel()
	k := newTestDesk(t, newTestMem0(t), "")
	k.answerWith("extract", `{"facts":[{"said":"I like green tea.","fact":"Ada likes green tea.","categories":["drinks","other"]},{"said":"","fact":"Ada likes tea.","categories":"drinks"}]}`)
	m := k.addMessage(memory.RoleUser, "I like green tea. "+policytest.Hostile, withAttribute(memory.AttrName, "Ada"))
	e := memory.Event{Kind: memory.EventExchange, Messages: []memory.Note{m}, Guidance: &memory.Guidance{
		Instructions: "Be brief. " + policytest.Hostile, Includes: "tea " + policytest.Hostile, Excludes: "coffee " + policytest.Hostile,
		Categories: []memory.Category{{Name: "drinks", Description: policytest.Hostile}, {Name: "food"}},
	}}
	o := readOutcome(t, k.decide(e))
	call := k.called("extract")[0]
	policytest.Golden(t, "golden/guidance.v1.txt", policytest.PromptText(call))
	if strings.Count(call.Prompt, "<memory-data>") != 1 || strings.Count(call.Prompt, "</memory-data>") != 1 {
		t.Errorf("the marks are forged:\n%s", call.Prompt)
	}
	if o.Unguided != "" || o.Extract.Prompt != "mem0/extract@2+mem0/guidance@1" {
		t.Errorf("the outcome is %+v", o)
	}
	if tags := k.fact("Ada likes green tea.").Tags; !slices.Equal(tags, []string{"drinks"}) {
		t.Errorf("the tags are %v", tags)
	}
}
