package unsaid_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// noise returns n bytes that look random, and are the same each time.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// lines cuts a text into lines.
func lines(s string, width int, end string) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + end)
		s = s[width:]
	}
	return b.String() + s
}

// Thinking of models is replaced in each form that they write it in.
func TestThinkingIsMarked(t *testing.T) {
	t.Parallel()
	const mark = "[left out: thinking]"
	for in, want := range map[string]string{
		"<think>\nsecret plan\n</think>\n\nHello.":              mark + "\n\nHello.",
		"<THINK>secret</THINK>Hello.":                           mark + "Hello.",
		"<thinking>secret</thinking>\nHello.":                   mark + "\nHello.",
		"<reasoning effort=\"high\">secret</reasoning>\nHello.": mark + "\nHello.",
		"Hello.\n<thought>secret</thought>\nBye.":               "Hello.\n" + mark + "\nBye.",
		"[THINK]secret[/THINK]Hello.":                           mark + "Hello.",
		"◁think▷secret◁/think▷Hello.":                           mark + "Hello.",
		"Sure. <think>secret</think> Hello.":                    "Sure. " + mark + " Hello.",
		"secret, with more\n</think>\nHello.":                   mark + "\nHello.",
		"secret </think> Hello.":                                mark + "\nHello.",
		"Your model needs `</think>`.":                          "Your model needs `</think>`.",
		"<think>secret and it ends here":                        mark,
		"<|channel|>analysis<|message|>secret<|end|><|start|>assistant<|channel|>final<|message|>Hello.":                 mark + "Hello.",
		"<think>a <think>b</think> c</think> Hello.":                                                                     mark + " Hello.",
		"<think>Is <think> a tag? b</think> Hello.":                                                                      mark + " Hello.",
		"<details type=\"reasoning\" done=\"true\" duration=\"5\">\n<summary>Thought</summary>\n> b\n</details>\nHello.": mark + "\nHello.",
		"Sure. <details done=true type=reasoning>b</details> Hello.":                                                     "Sure. " + mark + " Hello.",
		"<details type=\"reasoning\" done=\"false\">\n> b":                                                               mark,
		"<details><summary>reasoning</summary>b</details>":                                                               "<details><summary>reasoning</summary>b</details>",
		"<|START_THINKING|>secret<|END_THINKING|>Hello.":                                                                 mark + "Hello.",
		"Models write `<think>` before and `</think>` after.":                                                            "Models write `<think>` before and `</think>` after.",
		"Hello < world > and </p>":                                                                                       "Hello < world > and </p>",
		"I think, therefore":                                                                                             "I think, therefore",
	} {
		got := unsaid.Mark(in, true)
		if got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
		if again := unsaid.Mark(got, true); again != got {
			t.Errorf("%q changes again: %q", got, again)
		}
	}
	for _, said := range []string{
		"What does <think> do?", "Why do I see </think> at the end?", "Do I close <think> by </think> or not?", "I think so.",
	} {
		if got := unsaid.Mark(said, false); got != said {
			t.Errorf("a person said %q, not %q", said, got)
		}
	}
	if got := unsaid.Mark("<think>a <think>b</think> c</think> Hello.", false); got != mark+" Hello." {
		t.Errorf("%q", got)
	}
	for in, want := range map[string]string{
		"plan</think>": mark + "\n", "A plan.</think> Hello.": mark + "\nHello.", "My model ends with </think> now.": "My model ends with </think> now.",
		"It needs `</think>`.": "It needs `</think>`.", "<b>x</think>": "<b>x</think>",
	} {
		if got := unsaid.MarkEnded(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := unsaid.Mark("It printed:\n<think>secret\nplan</think>\nWhy?", false); got != "It printed:\n"+mark+"\nWhy?" {
		t.Errorf("%q", got)
	}
}

// Of an answer, what the model thought is left out in each form that models write it in, and the marks around what it says.
func TestSplit(t *testing.T) {
	t.Parallel()
	const secret = `maybe {"meta":"secret"} `
	for _, form := range []string{
		"<think>%s</think>%s", "<THINKING>%s</THINKING>\n%s", "Sure. <reasoning effort=\"low\">%s</reasoning>%s", "<thought>%s</thought>%s", "<seed:think>%s</seed:think>%s",
		"<antThinking>%s</antThinking>%s", "<longcat_think>%s</longcat_think>%s", "%s</think>\n%s", "`a` %s</think>%s", "<think>%s<think>x</think> y</think>%s", "<analysis>%s</analysis>\n%s",
		"[THINK]%s[/THINK]%s", "◁think▷%s◁/think▷%s", "<unused94>thought\n%s<unused95>%s", "<|channel>thought\n%s<channel|>%s",
		"<|channel|>analysis<|message|>%s<|end|><|start|>assistant<|channel|>final<|message|>%s<|return|>", "<|START_THINKING|>%s<|END_THINKING|><|START_RESPONSE|>%s<|END_RESPONSE|>",
		"<|begin_of_thought|>%s<|end_of_thought|><|begin_of_solution|>%s<|end_of_solution|>", "<|inner_prefix|>%s<|inner_suffix|>%s",
	} {
		in := fmt.Sprintf(form, secret, "Ana sails.")
		if said, open := unsaid.Split(in); strings.TrimSpace(strings.TrimPrefix(said, "Sure. ")) != "Ana sails." || open {
			t.Errorf("of %q is said %q, %t", in, said, open)
		}
	}
	for _, begin := range []string{"<think>", "[THINK]", "◁think▷", "<unused94>thought\n", "<|channel|>analysis<|message|>", "<|START_THINKING|>", "Sure.\n<reasoning>"} {
		if said, open := unsaid.Split(begin + secret); strings.TrimPrefix(said, "Sure.") != "" || !open {
			t.Errorf("of %q is said %q, %t", begin+secret, said, open)
		}
	}
	for _, said := range []string{
		"Models write `<think>` and `</think>` around it.", "What does <think> do here?", "It is in [think tank] 4.", "<analysis>All of it.</analysis>", "I think, therefore", "a < b > c",
	} {
		if got, open := unsaid.Split(said); got != said || open {
			t.Errorf("%q is cut to %q", said, got)
		}
	}
}

// Encoded data is replaced in each form, and what is around it stays.
func TestDataIsMarked(t *testing.T) {
	t.Parallel()
	b := noise(6010)
	std, url, hexa := base64.StdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b), hex.EncodeToString(b)
	var escaped, spaced, array strings.Builder
	for _, x := range b {
		fmt.Fprintf(&escaped, `\x%02x`, x)
		fmt.Fprintf(&spaced, "%02X ", x)
		fmt.Fprintf(&array, "0x%02x, ", x)
	}
	for name, data := range map[string]string{
		"a data URL": "data:image/png;base64," + std, "with a parameter": "data:text/plain;charset=utf-8;base64," + std, "short": "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
		"raw markup":               `data:image/svg+xml;utf8,<svg xmlns="http://www.w3.org/2000/svg"><text x="1">Tea (hot)</text></svg>`,
		"raw markup of a document": "data:image/svg+xml,<?xml version='1.0'?><svg width='9'>\n<g/></svg>", "half-encoded": "data:image/svg+xml,%3Csvg viewBox='0 0 8 8'%3E%3C/svg%3E",
		"percent-encoded": "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'", "no type": "data:;base64," + std,
		"base64": std, "of URLs": url, "in lines": lines(std, 76, "\n"), "in lines of Windows": lines(std, 64, "\r\n"), "in a text of JSON": lines(std, 76, `\n`),
		"hexadecimal": hexa, "upper case": strings.ToUpper(hexa), "in lines of digits": lines(hexa, 64, "\n"), "escaped": escaped.String(),
		"with spaces": spaced.String(), "of C": array.String(), "with colons": lines(hexa, 2, ":"), "in words": lines(hexa, 4, " "),
		"of zeros": base64.StdEncoding.EncodeToString(append(make([]byte, 2000), b[:1500]...)),
	} {
		in := "Look at this: " + data + " Isn't it nice?"
		if name == "percent-encoded" {
			in = "Look at this: \"" + data + "\" Isn't it nice?"
		}
		got := unsaid.Mark(in, false)
		if len(got) > 120 || !strings.HasPrefix(got, "Look at this: ") || !strings.HasSuffix(got, "Isn't it nice?") || !strings.Contains(got, "[left out: ") {
			t.Errorf("%s: %.300q", name, got)
		}
		if again := unsaid.Mark(got, false); again != got {
			t.Errorf("%s changes again: %q", name, again)
		}
	}
	if got := unsaid.Mark("![cat](data:image/jpeg;base64,"+std+") and text", false); got != "![cat]([left out: image/jpeg, 8 kB]) and text" {
		t.Errorf("%q", got)
	}
}

// What is kept on purpose keeps data that does not name its type.
func TestNamedDataIsMarked(t *testing.T) {
	t.Parallel()
	data := base64.StdEncoding.EncodeToString(noise(9000))
	if got := unsaid.MarkNamed("<think>plan</think>Its key: "+data, true); got != "[left out: thinking]Its key: "+data {
		t.Errorf("%.200q", got)
	}
	if got := unsaid.MarkNamed("data:image/png;base64,"+data, false); got != "[left out: image/png, 12 kB]" {
		t.Errorf("%.200q", got)
	}
}

// What people and programs write is not data, however long it is.
func TestWordsAreNotMarked(t *testing.T) {
	t.Parallel()
	digits := "3." + strings.Repeat("14159265358979323846", 30)
	for _, said := range []string{
		"data: tea, cake", "the data:,x form", "Das ist " + strings.Repeat("Donaudampfschifffahrt", 30), "no" + strings.Repeat("o", 500) + "!",
		strings.Repeat("-", 600), strings.Repeat("=", 600), strings.Repeat("_ ", 400), digits, strings.Repeat("12 34 56 78 ", 60),
		"https://example.org/" + strings.Repeat("articles/2026/how-to-do-it/", 30), "/home/nora/" + strings.Repeat("Projects_2026/src-v2/", 30),
		strings.Repeat("0198c1de-7d2f-7c3a-9b60-6a1f0f0e8a11\n", 20), "sha256:" + hex.EncodeToString(noise(32)), "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGd" + base64.StdEncoding.EncodeToString(noise(24)),
		strings.Repeat("added a bad face to the cafe, 2026-01-02; ", 30), strings.Repeat("日本語の文章です。", 200), strings.Repeat("ha", 300),
		strings.Repeat("1990 1991 1992 ", 60), "ssh-rsa " + base64.StdEncoding.EncodeToString(noise(535)) + " root@vm",
		"-----BEGIN CERTIFICATE-----\n" + lines(base64.StdEncoding.EncodeToString(noise(1800)), 64, "\n") + "\n-----END CERTIFICATE-----",
	} {
		if got := unsaid.Mark(said, false); got != said {
			t.Errorf("%.80q is %.200q", said, got)
		}
	}
}

func FuzzMark(f *testing.F) {
	f.Add("<think>a</think>b", true)
	f.Add("data:image/png;base64,AAAA", false)
	f.Fuzz(func(t *testing.T, s string, byModel bool) {
		if got := unsaid.Mark(s, byModel); len(got) > len(s)+1000 {
			t.Errorf("%q grew to %q", s, got)
		}
	})
}

// A list of hashes is what a person keeps, with any sign between them.
func TestHashesAreKept(t *testing.T) {
	t.Parallel()
	for _, digits := range []int{32, 40, 64, 128} {
		for _, between := range []string{"\n", " ", ", "} {
			list := strings.Repeat(hex.EncodeToString(noise(digits/2))+between, 12)
			if got := unsaid.Mark("The builds: "+list, false); got != "The builds: "+list {
				t.Errorf("%d digits, %q between: %.80q", digits, between, got)
			}
		}
	}
}
