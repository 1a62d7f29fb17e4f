package analyst

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

var june = time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)

// nora says something, after turns that others said: each "name: words".
func nora(content string, before ...string) mem0.ExtractInput {
	in := mem0.ExtractInput{New: []memory.Utterance{{Role: memory.RoleUser, Name: "Nora", Content: content, Time: june}}, Max: 20, Chars: 500}
	for _, b := range before {
		name, words, _ := strings.Cut(b, ": ")
		u := memory.Utterance{Role: memory.RoleUser, Name: name, Content: words, Time: june}
		if name == "assistant" {
			u.Role, u.Name = memory.RoleAssistant, ""
		}
		in.Recent = append(in.Recent, u)
	}
	return in
}

// TestExtractQuotes: what states something is kept in the words of who said it, with every sign, the name and the date; an
// answer with its question, a fragment and what a colon introduces with what is before it.
func TestExtractQuotes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("The module reads the file and then parses each of its lines in the usual order. ", 40)
	for _, c := range []struct {
		name, said string
		before     []string
		want       []string
	}{
		{"a statement", "I live in Berlin.", nil, []string{"Nora, 2026-06-01: “I live in Berlin.”"}},
		{"a greeting and a statement", "Hi there! I live in Berlin.", nil, []string{"Nora, 2026-06-01: “I live in Berlin.”"}},
		{"an answer", "Every six weeks.", []string{"assistant: How often is she shod?"}, []string{"“How often is she shod?” – Nora, 2026-06-01: “Every six weeks.”"}},
		{"a fragment", "We had a dog, but he died in autumn. Just two cats now.", nil, []string{"Nora, 2026-06-01: “We had a dog, but he died in autumn. Just two cats now.”"}},
		{"one's own question is not answered", "I live in Berlin.", []string{"Nora: Where is the station?"}, []string{"Nora, 2026-06-01: “I live in Berlin.”"}},
		{"beside a secret", "I live in Porto. The password of my mail is [redacted: password] too.", nil, []string{"Nora, 2026-06-01: “I live in Porto.”"}},
		{"signs", "I ❤️ NYC", nil, []string{"Nora, 2026-06-01: “I ❤️ NYC”"}},
		{"words of others", `Tom told me "I am allergic to nuts. I hate them."`, nil, []string{`Nora, 2026-06-01: “Tom told me "I am allergic to nuts. I hate them."”`}},
		{"an address", "I work at Bosch, see https://bosch.example.com/jobs?id=3.", nil, []string{"Nora, 2026-06-01: “I work at Bosch, see https://bosch.example.com/jobs?id=3.”"}},
		{"an address alone", "My site is https://nora.example.org/a?b=c&d=e.", nil, []string{"Nora, 2026-06-01: “My site is https://nora.example.org/a?b=c&d=e.”"}},
		{"before much text", "I live in Cork. " + long, nil, []string{"Nora, 2026-06-01: “I live in Cork.”"}},
		{"beside code", "```\nx = 1\n```\nI use Go 1.24.", nil, []string{"Nora, 2026-06-01: “I use Go 1.24.”"}},
		{"a correction", "Actually his name is Rex, I mistyped.", []string{"Nora: My dog is called Max."}, []string{"Nora, 2026-06-01: “Actually his name is Rex, I mistyped.”"}},
		{"a death", "Plum died last night.", []string{"Nora: I have two cats, Biscuit and Plum."}, []string{"Nora, 2026-06-01: “Plum died last night.”"}},
		{"an illness", "Rex is diabetic.", []string{"Nora: My dog is called Rex."}, []string{"Nora, 2026-06-01: “Rex is diabetic.”"}},
		{"a habit", "Alice plays chess.", []string{"Nora: Alice lives in Rome."}, []string{"Nora, 2026-06-01: “Alice plays chess.”"}},
		{"an exam", "The exam is on Monday.", nil, []string{"Nora, 2026-06-01: “The exam is on Monday.”"}},
		{"German", "Ich bin letzte Woche nach Bonn gezogen.", nil, []string{"Nora, 2026-06-01: “Ich bin letzte Woche nach Bonn gezogen.”"}},
		{"Spanish", "Me mudé a Sevilla la semana pasada.", nil, []string{"Nora, 2026-06-01: “Me mudé a Sevilla la semana pasada.”"}},
		{"French", "J'habite à Lyon.", nil, []string{"Nora, 2026-06-01: “J'habite à Lyon.”"}},
		{"Japanese", "先週大阪に引っ越しました。", nil, []string{"Nora, 2026-06-01: “先週大阪に引っ越しました。”"}},
		{"Russian", "Я живу в Москве.", nil, []string{"Nora, 2026-06-01: “Я живу в Москве.”"}},
		{"Korean", "지난주에 부산으로 이사했어요.", nil, []string{"Nora, 2026-06-01: “지난주에 부산으로 이사했어요.”"}},
		{"Arabic", "انتقلت إلى دبي الأسبوع الماضي.", nil, []string{"Nora, 2026-06-01: “انتقلت إلى دبي الأسبوع الماضي.”"}},
		{"Chinese", "我搬到慕尼黑了。", []string{"Nora: I live in Berlin."}, []string{"Nora, 2026-06-01: “我搬到慕尼黑了。”"}},
		{"behind one's own statement", "I play the cello.", []string{"Nora: I live in Porto with two cats."}, []string{"Nora, 2026-06-01: “I play the cello.”"}},
		{"behind another's", "I play the cello.", []string{"Tom: I live in Porto with two cats."}, []string{"“Tom: I live in Porto with two cats.” – Nora, 2026-06-01: “I play the cello.”"}},
		{"behind somebody's", "I play the cello.", []string{": I live in Porto with two cats."}, []string{"Nora, 2026-06-01: “I play the cello.”"}},
		{"a Chinese name", "我叫林小雨。", nil, []string{"Nora, 2026-06-01: “我叫林小雨。”"}},
	} {
		if got := extract(&reader{}, nora(c.said, c.before...)).Facts; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestExtractLeavesOut: nothing is kept of what states nothing, or what the speaker does not say as their own.
func TestExtractLeavesOut(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"", "?", "🎂", "Hi!", "Good morning", "Thanks a lot!", "Ok.", "haha ok", "你好！", "谢谢！", "知道了。", "Danke schön!", "¡Hola!",
		"Where do I live?", "你住在哪里？", "هل أنت هنا؟", "Πού μένεις;",
		"Write me a poem about the sea", "Fix this bug please", "帮我写一首诗",
		"Write a story: I was born in 1820 and I am a pirate.", "Translate to French: I am allergic to peanuts.",
		"Please translate this to German:\nI live in Rome. I have two sons.", "Übersetze ins Englische: Ich wohne in Wien.", "请翻译成英文：我住在北京。",
		"Suppose I had a dog called Bolt.", "Evaluate whether Obsidian could be useful with this app.",
		"> I live in Paris", "| name | Nora | Berlin |", "```\nname = \"Nora\"\n```", "2026-06-01 12:00:01 ERROR [main] 0x4f3a: code=500 path=/a/b/c retry=3 (12/50)",
	} {
		if got := extract(&reader{}, nora(said)).Facts; len(got) != 0 {
			t.Errorf("%q: %q", said, got)
		}
	}
}

// TestExtractBounds: an assistant is quoted only if facts about it are asked for; of many sentences the best are kept in their order,
// each once; a long one is cut.
func TestExtractBounds(t *testing.T) {
	t.Parallel()
	in := nora("I live in Berlin.")
	in.New = append(in.New, memory.Utterance{Role: memory.RoleAssistant, Content: "I reserved table 12 for Friday at 8.", Time: june})
	if got := extract(&reader{}, in).Facts; len(got) != 1 || !strings.Contains(got[0], "Berlin") {
		t.Errorf("both speak: %q", got)
	}
	if in.New = in.New[1:]; len(extract(&reader{}, in).Facts) > 0 {
		t.Errorf("facts about a person from the assistant alone: %q", extract(&reader{}, in).Facts)
	}
	in.OfAgent = true
	if got, want := extract(&reader{}, in).Facts, []string{"assistant, 2026-06-01: “I reserved table 12 for Friday at 8.”"}; !slices.Equal(got, want) {
		t.Errorf("facts about the assistant: %q", got)
	}
	in = nora("I live in Berlin. I work as a nurse. I live in Berlin. I have two sons. My wife is called Ines.")
	in.New[0].Name, in.Max = "", 3
	got := extract(&reader{}, in).Facts
	if len(got) != 3 || !strings.HasPrefix(got[0], "2026-06-01: “") {
		t.Errorf("of five sentences %q", got)
	}
	in = nora("I live in Berlin " + strings.Repeat("with my sister Ines and her dog ", 40) + "now.")
	in.Chars = 200
	if got := extract(&reader{}, in).Facts; len(got) != 1 || len([]rune(got[0])) != 200 || !strings.HasSuffix(got[0], "…”") {
		t.Errorf("a long sentence: %q", got)
	}
}

// TestDecide: only the same words of the same person to the same question are known; all else is added. What
// was said again after something else is added too, so that it is the newest.
func TestDecide(t *testing.T) {
	t.Parallel()
	known := func(content string, day int, score float64) memory.Described {
		return memory.Described{Handle: day, Content: content, Time: june.AddDate(0, 0, day), Score: score}
	}
	const fact = "Nora, 2026-06-09: “I live in Berlin.”"
	for _, c := range []struct {
		name    string
		similar []memory.Described
		known   bool
	}{
		{"nothing", nil, false},
		{"the same on another day", []memory.Described{known("Nora, 2026-06-01: “I live in Berlin!”", 0, .9)}, true},
		{"of somebody else", []memory.Described{known("Tom, 2026-06-01: “I live in Berlin.”", 0, .9)}, false},
		{"to a question", []memory.Described{known("“Where would you like to live?” – Nora, 2026-06-01: “I live in Berlin.”", 0, .9)}, false},
		{"a denial", []memory.Described{known("Nora, 2026-06-01: “I don't live in Berlin.”", 0, .99)}, false},
		{"another sign", []memory.Described{known("Nora, 2026-06-01: “I live in Berlin. 💔”", 0, .99)}, false},
		{"a fact of a model", []memory.Described{known("Nora lives in Berlin.", 0, .99)}, false},
		{"said otherwise since", []memory.Described{known("Nora, 2026-06-01: “I live in Berlin.”", 0, .9), known("Nora, 2026-06-04: “I live in Bern.”", 3, .6)}, false},
		{"something else since", []memory.Described{known("Nora, 2026-06-01: “I live in Berlin.”", 0, .9), known("Nora, 2026-06-04: “My dog is ill.”", 3, .1)}, true},
	} {
		got := decide(mem0.DecideInput{Fact: fact, Time: june.AddDate(0, 0, 8), Similar: c.similar})
		if known := got.Operation == mem0.OpNoop; known != c.known || known != (got.Target != nil) || !known && got.Operation != mem0.OpAdd {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestSummarize: a summary takes memories whole, the newest first, and steps in order; a changed one loses what was removed.
func TestSummarize(t *testing.T) {
	t.Parallel()
	dog, cats, home := "Nora, 2026-06-01: “We had a dog. He died.”", "Nora, 2026-06-02: “Two cats now, Biscuit and Plum.”", "Nora, 2026-06-03: “I live in Berlin.”"
	all := summarize(mem0.SummarizeInput{Memories: []string{dog, cats, home}, Chars: 2000}).Summary
	if want := home + " " + cats + " " + dog; all != want {
		t.Errorf("%q, want %q", all, want)
	}
	if got := summarize(mem0.SummarizeInput{Memories: []string{dog, cats, home}, Chars: 100}).Summary; len([]rune(got)) > 100 || !strings.HasSuffix(got, "”") {
		t.Errorf("within 100 characters %q", got)
	}
	moved := "Nora, 2026-06-09: “I moved to Bern.”"
	if got, want := summarize(mem0.SummarizeInput{Old: all, Changes: []string{"- " + home, "+ " + moved}, Chars: 2000}).Summary, moved+" "+cats+" "+dog; got != want {
		t.Errorf("after a change %q, want %q", got, want)
	}
	if got := summarize(mem0.SummarizeInput{Memories: []string{"The kiln was lit.", "The glaze was mixed."}}).Summary; got != "The kiln was lit. The glaze was mixed." {
		t.Errorf("steps: %q", got)
	}
}

// TestEntities: names are words with a capital letter inside a sentence, and titles; not the first words, not parts of dates,
// not the nouns of German.
func TestEntities(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][]string{
		"Nora, 2026-06-01: “My sister Berta Lind lives in Lyon.”":             {"Berta Lind", "Lyon"},
		"Nora, 2026-06-01: “Big news! I met Ida's boss on 5 June.”":           {"Ida"},
		"Nora, 2026-06-01: “Ich habe den Hund mit zum Arzt in Bonn.”":         nil,
		"Nora, 2026-06-01: “我在读《三体》。”":                                        {"三体"},
		"Nora, 2026-06-01: “I like tea.”":                                     nil,
		"Nora, 2026-06-01: “I met Sean O'Brien’s boss at LʼOréal.”":           {"Sean O'Brien", "LʼOréal"},
		"Nora, 2026-06-01: “Je vais à l’Aquila avec d'autres.”":               {"Aquila"},
		"“Is Tom there?” – Nora, 2026-06-01: “He went to Oslo, not to Rome.”": {"Oslo", "Rome"},
	} {
		var got []string
		for _, e := range findEntities(mem0.EntitiesInput{Texts: []string{said}, User: "Nora"}).Entities {
			got = append(got, e.Entity)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}
