package memoryos

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

func page(user, assistant string) CallPage {
	var p CallPage
	if user != "" {
		p.Messages = append(p.Messages, memory.Utterance{Role: memory.RoleUser, Name: "Ana", Content: user, Time: policytest.Noon})
	}
	if assistant != "" {
		p.Messages = append(p.Messages, memory.Utterance{Role: memory.RoleAssistant, Content: assistant, Time: policytest.Noon})
	}
	return p
}

func loadCalls(t *testing.T) *Calls {
	t.Helper()
	c := must.Get(LoadCalls())(t)
	return c
}

// sampleCalls returns one call of each name, about a page with hostile text and one with one side.
func sampleCalls(t *testing.T) []memory.Call {
	t.Helper()
	c := loadCalls(t)
	pages := []CallPage{page(policytest.Hostile, "I see."), page("", "One side only.")}
	old := Profile{Dimensions: []Dimension{{"order", LevelHigh, "plans every day"}}, Text: "Likes order."}
	var out []memory.Call
	for _, build := range []func() (memory.Call, error){
		func() (memory.Call, error) {
			return c.Continuity(ContinuityInput{Previous: pages[0], Next: pages[1], Similarity: 0.5})
		},
		func() (memory.Call, error) { return c.Meta(MetaInput{Old: policytest.Hostile, Page: pages[0]}) },
		func() (memory.Call, error) { return c.Themes(ThemesInput{pages}) },
		func() (memory.Call, error) { return c.Profile(ProfileInput{old, "Ana", pages}) },
		func() (memory.Call, error) { return c.Knowledge(KnowledgeInput{Pages: pages}) },
	} {
		call := must.Get(build())(t)
		out = append(out, call)
	}
	return out
}

// TestCallPrompts compares the prompts with their golden files. Hostile text stays data.
func TestCallPrompts(t *testing.T) {
	t.Parallel()
	for _, c := range sampleCalls(t) {
		policytest.Golden(t, "golden/"+c.Name+".v"+strings.TrimPrefix(c.Version, "memoryos/"+c.Name+"@")+".txt", policytest.PromptText(c))
		_, rest, _ := strings.Cut(c.Prompt, "<memory-data>")
		data, _, _ := strings.Cut(rest, "</memory-data>")
		if strings.Count(c.Prompt, "<memory-data>") != 1 || strings.Count(c.Prompt, "</memory-data>") != 1 || !json.Valid([]byte(data)) {
			t.Errorf("%s: the marks are forged:\n%s", c.Name, c.Prompt)
		}
	}
}

// C237: the catalog has 90 named dimensions in three groups, and the prompt names them all. A name
// is found in any letter case, with hyphens, and in Chinese.
func TestCatalog(t *testing.T) {
	t.Parallel()
	names, all := map[string]bool{}, Catalog()
	prompt := loadCalls(t).prompts[CallProfile].System
	for _, e := range all {
		names[e.Name], names[e.Han] = true, true
		for _, form := range []string{e.Name, e.Han, strings.ToUpper(e.Name), strings.ReplaceAll(e.Name, " ", "_")} {
			if name, ok := DimensionName(form); !ok || name != e.Name {
				t.Errorf("%s is %q", form, name)
			}
		}
	}
	if len(all) != 90 || len(names) != 180 {
		t.Errorf("%d dimensions, %d names", len(all), len(names))
	}
	for i, group := range []string{"needs and personality", "expectations of the assistant", "interests and style"} {
		from, to := []int{0, 30, 50}[i], []int{30, 50, 90}[i]
		var want []string
		for _, e := range all[from:to] {
			want = append(want, e.Name)
		}
		if !strings.Contains(prompt, "\n- "+group+": "+strings.Join(want, ", ")+"\n") {
			t.Errorf("the prompt does not name the dimensions of %s", group)
		}
	}
	if name, ok := DimensionName("Self-Actualisation"); !ok || name != "self-actualization" {
		t.Errorf("%q", name)
	}
	if name, ok := DimensionName("zodiac"); ok {
		t.Errorf("zodiac is %q", name)
	}
}

// A page is in one theme, handles that were not shown are dropped, and pages that no
// theme names are reported.
func TestReadThemes(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]ThemesRead{
		`{"themes":[{"theme":"Boat","keywords":["boat","boat"],"content":"The boat leaks.","pages":[0,2,2,9]},{"theme":"","keywords":[],"content":"Tea is out.","pages":[1,0]}]}`: {
			Themes: []Theme{{"Boat", []string{"boat"}, "The boat leaks.", []int{0, 2}, ""}, {"Tea is out.", []string{}, "Tea is out.", []int{1}, ""}}, Rest: []int{3},
		},
		`{"themes":[{"theme":"Boat","keywords":[],"content":"The boat leaks.","pages":[-1]},{"theme":"x","keywords":[],"content":"None","pages":[1]}]}`: {
			Themes: []Theme{{"Boat", []string{}, "The boat leaks.", []int{0, 1, 2, 3}, ""}},
		},
	} {
		got, err := ReadThemes(json.RawMessage(answer), 4)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, %v", answer, got, err)
		}
	}
	g := generalTheme([]CallPage{page("The boat leaks again.", ""), page("", "Call the yard.")})
	if g.Theme != "General" || g.Content == "" || !slices.Equal(g.Pages, []int{0, 1}) {
		t.Errorf("%+v", g)
	}
}

// C231: the new profile keeps old findings and adds new ones. A dimension that is not in the
// catalog, or has no evidence, is dropped, and a poor answer is refused.
func TestReadProfile(t *testing.T) {
	t.Parallel()
	old := Profile{[]Dimension{{"order", LevelHigh, "plans every day"}, {"music", LevelLow, "hums"}}, "Likes order, and hums at work now and then.", nil}
	got, err := readProfile(json.RawMessage(`{"dimensions":[{"name":"Music","level":"High","evidence":"plays in a band"},{"name":"zodiac","level":"High","evidence":"Leo"},
		{"name":"travel","level":"Low","evidence":"None"},{"name":"开放性","level":"Medium","evidence":"tries all"}],"text":"Likes order, plays in a band."}`), &old)
	want := []Dimension{{"openness", LevelMedium, "tries all"}, {"order", LevelHigh, "plans every day"}, {"music", LevelHigh, "plays in a band"}}
	if err != nil || !slices.Equal(got.Profile.Dimensions, want) || !got.Changed || got.Profile.Text != "Likes order, plays in a band." {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := readProfile(json.RawMessage(`{"dimensions":[],"text":"None"}`), &old); err != nil || got.Changed || got.Profile.Text != old.Text {
		t.Errorf("%+v, %v", got, err)
	}
	// What an answer names as ended leaves, in text and dimensions; what it repeats of that, too. Nothing else does.
	coffee := Profile{[]Dimension{{"order", LevelLow, "x"}, {"food", LevelHigh, "drinks far too much coffee"}}, "Drinks far too much coffee. Likes order. 他每天喝咖啡。", nil}
	for answer, want := range map[string][]string{
		`{"dimensions":[],"text":"","ended":["drinks far too much coffee","FOOD"]}`:                                                                                   {"Likes order. 他每天喝咖啡。", "order"},
		`{"dimensions":[],"text":"Drinks far too much coffee. Likes order. Quit coffee.","ended":["Drinks far too much coffee.","他每天喝咖啡。"]}`:                          {"Likes order. Quit coffee.", "order", "food"},
		`{"dimensions":[{"name":"food","level":"Low","evidence":"quit coffee"}],"text":"Quit coffee.","ended":["food","Drinks far too much coffee.","Likes order."]}`: {"Quit coffee.", "order", "food"},
		`{"dimensions":[],"text":"","ended":["Likes cats.","zodiac"]}`:                                                                                                {coffee.Text, "order", "food"},
	} {
		call, err := loadCalls(t).Profile(ProfileInput{Old: coffee})
		if err != nil || call.Check(json.RawMessage(answer)) != nil {
			t.Errorf("%s is refused: %v, %v", answer, err, call.Check(json.RawMessage(answer)))
		}
		got, err := readProfile(json.RawMessage(answer), &coffee)
		is := []string{got.Profile.Text}
		for _, d := range got.Profile.Dimensions {
			is = append(is, d.Name)
		}
		if err != nil || !slices.Equal(is, want) || len(got.Ended) > 0 != got.Changed {
			t.Errorf("%s makes %q of the profile, ended %q, want %q (%v)", answer, is, got.Ended, want, err)
		}
	}
	c := must.Get(loadCalls(t).Profile(ProfileInput{Old: old}))(t)
	for _, poor := range []string{`{"dimensions":[],"text":""}`, `{"dimensions":[],"text":"None"}`, `{"dimensions":[],"text":"Hums."}`, `{"dimensions":"none","text":""}`} {
		if c.Check(json.RawMessage(poor)) == nil {
			t.Errorf("accepted %s", poor)
		}
	}
}

// C332: the sentinel "None" and its like are never knowledge, and neither are the texts of errors.
func TestReadKnowledge(t *testing.T) {
	t.Parallel()
	raw := lenientKnowledge(`{"user_knowledge":"- None\n- Ana has a cat.\n- ana has a cat.\nNo new user information was mentioned.\n无。","assistant":["none found","N/A","", "Sent Ana a recipe."]}`)
	got, dropped, err := readKnowledge(raw)
	if err != nil || !slices.Equal(got.User, []string{"Ana has a cat."}) || !slices.Equal(got.Assistant, []string{"Sent Ana a recipe."}) || dropped != 7 {
		t.Errorf("%+v %d %v", got, dropped, err)
	}
	got, dropped, err = readKnowledge(json.RawMessage(`{"user":["Error: the model did not answer","Ana fears error messages."],"assistant":["- 503 Service Unavailable"]}`))
	if err != nil || !slices.Equal(got.User, []string{"Ana fears error messages."}) || len(got.Assistant) != 0 || dropped != 2 {
		t.Errorf("%+v %d %v", got, dropped, err)
	}
	many := Knowledge{}
	for i := range MaxKnowledge + 1 {
		many.User = append(many.User, fmt.Sprint("Ana has cat ", i))
	}
	got, dropped, err = readKnowledge(must.Get(json.Marshal(many))(t))
	if err != nil || len(got.User) != MaxKnowledge || got.Assistant == nil || dropped != 1 {
		t.Errorf("%+v %d %v", got, dropped, err)
	}
}

// Models answer in many forms. What cannot be read is nil, and then asked again.
func TestLenientCalls(t *testing.T) {
	t.Parallel()
	calls := map[string]memory.Call{}
	for _, c := range sampleCalls(t) {
		calls[c.Name] = c
	}
	for _, c := range []struct{ name, said, want string }{
		{CallContinuity, "Yes.", `{"continuous":true}`},
		{CallContinuity, `{"continuous":"false"}`, `{"continuous":false}`},
		{CallContinuity, `perhaps`, ``},
		{CallMeta, "Ana repairs her boat.", ``},
		{CallMeta, "Przykro mi, nie mogę w tym pomóc.", ``},
		{CallMeta, `"抱歉，我无法协助处理此请求。"`, ``},
		{CallMeta, `{"meta_info":"Ana."}`, `{"meta":"Ana."}`},
		{CallMeta, `{"x":1}`, ``},
		{CallMeta, "Error: the model did not answer", ``},
		{CallMeta, `"Rate limit exceeded."`, ``},
		{CallMeta, `{"error":{"message":"overloaded"}}`, ``},
		{CallThemes, `[{"topic":"Boat","keywords":"boat, yard","summary":"It leaks.","pages":["0","page 1",2.5]}]`, `{"themes":[{"theme":"Boat","keywords":["boat"," yard"],"content":"It leaks.","pages":[0,1]}]}`},
		{CallThemes, `{"theme":"Boat","content":"It leaks."}`, `{"themes":[{"theme":"Boat","keywords":[],"content":"It leaks.","pages":[]}]}`},
		{CallThemes, "I cannot do that.", ``},
		{CallProfile, `{"dimensions":{"music":"High (plays)","order":{"level":"low","reason":"plans"},"zodiac":"High (Leo)"},"text":"x"}`, `{"dimensions":[{"name":"order","level":"Low","evidence":"plans"},{"name":"music","level":"High","evidence":"plays"}],"text":"x"}`},
		{CallProfile, `{"dimensions":[{"dimension":"music","level":"huge","evidence":"plays"}],"text":"x"}`, `{"dimensions":[{"name":"music","level":"Low","evidence":""}],"text":"x"}`},
		{CallProfile, `{"x":1}`, ``},
		{CallKnowledge, "None", `{"user":[],"assistant":[]}`},
		{CallKnowledge, `{"user":[{"fact":"a"}],"assistant":null}`, `{"user":["a"],"assistant":[]}`},
		{CallKnowledge, "nothing that is JSON", ``},
	} {
		if got := string(calls[c.name].Lenient(c.said)); got != c.want {
			t.Errorf("%s %q is %s", c.name, c.said, got)
		}
	}
}

// A prompt is bounded: long messages are shortened, and what does not fit is left out, oldest first.
func TestPromptsAreBounded(t *testing.T) {
	t.Parallel()
	var pages []CallPage
	for range 300 {
		pages = append(pages, page(strings.Repeat("boat ", 5000), ""))
	}
	c, err := loadCalls(t).within(8000).Themes(ThemesInput{pages})
	if err != nil || len(c.Prompt) > 20_000 || !strings.Contains(c.Prompt, `"page":299`) || strings.Contains(c.Prompt, `"page":0,`) {
		t.Errorf("%d bytes, %v", len(c.Prompt), err)
	}
	if err := c.Check(json.RawMessage(`{"themes":[]}`)); err == nil || errors.Is(err, memory.ErrBadAnswer) {
		t.Error("no themes are accepted")
	}
}
