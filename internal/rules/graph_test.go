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
		{"Tom gave up coffee in the week of 1 May 2023.", nil, nil},
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
		{"小王打算去德国看朋友。", []string{"小王/person", "德国看朋友/thing"}, []string{"小王 plans 德国看朋友"}},
		{"小王喜欢我们的老师。", nil, nil},
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
