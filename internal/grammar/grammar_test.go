package grammar

import (
	"strings"
	"testing"
)

func show(words []Word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.Text + "/" + w.Tag
	}
	return strings.Join(parts, " ")
}

// Words of everyday sentences have the tags that the rules depend on.
func TestEnglish(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"Tom gave up coffee last week.":                "Tom/NNP gave/VBD up/RP coffee/NN last/JJ week/NN ./.",
		"Nurses run the hospital.":                     "Nurses/NNS run/VBP the/DT hospital/NN ./.",
		"I'm going to run the Berlin marathon.":        "I/PRP 'm/VBP going/VBG to/TO run/VB the/DT Berlin/NNP marathon/NN ./.",
		"My boss, Mr. Chen, hates early meetings.":     "My/PRP$ boss/NN ,/, Mr./NNP Chen/NNP ,/, hates/VBZ early/JJ meetings/NNS ./.",
		"My parents got divorced.":                     "My/PRP$ parents/NNS got/VBD divorced/VBN ./.",
		"I can't stand it, she won't, they don’t.":     "I/PRP ca/MD n't/RB stand/VB it/PRP ,/, she/PRP wo/MD n't/RB ,/, they/PRP do/VBP n’t/RB ./.",
		"We should meet at 7.30 in the U.S. on Friday": "We/PRP should/MD meet/VB at/IN 7.30/CD in/IN the/DT U.S./NNP on/IN Friday/NNP",
		"Mei fell off her bike!":                       "Mei/NNP fell/VBD off/RP her/PRP$ bike/NN !/.",
		"":                                             "",
	} {
		if got := show(English(s)); got != want {
			t.Errorf("%s\n got  %s\n want %s", s, got, want)
		}
	}
}

// Chinese is split at words, not between pairs of characters.
func TestChinese(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"四月十五号搬到上海":       "四月/m 十五/m 号/m 搬/v 到/v 上海/ns",
		"我打算明年三月去德国看你。":   "我/r 打算/v 明年/t 三月/m 去/v 德国/ns 看/v 你/r 。/w",
		"每次出差都住酒店":        "每次/r 出差/v 都/d 住/v 酒店/n",
		"你要照顾好自己":         "你/r 要/v 照顾/v 好/a 自己/r",
		"我对花生过敏，妹妹住在北京":   "我/r 对/p 花生/n 过敏/nr ，/w 妹妹/n 住/v 在/p 北京/ns",
		"Tom 2023年和李明去爬山": "Tom/eng 2023/m 年/m 和/c 李明/nr 去/v 爬山/n",
		"":                "",
	} {
		if got := show(Chinese(s)); got != want {
			t.Errorf("%s\n got  %s\n want %s", s, got, want)
		}
	}
}

// Every byte of a word is that of the text, in order, for any text.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"I can't. Won't! Ana's", "我对花生过敏", "a\x00b\xff'", "'s 't n't ''", "U.S. 7,000.50 x.y", "小王和 Tom、李明", "Ana likes tea and ."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, words := range [][]Word{English(s), Chinese(s)} {
			end := 0
			for _, w := range words {
				if w.Start < end || w.End <= w.Start || s[w.Start:w.End] != w.Text || w.Tag == "" {
					t.Fatalf("%q: %+v behind %d", s, w, end)
				}
				end = w.End
			}
		}
		if len(Statements(s)) == 0 {
			t.Errorf("%q has no statement", s)
		}
	})
}
