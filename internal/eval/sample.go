package eval

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

//go:embed sample/conversation.json
var sampleTalk []byte

//go:embed sample/chat.json
var sampleChat []byte

//go:embed sample/languages.json
var sampleLanguages []byte

// Sample returns the bundled conversation of two friends. We wrote it, in LoCoMo's format.
func Sample() (Conversation, error) {
	cs, err := decodeLoCoMo(sampleTalk, nil)
	if err != nil {
		return Conversation{}, err
	}
	return cs[0], nil
}

// SampleTalk returns the bundled conversation between people as a data set.
func SampleTalk() (*Dataset, error) {
	d := newLoCoMo("sample-talk")
	d.recordHash("conversation.json", sampleTalk)
	var err error
	d.Conversations, err = decodeLoCoMo(sampleTalk, nil)
	return d, err
}

// SampleChat returns the bundled conversation with an assistant as a data set. We wrote it, in
// BEAM's format.
func SampleChat() (*Dataset, error) {
	d := newBEAM("sample-chat")
	d.recordHash("chat.json", sampleChat)
	var err error
	d.Conversations, err = decodeBEAM(sampleChat)
	return d, err
}

// The categories of SampleLanguages: the language of a question and that of the memory that answers it.
const (
	chineseForEnglish = "a Chinese question, an English memory"
	englishForChinese = "an English question, a Chinese memory"
)

// pairText is a text of the bundled pairs in both languages.
type pairText struct {
	En string `json:"en"`
	Zh string `json:"zh"`
}

// SampleLanguages returns 60 memories in English and in Chinese as a data set, each with a question that is asked in
// the other language. We wrote them. The memories of a collection are all in English, all in Chinese, or half of them
// in each language.
func SampleLanguages() (*Dataset, error) {
	var pairs []struct {
		Memory   pairText `json:"memory"`
		Question pairText `json:"question"`
	}
	if err := json.Unmarshal(sampleLanguages, &pairs); err != nil {
		return nil, fmt.Errorf("decode the bundled pairs: %w", err)
	}
	d := &Dataset{Name: "sample-languages", Budgets: []int{500, 1000, 2000}, Categories: []string{chineseForEnglish, englishForChinese}}
	d.recordHash("languages.json", sampleLanguages)
	day := time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	for _, kind := range []struct {
		id        string
		isEnglish func(i int) bool // the memory of pair i
	}{
		{"english", func(int) bool { return true }},
		{"chinese", func(int) bool { return false }},
		{"mixed", func(i int) bool { return i%2 == 0 }},
	} {
		c := Conversation{ID: kind.id}
		for i, p := range pairs {
			text, question, category := p.Memory.Zh, p.Question.En, englishForChinese
			if kind.isEnglish(i) {
				text, question, category = p.Memory.En, p.Question.Zh, chineseForEnglish
			}
			id := strconv.Itoa(i)
			c.Turns = append(c.Turns, Turn{ID: id, At: day, Text: text, Rendered: "[" + day.Format(time.DateOnly) + "] " + text})
			c.Questions = append(c.Questions, Question{Text: question, Category: category, Gold: []string{id}, Audited: []string{id}})
		}
		d.Conversations = append(d.Conversations, c)
	}
	return d, nil
}
