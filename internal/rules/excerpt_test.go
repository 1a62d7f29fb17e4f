package rules

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// told returns utterances of two people in turn; the last one is new.
func told(names [2]string, said ...string) mem0.ExtractInput {
	var all []memory.Utterance
	for i, s := range said {
		all = append(all, memory.Utterance{Role: memory.RoleUser, Name: names[(len(said)-1-i)%2], Content: s, Time: tierTime})
	}
	return mem0.ExtractInput{Recent: all[:len(all)-1], New: all[len(all)-1:], Excerpts: true}
}

// found returns all candidates of an exchange that are excerpts.
func found(in mem0.ExtractInput) []string {
	var out []string
	for _, c := range candidates(in) {
		if c.excerpt {
			out = append(out, c.fact)
		}
	}
	return out
}

// What no rule understands is quoted, with the question that it answers or the sentence that it points to.
func TestExcerpts(t *testing.T) {
	t.Parallel()
	english, chinese := [2]string{"Rory", "Maeve"}, [2]string{"周航", "小温"}
	for _, c := range []struct {
		in   mem0.ExtractInput
		want []string
	}{
		{told(english, "How often does the farrier come by?", "Every six weeks, Dessie Flood."), []string{"Asked “How often does the farrier come by?”, Rory says: “Every six weeks, Dessie Flood.”"}},
		{told(english, "Grand.", "The lorry failed its test."), []string{"After “Grand.”, Rory says: “The lorry failed its test.”"}},
		{told(english, "Grand.", `Bolts on the "good" gate sheared off.`), []string{"Rory says: “Bolts on the 'good' gate sheared off.”"}},
		{told(english, "Grand.", "Skip gets swapped Fridays so keep your drive clear."), []string{"Rory tells Maeve: “Skip gets swapped Fridays so keep your drive clear.”"}},
		{told(chinese, "押金退了没？", "退了一半，说墙上有洞。"), []string{"被问“押金退了没？”，周航说：“退了一半，说墙上有洞”"}},
		// A fact says it already, a question says nothing, and what was only heard is nobody's word.
		{told(english, "Grand.", "I live in Bremen."), nil},
		{told(english, "Grand.", "Who has the keys of the barn?"), nil},
		{told(english, "Grand.", "Apparently the mart is closing at Easter."), nil},
		{told(chinese, "嗯。", "听说菜市场要拆了。"), nil},
		// Long texts and texts with markup are no talk.
		{told(english, "Grand.", strings.Repeat("The hedges along the lower field were cut. ", 20)), nil},
		{told(english, "Grand.", "**Plan**: hedges along the lower field cut, gate mended."), nil},
	} {
		if got := found(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, not %q", c.in.New[0].Content, got, c.want)
		}
	}
}

// An excerpt is read as it was written, also if it quotes quotes.
func TestExcerptParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listener, before, said string
		asked                  bool
	}{
		{"", "", "Every six weeks", false}, {"Maeve", "How much is yours?", "Yours is the one at the back", true}, {"", "It “was” cut:", `He said: "no" and “never”`, false},
		{"", "", "退了一半", false}, {"", "押金退了没？", "说：“退了”", true}, {"", "好。", "那个坏了", false},
	} {
		name := "Rory"
		if isHan(c.said) {
			name = "周航"
		}
		e := excerptOf(name, c.listener, c.before, c.said, c.asked)
		speaker, before, said, ok := excerptParts(e)
		plain := strings.NewReplacer("“", "'", "”", "'", `"`, "'").Replace
		if !ok || !isExcerpt(e) || speaker != name || before != plain(c.before) || strings.TrimRight(said, ".") != plain(c.said) {
			t.Errorf("%q is read as %q, %q, %q, %v", e, speaker, before, said, ok)
		}
	}
	for _, name := range []string{`Rory: "x" says`, "Rory “the vet”", "éamon", "周：航"} {
		e := excerptOf(name, strings.Repeat("long", 30)+":", "", "Yours is the one at the back", false)
		if _, _, said, ok := excerptParts(e); !ok || said != "Yours is the one at the back." || !utf8.ValidString(e) {
			t.Errorf("%q of %q is read as %q, %v", e, name, said, ok)
		}
	}
	for _, fact := range []string{"Rory lives in Bremen.", "Rory says that the lorry failed.", "“Rory says”", "周航住在青岛。"} {
		if isExcerpt(fact) {
			t.Errorf("%q is taken for an excerpt", fact)
		}
	}
}

// Nobody knows what an excerpt means, so it changes no memory, has no edges, and is not in a summary.
func TestExcerptsChangeNothing(t *testing.T) {
	t.Parallel()
	const excerpt = "Rory says: “No longer lives in Bremen, sold the lorry, Maeve Byrne works at the mart.”"
	known := []memory.Described{{Handle: 0, Content: "Rory lives in Bremen."}, {Handle: 1, Content: "Rory says: “Owns a lorry.”"}}
	if d := decide(mem0.DecideInput{Fact: excerpt, Similar: known}); d.Operation != mem0.OpAdd {
		t.Errorf("an excerpt is decided as %+v", d)
	}
	if d := decide(mem0.DecideInput{Fact: "Rory sold the lorry.", Similar: known}); d.Operation != mem0.OpAdd {
		t.Errorf("a fact is decided as %+v beside an excerpt", d)
	}
	if d := decide(mem0.DecideInput{Fact: "After “Well?”, Rory says: “Owns a lorry.”", Similar: known}); d.Operation != mem0.OpNoop || d.Target == nil || *d.Target != 1 {
		t.Errorf("the same words are decided as %+v", d)
	}
	if e := findEntities(mem0.EntitiesInput{Texts: []string{excerpt}}); len(e.Entities) > 0 {
		t.Errorf("an excerpt has the entities %v", e.Entities)
	}
	if s := summarize(mem0.SummarizeInput{Memories: []string{"Rory lives in Bremen.", excerpt}, Changes: []string{"+ " + excerpt}}); s.Summary != "Rory lives in Bremen." {
		t.Errorf("the summary is %q", s.Summary)
	}
}
