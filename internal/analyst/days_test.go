package analyst

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank"
)

func user(said string) memory.Utterance {
	return memory.Utterance{Role: memory.RoleUser, Content: said}
}

func assistant(said string) memory.Utterance {
	return memory.Utterance{Role: memory.RoleAssistant, Content: said}
}

// TestDay: a day is what persons stated on it, in their words and in any language; deaths and news stay, questions
// and answers leave when there is anything else.
func TestDay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		turns []memory.Utterance
		want  string
	}{
		"news":     {[]memory.Utterance{user("Plum died last night. What should I do?"), assistant("I am sorry.")}, "Plum died last night."},
		"names":    {[]memory.Utterance{{Role: memory.RoleUser, Name: "Ann", Content: "I play the cello."}}, "Ann: I play the cello."},
		"Chinese":  {[]memory.Utterance{user("豆包找到了！在邻居家的车库里。"), assistant("太好了！")}, "豆包找到了！在邻居家的车库里。"},
		"question": {[]memory.Utterance{user("What is the capital of Mongolia?"), assistant("Ulaanbaatar.")}, "What is the capital of Mongolia?"},
		"answers":  {[]memory.Utterance{assistant("The shop opens at nine.")}, "The shop opens at nine."},
		"a smiley": {[]memory.Utterance{user("👍")}, "👍"},
	} {
		day := summarizeDay(&reader{}, memorybank.DayInput{Turns: c.turns, Chars: 400})
		if day.Summary != c.want {
			t.Errorf("%s: %q", name, day.Summary)
		}
		if joined := join(day.Events); name != "a smiley" && joined != c.want {
			t.Errorf("%s: events %q", name, day.Events)
		}
	}
	if said := describeDay(memorybank.DayInput{Turns: []memory.Utterance{user("I had a fight and feel down, please help.")}}); len(said.Traits) > 0 || said.Mood+said.ReplyStrategy != "" {
		t.Errorf("a mood is guessed: %+v", said)
	}
}

// TestBusyDay: what happened to somebody is in the summary of a day on which much else was said, in any language.
func TestBusyDay(t *testing.T) {
	t.Parallel()
	r := readerOf(t)
	for _, c := range []struct{ told, talk []string }{
		{[]string{"Plum died last night.", "I've accepted an offer from Ramboll.", "My sister had a baby."}, []string{
			"Honestly these endless grey clouds, drizzle and puddles make everybody grumble.", "Well, whatever floats your boat, as the old saying goes, haha.",
			"Thanks a million for this wonderfully patient, thorough explanation.", "Could you please rewrite the paragraph with shorter, friendlier sentences.",
			"Right, fair enough, that certainly sounds reasonable and convincing.", "Oh dear, such gloomy headlines, newspapers love catastrophes.",
			"Great, let us continue with another example, slower and simpler.", "Haha, brilliant pun, nobody saw that punchline coming.",
		}},
		{[]string{"Oma ist gestern gestorben.", "Ich habe bei Siemens gekündigt.", "Rex hat Diabetes."}, []string{
			"Ach, dieses ewige Nieselwetter macht doch wirklich jeden griesgrämig.", "Tja, jedem Tierchen sein Pläsierchen, wie der Volksmund behauptet.",
			"Tausend Dank für die wunderbar geduldige, ausführliche Erklärung.", "Formuliere den Absatz bitte noch einmal kürzer und freundlicher.",
			"Stimmt, das klingt tatsächlich vernünftig und überzeugend.", "Prima, mach einfach weiter mit einem anderen, leichteren Beispiel.",
			"Haha, großartiges Wortspiel, die Pointe kam völlig unerwartet.", "Na gut, einverstanden, meinetwegen genau so, wunderbar.",
		}},
		{[]string{"猫のミケが死んだ。", "彼女にプロポーズしました。", "弟が入院した。"}, []string{
			"なるほど、それは確かにもっともな話で、とても分かりやすい説明でしたね。", "いやあ、今日は本当にどんよりした天気で、なんだか気分まで重くなりますね。",
			"ありがとうございます、丁寧で詳しい解説のおかげで大変助かりました。", "もう一度、もっと短くて親しみやすい文章に書き直してくださいませんか。",
			"ははは、見事な洒落ですね、まさかそんな落ちが来るとは思いませんでした。", "はい、承知しました、それではその調子で続きをお願いいたします。",
			"まあ、人それぞれですから、好きなようにすればいいんじゃないでしょうか。", "すごい、素晴らしい、まったくその通りだと心から思います。",
		}},
	} {
		var turns []memory.Utterance
		for i, talk := range c.talk {
			if i < len(c.told) {
				turns = append(turns, user(c.told[i]))
			}
			turns = append(turns, user(talk), assistant("Noted."))
		}
		day := summarizeDay(r, memorybank.DayInput{Turns: turns, Chars: 200})
		for _, told := range c.told {
			if !strings.Contains(day.Summary, told) || !strings.Contains(join(day.Events), told) {
				t.Errorf("%q is lost: %q, events %q", told, day.Summary, day.Events)
			}
		}
	}
}

// TestHistoryHasEachDayBehindItsDate: the history has each day behind its date, within its bound, the newest for sure.
func TestHistoryHasEachDayBehindItsDate(t *testing.T) {
	t.Parallel()
	in := memorybank.OverallInput{Days: []memorybank.DatedText{{Date: "2026-08-02", Text: "Ann plays the cello."}, {Date: "2026-08-01", Text: "安养了一只猫。"}}}
	if got := summarizeDays(in).Summary; got != "2026-08-01: 安养了一只猫。 2026-08-02: Ann plays the cello." {
		t.Errorf("%q", got)
	}
	in.Chars = 50
	if got := summarizeDays(in).Summary; got != "2026-08-02: Ann plays the cello." {
		t.Errorf("within 50 characters: %q", got)
	}
}

// TestPortraitInventsNothing: what the caller stated is repeated, and nothing is invented.
func TestPortraitInventsNothing(t *testing.T) {
	t.Parallel()
	got := portray(memorybank.OverallInput{Meta: map[string]string{"name": "Ann", "hobbies": "climbing and chess"}})
	if got.Portrait != "hobbies: climbing and chess. name: Ann." || got.ReplyStrategy != "" {
		t.Errorf("%+v", got)
	}
	if got := portray(memorybank.OverallInput{}); got != (memorybank.Portrait{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestQueue: the summary of what leaves the window keeps the old one (C119) and what was stated, and marks what was
// answered. Questions, results of tools and replies that only repeat memory are left out.
func TestQueue(t *testing.T) {
	t.Parallel()
	in := memgpt.SummaryInput{Old: "I have two cats, Biscuit and Plum.", Messages: []memgpt.SummaryMessage{
		{Role: "user", Text: "What is the weather?"}, {Role: "tool", Text: `{"forecast":"rain"}`}, {Role: "user", Text: "I start at Ramboll on 1 September!"},
		{Role: "assistant", Text: "Congratulations on the job."}, {Role: "assistant", Text: replyFound + "\n- 2026-08-01: a secret garden"},
	}}
	if got := summarizeQueue(in).Summary; got != "I have two cats, Biscuit and Plum. I start at Ramboll on 1 September! → Congratulations on the job." {
		t.Errorf("%q", got)
	}
	first := summarizeQueue(in).Summary
	again := summarizeQueue(memgpt.SummaryInput{Old: first, Messages: []memgpt.SummaryMessage{{Role: "user", Text: "Plum died last night."}}}).Summary
	if !strings.Contains(again, "Biscuit") || !strings.Contains(again, "Plum died last night.") || !strings.Contains(again, "→ Congratulations") {
		t.Errorf("the next one: %q", again)
	}
	old := ""
	for day := range 60 { // what is new has room, however long the conversation
		in.Old, in.Messages = old, []memgpt.SummaryMessage{{Role: "user", Text: fmt.Sprintf("Day %d. We counted the boats.", day)}}
		old = summarizeQueue(in).Summary
		if !strings.Contains(old, fmt.Sprintf("Day %d.", day)) || len(strings.Fields(old)) > queueWords {
			t.Fatalf("day %d: %q", day, old)
		}
	}
	in.Messages = []memgpt.SummaryMessage{{Role: "user", Text: "What is the weather?"}}
	if got := summarizeQueue(memgpt.SummaryInput{Messages: in.Messages[:1]}).Summary; got != "What is the weather?" {
		t.Errorf("of questions alone: %q", got)
	}
}
