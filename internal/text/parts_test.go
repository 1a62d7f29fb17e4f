package text

import "testing"

func TestShared(t *testing.T) {
	t.Parallel()
	together := [][2]string{
		{"haus", "krankenhaus"}, {"versicherung", "krankenversicherung"}, {"garten", "gartenzwerg"}, {"rad", "fahrrad"},
		{"versicherung", "lebensversicherungsgesellschaft"}, {"fiets", "fietsenmaker"}, {"koulu", "koulubussi"},
		{"גינה", "הגינה"}, {"שוק", "ולשוק"}, {"ים", "הים"}, {"כלב", "כלבים"}, {"בגינה", "הגינה"}, {"בבית", "הבית"},
		{"مدينه", "المدينه"}, {"بيت", "للبيت"}, {"سيارتي", "سياره"}, {"قهوه", "بالقهوه"}, {"σπιτι", "σπιτια"}, {"ספר", "בספר"},
	}
	for _, p := range together {
		if a, b := Shared(p[0], p[1]), Shared(p[1], p[0]); a <= 0 || a >= 1 || a != b {
			t.Errorf("%s and %s share %v and %v", p[0], p[1], a, b)
		}
	}
	apart := [][2]string{
		{"cat", "educat"}, {"car", "scar"}, {"other", "mother"}, {"ring", "spring"}, {"art", "heart"}, {"cat", "category"},
		{"חלב", "כלב"}, {"ים", "ילדים"}, {"שלום", "שלום"}, {"20", "2026"}, {"你好", "你好吗"}, {"", "a"}, {"ginger", "finger"},
		{"🎂", "🎂🎂"}, {"بيت", "زيت"},
	}
	for _, p := range apart {
		if got := Shared(p[0], p[1]); got != 0 {
			t.Errorf("%s and %s share %v", p[0], p[1], got)
		}
	}
}

func TestSigns(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"cake 🎂, no pizza": {"🎂"}, "👍🏽👍": {"👍", "👍"}, "👩‍🍳": {"👩", "🍳"}, "🇩🇪🇩🇰": {"🇩🇪", "🇩🇰"}, "❤️ ♥": {"❤", "♥"},
		"20 °C │ → € © ™": nil, "plain": nil, "⏰ ⭐ 🫠": {"⏰", "⭐", "🫠"}, "\xf0\x9f": nil,
	} {
		if got := Signs(s); len(got) != len(want) {
			t.Errorf("%q has the signs %q, want %q", s, got, want)
		} else {
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("%q has the signs %q, want %q", s, got, want)
				}
			}
		}
	}
}

// Letters with marks, and letters of one sound with several forms, are found in every spelling.
func TestSpellingsShareATerm(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"أحمد", "احمد", "آحمد"}, {"مُحَمَّد", "محمد", "محـــمد"}, {"إلى", "الي"}, {"قهوة", "قهوه"},
		{"שָׁלוֹם", "שלום"}, {"ёлка", "елка"}, {"замо́к", "замок"}, {"σπίτι", "σπιτι"}, {"کتاب", "كتاب"}, {"Đặng", "dang"},
	} {
		want := Terms(same[0])
		for _, s := range same[1:] {
			if got := Terms(s); len(got) != 1 || got[0] != want[0] {
				t.Errorf("%q has the terms %q, %q has %q", s, got, same[0], want)
			}
		}
	}
	if a, b := Terms("мой"), Terms("мои"); len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		t.Errorf("й and и are one letter: %q", a)
	}
}
