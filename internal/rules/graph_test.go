package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// graphOf returns the entities and triples that the two calls find in texts.
func graphOf(user string, texts ...string) (names, triples []string) {
	e := findEntities(mem0.EntitiesInput{Texts: texts, User: user}).Entities
	for _, entity := range e {
		names = append(names, entity.Entity+"/"+entity.Type)
	}
	for _, r := range findRelations(mem0.RelationsInput{Texts: texts, Entities: e, User: user}).Relations {
		triples = append(triples, r.Source+" "+r.Relation+" "+r.Destination)
	}
	return names, triples
}

// Facts become entities with a type and directed relations between them (C196, C197).
func TestGraph(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text           string
		names, triples []string
	}{
		{"Alice prefers vegetarian food.", []string{"Alice/person", "vegetarian food/thing"}, []string{"Alice prefers vegetarian food"}},
		{"Caroline's sister Anna lives in New York.", []string{"Anna/person", "Caroline/person", "New York/place"}, []string{"Anna is_sister_of Caroline", "Anna lives_in New York"}},
		{"The user works at Google.", []string{"Mia/person", "Google/organization"}, []string{"Mia works_at Google"}},
		{"On 7 May 2023 Ana moved from Beijing to Shanghai.", []string{"Ana/person", "Shanghai/place", "Beijing/place"}, []string{"Ana lives_in Shanghai"}},
		{"Ana is allergic to peanuts.", []string{"Ana/person", "peanuts/thing"}, []string{"Ana is_allergic_to peanuts"}},
		{"Ana no longer likes coffee.", []string{"Ana/person", "coffee/thing"}, []string{"Ana not_likes coffee"}},
		{"Ana is a strict vegetarian.", []string{"Ana/person", "vegetarian/thing"}, []string{"Ana follows_diet vegetarian"}},
		{"Ana's favorite color is red.", []string{"Ana/person", "red/thing"}, []string{"Ana favorite_color red"}},
		{"Ana adopted a puppy named Rex.", []string{"Rex/animal", "Ana/person"}, []string{"Rex is_puppy_of Ana"}},
		{"Ana repaired the red bicycle.", []string{"Ana/person", "red bicycle/thing"}, []string{"Ana repaired red bicycle"}},
		{"It was great. Wow!", nil, nil},
		// Particles, adjectives, infinitives and second objects are no things, and plurals no people.
		{"Tom gave up coffee in the week of 1 May 2023.", []string{"Tom/person", "coffee/thing"}, []string{"Tom gave_up coffee"}},
		{"Mei got promoted.", []string{"Mei/person"}, nil},
		{"Mei got to volunteer at a fair.", []string{"Mei/person"}, nil},
		{"Basketball gives Mei a sense of purpose.", []string{"Basketball/person", "Mei/thing"}, nil},
		{"Conversations like this remind Mei of home.", []string{"Mei/thing"}, nil},
		{"Mei's writing is going well.", nil, nil},
		{"Mei loves painting landscapes.", []string{"Mei/person", "painting landscapes/thing"}, []string{"Mei likes painting landscapes"}},
		{"Mei bought a new pair of running shoes.", []string{"Mei/person", "new pair of running shoes/thing"}, []string{"Mei got new pair of running shoes"}},
		{"Mei takes metformin daily.", []string{"Mei/person", "metformin/thing"}, []string{"Mei takes metformin"}},
		{"小王住在上海。", []string{"小王/person", "上海/place"}, []string{"小王 lives_in 上海"}},
		{"用户的姐姐安娜住在北京。", []string{"安娜/person", "Mia/person", "北京/place"}, []string{"安娜 is_sister_of Mia", "安娜 lives_in 北京"}},
		{"小王喜欢爬山。", []string{"小王/person", "爬山/thing"}, []string{"小王 likes 爬山"}},
		{"小王打算去德国看朋友。", []string{"小王/person", "去德国看朋友/thing"}, []string{"小王 plans 去德国看朋友"}},
		{"小王喜欢我们的老师。", nil, nil},
		// What is said about a thing, an amount, an activity that only begins, and words that say nothing are no ends.
		{"Mia suspects the lock is broken.", []string{"Mia/person"}, nil},
		{"Mia is hoping to get into the choir.", []string{"Mia/person"}, nil},
		{"Mia has different skills.", []string{"Mia/person"}, nil},
		{"Mia is keen on working with clay.", []string{"Mia/person"}, nil},
		{"Mia wants to have stronger legs, a straight back, and improved balance.", []string{"Mia/person"}, nil},
		{"Mia finished the scarf, and the gloves still need a thumb.", []string{"Mia/person", "scarf/thing"}, []string{"Mia finished scarf"}},
		{"Mia has seen jugglers in the park.", []string{"Mia/person"}, nil},
		{"Mia painted a heron.", []string{"Mia/person", "heron/thing"}, []string{"Mia painted heron"}},
		{"Mia is struggling to push the cart.", []string{"Mia/person"}, nil},
		{"小王有一件非常特别的闪亮东西。", nil, nil},
		{"Mia won a bicycle.", []string{"Mia/person", "bicycle/thing"}, []string{"Mia won bicycle"}},
		{"Mia finished the scarf.", []string{"Mia/person", "scarf/thing"}, []string{"Mia finished scarf"}},
		{"小王打算确保摆上花。", nil, nil},
		// A day is no end of an edge, what is listed are several, and each verb has its own.
		{"Mia rows on Tuesdays.", []string{"Mia/person"}, nil},
		{"Ana lifts weights on Sundays and teaches Latin.", []string{"Ana/person", "weights/thing", "Latin/thing"}, []string{"Ana lifts weights", "Ana teaches Latin"}},
		{"Ana sold the guitar, the flute and a violin.", []string{"Ana/person", "guitar/thing", "flute/thing", "violin/thing"}, []string{"Ana sold guitar", "Ana sold flute", "Ana sold violin"}},
		{"Ana gave up the choir, Ana's voice is gone.", []string{"Ana/person", "choir/thing"}, []string{"Ana gave_up choir"}},
		{"Ana works as a curator at the Museu do Azulejo.", []string{"Ana/person", "curator/thing", "Museu do Azulejo/organization"}, []string{"Ana works_as curator", "Ana works_at Museu do Azulejo"}},
		{"Ana's dentist Dr. Feeney lives in Cork.", []string{"Dr. Feeney/person", "Ana/person", "Cork/place"}, []string{"Dr. Feeney is_dentist_of Ana", "Dr. Feeney lives_in Cork"}},
		{"Ana is moving to Vejle in June.", []string{"Ana/person", "Vejle/place"}, []string{"Ana moves_to Vejle"}},
		{"Ana moved to 15 Mill Lane.", []string{"Ana/person", "15 Mill Lane/thing"}, []string{"Ana has_address 15 Mill Lane"}},
		// Words of a sentence are no Chinese name, and a clause without a subject is about that of the one before.
		{"早不在了，小王2022年搬到厦门了，开了一家书店。", []string{"小王/person", "厦门/place", "书店/organization"}, []string{"小王 lives_in 厦门", "小王 runs 书店"}},
		{"小王的老婆也想学日语，一直没时间。", []string{"小王的老婆/person", "小王/person", "学日语/thing"}, []string{"小王的老婆 is_wife_of 小王", "小王的老婆 plans 学日语"}},
		{"小王的老师。", nil, nil},
		{"高兴住在这里的人很多。", nil, nil},
		{"小王跟女儿小禾一起住。", []string{"小禾/person", "小王/person"}, []string{"小禾 is_daughter_of 小王", "小王 lives_with 小禾"}},
		{"小王的妹妹王丽在上海当医生，学过钢琴。", []string{"王丽/person", "小王/person", "上海/place", "医生/thing", "钢琴/thing"}, []string{"王丽 is_sister_of 小王", "王丽 works_in 上海", "王丽 works_as 医生", "王丽 studies 钢琴"}},
		{"Ana worked at a zoo for six years.", []string{"Ana/person", "zoo/thing"}, []string{"Ana worked_at zoo"}},
		{"Ana has a cold and stays at home.", []string{"Ana/person", "cold/thing"}, []string{"Ana has cold"}},
		{"小王从前打网球，现在练太极拳。", []string{"小王/person", "太极拳/thing"}, []string{"小王 practises 太极拳"}},
		{"小王的爸妈开茶庄，不过小王有糖尿病。", []string{"小王的爸妈/person", "小王/person", "糖尿病/thing"}, []string{"小王的爸妈 is_parents_of 小王", "小王 has 糖尿病"}},
		{"小王每周二打羽毛球。", []string{"小王/person", "羽毛球/thing"}, []string{"小王 plays 羽毛球"}},
		{"小王的生日是五月三号。", nil, nil},
	} {
		names, triples := graphOf("Mia", c.text)
		if !slices.Equal(names, c.names) || !slices.Equal(triples, c.triples) {
			t.Errorf("%s\n got  %q %q\n want %q %q", c.text, names, triples, c.names, c.triples)
		}
	}
	// Relations are only between the given entities.
	r := findRelations(mem0.RelationsInput{Texts: []string{"Ana likes tea."}, Entities: []mem0.Entity{{Entity: "Ana"}}})
	if len(r.Relations) != 0 {
		t.Errorf("%+v", r)
	}
	r = findRelations(mem0.RelationsInput{Texts: []string{"Ana likes tea."}, Entities: []mem0.Entity{{Entity: "ana"}, {Entity: "Tea"}}})
	if len(r.Relations) != 1 || r.Relations[0] != (mem0.Triple{Source: "ana", Relation: "likes", Destination: "Tea"}) {
		t.Errorf("%+v", r)
	}
	// Names of any length and kind take a bounded time.
	long := strings.Repeat("Ana likes tea and ", 5000) + "\n\"O'Neil\" " + strings.Repeat("X", 300)
	if names, _ := graphOf("", long, strings.Repeat("A", 60000)); len(names) > maxRuleEntities {
		t.Errorf("%d entities", len(names))
	}
}

// Another value of a single-valued relation, and the opposite of a relation, invalidate an edge.
// A relation that can have many values is not invalidated by another value (C200).
func TestConflicts(t *testing.T) {
	t.Parallel()
	triple := func(s string) mem0.Triple {
		f := strings.Fields(s)
		return mem0.Triple{Source: f[0], Relation: f[1], Destination: f[2]}
	}
	existing := []mem0.Triple{triple("ana lives_in beijing"), triple("ana likes tea"), triple("ana likes coffee"), triple("bob lives_in beijing"), triple("ana favorite_color red")}
	for added, want := range map[string]string{
		"ana lives_in shanghai":    "ana lives_in beijing",
		"ana not_lives_in beijing": "ana lives_in beijing",
		"ana likes jazz":           "",
		"ana not_likes tea":        "ana likes tea",
		"ana dislikes coffee":      "ana likes coffee",
		"Ana Lives_In Beijing":     "",
		"ana favorite_color blue":  "ana favorite_color red",
		"ana met bob":              "",
	} {
		got := []string{}
		for _, c := range findConflicts(mem0.ConflictsInput{New: []mem0.Triple{triple(added)}, Existing: existing}).Invalidate {
			got = append(got, c.Source+" "+c.Relation+" "+c.Destination)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, want %q", added, got, want)
		}
	}
}

// An edge ends as a memory that says the same would: by what somebody gave up, sold or left, in any words. Of a list
// only the item that is named ends, and a second job replaces none (C200).
func TestConflictsByFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact     string
		existing []string
		want     []string
	}{
		{"Imo quit the surf shop.", []string{"Imo works_at surf shop", "Imo works_at library"}, []string{"Imo works_at surf shop"}},
		{"Imo no longer works at the surf shop.", []string{"Imo works_at surf shop", "Imo likes surfing"}, []string{"Imo works_at surf shop"}},
		{"Imo sold the canoe.", []string{"Imo has canoe", "Imo has kayak", "Bo has canoe"}, []string{"Imo has canoe"}},
		{"Imo gave up coffee.", []string{"Imo drinks coffee", "Imo likes coffee cake"}, []string{"Imo drinks coffee"}},
		{"Imo is not vegan any more.", []string{"Imo follows_diet vegan", "Imo is_allergic_to nuts"}, []string{"Imo follows_diet vegan"}},
		{"Imo also works at a bar on Saturdays.", []string{"Imo works_at library"}, nil},
		{"Imo didn't go to the gym yesterday.", []string{"Imo joined gym"}, nil},
		{"Imo retired from the railway.", []string{"Imo works_at railway"}, []string{"Imo works_at railway"}},
		{"小何把吉他卖了。", []string{"小何 has 吉他", "小何 has 钢琴"}, []string{"小何 has 吉他"}},
		{"小何从书店辞职了。", []string{"小何 works_at 书店", "小何 likes 书"}, []string{"小何 works_at 书店"}},
		{"小何不喝咖啡了。", []string{"小何 drinks 咖啡", "小何 drinks 茶"}, []string{"小何 drinks 咖啡"}},
		{"小何差点把吉他卖了。", []string{"小何 has 吉他"}, nil},
	} {
		in := mem0.ConflictsInput{Texts: []string{c.fact}}
		entities := findEntities(mem0.EntitiesInput{Texts: in.Texts}).Entities
		in.New = findRelations(mem0.RelationsInput{Texts: in.Texts, Entities: entities}).Relations
		for _, e := range c.existing {
			f := strings.SplitN(e, " ", 3)
			in.Existing = append(in.Existing, mem0.Triple{Source: f[0], Relation: f[1], Destination: f[2]})
		}
		var got []string
		for _, e := range findConflicts(in).Invalidate {
			got = append(got, e.Source+" "+e.Relation+" "+e.Destination)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.fact, got, c.want)
		}
	}
}
