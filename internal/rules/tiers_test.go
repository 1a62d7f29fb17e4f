package rules

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
)

var tierTime = time.Date(2024, 5, 6, 9, 0, 0, 0, time.UTC)

// pageAt returns a page of one exchange so many minutes after tierTime.
func pageAt(minutes int, user, assistant string) memoryos.CallPage {
	at := tierTime.Add(time.Duration(minutes) * time.Minute)
	var p memoryos.CallPage
	if user != "" {
		p.Messages = append(p.Messages, memory.Utterance{Role: memory.RoleUser, Content: user, Time: at})
	}
	if assistant != "" {
		p.Messages = append(p.Messages, memory.Utterance{Role: memory.RoleAssistant, Content: assistant, Time: at})
	}
	return p
}

// C215: a page that follows up continues the one before it, and a change of topic or a long time begins a new
// chain, in English and Chinese.
func TestContinuity(t *testing.T) {
	t.Parallel()
	boat := pageAt(0, "My sailing boat leaks at the keel.", "Check the keel bolts first.")
	leak := pageAt(0, "我的帆船船底漏水了。", "先检查船底的螺栓。")
	for _, c := range []struct {
		name       string
		in         memoryos.ContinuityInput
		continuous bool
	}{
		{"the same words", memoryos.ContinuityInput{Previous: boat, Next: pageAt(5, "The keel bolts of the boat are rusty.", "")}, true},
		{"refers back", memoryos.ContinuityInput{Previous: boat, Next: pageAt(5, "And what about the rudder?", "")}, true},
		{"alike", memoryos.ContinuityInput{Previous: boat, Next: pageAt(5, "A hull expert comes on Monday.", ""), Similarity: 0.4}, true},
		{"another topic", memoryos.ContinuityInput{Previous: boat, Next: pageAt(5, "Which jazz records do critics praise?", ""), Similarity: 0.1}, false},
		{"announced", memoryos.ContinuityInput{Previous: boat, Next: pageAt(5, "By the way, can you recommend jazz records?", ""), Similarity: 0.4}, false},
		{"days later", memoryos.ContinuityInput{Previous: boat, Next: pageAt(5000, "And what about the rudder?", ""), Similarity: 0.4}, false},
		{"days later, the same", memoryos.ContinuityInput{Previous: boat, Next: pageAt(5000, "The keel of my sailing boat leaks again.", ""), Similarity: 0.8}, true},
		{"Chinese, refers back", memoryos.ContinuityInput{Previous: leak, Next: pageAt(5, "那桅杆呢？", "")}, true},
		{"Chinese, announced", memoryos.ContinuityInput{Previous: leak, Next: pageAt(5, "对了，推荐一些爵士唱片。", "")}, false},
		{"empty", memoryos.ContinuityInput{Previous: boat}, false},
	} {
		if got := continuity(c.in); got.Continuous != c.continuous {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// C216: the meta info of a chain says what the old one and the new page say.
func TestMetaInfo(t *testing.T) {
	t.Parallel()
	got := metaInfo(memoryos.MetaInput{Old: "Ana repairs her sailing boat.", Page: pageAt(0, "I bought new keel bolts in Split yesterday.", "")}).Meta
	if !strings.Contains(got, "sailing boat") || !strings.Contains(got, "keel bolts") {
		t.Error(got)
	}
	got = metaInfo(memoryos.MetaInput{Old: "李雷在修帆船。", Page: pageAt(0, "我昨天买了新的螺栓。", "")}).Meta
	if !strings.Contains(got, "帆船") || !strings.Contains(got, "螺栓") {
		t.Error(got)
	}
	if got := metaInfo(memoryos.MetaInput{Page: pageAt(0, "Why?", "")}).Meta; got == "" {
		t.Error("no meta info")
	}
}

// C214: a batch with two topics gives two themes, and each page is in its theme. One topic gives one.
func TestMultiSummary(t *testing.T) {
	t.Parallel()
	two := []memoryos.CallPage{
		pageAt(0, "My sailing boat leaks at the keel, so I ordered keel bolts.", "Rusty keel bolts are a common reason why a sailing boat leaks."),
		pageAt(5, "I practice the violin for a concert in June.", "Practice the slow parts of the violin concerto first."),
		pageAt(9, "The keel bolts of my boat came today.", "Then haul the boat out before you change the keel bolts."),
		pageAt(12, "My violin teacher chose a Bach concerto for the concert.", "Bach is a fine choice for a violin concert."),
	}
	got := New().multiSummary(memoryos.ThemesInput{Pages: two}).Themes
	if len(got) != 2 || !slices.Equal(got[0].Pages, []int{0, 2}) || !slices.Equal(got[1].Pages, []int{1, 3}) {
		t.Fatalf("%+v", got)
	}
	if !strings.Contains(got[0].Content, "keel") || strings.Contains(got[0].Content, "violin") || !strings.Contains(strings.Join(got[1].Keywords, " "), "violin") || got[0].Theme == "" {
		t.Errorf("%+v", got)
	}
	if one := New().multiSummary(memoryos.ThemesInput{Pages: []memoryos.CallPage{two[0], two[2]}}).Themes; len(one) != 1 || len(one[0].Pages) != 2 {
		t.Errorf("%+v", one)
	}
	han := []memoryos.CallPage{
		pageAt(0, "我的帆船船底漏水，我订了螺栓。", "螺栓生锈是帆船漏水的常见原因。"), pageAt(5, "我在练小提琴，六月有音乐会。", "先练小提琴协奏曲的慢板。"),
		pageAt(9, "帆船的螺栓今天到了。", "换螺栓之前先把帆船拉上岸。"),
	}
	if got := New().multiSummary(memoryos.ThemesInput{Pages: han}).Themes; len(got) != 2 || !slices.Equal(got[0].Pages, []int{0, 2}) {
		t.Errorf("%+v", got)
	}
	// Anything that was said is summed up: an answer that cannot be used is asked for again and again.
	for _, said := range []string{";)", "😂", "None", "N/A", "…", "?!", "无", "ok", "- . -", "http://a.b"} {
		raw, err := json.Marshal(New().multiSummary(memoryos.ThemesInput{Pages: []memoryos.CallPage{pageAt(0, said, "")}}))
		if err != nil {
			t.Fatal(err)
		}
		if read, err := memoryos.ReadThemes(raw, 1); err != nil || len(read.Themes) != 1 || read.Themes[0].Theme == "" {
			t.Errorf("%q: %s: %+v, %v", said, raw, read, err)
		}
	}
	if got := New().multiSummary(memoryos.ThemesInput{Pages: []memoryos.CallPage{{}, pageAt(0, "?", "")}}).Themes; len(got) == 0 {
		t.Error("no theme")
	}
}

// C221: a summary that is written again keeps what it said, in its words.
func TestMultiSummaryOfASummary(t *testing.T) {
	t.Parallel()
	summary := ""
	for i, said := range []string{"My sailing boat leaks at the keel.", "I ordered keel bolts for my boat in Split.", "The boat is out of the water now.", "I paint the hull of my boat blue."} {
		pages := []memoryos.CallPage{pageAt(i, said, "")}
		if summary != "" {
			pages = slices.Insert(pages, 0, memoryos.CallPage{Messages: []memory.Utterance{{Role: memory.RoleSystem, Content: summary, Time: tierTime}}})
		}
		var parts []string
		for _, theme := range New().multiSummary(memoryos.ThemesInput{Pages: pages}).Themes {
			parts = append(parts, theme.Content)
		}
		summary = strings.Join(parts, " ")
	}
	for _, want := range []string{"leaks at the keel", "keel bolts", "out of the water", "blue"} {
		if !strings.Contains(summary, want) {
			t.Errorf("%q is lost: %s", want, summary)
		}
	}
	if strings.Contains(summary, "The user: The user") || strings.Contains(summary, "The user: the user") {
		t.Error(summary)
	}
}

// C232, C233: facts about the user come from the user's words, and what the assistant did or recommended from
// the assistant's.
func TestKnowledge(t *testing.T) {
	t.Parallel()
	got := knowledge(memoryos.KnowledgeInput{Person: "Ana", Pages: []memoryos.CallPage{
		pageAt(0, "I live in Split and I own a sailing boat. Do you like jazz?", "You must own a big house in Rome. I've booked a table at Bokeria for you. I'd recommend the Adriatic Yacht Yard for repairs. Let me know if you need more!"),
		pageAt(5, "", "Great question! Keels are heavy."),
	}})
	if len(got.User) != 2 || !strings.Contains(got.User[0], "Ana lives in Split") || !strings.Contains(got.User[1], "sailing boat") {
		t.Errorf("%q", got.User)
	}
	if len(got.Assistant) != 2 || !strings.Contains(got.Assistant[0], "booked a table at Bokeria for Ana") || !strings.Contains(got.Assistant[1], "Yacht Yard") {
		t.Errorf("%q", got.Assistant)
	}
	han := knowledge(memoryos.KnowledgeInput{Person: "李雷", Pages: []memoryos.CallPage{pageAt(0, "我住在杭州。", "我已经帮你预订了周五的餐厅。杭州是个好地方。")}})
	if !slices.Equal(han.User, []string{"李雷住在杭州。"}) || len(han.Assistant) != 1 || !strings.Contains(han.Assistant[0], "李雷预订") {
		t.Errorf("%q", han)
	}
	if none := knowledge(memoryos.KnowledgeInput{Pages: []memoryos.CallPage{pageAt(0, "Hi!", "Hello! How can I help?")}}); len(none.User)+len(none.Assistant) > 0 {
		t.Errorf("%q", none)
	}
}

// C237, C231: a dimension has a level and a sentence of the person as evidence; without evidence it is absent.
// What was known stays, and rises when it shows again.
func TestProfileByRules(t *testing.T) {
	t.Parallel()
	old := memoryos.Profile{Dimensions: []memoryos.Dimension{{Name: "music", Level: memoryos.LevelMedium, Evidence: "I play the cello."}}, Text: "Ana plays the cello."}
	got := profile(memoryos.ProfileInput{Old: old, Person: "Ana", Pages: []memoryos.CallPage{
		pageAt(0, "I love hiking in the mountains every weekend. I went to a concert. My brother bakes bread. Keep it short, please.", "You love gardening."),
		pageAt(5, "I don't like video games. Have you been to Japan? I live in Split.", ""),
	}})
	levels := map[string]memoryos.Level{}
	for _, d := range got.Dimensions {
		levels[d.Name] = d.Level
		if d.Evidence == "" {
			t.Errorf("%+v", d)
		}
	}
	for name, want := range map[string]memoryos.Level{"outdoors": memoryos.LevelMedium, "music": memoryos.LevelMedium, "concise": memoryos.LevelLow, "gaming": "", "travel": "", "gardening": "", "cooking": ""} {
		if levels[name] != want {
			t.Errorf("%s is %q", name, levels[name])
		}
	}
	if !strings.Contains(got.Text, "plays the cello") || !strings.Contains(got.Text, "Split") {
		t.Error(got.Text)
	}
	han := profile(memoryos.ProfileInput{Pages: []memoryos.CallPage{pageAt(0, "我每天跑步。我最喜欢吃火锅。我不喜欢游戏。", "你喜欢养花。")}})
	names := []string{}
	for _, d := range han.Dimensions {
		names = append(names, d.Name)
	}
	if !slices.Contains(names, "sports") || !slices.Contains(names, "food") || slices.Contains(names, "gaming") || slices.Contains(names, "gardening") {
		t.Error(names)
	}
	for _, d := range dimensionCues {
		if _, ok := memoryos.DimensionName(d.name); !ok {
			t.Errorf("%s is not in the catalog", d.name)
		}
	}
}

// C268: an abstract says what the items say together, and leaves out one about something else.
func TestAbstractByRules(t *testing.T) {
	t.Parallel()
	got := abstract(layered.AbstractInput{Items: []layered.AbstractItem{{Content: "Ana's boat leaks."}, {Content: "Ana ordered bolts for the boat."}, {Content: "Jazz was loud."}}})
	if !slices.Equal(got.Sources, []int{0, 1}) || !strings.Contains(got.Summary, "bolts") || strings.Contains(got.Summary, "Jazz") {
		t.Errorf("%+v", got)
	}
	if got := takeTriples(layered.TriplesInput{Message: memory.Utterance{Role: memory.RoleUser, Content: "I live in Rome."}}); len(got.Triples) != 1 {
		t.Errorf("%+v", got)
	}
}
