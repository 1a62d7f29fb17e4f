package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// ReadInputs reads conversations from files and folders, each in the form in which its data set is
// published: LoCoMo, LongMemEval, BEAM (a folder for each chat, or all in one file), MemoryBank with its
// questions, labeled dialogues of the corpus, or a plain JSON list (see decodePlain). Files may be packed by gzip. In a folder, files that
// are none of these are left out with a warning; a named file that is none of them is an error.
//
// Nothing is lost silently: each warning names the conversation and what is wrong with it.
func ReadInputs(paths []string, budgets []int) (d *Dataset, warnings []string, err error) {
	in := inputs{data: &Dataset{Name: "comparison", Budgets: budgets}}
	for _, path := range paths {
		if err := in.add(path); err != nil {
			return nil, nil, err
		}
	}
	in.attachQuestions()
	if len(in.data.Conversations) == 0 {
		return nil, nil, fmt.Errorf("%s: no conversation", strings.Join(paths, ", "))
	}
	in.check()
	return in.data, in.warnings, nil
}

// errUnknownForm is the error of a file that is in none of the known forms.
var errUnknownForm = errors.New("not a LoCoMo, LongMemEval, BEAM, MemoryBank or corpus file, and no list of conversations with \"turns\"")

// inputs gathers conversations.
type inputs struct {
	data      *Dataset
	warnings  []string
	questions map[string][]string // of MemoryBank, by the user's name
}

func (in *inputs) warnf(format string, args ...any) {
	in.warnings = append(in.warnings, fmt.Sprintf(format, args...))
}

// add reads a file, or all files of a folder.
func (in *inputs) add(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the conversations: %w", err)
	}
	if !info.IsDir() {
		if err := in.file(path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	return filepath.WalkDir(path, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			chat := filepath.Join(name, "chat.json")
			if _, err := os.Stat(chat); err != nil {
				return nil //nolint:nilerr // an ordinary folder
			}
			if err := in.beamFolder(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return fs.SkipDir
		}
		base := strings.TrimSuffix(strings.ToLower(e.Name()), ".gz")
		if !strings.HasSuffix(base, ".json") && !strings.HasSuffix(base, ".jsonl") {
			return nil
		}
		switch err := in.file(name); {
		case errors.Is(err, errUnknownForm):
			in.warnf("%s is left out: %v", name, err)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// open returns the content of a file, unpacked, and records its hash.
func (in *inputs) open(path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	in.data.recordHash(filepath.Base(path), raw)
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return unpack(raw)
	}
	return raw, nil
}

// file reads one file of any form.
func (in *inputs) file(path string) error {
	raw, err := in.open(path)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), filepath.Ext(strings.TrimSuffix(filepath.Base(path), ".gz")))
	cs, err := in.decode(raw, name)
	if err != nil {
		return err
	}
	in.data.Conversations = append(in.data.Conversations, cs...)
	return nil
}

// decode finds out the form of a file by the fields of its first object.
func (in *inputs) decode(raw []byte, name string) ([]Conversation, error) {
	var first map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(raw)).Decode(&first) == nil && first["turns"] != nil && first["facts"] != nil {
		return in.decodeCorpus(raw)
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err == nil {
		if len(list) == 0 {
			return nil, errors.New("an empty list")
		}
		has := func(field string) bool { _, ok := list[0][field]; return ok }
		switch {
		case has("qa") && has("conversation"):
			in.apart("adversarial")
			return decodeLoCoMo(raw, nil)
		case has("haystack_sessions"):
			return decodeLongMemEval(raw)
		case has("chat") && has("messages"):
			return decodeBEAM(raw)
		case has("turns") && has("batch_number"):
			c, err := decodeBEAMChat(raw, nil, name)
			return []Conversation{c}, err
		case has("turns"):
			return in.decodePlain(raw)
		}
		return nil, errUnknownForm
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		if questions, ok := bankQuestions(raw); ok {
			in.questions = questions
			return nil, nil
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, ok := object["turns"]; ok { // one conversation without a list around it
		return in.decodePlain(slices.Concat([]byte{'['}, raw, []byte{']'}))
	}
	for _, value := range object {
		var user struct {
			History json.RawMessage `json:"history"`
		}
		if json.Unmarshal(value, &user) != nil || user.History == nil {
			if questions, ok := bankQuestions(raw); ok {
				in.questions = questions
				return nil, nil
			}
			return nil, errUnknownForm
		}
	}
	return decodeMemoryBank(raw)
}

// apart names the category that averages leave out.
func (in *inputs) apart(category string) { in.data.Apart = category }

// bankQuestions reads MemoryBank's questions: a line {"name": ["question", …]} for each user.
func bankQuestions(raw []byte) (map[string][]string, bool) {
	out := map[string][]string{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		var line map[string][]string
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			return out, len(out) > 0
		} else if err != nil {
			return nil, false
		}
		for name, questions := range line {
			out[name] = append(out[name], questions...)
		}
	}
}

// attachQuestions adds the questions to the users of a MemoryBank file.
func (in *inputs) attachQuestions() {
	for i := range in.data.Conversations {
		c := &in.data.Conversations[i]
		for _, text := range in.questions[c.ID] {
			c.Questions = append(c.Questions, Question{Text: text, Category: "probing"})
		}
		delete(in.questions, c.ID)
	}
	for _, name := range sortedKeys(in.questions) {
		in.warnf("the %d questions for %q are left out: there is no such conversation", len(in.questions[name]), name)
	}
}

// decodeCorpus reads labeled dialogues, a line for each. Questions have their kind as category.
func (in *inputs) decodeCorpus(raw []byte) ([]Conversation, error) {
	dialogues, err := decodeLines[Labeled](raw)
	if err != nil {
		return nil, err
	}
	d, err := AsData(dialogues)
	if err != nil {
		return nil, err
	}
	for i := range dialogues {
		c := &d.Conversations[i]
		c.Questions = c.Questions[:len(dialogues[i].Questions)]
		for j := range c.Questions {
			q := &c.Questions[j]
			if q.Category = dialogues[i].Questions[j].Kind; q.Category == "abstain" { // as LoCoMo calls it
				q.Category = "adversarial"
				in.apart(q.Category)
			}
		}
	}
	return d.Conversations, nil
}

// plainConversation is the form of a plain file. Ids may be texts or numbers.
type plainConversation struct {
	ID    any `json:"id"`
	Turns []struct {
		ID      any    `json:"id"`
		Speaker string `json:"speaker"`
		Role    string `json:"role"` // user, assistant; "" for a person among persons
		Text    string `json:"text"`
		At      string `json:"at"` // RFC 3339, or a day; "" continues from the turn before
		Session any    `json:"session"`
	} `json:"turns"`
	Questions []struct {
		Text     string `json:"q"`
		Answer   any    `json:"answer"`
		Category any    `json:"category"` // a name, or LoCoMo's number
		Evidence []any  `json:"evidence"` // ids of turns
	} `json:"questions"`
}

// decodePlain reads [{id, turns: [{id, speaker, role, text, at, session}], questions: [{q, answer, category, evidence[]}]}].
func (in *inputs) decodePlain(raw []byte) ([]Conversation, error) {
	var list []plainConversation
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // keeps the digits of ids
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("not a list of conversations: %w", err)
	}
	out := make([]Conversation, 0, len(list))
	for i := range list {
		c, err := in.plain(&list[i], i)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (in *inputs) plain(from *plainConversation, index int) (Conversation, error) {
	c := Conversation{ID: cmp.Or(label(from.ID), fmt.Sprintf("conversation-%d", index+1))}
	at, untimed := time.Date(2024, time.January, 1, 9, 0, 0, 0, time.UTC), 0
	known := map[string]bool{}
	for j, t := range from.Turns {
		id := cmp.Or(label(t.ID), strconv.Itoa(j+1))
		if strings.TrimSpace(t.Text) == "" {
			in.warnf("%s: turn %s is left out: it has no text", c.ID, id)
			continue
		}
		if t.Role != "" && t.Role != "user" && t.Role != "assistant" && t.Role != "system" && t.Role != "tool" {
			return c, fmt.Errorf("%s: turn %s: role %q is none of user, assistant, system, tool", c.ID, id, t.Role)
		}
		if t.At == "" {
			at = at.Add(time.Second)
			untimed++
		} else {
			var err error
			if at, err = time.Parse(time.RFC3339, t.At); err != nil {
				if at, err = time.Parse(time.DateOnly, t.At); err != nil {
					return c, fmt.Errorf("%s: turn %s: %q is not a time such as 2026-03-01T09:30:00Z, nor a day", c.ID, id, t.At)
				}
			}
		}
		known[id] = true // of two, evidence means the first one, see check
		c.Turns = append(c.Turns, in.turn(c.ID, id, cmp.Or(t.Speaker, t.Role), t.Role, label(t.Session), t.Text, at))
	}
	if untimed > 0 && untimed < len(from.Turns) {
		in.warnf("%s: %d of %d turns have no time: each is a second after the turn before it", c.ID, untimed, len(from.Turns))
	} else if untimed > 0 {
		in.warnf("%s: no turn has a time: they are a second apart from %s", c.ID, at.Format(time.DateOnly))
	}
	for _, q := range from.Questions {
		out := Question{Text: q.Text, Answer: label(q.Answer), Category: category(q.Category)}
		for _, e := range q.Evidence {
			if id := label(e); !known[id] {
				out.Unknown = append(out.Unknown, id)
			} else if !slices.Contains(out.Gold, id) {
				out.Gold = append(out.Gold, id)
			}
		}
		out.Audited = out.Gold
		if out.Category == "adversarial" {
			in.apart(out.Category)
		}
		c.Questions = append(c.Questions, out)
	}
	return c, nil
}

// turn returns a turn of a conversation. A text that no note could hold is cut, with a warning.
func (in *inputs) turn(conversation, id, speaker, role, session, text string, at time.Time) Turn {
	return newTurn(id, speaker, role, session, text, at, func() {
		in.warnf("%s: turn %s is cut to %d KiB", conversation, id, contentLimit>>10)
	})
}

func newTurn(id, speaker, role, session, text string, at time.Time, cut func()) Turn {
	said := text
	if speaker != "" {
		said = speaker + ": " + text
	}
	if len(said) > contentLimit {
		cut()
		said = clip.Head(said, contentLimit)
	}
	return Turn{ID: id, Speaker: speaker, Role: role, Session: session, At: at, Text: said, Rendered: "[" + at.Format(sessionTime) + "] " + said}
}

// label returns an id, a number or a text of JSON as text; "" for null.
func label(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// category returns the name of a category: LoCoMo's for its numbers.
func category(v any) string {
	name := label(v)
	if n, err := strconv.Atoi(name); err == nil && locomoCategories[n] != "" {
		return locomoCategories[n]
	}
	return cmp.Or(name, "all")
}

// decodeLongMemEval reads questions of LongMemEval (Wu et al., ICLR 2025), each with a history of its own.
func decodeLongMemEval(raw []byte) ([]Conversation, error) {
	var list []struct {
		ID       string   `json:"question_id"`
		Type     string   `json:"question_type"`
		Question string   `json:"question"`
		Answer   any      `json:"answer"`
		Dates    []string `json:"haystack_dates"`
		Names    []string `json:"haystack_session_ids"`
		Sessions [][]struct {
			Role    string `json:"role"`
			Content string `json:"content"`
			Answers bool   `json:"has_answer"`
		} `json:"haystack_sessions"`
		Answering []string `json:"answer_session_ids"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("not a LongMemEval file: %w", err)
	}
	out := make([]Conversation, 0, len(list))
	for _, from := range list {
		c := Conversation{ID: from.ID}
		q := Question{Text: from.Question, Category: from.Type, Answer: label(from.Answer), GoldSessions: from.Answering}
		if len(from.Dates) != len(from.Sessions) {
			return nil, fmt.Errorf("%s: %d dates for %d sessions", from.ID, len(from.Dates), len(from.Sessions))
		}
		for i, session := range from.Sessions {
			at, err := time.ParseInLocation("2006/01/02 (Mon) 15:04", from.Dates[i], time.UTC)
			if err != nil {
				return nil, fmt.Errorf("%s: session %d: date: %w", from.ID, i, err)
			}
			name := strconv.Itoa(i)
			if i < len(from.Names) {
				name = from.Names[i]
			}
			for j, t := range session {
				if strings.TrimSpace(t.Content) == "" {
					continue // published with empty answers of the assistant
				}
				id := fmt.Sprintf("%d:%d", i, j)
				if t.Answers {
					q.Gold = append(q.Gold, id)
				}
				c.Turns = append(c.Turns, newTurn(id, t.Role, t.Role, name, t.Content, at.Add(time.Duration(j)*time.Second), func() {}))
			}
		}
		// The sessions of some files are in no order.
		slices.SortStableFunc(c.Turns, func(a, b Turn) int { return a.At.Compare(b.At) })
		q.Audited = q.Gold
		c.Questions = []Question{q}
		out = append(out, c)
	}
	return out, nil
}

// beamFolder reads a chat of BEAM as its repository has it: chat.json, and
// probing_questions/probing_questions.json.
func (in *inputs) beamFolder(dir string) error {
	raw, err := in.open(filepath.Join(dir, "chat.json"))
	if err != nil {
		return err
	}
	questions, err := in.open(filepath.Join(dir, "probing_questions", "probing_questions.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c, err := decodeBEAMChat(raw, questions, "chat-"+filepath.Base(dir))
	if err != nil {
		return err
	}
	in.data.Conversations = append(in.data.Conversations, c)
	return nil
}

// decodeBEAMChat reads batches of turns, and questions by category; questions may be nil.
func decodeBEAMChat(raw, questions []byte, id string) (Conversation, error) {
	c := Conversation{ID: id}
	var batches []struct {
		Turns [][]struct {
			ID      int    `json:"id"`
			Role    string `json:"role"`
			Day     string `json:"time_anchor"`
			Content string `json:"content"`
		} `json:"turns"`
	}
	if err := json.Unmarshal(raw, &batches); err != nil {
		return c, fmt.Errorf("not a chat of BEAM: %w", err)
	}
	var day time.Time
	known := map[int]bool{}
	for i, b := range batches {
		for _, exchange := range b.Turns {
			for _, m := range exchange {
				if m.Day != "" { // otherwise the day of the message before
					at, err := time.ParseInLocation(messageDate, m.Day, time.UTC)
					if err != nil {
						return c, fmt.Errorf("message %d: date: %w", m.ID, err)
					}
					day = at
				}
				text := m.Content
				if at := strings.LastIndex(text, " ->-> "); at > 0 { // the place in the plan that the text was written from
					text = text[:at]
				}
				known[m.ID] = true
				c.Turns = append(c.Turns, newTurn(strconv.Itoa(m.ID), m.Role, m.Role, strconv.Itoa(i+1), text, day.Add(time.Duration(m.ID)*time.Second), func() {}))
			}
		}
	}
	if questions == nil {
		return c, nil
	}
	var byCategory map[string][]struct {
		Question string `json:"question"`
		Answer   string `json:"answer"`
		Ideal    string `json:"ideal_answer"`
		Response string `json:"ideal_response"`
		Sources  any    `json:"source_chat_ids"`
	}
	if err := json.Unmarshal(questions, &byCategory); err != nil {
		return c, fmt.Errorf("not the questions of BEAM: %w", err)
	}
	for _, category := range sortedKeys(byCategory) {
		for _, q := range byCategory[category] {
			out := Question{Text: q.Question, Category: category, Answer: cmp.Or(q.Answer, q.Ideal, q.Response)}
			for _, n := range numbers(q.Sources, nil) {
				switch id := strconv.Itoa(n); {
				case !known[n]:
					out.Unknown = append(out.Unknown, id)
				case !slices.Contains(out.Gold, id):
					out.Gold = append(out.Gold, id)
				}
			}
			out.Audited = out.Gold
			c.Questions = append(c.Questions, out)
		}
	}
	return c, nil
}

// numbers returns all numbers of a value of JSON: BEAM has lists, and objects of lists.
func numbers(v any, out []int) []int {
	switch v := v.(type) {
	case float64:
		out = append(out, int(v))
	case []any:
		for _, e := range v {
			out = numbers(e, out)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			out = numbers(v[k], out)
		}
	}
	return out
}

// check makes ids unique, gathers the categories, and warns of all that cannot be measured.
func (in *inputs) check() {
	seen := map[string]bool{}
	for i := range in.data.Conversations {
		c := &in.data.Conversations[i]
		if seen[c.ID] {
			name := c.ID
			for n := 2; seen[name]; n++ {
				name = fmt.Sprintf("%s-%d", c.ID, n)
			}
			in.warnf("two conversations are called %s: the later one is %s", c.ID, name)
			c.ID = name
		}
		seen[c.ID] = true
		if len(c.Turns) == 0 {
			in.warnf("%s has no turns", c.ID)
		}
		if len(c.Questions) == 0 {
			in.warnf("%s has no questions: sizes, times and costs are measured, recall and answers are not", c.ID)
		}
		turns := map[string]bool{}
		for j := range c.Turns {
			t := &c.Turns[j]
			if turns[t.ID] {
				unique := t.ID
				for n := 2; turns[unique]; n++ {
					unique = fmt.Sprintf("%s#%d", t.ID, n)
				}
				in.warnf("%s: two turns are called %s: the later one is %s", c.ID, t.ID, unique)
				t.ID = unique
			}
			turns[t.ID] = true
		}
		scored := 0
		for j := range c.Questions {
			q := &c.Questions[j]
			if !slices.Contains(in.data.Categories, q.Category) {
				in.data.Categories = append(in.data.Categories, q.Category)
			}
			if len(q.Unknown) > 0 {
				in.warnf("%s: question %d (%q): there is no turn %s", c.ID, j+1, clip.Runes(q.Text, 60), strings.Join(q.Unknown, ", "))
			}
			if len(q.Gold) > 0 {
				scored++
			}
		}
		if len(c.Questions) > 0 && scored == 0 {
			in.warnf("%s: no question names turns as evidence: recall is not measured", c.ID)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
