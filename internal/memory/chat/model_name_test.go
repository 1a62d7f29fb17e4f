package chat

import "testing"

// An address of e-mail in the ids of an application is not an end of them, and a version of a model is not a collection.
func TestSplitModel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"slipbox@user=ida@example.com":         {"slipbox", "user=ida@example.com"},
		"slipbox@user=ida@example.com&app=a@b": {"slipbox", "user=ida@example.com&app=a@b"},
		"slipbox@app=x&user=林夏@例子.中国":          {"slipbox", "app=x&user=林夏@例子.中国"},
		"gpt@2026@agent=a@b":                   {"gpt@2026", "agent=a@b"},
		"gpt@2026@diary":                       {"gpt@2026", "diary"},
		"slipbox@diary":                        {"slipbox", "diary"},
		"slipbox@":                             {"slipbox", ""},
		"slipbox":                              {"slipbox", ""},
		"":                                     {"", ""},
		"slipbox@user=a@user=b":                {"slipbox", "user=a@user=b"},
	} {
		if model, collection := SplitModel(name); model != want[0] || collection != want[1] {
			t.Errorf("%q is %q and %q", name, model, collection)
		}
	}
}
