package said

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/runenames"
)

// TestSentences: a web address is one word, a quotation belongs to one sentence, and what is pasted is left out.
func TestSentences(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"My site is https://n.example.org/a?b=c. It is new!":                                  {"My site is https://n.example.org/a?b=c.", "It is new!"},
		`He said: "I live here. I like it." So do I.`:                                         {`He said: "I live here. I like it."`, "So do I."},
		"他说：“我住在这里。我很喜欢。”我也是。":                                                                {"他说：“我住在这里。我很喜欢。”", "我也是。"},
		"One.\n```\ncode. More?\n```\nTwo.":                                                   {"One.", "Two."},
		"> quoted. Words.\nMine.":                                                             {"Mine."},
		"| a | b |\n|---|---|\nText.":                                                         {"Text."},
		"12:00:01 [17] 0x4f3a 99/100 (200) 3.14 == 2.71 >> 10.0.0.1:80":                       nil,
		"I live in Lugo. 12:00:01 [17] ERROR 0x4f3a 99/100 (200) 3.14 == 2.71 >> 10.0.0.1:80": {"I live in Lugo."},
		"Mein Auto ist neu. " + strings.Repeat("QUJD", 40):                                    {"Mein Auto ist neu."},
		"Vivo en Lugo.\n7,2026-05-01,0.5,ok\n8;2026-05-02;1.5;ok\n9\t2.5\t12\tok":             {"Vivo en Lugo."},
		"Rent: 700 €\nfrom 5,200,000 to 10:30":                                                {"Rent: 700 €", "from 5,200,000 to 10:30"},
		"my phone number changed: +44 7700 900123":                                            {"my phone number changed: +44 7700 900123"},
		"Die neue Kontonummer ist 0044 0532 0130 00 77":                                       {"Die neue Kontonummer ist 0044 0532 0130 00 77"},
		"landline 020 7946 0991, mobile 07700 900 461":                                        {"landline 020 7946 0991, mobile 07700 900 461"},
		"sales 1200 1300 1400 1500 1600 1700 1800 1900 2000":                                  nil,
		"eth0 192.168.10.4 mtu 1500 rx 1882019 tx 992011 err 0":                               nil,
		"worker 0x4f3a 12:00:01 [17] 99/100 (200) code=500 retry=3":                           nil,
		"我住在北京。我很好！":                                                                          {"我住在北京。", "我很好！"},
		"I ❤️ NYC":                                                                            {"I ❤️ NYC"},
		"Er sagt: „Ich gehe. Komm!“ Ich bleibe. Das Buch „Momo“ ist neu.":                     {"Er sagt: „Ich gehe. Komm!“", "Ich bleibe.", "Das Buch „Momo“ ist neu."},
		"Er sagt: »Ich gehe. Komm!« Ich bleibe.":                                              {"Er sagt: »Ich gehe. Komm!«", "Ich bleibe."},
		"« Je pars. Viens ! » dit-elle. « Je pars. » Je reste.":                               {"« Je pars. Viens ! » dit-elle.", "« Je pars. »", "Je reste."},
		"Hon sa: ”Jag går. Kom!” Jag stannar.":                                                {"Hon sa: ”Jag går. Kom!”", "Jag stannar."},
	} {
		var got []string
		for _, s := range Sentences([]Turn{{Text: in}}, 0) {
			got = append(got, s.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestTraces: the trace of an error is left out, by its form in any programming language. What a person says around it is theirs, as is
// what only looks alike: hosts with ports, addresses, the name of a file.
func TestTraces(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"I live in Graz.\nTraceback (most recent call last):\n  File \"/app/main.py\", line 12, in <module>\n    run()\n  File \"<stdin>\", line 1, in run\nKeyError: 'x'\nI am a nurse.":                                                                  {"I live in Graz.", "I am a nurse."},
		"It fails:\nTypeError: Cannot read properties of undefined (reading 'name')\n    at User.getName (/app/user.js:5:17)\n    at async Promise.all (index 0)\n\nMein Hund heißt Bruno.":                                                                {"It fails:", "Mein Hund heißt Bruno."},
		"Exception in thread \"main\" java.lang.NullPointerException: Cannot invoke \"f()\"\n\tat com.example.Main.main(Main.java:5)\nCaused by: java.io.IOException: disk full\n\t... 3 more\n我住在青岛。":                                                     {"我住在青岛。"},
		"goroutine 1 [running]:\nmain.main()\n\t/home/u/app/main.go:9 +0x1d\n\nVivo en Lugo.":                                                                                                                                                              {"Vivo en Lugo."},
		"a/user.rb:42:in `name': undefined method `upcase' for nil:NilClass (NoMethodError)\n\tfrom config.ru:5:in `<main>'\nJe vis à Lyon.":                                                                                                               {"Je vis à Lyon."},
		"thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3 but the index is 99\n\nI have two sons.":                                                                                                                            {"I have two sons."},
		"PHP Fatal error:  Uncaught TypeError: f(): bad in /www/index.php:12\nStack trace:\n#0 /www/index.php(12): strlen(Array)\n#1 {main}\n  thrown in /www/index.php on line 12\nI have two sons.":                                                      {"I have two sons."},
		"   at Shop.Cart.Add(Item item) in C:\\src\\Cart.cs:line 31\nI have two sons.":                                                                                                                                                                     {"I have two sons."},
		"Main.hs: Prelude.head: empty list\nCallStack (from HasCallStack):\n  error, called at libraries/GHC/List.hs:1646:3 in base:GHC.List\n\nI have two sons.":                                                                                          {"I have two sons."},
		"Out of rye at shop.pl line 5.\n\tmain::bake(3) called at shop.pl line 9\n\tmain::run() called at shop.pl line 12\nI have two sons.":                                                                                                               {"I have two sons."},
		"3: stop(\"no rye\") at shop.R#5\n2: bake(3)\n1: run()\nI have two sons.":                                                                                                                                                                          {"I have two sons."},
		"Fatal error: Index out of range: file /src/main.swift, line 5\nCurrent stack trace:\n0    libswiftCore.dylib   0x00007fff6d0a1cf0 _swift_stdlib_reportFatalError + 66\n1    shop                 0x0000000100000f2a main + 100\nI have two sons.": {"I have two sons."},
		"I live in Graz.\nError in mean(x) : object 'x' not found\nCalls: summarise -> mean\n\nI have two sons.":                                                                                                                                           {"I live in Graz.", "I have two sons."},
		"Fehler in UseMethod(\"filter\") : \n  nicht anwendbare Methode für 'filter'\nCalls: filter -> filter.default\nIch wohne in Graz.":                                                                                                                 {"Ich wohne in Graz."},
		"My marks:\nMath(LK): 14 points this year\nSport(GK): 12 points this year":                                                                                                                                                                         {"My marks:", "Math(LK): 14 points this year", "Sport(GK): 12 points this year"},
		"My doctor (Anna) : she moved to Kiel.\n  I like her.":                                                                                                                                                                                             {"My doctor (Anna) : she moved to Kiel.", "I like her."},
		"I read:\n- dune.pdf page 12\n- emma.pdf page 9":                                                                     {"I read:", "- dune.pdf page 12", "- emma.pdf page 9"},
		"I read dune.pdf page 12.\nI read emma.pdf page 9.\nSee vue.js#12 and node.js#9.":                                    {"I read dune.pdf page 12.", "I read emma.pdf page 9.", "See vue.js#12 and node.js#9."},
		"Email: ana@example.org\nWeb: ana.example.org:8080\nGitHub: ana":                                                     {"Email: ana@example.org", "Web: ana.example.org:8080", "GitHub: ana"},
		"- db.example.org:5432\n- web.example.org:443":                                                                       {"- db.example.org:5432", "- web.example.org:443"},
		"I broke shop/main.go:12 today.":                                                                                     {"I broke shop/main.go:12 today."},
		"I left example.org/about.html in 2012.\nI joined shop.example (the bakery): it is fine.":                            {"I left example.org/about.html in 2012.", "I joined shop.example (the bakery): it is fine."},
		"See https://example.org/a.html:12\nI read \"Dune\", page 12\nMy blog (nora.example.org) is new.":                    {"See https://example.org/a.html:12", "I read \"Dune\", page 12", "My blog (nora.example.org) is new."},
		"My sister moved to Kiel and this happens\n    at f (x.js:1:2)\n    at g (x.js:3:4)\nI took the job at Acme (Bern).": {"My sister moved to Kiel and this happens", "I took the job at Acme (Bern)."},
	} {
		var got []string
		for _, s := range Sentences([]Turn{{Text: in}}, 0) {
			got = append(got, s.Text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestQuestionsEndWithTheirMark: a question ends with the mark of its script, also before emoji; what answers it in few words
// comes with it.
func TestQuestionsEndWithTheirMark(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"Where?": true, "你呢？": true, "هل أنت هنا؟": true, "Πού μένεις;": true, "Really? 😂": true, "Who (again?)": true,
		`She asked "where?"`: true, "Where is Rex?! :)": true,
		"Here.": false, "?! no": false, "a; b": false, "See https://x.example/?a=1": false, "": false,
	} {
		if got := Asks(in); got != want {
			t.Errorf("%q: %t", in, got)
		}
	}
	turns := []Turn{{Speaker: "a", Text: "Hello. How old is he?"}, {Speaker: "b", Text: "Well. Four now. He starts school soon."}}
	var got []string
	for _, s := range Sentences(turns, 1) {
		got = append(got, s.Before)
	}
	if want := []string{"How old is he?", "How old is he?", "How old is he?"}; !slices.Equal(got, want) {
		t.Errorf("questions %q", got)
	}
}

// TestHeadFitsTheCode: the weights fit the code, and are read as they are written.
func TestHeadFitsTheCode(t *testing.T) {
	t.Parallel()
	if len(headFile) != headBytes || !slices.Equal(head.Bytes(), headFile) {
		t.Errorf("head.bin has %d bytes, not %d; run tools/heads", len(headFile), headBytes)
	}
	worth := func(s string) float64 { return Sentences([]Turn{{Text: s}}, 0)[0].Worth() }
	if said, greeted := worth("I moved to Graz in May."), worth("Hello there!"); said < 2*greeted {
		t.Errorf("a statement %.2f, a greeting %.2f", said, greeted)
	}
}

// TestKindsFitTheCode: the weights fit the code and are read as they are written, and a sentence without a vector has no kinds.
func TestKindsFitTheCode(t *testing.T) {
	t.Parallel()
	if len(kindsFile) != kindBytes || !slices.Equal(network.Bytes(), kindsFile) {
		t.Errorf("kinds.bin has %d bytes, not %d; run tools/heads", len(kindsFile), kindBytes)
	}
	all := Sentences([]Turn{{Text: "Suppose this: I had a dog."}}, 0)
	broken := errors.New("broken")
	if err := Judge(all, func([]string) ([][]float32, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	none := func(texts []string) ([][]float32, error) { return make([][]float32, len(texts)), nil }
	if err := Judge(all, none); err != nil || all[0].Kinds != nil || all[0].IsUntold() || all[0].Happened() {
		t.Errorf("%v: %+v", err, all[0])
	}
	if err := Judge(nil, none); err != nil {
		t.Errorf("nothing: %v", err)
	}
}

// TestTextHandedOverIsMarked: what follows a sentence that hands a text over is handed over, or what is on the lines before it.
func TestTextHandedOverIsMarked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]bool{
		"I am Ana. WORK on this. I live here. So.":                 {false, true, true, true},
		"I am Ana. I live here.\nWORK on this.":                    {true, true, true},
		"I am Ana. WORK on this.":                                  {false, true},
		"I am Ana. I live here.":                                   {false, false},
		"WORK on this.\n```\nx = 1\n```\nI live here.":             {true, false},
		"WORK on this.\nI am Ana.\n> So.\nI live here.":            {true, true, true},
		"WORK on this.\n\n“I am Ana.\n\nI live here.”\n\nI am Bo.": {true, true, true, false},
		"WORK on this.\n\"I am Ana.\"\n\nI am Bo.":                 {true, true, false},
		"WORK on this.\n\n「私は札幌で生まれました。\n\n娘がいます。」\n\n東京にいます。":                                                     {true, true, true, false},
		"WORK on this.\n<text>\nI am Ana.\n\nSo.\n</text>\nI am Bo.":                                               {true, true, true, false},
		"WORK on this.\n---\nI am Ana.\n\nSo.\n---\nI am Bo.\n\nI live here.":                                      {true, true, true, false, false},
		"WORK on this.\nI am Ana.\n\nSo.\n\n* * *\n\nI am Bo. I live here.":                                        {true, true, true, false, false},
		"WORK on this.\nI am Ana.\n\n***\n\nSo.\n\nI am Bo.":                                                       {true, true, true, true},
		"WORK on this.\n- I am Ana.\n\n- So.\n\nI am Bo.":                                                          {true, true, true, false},
		"WORK on this.\n\nIch wohne in Kassel.\n\nIch habe Kinder und einen Hund.\n\nI live in the north of York.": {true, true, true, false},
		"WORK on this.\n\nI live in the north.\n\nI am Bo.":                                                        {true, true, true},
		"WORK on this.\n\"So\" is a film.\n\nI am Bo.":                                                             {true, true, true},
	} {
		all := Sentences([]Turn{{Text: text}}, 0)
		for i := range all {
			all[i].Kinds = &Kinds{}
			if all[i].Text == "WORK on this." {
				all[i].Kinds.Handed = 1
			}
		}
		markHanded(all)
		for i := range all {
			if all[i].IsUntold() != want[i] {
				t.Errorf("%q: %q is handed over: %t", text, all[i].Text, all[i].IsUntold())
			}
		}
	}
}

// TestWordsOfOthers: the words of somebody else end with their quotation, or with the line.
func TestWordsOfOthers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]bool{
		`She wrote: "I am home." I live here.`: {true, false},
		"She wrote: I am home. I live here.":   {true, true},
		"She wrote: I am home.\nI live here.":  {true, false},
		"她写道：“我到家了。”我住在这里。":                    {true, false},
	} {
		all := Sentences([]Turn{{Text: text}}, 0)
		for i := range all {
			all[i].Kinds = &Kinds{}
		}
		all[0].Kinds.Quoted = 1
		markQuoted(all)
		for i := range all {
			if all[i].IsUntold() != want[i] {
				t.Errorf("%q: %q is of somebody else: %t", text, all[i].Text, all[i].IsUntold())
			}
		}
	}
}

// TestAnswersBehindAnEcho: who asks back, or is asked back, still answers the first question, and may answer it twice.
func TestAnswersBehindAnEcho(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		turns []string
		want  []string // the question of each sentence of the last turn
	}{
		{[]string{"Where do you live?", "Where do I live? In Porto. Or rather in Gaia."}, []string{"", "Where do you live?", "Where do you live?"}},
		{[]string{"你住在哪里？", "我住哪里？青岛。不对，是大连。"}, []string{"", "你住在哪里？", "你住在哪里？"}},
		{[]string{"Where were you born?", "In Leeds.", "In Leeds?", "No, in York."}, []string{"Where were you born? In Leeds?"}},
		{[]string{"¿Cómo se llama tu hija?", "Ana.", "¿Ana?", "Sí, Ana María."}, []string{"¿Cómo se llama tu hija? ¿Ana?"}},
		{[]string{"Where were you born?", "In Leeds.", "When?", "In May."}, []string{"When?"}},
		{[]string{"Where do you live?", "I have lived with my sister in Leeds for years now. The weather is lovely here in May too. So is she."}, []string{"Where do you live?", "", ""}},
	} {
		var turns []Turn
		for i, s := range c.turns {
			turns = append(turns, Turn{Speaker: []string{"Ana", "Bo"}[i%2], Text: s})
		}
		var got []string
		for _, s := range Sentences(turns, len(turns)-1) {
			got = append(got, s.Before)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.turns, got)
		}
	}
}

// Names of signs are those of Unicode.
func TestSignNames(t *testing.T) {
	t.Parallel()
	for r, name := range signNames() {
		if want := strings.ToLower(runenames.Name(r)); name != want {
			t.Errorf("%c: %q, want %q", r, name, want)
		}
	}
	if n := len(signNames()); n < 1000 || signNames()['💔'] != "broken heart" {
		t.Errorf("%d names", n)
	}
}
