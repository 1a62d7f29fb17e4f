package memorybank

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

var mayDay = time.Date(2023, 5, 1, 9, 0, 0, 0, time.UTC)

// sayDay adds one day with two turns.
func sayDay(s *testDesk) []memory.Note {
	return []memory.Note{
		s.say(1, memory.RoleUser, "Ann", "t1", "I adopted a cat, Mia.", mayDay),
		s.say(2, memory.RoleAssistant, "Bo", "t1", "Congratulations!", mayDay.Add(time.Second)),
		s.say(3, memory.RoleUser, "Ann", "t2", "She likes the sun.", mayDay.Add(time.Hour)),
		s.say(4, memory.RoleAssistant, "Bo", "t2", "Lovely.", mayDay.Add(time.Hour+time.Second)),
	}
}

// TestBankExchange: messages stay as they are. The summaries of their days are deferred,
// once for each day with messages that may be learned from.
func TestBankExchange(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"summary_delay":60,"forgetting":"threshold","forget_hours":2}`)
	said := sayDay(s)
	late := s.say(5, memory.RoleUser, "Ann", "t3", "Good morning.", mayDay.AddDate(0, 0, 1))
	system := s.say(6, memory.RoleSystem, "", "t3", "Be kind.", mayDay.AddDate(0, 0, 2))
	recalled := s.say(7, memory.RoleAssistant, "Bo", "t3", "You told me of Mia.", mayDay.AddDate(0, 0, 3))
	recalled.Attributes[memory.AttrRecall] = true
	dec := s.decide(memory.Event{Kind: memory.EventExchange, Messages: append(said, late, system, recalled)})
	want := []memory.Follow{
		{Task: memory.Task{Name: taskDay, Key: "2023-05-01"}, After: policytest.Noon.Add(time.Minute)},
		{Task: memory.Task{Name: taskDay, Key: "2023-05-02"}, After: policytest.Noon.Add(time.Minute)},
		{Task: memory.Task{Name: taskForget, Key: "scheduled"}, After: policytest.Noon.Add(2 * time.Hour)},
	}
	if diff := cmp.Diff(want, dec.Follow); diff != "" {
		t.Errorf("follow (-want +got):\n%s", diff)
	}
	if len(dec.Puts)+len(dec.Links)+len(dec.Deletes)+len(s.Asked) != 0 {
		t.Errorf("an exchange by itself changed something or asked a model: %+v", dec)
	}
	if !s.p.Describe().Exchanges {
		t.Error("messages are not decided about by exchanges")
	}
}

// TestBankDay: a day with turns gets a summary with its events (C094) and an
// analysis of the person (C096), each with its sources. Then the overall notes are
// written again (C095, C097) from the days with their dates (C329).
func TestBankDay(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"assistant_role":"an old friend"}`)
	said := sayDay(s)
	ids := []uuid.UUID{said[0].ID, said[1].ID, said[2].ID, said[3].ID}

	dec := s.task(taskDay, "2023-05-01", "")
	if dec.Cause != memory.CauseSummarize || len(dec.Follow) != 1 || dec.Follow[0].Task.Name != taskOverall {
		t.Errorf("cause %q, follow %+v", dec.Cause, dec.Follow)
	}
	sum, profile := s.find(memory.KindSummary, "day/2023-05-01"), s.find(memory.KindProfile, "day/2023-05-01")
	wantSum := map[string]any{AttrPeriod: "day", AttrDate: "2023-05-01", AttrPerson: "Ann", AttrEvents: []any{"Ann adopted Mia."}}
	if sum.Content != "Ann told of her cat Mia." || !cmp.Equal(sum.Attributes, wantSum) || sum.Analyst != memory.AnalystModel || sum.State != memory.StateEvolved {
		t.Errorf("summary %+v", sum)
	}
	if !slices.Equal(sum.Provenance.Sources, ids) || !sum.OccurredAt.Equal(said[3].OccurredAt) {
		t.Errorf("summary from %v at %s", sum.Provenance.Sources, sum.OccurredAt)
	}
	wantProfile := map[string]any{AttrPeriod: "day", AttrDate: "2023-05-01", AttrPerson: "Ann", AttrTraits: []any{"kind", "curious"}, AttrMood: "happy", AttrReplyStrategy: "Ask about the cat."}
	if profile.Content != "Traits: kind, curious. Mood: happy. Reply strategy: Ask about the cat." || !cmp.Equal(profile.Attributes, wantProfile) {
		t.Errorf("profile %q %+v", profile.Content, profile.Attributes)
	}

	s.say(5, memory.RoleUser, "Ann", "t3", "Mia is asleep.", mayDay.AddDate(0, 0, 1))
	s.Answers[callDay] = `{"summary":"Mia slept.","events":[]}`
	s.task(taskDay, "2023-05-02", "")
	s.Asked = nil
	s.task(taskOverall, "", "")
	history, portrait := s.find(memory.KindSummary, KeyOverall), s.find(memory.KindProfile, KeyOverall)
	if history.Content != "In May Ann adopted a cat." || history.Attributes[AttrPeriod] != "global" || len(history.Provenance.Sources) != 2 {
		t.Errorf("history %+v", history)
	}
	if portrait.Content != "Ann is kind." || portrait.Attributes[AttrReplyStrategy] != "Be warm." || len(portrait.Provenance.Sources) != 2 {
		t.Errorf("portrait %+v", portrait)
	}
	in, ok := s.Asked[0].Input.(OverallInput)
	want := []DatedText{{Date: "2023-05-01", Text: "Ann told of her cat Mia."}, {Date: "2023-05-02", Text: "Mia slept."}}
	if !ok || !cmp.Equal(in.Days, want) || in.Role != "an old friend" {
		t.Errorf("asked about %+v", s.Asked[0].Input)
	}
	for _, c := range s.Asked {
		for _, seen := range []string{`"date":"2023-05-01"`, `"date":"2023-05-02"`, `"role":"an old friend"`} {
			if !strings.Contains(c.Prompt, seen) {
				t.Errorf("%s does not show %s:\n%s", c.Name, seen, c.Prompt)
			}
		}
	}

	// C095: another summary of a day, another history. The notes stay the same ones.
	s.say(6, memory.RoleUser, "Ann", "t4", "Mia caught a mouse.", mayDay.AddDate(0, 0, 1).Add(time.Hour))
	s.Answers[callDay] = `{"summary":"Mia caught a mouse.","events":[]}`
	s.Answers[callHistory] = `{"summary":"Ann's cat hunts."}`
	s.Answers[callPortrait] = `{"portrait":"Ann loves her cat.","reply_strategy":"Ask about mice."}`
	s.task(taskDay, "2023-05-02", "")
	s.task(taskOverall, "", "")
	if n := s.find(memory.KindSummary, KeyOverall); n.Content != "Ann's cat hunts." || n.ID != history.ID {
		t.Errorf("history %+v", n)
	}
	if n := s.find(memory.KindProfile, KeyOverall); n.Content != "Ann loves her cat." || n.ID != portrait.ID {
		t.Errorf("portrait %+v", n)
	}
}

// What is said of all days comes from those that a prompt has a place for, so that a long conversation costs what a short one does:
// the same texts as if all were asked about, and these are its sources.
func TestBankManyDays(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, "")
	var texts []string
	for i := range 400 {
		date := mayDay.AddDate(0, 0, i).Format(time.DateOnly)
		texts = append(texts, strings.Repeat(date+" ", 5+i%9))
		for at, kind := range []memory.Kind{memory.KindSummary, memory.KindProfile} {
			s.notes = append(s.notes, memory.Note{ID: uuid.UUID{12: byte(at), 14: byte(i >> 8), 15: byte(i)}, Kind: kind, Key: dayKey(date), Content: texts[i]})
		}
	}
	from, shown := policy.FitChars(texts, DefaultConfig().MaterialChars)
	s.task(taskOverall, "", "")
	for i, kind := range []memory.Kind{memory.KindSummary, memory.KindProfile} {
		in, ok := s.Asked[i].Input.(OverallInput)
		if !ok || len(in.Days) != len(shown) {
			t.Fatalf("asked about %d days, not %d", len(in.Days), len(shown))
		}
		for j, d := range in.Days {
			if d.Text != shown[j] {
				t.Errorf("%s: %q, not %q", d.Date, d.Text, shown[j])
			}
		}
		sources := s.find(kind, KeyOverall).Provenance.Sources
		if n := len(sources); n < len(shown) || n > len(shown)+1 || sources[n-1] != (uuid.UUID{12: byte(i), 14: 399 >> 8, 15: 399 & 255}) {
			t.Errorf("%d sources of %d days after the first %d", n, len(shown), from)
		}
	}
}

// TestBankOfSeveral: where several persons speak, days are summarized, and no portrait mixes the persons.
func TestBankOfSeveral(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"persons":"several"}`)
	sayDay(s)
	for range 2 {
		dec := s.task(taskDay, "2023-05-01", "")
		for i := range dec.Puts {
			if dec.Puts[i].Kind != memory.KindSummary {
				t.Errorf("wrote %+v", dec.Puts[i])
			}
		}
	}
	s.task(taskOverall, "", "")
	if n := s.find(memory.KindSummary, KeyOverall); n.Content != "In May Ann adopted a cat." {
		t.Errorf("history %+v", n)
	}
	var asked []string
	for i := range s.Asked {
		asked = append(asked, s.Asked[i].Name)
	}
	if !slices.Equal(asked, []string{callDay, callHistory}) {
		t.Errorf("asked %q", asked)
	}
}

// TestBankAgain: a day is summarized again if, and only if, something was said since, also
// when the day is over.
func TestBankAgain(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, "")
	said := sayDay(s)
	s.task(taskDay, "2023-05-01", "")
	asked := len(s.Asked)
	if dec := s.task(taskDay, "2023-05-01", ""); len(dec.Puts)+len(dec.Follow) != 0 || len(s.Asked) != asked {
		t.Errorf("summed up again without reason: %+v", dec)
	}
	before := s.find(memory.KindSummary, "day/2023-05-01")
	s.say(9, memory.RoleUser, "Ann", "t9", "And I bought a sofa.", mayDay.Add(2*time.Hour)) // a finished day
	s.Answers[callDay] = `{"summary":"A cat and a sofa.","events":[]}`
	s.task(taskDay, "2023-05-01", "")
	after := s.find(memory.KindSummary, "day/2023-05-01")
	if after.ID != before.ID || after.Content != "A cat and a sofa." || len(after.Provenance.Sources) != 5 {
		t.Errorf("got %+v", after)
	}

	// A message that its caller deleted no longer speaks in the summary.
	s.deleteAsCaller(said[0].ID)
	s.Answers[callDay] = `{"summary":"A sofa.","events":[]}`
	s.task(taskDay, "2023-05-01", "")
	if n := s.find(memory.KindSummary, "day/2023-05-01"); n.Content != "A sofa." || len(n.Provenance.Sources) != 4 {
		t.Errorf("after a deletion: %+v", n)
	}
}

// TestBankDayRemoved: with the last turn of a day its summary and analysis are deleted,
// also when only one of them exists, and then the overall notes.
func TestBankDayRemoved(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"both", "only the summary", "only the profile", "nothing"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			s := newTestDesk(t, "")
			said := sayDay(s)
			s.task(taskDay, "2023-05-01", "")
			s.task(taskOverall, "", "")
			switch with {
			case "only the summary":
				s.deleteAsCaller(s.find(memory.KindProfile, "day/2023-05-01").ID)
			case "only the profile":
				s.deleteAsCaller(s.find(memory.KindSummary, "day/2023-05-01").ID)
			case "nothing":
				s.deleteAsCaller(s.find(memory.KindProfile, "day/2023-05-01").ID)
				s.deleteAsCaller(s.find(memory.KindSummary, "day/2023-05-01").ID)
			}
			for _, m := range said {
				s.deleteAsCaller(m.ID)
			}
			s.task(taskDay, "2023-05-01", "")
			s.task(taskOverall, "", "")
			if len(s.notes) != 0 {
				t.Errorf("left: %+v", s.notes)
			}
		})
	}
}

// TestBankAfterForgetting: a summary stays when its turns are forgotten, and the next
// summary of that day includes it.
func TestBankAfterForgetting(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, "")
	sayDay(s)
	s.task(taskDay, "2023-05-01", "")
	sum := s.find(memory.KindSummary, "day/2023-05-01")
	s.usage[sum.ID] = memory.Usage{Strength: 1e6, LastAccess: s.now}
	if o := readOutcome(t, s.task(taskForget, "", `{"mode":"threshold","floor":0.5}`)); *o.Forgotten != 4 || len(o.Items) != 4 {
		t.Fatalf("forgot %+v", o)
	}
	asked := len(s.Asked)
	if dec := s.task(taskDay, "2023-05-01", ""); len(dec.Puts)+len(dec.Deletes) != 0 || len(s.Asked) != asked {
		t.Errorf("a forgotten day was touched: %+v", dec)
	}
	s.say(9, memory.RoleUser, "Ann", "t9", "And I bought a sofa.", mayDay.Add(2*time.Hour))
	s.Answers[callDay] = `{"summary":"A cat and a sofa.","events":[]}`
	s.task(taskDay, "2023-05-01", "")
	if !strings.Contains(s.Asked[asked].Prompt, `"earlier":"Ann told of her cat Mia."`) {
		t.Errorf("what was known of the day is not in the prompt:\n%s", s.Asked[asked].Prompt)
	}
	n := s.find(memory.KindSummary, "day/2023-05-01")
	if len(n.Provenance.Sources) != 5 || n.Provenance.Stale {
		t.Errorf("got %+v", n)
	}
	// The rules cannot read "earlier"; the old text stays in front of theirs.
	s.By = memory.AnalystHeuristic
	s.say(10, memory.RoleUser, "Ann", "t10", "A red one.", mayDay.Add(3*time.Hour))
	s.Answers[callDay] = `{"summary":"A red one.","events":[]}`
	s.task(taskDay, "2023-05-01", "")
	if n := s.find(memory.KindSummary, "day/2023-05-01"); n.Content != "A cat and a sofa. A red one." {
		t.Errorf("got %q", n.Content)
	}
}

// TestBankNames: prompts name the speakers (C115): by the messages, the settings, the
// meta profile (C100), or their roles.
func TestBankNames(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name, config, user, assistant, meta string
		want                                []string
		person                              string
	}{
		{"messages", ``, "Ann", "Bo", "", []string{`"speaker":"Ann"`, `"speaker":"Bo"`}, "Ann"},
		{"settings", `{"user_name":"Cleo","assistant_name":"Dot"}`, "", "", "", []string{`"speaker":"Cleo"`, `"speaker":"Dot"`}, "Cleo"},
		{"meta", ``, "", "", "李雷", []string{`"speaker":"李雷"`, `"speaker":"AI"`}, "李雷"},
		{"unknown", ``, "", "", "", []string{`"speaker":"User"`, `"speaker":"AI"`}, ""},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := newTestDesk(t, r.config)
			s.say(1, memory.RoleUser, r.user, "t1", "I adopted a cat.", mayDay)
			s.say(2, memory.RoleAssistant, r.assistant, "t1", "Congratulations to you!", mayDay)
			if r.meta != "" {
				s.notes = append(s.notes, memory.Note{ID: policytest.ID(50), Kind: memory.KindProfile, Key: KeyMeta, Content: "x", Attributes: map[string]any{"name": r.meta, "hobbies": "chess"}})
			}
			s.task(taskDay, "2023-05-01", "")
			for _, c := range s.Asked {
				for _, w := range r.want {
					if !strings.Contains(c.Prompt, w) {
						t.Errorf("%s does not show %s:\n%s", c.Name, w, c.Prompt)
					}
				}
				if in, ok := c.Input.(DayInput); !ok || in.User != r.person {
					t.Errorf("%s: input %+v", c.Name, c.Input)
				}
			}
			s.Asked = nil
			s.task(taskOverall, "", "")
			if in := s.Asked[0].Input.(OverallInput); in.User != r.person {
				t.Errorf("the whole is about %q", in.User)
			}
			if r.meta != "" && !strings.Contains(s.Asked[1].Prompt, `"hobbies":"chess"`) {
				t.Errorf("the meta profile is not in the prompt:\n%s", s.Asked[1].Prompt)
			}
		})
	}
}

// TestBankLanguage: the setting decides the language of every prompt; auto takes that of
// the conversation (C101).
func TestBankLanguage(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		language, said string
		want           policy.Language
	}{
		{"en", "我养了一只猫，名字叫咪咪。", policy.English},
		{"zh", "I adopted a cat and called her Mia.", policy.Chinese},
		{"auto", "我养了一只猫，名字叫咪咪。", policy.Chinese},
		{"auto", "I adopted a cat and called her Mia.", policy.English},
		{"auto", "Ich habe eine Katze und sie heißt Mia.", policy.English},
	} {
		s := newTestDesk(t, fmt.Sprintf(`{"language":%q}`, r.language))
		if r.want == policy.Chinese {
			s.Answers[callDay] = `{"summary":"安养了一只猫。","events":[]}`
			s.Answers[callPersonality] = `{"traits":["善良","好奇"],"mood":"因领养猫而高兴，因奶奶生病而担忧","reply_strategy":"问问猫的情况。"}`
		}
		s.say(1, memory.RoleUser, "", "t1", r.said, mayDay)
		s.task(taskDay, "2023-05-01", "")
		s.task(taskOverall, "", "")
		if len(s.Asked) != 4 {
			t.Fatalf("asked %d times", len(s.Asked))
		}
		for _, c := range s.Asked {
			if c.Version != fmt.Sprintf("memorybank/%s.%s@%s", c.Name, r.want, promptVersions[c.Name]) {
				t.Errorf("%s %q: asked with %s", r.language, r.said, c.Version)
			}
		}
		if n := s.find(memory.KindProfile, "day/2023-05-01"); r.want == policy.Chinese && n.Content != "性格：善良、好奇。心情：因领养猫而高兴，因奶奶生病而担忧。回复策略：问问猫的情况。" {
			t.Errorf("got %q", n.Content)
		}
	}
}

// TestBankBadAnswers: a day whose answer cannot be used stays as it is and is retried.
// The overall notes stay too. An empty text never replaces another one.
func TestBankBadAnswers(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{"summary":"  ","events":[]}`, `{"summary":{"a":1}}`, `[]`, `{"summary":"x","events":"y"}`} {
		s := newTestDesk(t, "")
		sayDay(s)
		s.Answers[callDay] = bad
		dec, err := s.p.Decide(t.Context(), s, policytest.TaskEvent(taskDay, "2023-05-01", ""))
		if !errors.Is(err, memory.ErrBadAnswer) || len(dec.Puts) != 0 {
			t.Errorf("%s: %+v, %v", bad, dec, err)
		}
	}
	s := newTestDesk(t, "")
	sayDay(s)
	s.Answers[callPersonality] = `{"traits":[["x"]]}`
	if dec, err := s.p.Decide(t.Context(), s, policytest.TaskEvent(taskDay, "2023-05-01", "")); !errors.Is(err, memory.ErrBadAnswer) || len(dec.Puts) != 0 {
		t.Errorf("half a day: %+v, %v", dec, err)
	}
	s.Answers[callPersonality] = `{"traits":[],"mood":"","reply_strategy":""}` // empty, which is a valid answer
	if dec := s.task(taskDay, "2023-05-01", ""); len(dec.Puts) != 1 || dec.Puts[0].Kind != memory.KindSummary {
		t.Errorf("got %+v", dec.Puts)
	}
	s.Answers[callPersonality] = `{"traits":["kind"],"mood":"","reply_strategy":""}`
	s.task(taskDay, "2023-05-01", "")
	s.task(taskOverall, "", "")
	for _, bad := range []string{`{"summary":""}`, `{"summary":7}`, `null`} {
		s.Answers[callHistory], s.Answers[callPortrait] = bad, `{"portrait":"","reply_strategy":"x"}`
		dec := s.task(taskOverall, "", "")
		if len(dec.Puts)+len(dec.Deletes) != 0 || readOutcome(t, dec).Reason == "" {
			t.Errorf("%s: %+v", bad, dec)
		}
	}
	s.Answers[callPortrait] = `{"portrait":"Ann is brave.","reply_strategy":" "}`
	s.task(taskOverall, "", "")
	if n := s.find(memory.KindProfile, KeyOverall); n.Content != "Ann is brave." || n.Attributes[AttrReplyStrategy] != "Be warm." {
		t.Errorf("an empty strategy took the old one away: %+v", n)
	}
	s.Err = fault.New(fault.Unavailable, "down")
	if _, err := s.p.Decide(t.Context(), s, policytest.TaskEvent(taskOverall, "", "")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("an endpoint that is down: %v", err)
	}
}

// TestBankOverlong: answers and material are cut to their budgets. An endpoint that
// refuses a long request is asked again with less material.
func TestBankOverlong(t *testing.T) {
	t.Parallel()
	s := newTestDesk(t, `{"summary_chars":60,"material_chars":2000}`)
	for i := range 30 {
		s.say(byte(i+1), memory.RoleUser, "Ann", fmt.Sprint(i), fmt.Sprintf("Turn %d. %s", i, strings.Repeat("很长 long ", 200)), mayDay.Add(time.Duration(i)*time.Minute))
	}
	long := strings.Repeat("Mia sleeps. ", 500)
	events := must.Get(json.Marshal(slices.Repeat([]string{long, "a", "b", " "}, 50)))(t)
	s.Answers[callDay] = fmt.Sprintf(`{"summary":%q,"events":%s}`, long, events)
	s.Answers[callPersonality] = fmt.Sprintf(`{"traits":[%q],"mood":%q,"reply_strategy":%q}`, long, long, long)
	s.task(taskDay, "2023-05-01", "")
	sum := s.find(memory.KindSummary, "day/2023-05-01")
	if n := utf8.RuneCountInString(sum.Content); n > 60 {
		t.Errorf("a summary of %d characters", n)
	}
	if got := sum.Attributes[AttrEvents].([]any); len(got) != 3 {
		t.Errorf("events %q", got)
	}
	in := s.Asked[0].Input.(DayInput)
	total := 0
	for _, u := range in.Turns {
		total += utf8.RuneCountInString(u.Content)
	}
	if total > 2000 || len(in.Turns) < 20 || !strings.HasPrefix(in.Turns[len(in.Turns)-1].Content, "Turn 29.") {
		t.Errorf("%d characters of %d turns", total, len(in.Turns))
	}

	s.Asked, s.Err = nil, fault.New(fault.ModelFailed, "the model refused the request (400)")
	s.say(200, memory.RoleUser, "Ann", "x", "New.", mayDay.Add(5*time.Hour))
	if _, err := s.p.Decide(t.Context(), s, policytest.TaskEvent(taskDay, "2023-05-01", "")); !fault.Is(err, fault.ModelFailed) {
		t.Errorf("got %v", err)
	}
	if len(s.Asked) != maxTries {
		t.Fatalf("asked %d times, want %d", len(s.Asked), maxTries)
	}
	for i := 1; i < len(s.Asked); i++ {
		if len(s.Asked[i].Prompt) >= len(s.Asked[i-1].Prompt) {
			t.Errorf("try %d shows no less than the one before", i+1)
		}
	}
}

// TestFitChars: texts of any lengths fit, and the last one is kept.
func TestFitChars(t *testing.T) {
	t.Parallel()
	for _, lengths := range [][]int{{10}, {500}, {10, 900, 20}, {300, 300, 300}, slices.Repeat([]int{100}, 50), slices.Repeat([]int{70}, 9)} {
		for _, chars := range []int{80, 200, 500, 2000} {
			texts := make([]string, len(lengths))
			for i, n := range lengths {
				texts[i] = strings.Repeat("字", n)
			}
			from, got := policy.FitChars(texts, chars)
			total := 0
			for _, s := range got {
				total += utf8.RuneCountInString(s)
			}
			if total > chars || len(got) == 0 || from+len(got) != len(texts) {
				t.Errorf("%v in %d: %d characters, %d of %d texts", lengths, chars, total, len(got), len(texts))
			}
		}
	}
}

// TestBankConfig: settings are checked and documented, and determine how a collection is
// read (k is 6 with forgetting, else 3; the last 7 turns).
func TestBankConfig(t *testing.T) {
	t.Parallel()
	p := newTestDesk(t, "").p
	for config, field := range map[string]string{
		`{}`: "", `{"tau":1,"forgetting":"random","language":"zh","floor":0}`: "",
		`{"tau":0}`: "policy_config.tau", `{"forgetting":"yes"}`: "policy_config.forgetting", `{"language":"de"}`: "policy_config.language",
		`{"floor":2}`: "policy_config.floor", `{"recent":1}`: "policy_config.recent", `{"model":"x"}`: "policy_config.model",
	} {
		err := p.CheckConfig(json.RawMessage(config))
		var f *fault.Error
		if field == "" && err != nil || field != "" && (!errors.As(err, &f) || f.Fields[0].Field != field) {
			t.Errorf("%s: %v", config, err)
		}
	}
	c, err := parseConfig(p.Describe().Defaults)
	if err != nil || !cmp.Equal(c, DefaultConfig()) {
		t.Errorf("defaults shown %+v, %v", c, err)
	}
	r := p.Reading(nil)
	if r.K != 3 || r.Recent != 14 || !slices.Equal(r.Kinds, []memory.Kind{memory.KindMessage, memory.KindSummary, memory.KindNote}) ||
		!slices.Contains(r.Pinned, memory.Pin{Kind: memory.KindProfile, Key: "overall"}) || !slices.Contains(r.Pinned, memory.Pin{Kind: memory.KindProfile, Key: "meta"}) ||
		!slices.Contains(r.Pinned, memory.Pin{Kind: memory.KindSummary, Key: "overall"}) {
		t.Errorf("reading %+v", r)
	}
	if r := p.Reading(json.RawMessage(`{"forgetting":"threshold"}`)); r.K != 6 {
		t.Errorf("with forgetting k is %d", r.K)
	}
	for _, e := range []memory.Event{policytest.TaskEvent("juggle", "", ""), policytest.TaskEvent(taskDay, "yesterday", "")} {
		if _, err := p.Decide(t.Context(), newTestDesk(t, ""), e); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", e.Task, err)
		}
	}
	n := policytest.Note(9, "A note as it is.")
	if dec := newTestDesk(t, "").decide(policytest.Added(n)); !cmp.Equal(dec.Note, n) {
		t.Errorf("a note was changed: %+v", dec.Note)
	}
}

// TestBankPrompts compares the prompts of both languages with their golden files.
// Hostile text stays data.
func TestBankPrompts(t *testing.T) {
	t.Parallel()
	for _, l := range []string{"en", "zh"} {
		s := newTestDesk(t, fmt.Sprintf(`{"language":%q}`, l))
		s.say(1, memory.RoleUser, policytest.Hostile, "t1", policytest.Hostile, mayDay)
		s.say(2, memory.RoleAssistant, "Bo", "t1", "I see.", mayDay.Add(time.Minute))
		s.notes = append(s.notes, memory.Note{ID: policytest.ID(50), Kind: memory.KindProfile, Key: KeyMeta, Content: "x", Attributes: map[string]any{"name": "Ann", "hobbies": policytest.Hostile}})
		s.task(taskDay, "2023-05-01", "")
		s.task(taskOverall, "", "")
		for _, c := range s.Asked {
			policytest.Golden(t, "golden/"+c.Name+"."+l+".v"+promptVersions[c.Name]+".txt", policytest.PromptText(c))
			_, rest, _ := strings.Cut(c.Prompt, "<memory-data>")
			data, _, _ := strings.Cut(rest, "</memory-data>")
			if strings.Count(c.Prompt, "<memory-data>") != 1 || strings.Count(c.Prompt, "</memory-data>") != 1 || !json.Valid([]byte(data)) {
				t.Errorf("%s: the marks are forged:\n%s", c.Name, c.Prompt)
			}
		}
	}
}
