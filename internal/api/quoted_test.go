package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// A program asks for a title of a conversation with its transcript: it is kept as what it is, and nothing is learned from it, at
// every door and in any language. A person who says something new is learned from, also when the words of a turn occur in it.
func TestTranscriptsAreNotLearned(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	doors := map[string]func(c, said string){
		"messages": func(c, said string) {
			b.Call(t, "one", "POST", c+"/messages", apptest.JSON(t, map[string]any{"messages": []any{map[string]any{"role": "user", "content": said}, map[string]any{"role": "assistant", "content": `{"title": "T"}`}}})).Want(http.StatusAccepted)
		},
		"chat completions": func(c, said string) {
			name := strings.TrimPrefix(c, "/v1/collections/")
			b.Call(t, "one", "POST", "/v1/chat/completions", apptest.JSON(t, map[string]any{"model": "slipbox@" + name, "messages": []any{map[string]any{"role": "user", "content": said}}})).Want(http.StatusOK)
		},
		"chat": func(c, said string) {
			b.Call(t, "one", "POST", c+"/chat", apptest.JSON(t, map[string]any{"message": said})).Want(http.StatusOK)
		},
	}
	turns := map[string][2]string{
		"English": {"My sister Anna works at Siemens.", "Good to know. What does she do there?"},
		"Chinese": {"我妹妹在西门子工作。", "很高兴知道。她在那里做什么？"},
	}
	for door, send := range doors {
		for language, turn := range turns {
			c := b.Space(t, strings.ReplaceAll(door, " ", "-")+"-"+strings.ToLower(language), "mem0")
			b.Call(t, "one", "POST", c+"/messages", apptest.JSON(t, map[string]any{"messages": []any{
				map[string]any{"role": "user", "content": turn[0]}, map[string]any{"role": "assistant", "content": turn[1]},
			}})).Want(http.StatusAccepted)
			b.RunJobs(t)
			learned := len(keptOf(t, b, c, "fact"))
			send(c, "### Task:\nI want a title with an emoji.\n<chat_history>\nUSER: "+turn[0]+"\nASSISTANT:  "+turn[1]+"\n</chat_history>\nMy titles are short.")
			b.RunJobs(t)
			if now := len(keptOf(t, b, c, "fact")); now != learned {
				t.Errorf("%s, %s: %d facts became %d", door, language, learned, now)
			}
			send(c, "I live in Oslo with my dog Rex.\nYou said: "+turn[1])
			b.RunJobs(t)
			if now := len(keptOf(t, b, c, "fact")); now == learned {
				t.Errorf("%s, %s: nothing was learned from what a person said", door, language)
			}
		}
	}
}

// What chat programs send about a conversation in one message, with a turn and its answer. Wording and marks are those of the programs,
// shortened; what a program's users can change is changed.
func programs() map[string]string {
	return map[string]string{
		"Open WebUI, title":     "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Output:\nJSON format: { \"title\": \"...\" }\n### Chat History:\n<chat_history>\nUSER: %[1]s\nASSISTANT: %[2]s\n</chat_history>",
		"Open WebUI, tags":      "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history.\n### Chat History:\n<chat_history>\nUSER: %[1]s\nASSISTANT: %[2]s\n</chat_history>",
		"Open WebUI, questions": "### Task:\nSuggest 3-5 relevant follow-up questions that the user might naturally ask next.\n<chat_history>\nUSER: %[1]s\nASSISTANT: %[2]s\n</chat_history>",
		"LibreChat":             "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title\n\n<conversation>\nUser: %[1]s\nAI: %[2]s\n</conversation>",
		"LibreChat, before":     "Please generate a concise title, in the language of the conversation.\n\n||>User:\n\"%[1]s\"\n||>Response:\n\"%[2]s\"\n\n||>Title:",
		"LobeChat":              "user: %[1]s\nassistant: %[2]s",
		"a summary":             "Summarize the chat so far in 200 words.\n[Human]: %[1]s\n[AI]: %[2]s\nSummary:",
		"in Chinese":            "请用四到五个字给这段对话起一个标题。\n用户：%[1]s\n助手：%[2]s\n标题：",
		"quoted in the line":    "List three questions that the user may ask next.\n\nUser: \"%[1]s\"\nAssistant: \"%[2]s\"",
		"marks of a model":      "Answer with one emoji.\n\n<|im_start|>user\n%[1]s<|im_end|>\n<|im_start|>assistant\n%[2]s<|im_end|>",
		"headings":              "Sum up the chat in a sentence.\n\n## User\n\n%[1]s\n\n## Assistant\n\n%[2]s",
		"a list in JSON":        "Sum up the messages.\n\n[{\"role\": \"user\", \"content\": %+[1]q}, {\"role\": \"assistant\", \"content\": %+[2]q}]",
		"members of its own":    "[{\"role\":\"user\",\"mainText\":\"%[1]s\",\"files\":[]},{\"role\":\"assistant\",\"mainText\":\"%[2]s\",\"files\":[]}]",
		"Markdown":              "Name this chat.\n\n**You:** %[1]s\n\n**Assistant:** %[2]s\n\nReply with the name alone.",
	}
}

// What people say that quotes a conversation, or has the words of one. Some programs send the dialogue in one text.
func people() map[string]string {
	return map[string]string{
		"a copy without names":  "%[1]s\n%[2]s\nThat was wrong of me: I live in Oslo with my dog Rex.",
		"a quotation in line":   "Yesterday I told you \"%[1]s\", and you said \"%[2]s\" I have moved to Oslo\nwith my dog Rex.",
		"one side":              "You said:\n> %[2]s\nI live in Oslo with my dog Rex.",
		"a list":                "# Notes\n- %[1]s\n- %[2]s\nI live in Oslo with my dog Rex.",
		"the dialogue in JSON":  "Continue.\n[{\"role\": \"user\", \"content\": \"%[1]s\"}, {\"role\": \"assistant\", \"content\": \"%[2]s\"}, {\"role\": \"user\", \"content\": \"I live in Oslo with my dog Rex.\"}]",
		"one side in JSON":      "Why is this refused?\n[{\"role\": \"assistant\", \"content\": \"%[2]s\"}]\nI live in Oslo with my dog Rex.",
		"mentions a chat":       "In our last chat, about my sister,\nI forgot to say that I live in Oslo with my dog Rex.",
		"the dialogue as text":  "The following is a friendly conversation.\nHuman: %[1]s\nAI: %[2]s\nHuman: I live in Oslo with my dog Rex.\nAI:",
		"a transcript of other": "Title this:\nUSER: I live in Oslo with my dog Rex.\nASSISTANT: Lovely.",
	}
}

// A transcript that a program made is stored, and neither a search nor a context finds it unless it is asked for. What people say is
// found: with a quotation, in a dialogue, and with the same lines once a person can have written them.
func TestTranscriptsAreNotFound(t *testing.T) {
	t.Parallel()
	turns := map[string][2]string{
		"english": {"My sister Anna works at Siemens.", "Good to know. What does she do there?"},
		"chinese": {"我妹妹在西门子工作。", "很高兴知道。她在那里做什么？"},
	}
	type asks struct {
		said   string
		later  time.Duration
		within bool // the request has the dialogue too
		found  bool
	}
	all := map[string]asks{}
	for name, said := range programs() {
		all[name], all[name+", behind a slow one"] = asks{said: said}, asks{said: said, later: soonAfter}
		all[name+", of a person"] = asks{said: said + "\nI live in Oslo with my dog Rex.", later: time.Minute, found: true}
		all[name+", in a dialogue"] = asks{said: said + "\nI live in Oslo with my dog Rex.", within: true, found: true}
	}
	for name, said := range people() {
		all[name] = asks{said: said, found: true}
	}
	// Each goes through one door, in another language through another one; at night through all.
	doors := []string{"chat", "chat completions", "responses"}
	b, spaces := apptest.New(t), 0
	for l, language := range slices.Sorted(maps.Keys(turns)) {
		turn := turns[language]
		for i, name := range slices.Sorted(maps.Keys(all)) {
			a, through := all[name], doors
			if os.Getenv("SLIPBOX_SETUPS") != "all" {
				through = doors[(i+l)%len(doors):][:1]
			}
			for _, door := range through {
				spaces++
				c := b.Space(t, fmt.Sprintf("c%d", spaces), "mem0")
				b.Call(t, "one", "POST", c+"/messages", apptest.JSON(t, map[string]any{"messages": []any{
					map[string]any{"role": "user", "content": turn[0]}, map[string]any{"role": "assistant", "content": turn[1]},
				}})).Want(http.StatusAccepted)
				if a.later == soonAfter { // the first request of the program took long
					b.Pass(soonAfter / 2)
					askAt(t, b, door, c, fmt.Sprintf(programs()["Open WebUI, title"], turn[0], turn[1]))
				}
				b.Pass(a.later)
				said := a.said
				if strings.Contains(said, "[2]") {
					said = fmt.Sprintf(said, turn[0], turn[1])
				}
				var before []any
				if a.within {
					before = []any{map[string]any{"role": "user", "content": turn[0]}, map[string]any{"role": "assistant", "content": turn[1]}}
				}
				askAt(t, b, door, c, said, before...)
				checkFound(t, b, fmt.Sprintf("%s, %s, %s", door, name, language), c, said, a.found)
			}
		}
	}
}

// Programs shorten turns, and write them in one line. What is left is a transcript as long as it is no accident. People who quote the
// beginnings of both, as a part of what they say, are found.
func TestShortenedTranscriptsAreNotFound(t *testing.T) {
	t.Parallel()
	turns := map[string][2]string{
		"english": {
			"My sister Anna works at Siemens, in the department that builds trains.\n\nShe would like to move to the north, where her friends live.",
			"Good to know. Trains are built in Krefeld and in Munich, and both are far from the north.\n\n- What does she do there?\n- Which of her friends lives there?",
		},
		"chinese": {
			"我妹妹安娜在西门子工作，她所在的部门负责制造火车，办公室就在慕尼黑的市中心附近，每天坐地铁上班。\n她想搬到北方去，因为她的朋友们都住在那里，她很想念他们。",
			"很高兴知道。火车在克雷费尔德和慕尼黑制造，这两个地方离北方都很远，坐高铁也需要六个多小时才能到。\n她在那里具体做什么工作呢？她的哪一位朋友住在北方？",
		},
	}
	cut := func(s string, n int) string { return string([]rune(s)[:n]) }
	folded := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	without := func(s string) string { r := []rune(s); return cut(s, 45) + "…" + string(r[len(r)-15:]) }
	b := apptest.New(t)
	for language, turn := range turns {
		asked, answered := turn[0], turn[1]
		for name, c := range map[string]struct {
			said  string
			found bool
		}{
			"in one line":       {"Name it.\n- User: " + folded(asked) + "\n- Assistant: " + folded(answered), false},
			"cut off":           {"Name it.\n\nUser: " + cut(asked, 44) + "…\nAssistant: " + cut(answered, 44) + "…\n\nThe name:", false},
			"the answer alone":  {"Name it.\n\nUser: " + asked + "\nAssistant: " + cut(answered, 44) + " [...]", false},
			"without middles":   {"<chat>\nUSER: " + without(asked) + "\nASSISTANT: " + without(answered) + "\n</chat>", false},
			"in JSON":           {"[{\"role\":\"user\",\"content\":\"" + cut(asked, 44) + "\"},{\"role\":\"assistant\",\"content\":\"" + cut(answered, 44) + "\"}]", false},
			"a few words":       {"Name it.\n\nUser: " + cut(asked, 12) + "\nAssistant: " + cut(answered, 12), true},
			"a quotation":       {"I said \"" + cut(asked, 44) + "…\"\nand you \"" + cut(answered, 44) + "…\"\nNow I live in Oslo with my dog Rex.", true},
			"words between":     {"I said: " + cut(asked, 44) + "…\nNow I live in Oslo with my dog Rex, and work in the harbor from six to two.\nYou said: " + cut(answered, 44), true},
			"one more question": {"Human: " + cut(asked, 44) + "…\nAI: " + cut(answered, 44) + "…\nHuman: I live in Oslo with my dog Rex.\nAI:", true},
		} {
			space := b.Space(t, strings.ToLower(strings.ReplaceAll(name+"-"+language, " ", "-")), "mem0")
			b.Call(t, "one", "POST", space+"/messages", apptest.JSON(t, map[string]any{"messages": []any{
				map[string]any{"role": "user", "content": asked}, map[string]any{"role": "assistant", "content": answered},
			}})).Want(http.StatusAccepted)
			askAt(t, b, "chat completions", space, c.said)
			checkFound(t, b, name+", "+language, space, c.said, c.found)
		}
	}
}

// soonAfter is longer than half of the time in which a program asks.
const soonAfter = 8 * time.Second

// askAt sends what a person or a program says to a door of chats, behind other turns.
func askAt(t *testing.T, b *apptest.System, door, c, said string, before ...any) {
	t.Helper()
	turns := append(slices.Clone(before), map[string]any{"role": "user", "content": said})
	model := "slipbox@" + strings.TrimPrefix(c, "/v1/collections/")
	switch door {
	case "chat":
		b.Call(t, "one", "POST", c+"/chat", apptest.JSON(t, map[string]any{"messages": turns})).Want(http.StatusOK)
	case "responses":
		b.Call(t, "one", "POST", "/v1/responses", apptest.JSON(t, map[string]any{"model": model, "input": turns})).Want(http.StatusOK)
	default:
		b.Call(t, "one", "POST", "/v1/chat/completions", apptest.JSON(t, map[string]any{"model": model, "messages": turns})).Want(http.StatusOK)
	}
}

// checkFound verifies that a message is found, or only where transcripts are asked for.
func checkFound(t *testing.T, b *apptest.System, name, c, said string, want bool) {
	t.Helper()
	found := func(filter any) bool {
		hits := b.Call(t, "one", "POST", c+"/search", apptest.JSON(t, map[string]any{"query": said, "k": 20, "filter": filter})).Want(http.StatusOK)
		return slices.Contains(hits.Texts("hits.*.note.content"), said)
	}
	if got := found(map[string]any{"kind": "message"}); got != want {
		t.Errorf("%s: found is %v: %q", name, got, said)
	}
	if !want && !found(map[string]any{"kind": "message", "attributes.transcript": true}) {
		t.Errorf("%s: it is not found where it is asked for: %q", name, said)
	}
	shown := b.Call(t, "one", "POST", c+"/context", apptest.JSON(t, map[string]any{"query": said, "token_budget": 4000, "filter": map[string]any{"kind": "message"}})).Want(http.StatusOK)
	if cited := strings.Contains(shown.Text("text"), "Oslo"); cited != (want && strings.Contains(said, "Oslo")) {
		t.Errorf("%s: the context is %q", name, shown.Text("text"))
	}
}
