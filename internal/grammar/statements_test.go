package grammar

import (
	"slices"
	"testing"
)

// A list behind a verb of a lasting state is one statement for each item; what happened, and lists
// whose items need each other, stay whole.
func TestStatements(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"Ana is vegetarian and allergic to peanuts.":               {"Ana is vegetarian.", "Ana is allergic to peanuts."},
		"The user takes warfarin and metformin daily.":             {"The user takes warfarin daily.", "The user takes metformin daily."},
		"Ana likes tea and coffee.":                                {"Ana likes tea.", "Ana likes coffee."},
		"Ana likes hiking, long walks and spicy food.":             {"Ana likes hiking.", "Ana likes long walks.", "Ana likes spicy food."},
		"Ana is allergic to peanuts, shellfish and latex.":         {"Ana is allergic to peanuts.", "Ana is allergic to shellfish.", "Ana is allergic to latex."},
		"Ana's sister speaks German, French and Spanish.":          {"Ana's sister speaks German.", "Ana's sister speaks French.", "Ana's sister speaks Spanish."},
		"Ana doesn't eat pork or beef.":                            {"Ana doesn't eat pork.", "Ana doesn't eat beef."},
		"Ana has two cats and a dog.":                              {"Ana has two cats.", "Ana has a dog."},
		"Ana works as a nurse at Orbis.":                           {"Ana works as a nurse.", "Ana works at Orbis."},
		"Ana has two cats, Tom and Rex.":                           nil,
		"Ana plays the guitar and the piano.":                      {"Ana plays the guitar.", "Ana plays the piano."},
		"Ana is a nurse and a mother of two.":                      {"Ana is a nurse.", "Ana is a mother of two."},
		"Ana is a vegetarian and lives in Beijing.":                {"Ana is a vegetarian.", "Ana lives in Beijing."},
		"Ana is diabetic and allergic to penicillin and aspirin.":  {"Ana is diabetic.", "Ana is allergic to penicillin.", "Ana is allergic to aspirin."},
		"Ana is interested in astronomy and photography.":          {"Ana is interested in astronomy.", "Ana is interested in photography."},
		"Ana is married and has three kids.":                       {"Ana is married.", "Ana has three kids."},
		"Mr. Chen drinks coffee and tea every morning.":            {"Mr. Chen drinks coffee every morning.", "Mr. Chen drinks tea every morning."},
		"Ana doesn't like cilantro and olives.":                    {"Ana doesn't like cilantro.", "Ana doesn't like olives."},
		"Ana loves reading and cooking with friends.":              {"Ana loves reading.", "Ana loves cooking with friends."},
		"小王喜欢茶和咖啡。":                                                {"小王喜欢茶。", "小王喜欢咖啡。"},
		"用户对花生和牛奶过敏。":                                              {"用户对花生过敏。", "用户对牛奶过敏。"},
		"小王喜欢音乐、电影和足球。":                                            {"小王喜欢音乐。", "小王喜欢电影。", "小王喜欢足球。"},
		"Ana bought a ring and a dress.":                           nil,
		"On 7 May 2023 Ana has lunch and coffee.":                  nil,
		"Ana loves mac and cheese.":                                nil,
		"Ana has two cats named Tom and Rex.":                      nil,
		"Ana loves tea and coffee because they keep her awake.":    nil,
		"Ana's husband and Ana have two kids and a dog.":           nil,
		"Ana likes both tea and coffee.":                           nil,
		"Ana wants to learn German and travel to Japan.":           nil,
		"Ana is tired and hungry.":                                 nil,
		"Ana went to Rome and Paris.":                              nil,
		"Ana studies biology and teaches their kids to swim.":      nil,
		"Ana is happy that her sister lives in Rome and likes it.": nil,
		"Ana has a sister who lives in Rome and works as a nurse.": nil,
		"Ana keeps going back and forth.":                          nil,
		"小王和李明去了北京和上海。":                                            nil,
		"小王喜欢和朋友聊天。":                                               nil,
		"Ana and Ben like tea and coffee.":                         nil,
		"Ana takes the bus and the train to work.":                 nil,
		"Ana knows that Ben likes tea and coffee.":                 nil,
		"Ana loves the acceptance and love theme.":                 nil,
		"Ana is not a nurse and a teacher.":                        nil,
		"Ana takes care of her mother and her aunt.":               nil,
		"Ana has been to Rome and Paris.":                          nil,
		"Ana plays football on Monday and Thursday.":               nil,
		"Ana likes it and them.":                                   nil,
		"Ana has lived in Rome and works as a nurse.":              {"Ana has lived in Rome.", "Ana works as a nurse."},
	} {
		if want == nil {
			want = []string{s}
		}
		if got := Statements(s); !slices.Equal(got, want) {
			t.Errorf("%s\n got  %q\n want %q\n %s", s, got, want, show(English(s)))
		}
	}
}
