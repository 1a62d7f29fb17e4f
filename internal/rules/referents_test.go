package rules

import (
	"slices"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// A pronoun at the beginning of a sentence is the last person, animal or thing that fits it, said
// by the same speaker or asked for; where two fit, nobody is guessed.
func TestPronouns(t *testing.T) {
	t.Parallel()
	for said, want := range map[string][]string{
		"I have a dog. Her name is Luna.":                                    {"Mei has a dog.", "Mei's dog's name is Luna."},
		"I adopted a beagle last week. She's called Luna.":                   {"Mei adopted a beagle in the week of 6 April 2026.", "Mei's beagle is called Luna."},
		"My sister Clara is a vet. She lives in Hamburg.":                    {"Mei's sister Clara is a vet.", "Mei's sister Clara lives in Hamburg."},
		"My boss, Mr. Chen, is strict. He hates early meetings.":             {"Mei's boss, Mr. Chen, is strict.", "Mei's boss Mr. Chen hates early meetings."},
		"My brother Tom moved to Oslo. He works at Siemens. His wife is Ana": {"Mei's brother Tom moved to Oslo.", "Mei's brother Tom works at Siemens.", "Mei's brother Tom's wife is Ana."},
		"I visited my sister Clara. Her flat is in Rome.":                    {"Mei visited Mei's sister Clara.", "Mei's sister Clara's flat is in Rome."},
		"I met Lena in Rome. She is a pilot.":                                {"Mei met Lena in Rome.", "Lena is a pilot."},
		"My mother and my brother visited Rome. She loved the food.":         {"Mei's mother and Mei's brother visited Rome.", "Mei's mother loved the food."},
		"我有一只狗。它叫旺财。":                                                        {"Mei 有一只狗。", "Mei的狗叫旺财。"},
		"我妹妹是医生。她住在北京。":                                                      {"Mei的妹妹是医生。", "Mei的妹妹住在北京。"},
		// Two fit, or none.
		"My mother and my sister live in Rome. She is a nurse.":    {"Mei's mother and Mei's sister live in Rome."},
		"Ida is a pilot, and Otto flies gliders. He loves clouds.": {"Ida is a pilot, and Otto flies gliders. He loves clouds."},
		"I went to Rome. She is a nurse.":                          {"Mei went to Rome."},
		"I moved to Rome yesterday. It's great.":                   {"Mei moved to Rome on 14 April 2026."},
		"I have a new bike. It is awesome!":                        {"Mei has a new bike."},
	} {
		at := time.Date(2026, 4, 15, 9, 0, 0, 0, time.UTC)
		in := mem0.ExtractInput{New: []memory.Utterance{{Role: memory.RoleUser, Name: "Mei", Content: said, Time: at}}}
		if got := extract(in).Facts; !slices.Equal(got, want) {
			t.Errorf("%s\n got  %q\n want %q", said, got, want)
		}
	}
	// In a dialogue.
	u := func(role memory.Role, s string) memory.Utterance { return memory.Utterance{Role: role, Content: s} }
	for _, c := range []struct {
		all  []memory.Utterance
		want []string
	}{
		{[]memory.Utterance{u(memory.RoleUser, "I have a dog."), u(memory.RoleAssistant, "How nice!"), u(memory.RoleUser, "Her name is Luna.")}, []string{"The user's dog's name is Luna."}},
		{[]memory.Utterance{u(memory.RoleAssistant, "Where does your sister live?"), u(memory.RoleUser, "She lives in Rome.")}, []string{"The user's sister lives in Rome."}},
		{[]memory.Utterance{u(memory.RoleAssistant, "My sister is a doctor."), u(memory.RoleUser, "She must be busy.")}, nil},
		// Somebody else of that gender was named since, or nobody of it was.
		{[]memory.Utterance{u(memory.RoleUser, "My son Timo is six."), u(memory.RoleAssistant, "How old is the boy next door?"), u(memory.RoleUser, "He's seven.")}, nil},
		{[]memory.Utterance{u(memory.RoleUser, "我儿子六岁。"), u(memory.RoleAssistant, "你妹妹住在哪里？"), u(memory.RoleUser, "她住在北京。")}, []string{"用户的妹妹住在北京。"}},
		{[]memory.Utterance{u(memory.RoleUser, "我妹妹生了个儿子。"), u(memory.RoleAssistant, "恭喜！"), u(memory.RoleUser, "他喜欢音乐。")}, nil},
		{[]memory.Utterance{u(memory.RoleUser, "你姐姐好吗？"), u(memory.RoleAssistant, "王芳辞职了。"), u(memory.RoleUser, "她搬到北京了。")}, []string{"王芳搬到北京了。"}},
		{[]memory.Utterance{u(memory.RoleUser, "我姐夫是司机。"), u(memory.RoleAssistant, "真好。"), u(memory.RoleUser, "他住在天津。")}, []string{"用户的姐夫住在天津。"}},
		{[]memory.Utterance{u(memory.RoleUser, "我女儿六岁。"), u(memory.RoleAssistant, "真好。"), u(memory.RoleUser, "他喜欢音乐。")}, nil},
	} {
		last := len(c.all) - 1
		got := extract(mem0.ExtractInput{Recent: c.all[:last], New: c.all[last:]}).Facts
		if !slices.Equal(got, nonNil(c.want)) {
			t.Errorf("%v\n got  %q\n want %q", c.all, got, c.want)
		}
	}
}
