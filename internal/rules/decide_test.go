package rules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// memoryList keeps memories as Mem0 does; the rules decide about each.
type memoryList struct{ texts []string }

// say extracts facts from an utterance and applies the decision about each.
func (s *memoryList) say(name, said string) {
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)
	in := mem0.ExtractInput{New: []memory.Utterance{{Role: memory.RoleUser, Name: name, Content: said, Time: at}}}
	for _, f := range extract(in).Facts {
		s.learn(f)
	}
}

func (s *memoryList) learn(fact string) {
	in := mem0.DecideInput{Fact: fact}
	for i, t := range s.texts {
		in.Similar = append(in.Similar, memory.Described{Handle: i, Content: t, Score: 0.7})
	}
	d := decide(in)
	switch d.Operation {
	case mem0.OpNoop, mem0.OpReplace:
	case mem0.OpAdd:
		s.texts = append(s.texts, fact)
	case mem0.OpUpdate:
		s.texts[*d.Target] = *d.Text
	case mem0.OpDelete:
		s.texts = append(s.texts[:*d.Target:*d.Target], s.texts[*d.Target+1:]...)
		s.texts = append(s.texts, *d.Text)
	}
}

// A later statement replaces what it contradicts, a repeat changes nothing, and statements that
// can both be true are kept (C159, C163).
func TestDecideScenarios(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		speaker string
		said    []string
		want    []string
	}{
		"vegetarian, then not":  {"", []string{"I'm vegetarian.", "Actually I'm not vegetarian anymore."}, []string{"The user is not vegetarian anymore."}},
		"vegetarian, then meat": {"Ana", []string{"I am a vegetarian.", "I eat meat again now."}, []string{"Ana eats meat again now."}},
		"name corrected":        {"", []string{"My name is John.", "My name is Mike, not John."}, []string{"The user's name is Mike, not John."}},
		"moved":                 {"", []string{"I live in Beijing.", "I moved from Beijing to Shanghai."}, []string{"The user moved from Beijing to Shanghai."}},
		"plan cancelled": {"Ana", []string{"I'm planning a trip to Rome in June.", "I cancelled the trip to Rome."},
			[]string{"Ana cancelled the trip to Rome."}},
		"reworded repeats": {"Ana", []string{"I love hiking.", "I really love hiking!", "I like hiking a lot.", "I enjoy hiking so much.", "I'm a big fan of hiking.",
			"I absolutely love hiking.", "I just love hiking.", "I love to hike.", "I really enjoy hiking.", "Well, I love hiking."}, []string{"Ana loves hiking."}},
		"two of one name": {"", []string{"My colleague John lives in Boston.", "My brother John lives in Denver."},
			[]string{"The user's colleague John lives in Boston.", "The user's brother John lives in Denver."}},
		"many likes":    {"Ana", []string{"I like tea.", "I like jazz."}, []string{"Ana likes tea.", "Ana likes jazz."}},
		"like, dislike": {"Ana", []string{"I like coffee.", "I don't like coffee anymore."}, []string{"Ana doesn't like coffee anymore."}},
		"more detail":   {"Ana", []string{"I have a dog.", "I have a dog named Rex."}, []string{"Ana has a dog named Rex."}},
		"job":           {"Ana", []string{"I work as a teacher.", "I work as a nurse now."}, []string{"Ana works as a nurse now."}},
		"happens twice": {"Ana", []string{"Yesterday I went to the beach.", "I went to the beach on 3 March 2023."},
			[]string{"On 7 May 2023 Ana went to the beach.", "Ana went to the beach on 3 March 2023."}},
		"two facts of one sentence": {"Nora", []string{"I am a vegetarian and I live in Beijing.", "I moved to Shanghai last week, and I am not a vegetarian any more."},
			[]string{"Nora moved to Shanghai in the week of 1 May 2023.", "Nora is not a vegetarian any more."}},
		"name and home":       {"", []string{"My name is Ana and I live in Beijing.", "I moved to Shanghai."}, []string{"The user's name is Ana.", "The user moved to Shanghai."}},
		"flight cancelled":    {"Nora", []string{"I hate flying.", "I plan to fly to Rome in June.", "I cancelled my flight."}, []string{"Nora hates flying.", "Nora cancelled Nora's flight."}},
		"journey cancelled":   {"Nora", []string{"I'm travelling to Rome in June.", "I cancelled the trip to Rome."}, []string{"Nora cancelled the trip to Rome."}},
		"Chinese: two facts":  {"", []string{"我叫李明，住在北京。", "我搬到上海了。"}, []string{"用户叫李明。", "用户搬到上海了。"}},
		"Chinese: moved":      {"", []string{"我住在北京。", "我搬到上海了。"}, []string{"用户搬到上海了。"}},
		"Chinese: vegetarian": {"小王", []string{"我是素食者。", "我不再吃素了。"}, []string{"小王不再吃素了。"}},
		"Chinese: name":       {"", []string{"我叫李明。", "我的名字是李强，不是李明。"}, []string{"用户的名字是李强，不是李明。"}},
		"Chinese: repeats":    {"", []string{"我喜欢爬山。", "我很喜欢爬山。", "我非常喜欢爬山！", "我真的喜欢爬山。", "我热爱爬山。", "我爱爬山。", "我喜欢去爬山。", "爬山是我的爱好。", "我对爬山很感兴趣。", "我的爱好是爬山。", "我特别爱去爬山。"}, []string{"用户喜欢爬山。"}},
		"Chinese: plan":       {"", []string{"我打算去成都旅行。", "我取消了去成都旅行的计划。"}, []string{"用户取消了去成都旅行的计划。"}},
		"Chinese: likes":      {"", []string{"我喜欢喝茶。", "我喜欢爬山。"}, []string{"用户喜欢喝茶。", "用户喜欢爬山。"}},
	} {
		var s memoryList
		for _, said := range c.said {
			s.say(c.speaker, said)
		}
		if len(s.texts) != len(c.want) {
			t.Errorf("%s: %q, want %q", name, s.texts, c.want)
			continue
		}
		for i := range c.want {
			if s.texts[i] != c.want[i] {
				t.Errorf("%s: %q, want %q", name, s.texts, c.want)
			}
		}
	}
}

// The clauses of a memory that are not contradicted are kept.
func TestDecideKeepsClauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, fact, want string }{
		{"Nora is a vegetarian and Nora lives in Beijing.", "Nora moved to Shanghai.", "Nora is a vegetarian. Nora moved to Shanghai."},
		{"Nora lives in Beijing with her sister Anna.", "Nora moved to Shanghai.", "Nora has a sister named Anna. Nora moved to Shanghai."},
		{"Nora's name is Ana, Nora is a vegetarian. Nora lives in Rome.", "Nora is not a vegetarian any more.", "Nora's name is Ana. Nora lives in Rome. Nora is not a vegetarian any more."},
		{"Nora is a vegetarian and Nora lives in Beijing.", "Nora lives in Beijing.", "Nora is a vegetarian and Nora lives in Beijing."},
		{"Nora has a dog and Nora lives in Rome.", "Nora has a dog named Rex.", "Nora has a dog named Rex. Nora lives in Rome."},
		{"用户叫李明，用户住在北京。", "用户搬到上海了。", "用户叫李明。用户搬到上海了。"},
		{"Nora is vegetarian and allergic to peanuts.", "Nora is not vegetarian any more.", "Nora is allergic to peanuts. Nora is not vegetarian any more."},
		{"Nora is vegetarian and allergic to peanuts.", "Nora eats meat again.", "Nora is allergic to peanuts. Nora eats meat again."},
		{"Nora takes warfarin and metformin daily.", "Nora stopped taking metformin.", "Nora takes warfarin daily. Nora stopped taking metformin."},
		{"Nora likes tea and coffee.", "Nora doesn't like coffee any more.", "Nora likes tea. Nora doesn't like coffee any more."},
		{"Nora plans to travel to Japan in July with her sister Clara.", "Nora had to cancel her trip to Japan.", "Nora has a sister named Clara. Nora had to cancel her trip to Japan."},
		{"用户喜欢茶和咖啡。", "用户不喜欢咖啡了。", "用户喜欢茶。用户不喜欢咖啡了。"},
		{"用户对花生和牛奶过敏。", "用户对牛奶不再过敏。", "用户对花生过敏。用户对牛奶不再过敏。"},
	} {
		s := memoryList{texts: []string{c.old}}
		if s.learn(c.fact); len(s.texts) != 1 || s.texts[0] != c.want {
			t.Errorf("%s, then %s: %q, want %q", c.old, c.fact, s.texts, c.want)
		}
	}
}

// What was said in one breath ends one at a time, and the rest is remembered.
func TestDecideConjuncts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want []string }{
		{[]string{"I'm vegetarian and allergic to peanuts.", "I'm not vegetarian any more."}, []string{"The user is allergic to peanuts.", "The user is not vegetarian any more."}},
		{[]string{"I'm vegetarian and allergic to peanuts.", "I eat meat again."}, []string{"The user is allergic to peanuts.", "The user eats meat again."}},
		{[]string{"I take warfarin and metformin daily.", "I stopped taking metformin."}, []string{"The user takes warfarin daily.", "The user stopped taking metformin."}},
		{[]string{"I like tea and coffee.", "I don't like coffee any more."}, []string{"The user likes tea.", "The user doesn't like coffee any more."}},
		{[]string{"I speak German, French and Italian.", "I no longer speak Italian."}, []string{"The user speaks German.", "The user speaks French.", "The user no longer speaks Italian."}},
		{[]string{"I have a dog and two cats.", "I don't have a dog any more."}, []string{"The user has two cats.", "The user doesn't have a dog any more."}},
		{[]string{"I play tennis, golf and chess.", "I stopped playing golf."}, []string{"The user plays tennis.", "The user plays chess.", "The user stopped playing golf."}},
		{[]string{"I'm allergic to cats, pollen and penicillin.", "I'm no longer allergic to pollen."},
			[]string{"The user is allergic to cats.", "The user is allergic to penicillin.", "The user is no longer allergic to pollen."}},
		{[]string{"I'm a nurse and a mother of two.", "I'm not a nurse any more."}, []string{"The user is a mother of two.", "The user is not a nurse any more."}},
		{[]string{"我喜欢茶和咖啡。", "我不喜欢咖啡了。"}, []string{"用户喜欢茶。", "用户不喜欢咖啡了。"}},
		{[]string{"我对花生和牛奶过敏。", "我对牛奶不再过敏了。"}, []string{"用户对花生过敏。", "用户对牛奶不再过敏了。"}},
		{[]string{"我吃素而且对花生过敏。", "我不吃素了。"}, []string{"用户对花生过敏。", "用户不吃素了。"}},
	} {
		var s memoryList
		for _, said := range c.said {
			s.say("", said)
		}
		if !slices.Equal(s.texts, c.want) {
			t.Errorf("%q\n got  %q\n want %q", c.said, s.texts, c.want)
		}
	}
}

// A text that is too long to be a fact is not compared, since that would take long.
func TestDecideLongMemories(t *testing.T) {
	t.Parallel()
	long := "Nora lives in Rome. " + strings.Repeat("Nora lives in Rome and ", 20000)
	s := memoryList{texts: []string{long}}
	s.learn("Nora moved to Oslo.")
	s.learn(long)
	if len(s.texts) != 3 || s.texts[0] != long {
		t.Errorf("%d memories", len(s.texts))
	}
}

// A plan ends when it is called off, in any words. Likings and past visits are kept (C159).
func TestDecideCalledOff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, said string
		ends      bool
	}{
		{"I plan to visit Rome in June.", "I cancelled my trip to Rome.", true},
		{"I plan to visit Rome in June.", "I canceled the Rome trip.", true},
		{"I plan to visit Rome in June.", "I called off my visit to Rome.", true},
		{"I plan to visit Rome in June.", "I'm not going to Rome anymore.", true},
		{"I plan to visit Rome in June.", "I'm no longer going to Rome.", true},
		{"I plan to visit Rome in June.", "I am not going to visit Rome.", true},
		{"I plan to visit Rome in June.", "I won't travel to Rome after all.", true},
		{"I plan to visit Rome in June.", "My trip to Rome is cancelled.", true},
		{"I plan to visit Rome in June.", "My trip to Rome was called off because of the strike.", true},
		{"I plan to visit Rome in June.", "I decided not to go to Rome.", true},
		{"I'm going to visit Rome next month.", "I cancelled my trip to Rome.", true},
		{"I'm flying to Rome in June.", "I cancelled my trip to Rome.", true},
		{"I booked a flight to Rome.", "I cancelled my trip to Rome.", true},
		{"I will travel to Rome with my sister.", "I cancelled the trip to Rome.", true},
		{"I want to go to Rome next summer.", "I cancelled the trip to Rome.", true},
		{"I'm planning a vacation in Rome.", "I cancelled my holiday in Rome.", true},
		{"I have a trip to Rome planned for June.", "I had to cancel my trip to Rome.", true},
		{"I plan to go to the jazz festival in June.", "I cancelled the jazz festival.", true},
		{"I plan to learn the guitar.", "I gave up my plan to learn the guitar.", true},
		{"I have a dentist appointment on Friday.", "I cancelled my dentist appointment.", true},
		{"I plan to visit Rome in June.", "I cancelled my trip to Paris.", false},
		{"I plan to visit New York in June.", "I cancelled my trip to New Orleans.", false},
		{"I plan to visit Rome in June.", "I cancelled my gym membership.", false},
		{"I plan to visit Rome in June.", "I'm not going to the party.", false},
		{"I plan to write a book about Rome.", "I cancelled my trip to Rome.", false},
		{"I love Rome.", "I cancelled my trip to Rome.", false},
		{"I love travelling to Rome.", "I cancelled my trip to Rome.", false},
		{"I visited Rome in 2019.", "I cancelled my trip to Rome.", false},
		{"I visited Rome last summer.", "I cancelled my trip to Rome.", false},
		{"I went to Rome with my sister.", "I'm not going to Rome anymore.", false},
		{"I live in Rome.", "I cancelled my trip to Rome.", false},
		{"I love Rome.", "I'm not going to Rome anymore.", false},
		{"I live in Rome.", "I'm not going to Rome anymore.", false},
		{"I plan to visit Rome in June.", "I plan to visit Paris because I cancelled my trip to Oslo.", false},
		{"I plan to visit Paris in June.", "I cancelled my trip to Rome because I want to visit Paris.", false},
		{"I plan to visit Rome and Paris in June.", "I cancelled my trip to Rome.", false},
		{"I plan to visit Rome and Paris in June.", "I cancelled my trip to Rome and Paris.", true},
		{"I plan to visit Rome in June.", "I cancelled my July trip to Rome.", false},
		{"I'm planning a trip to the beach.", "I cancelled my trip to the beach.", true},
		{"I love going to concerts.", "I no longer go to concerts in Rome.", false},
		{"I go to the gym every day.", "I don't go to the gym anymore.", true},
		{"I have a sister in Rome.", "I cancelled my trip to Rome.", false},
		{"I have been to Rome twice.", "I cancelled my trip to Rome.", false},
		{"我打算去成都旅行。", "我取消了成都之行。", true},
		{"我打算六月去罗马旅游。", "我取消了去罗马的旅行。", true},
		{"我计划去罗马。", "我不去罗马了。", true},
		{"我准备飞罗马。", "我的罗马之旅取消了。", true},
		{"我六月要去罗马旅行。", "我取消了罗马旅行。", true},
		{"I plan to visit Rome in June.", "I changed my mind about visiting Rome.", true},
		{"I'm planning to buy a car.", "I decided not to buy a car.", true},
		{"I bought a car last year.", "I decided not to buy a car.", false},
		{"我打算去罗马。", "我取消了去巴黎的旅行。", false},
		{"我去年去过罗马。", "我取消了去罗马的旅行。", false},
		{"我喜欢罗马。", "我取消了去罗马的旅行。", false},
	} {
		for _, speaker := range []string{"", "Ana"} {
			var s memoryList
			s.say(speaker, c.old)
			if len(s.texts) != 1 {
				t.Errorf("%s: %q", c.old, s.texts)
				continue
			}
			before := s.texts[0]
			s.say(speaker, c.said)
			if stays := s.texts[0] == before; stays == c.ends {
				t.Errorf("%s, then %s: %q", c.old, c.said, s.texts)
			}
			if want := map[bool]int{true: 1, false: 2}[c.ends]; len(s.texts) != want {
				t.Errorf("%s, then %s: %d memories %q, want %d", c.old, c.said, len(s.texts), s.texts, want)
			}
		}
	}
}

// Somebody has one home at a time, in whichever words they say that they moved (C159).
func TestDecideMoved(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, said string
		ends      bool
	}{
		{"我住在北京。", "我从北京搬到了上海。", true},
		{"我住在北京。", "我从北京搬到上海了。", true},
		{"我住在北京。", "我搬去上海了。", true},
		{"我住在北京。", "我上个月搬家到上海。", true},
		{"我住在北京。", "我搬家到了上海。", true},
		{"我住在北京。", "我已经迁到上海。", true},
		{"我住在北京。", "我从北京迁到了上海。", true},
		{"我住在北京。", "我搬到了上海居住。", true},
		{"我住在北京。", "我现在住在上海。", true},
		{"我住在北京。", "我不住在北京了。", true},
		{"我在北京生活。", "我搬去了上海。", true},
		{"我家在北京。", "我搬到了上海。", true},
		{"我现在住北京。", "我搬到上海了。", true},
		{"我喜欢在北京的大学生活。", "我搬到上海了。", false},
		{"我住在北京。", "我喜欢上海。", false},
		{"我住在北京。", "我的妹妹搬到了上海。", false},
		{"我住在北京。", "我打算搬到上海。", false},
		{"我喜欢北京。", "我从北京搬到了上海。", false},
		{"I live in Beijing.", "I've moved to Shanghai.", true},
		{"I live in Beijing.", "I just moved from Beijing to Shanghai.", true},
		{"I live in Beijing.", "I plan to move to Shanghai.", false},
	} {
		for _, speaker := range []string{"", "小王", "Ana"} {
			var s memoryList
			s.say(speaker, c.old)
			if len(s.texts) != 1 {
				t.Errorf("%s: %q", c.old, s.texts)
				continue
			}
			before := s.texts[0]
			s.say(speaker, c.said)
			if stays := s.texts[0] == before; stays == c.ends || len(s.texts) != map[bool]int{true: 1, false: 2}[c.ends] {
				t.Errorf("%s, then %s: %q", c.old, c.said, s.texts)
			}
		}
	}
}

// A liking is one fact in any words and any order; another liking is another fact (C163).
func TestDecideLikingReworded(t *testing.T) {
	t.Parallel()
	said := []string{"I love hiking.", "I love going hiking.", "I really love hiking!", "I enjoy hiking a lot.", "Hiking is something I love.", "I'm fond of hiking.",
		"I'm keen on hiking.", "I adore hiking.", "I like to go hiking.", "I enjoy going for hikes.", "I'm really into hiking.", "I'm a huge fan of hiking.",
		"I absolutely adore going on hikes.", "Hiking is one of my favorite things.", "I am passionate about hiking.", "I've always loved hiking.", "I do love to hike.", "I get a lot of joy from hiking.",
		"I have a passion for hiking.", "I can't get enough of hiking.", "I'm an avid hiker.", "My favorite hobby is hiking."}
	for start := range said {
		var s memoryList
		for i := range said {
			s.say("Ana", said[(start+i)%len(said)])
		}
		if len(s.texts) != 1 {
			t.Errorf("from %q: %q", said[start], s.texts)
		}
	}
	for _, c := range [][2]string{
		{"I love hiking.", "I love swimming."},
		{"I love going hiking.", "I love going fishing."},
		{"I love hiking.", "I hate hiking."},
		{"I love hiking.", "I went hiking on 3 March 2023."},
		{"I love hiking.", "My sister Lea loves hiking."},
		{"I love going to concerts.", "I love going to museums."},
		{"I love Rome.", "I love going to the theatre."},
		{"I love hiking.", "I used to love hiking in Norway."},
	} {
		var s memoryList
		s.say("Ana", c[0])
		s.say("Ana", c[1])
		if len(s.texts) != 2 {
			t.Errorf("%q: %q, want both", c, s.texts)
		}
	}
}

// Ordinary words end what was true, and nothing else: of the pairs of contradictions.tsv, half are
// traps, such as what did not happen once, or what somebody else does (C159, C192).
func TestDecideOrdinaryWords(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("testdata", "contradictions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		if len(parts) != 3 {
			t.Fatalf("%q", line)
		}
		for _, speaker := range []string{"", "Mei"} {
			var s memoryList
			s.say(speaker, parts[1])
			first := slices.Clone(s.texts)
			s.say(speaker, parts[2])
			gone := 0
			for _, f := range first {
				if !slices.Contains(s.texts, f) {
					gone++
				}
			}
			switch {
			case len(first) == 0:
				t.Errorf("%s: nothing is kept", parts[1])
			case parts[0] == "ends" && gone == 0:
				t.Errorf("%s, then %s: %q", parts[1], parts[2], s.texts)
			case parts[0] == "stays" && (gone > 1 || gone == 1 && len(first) == 1):
				t.Errorf("%s, then %s: %q is gone", parts[1], parts[2], first)
			}
		}
	}
}
