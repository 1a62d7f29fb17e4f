package rules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file replaces the pronoun at the beginning of a sentence by what it refers to: the last
// person, animal or thing that fits it, said in the same exchange. Where two fit, nothing is
// replaced.

// gender is what a pronoun must agree with.
type gender int

const (
	female gender = iota
	male
	anyone // a person of unknown gender
	animal
	object
	several // people or animals
)

// fitsPronoun says for each pronoun what it agrees with.
var fitsPronoun = func() map[string]func(gender) bool {
	she := func(g gender) bool { return g == female || g == anyone || g == animal }
	he := func(g gender) bool { return g == male || g == anyone || g == animal }
	it := func(g gender) bool { return g == animal || g == object }
	they := func(g gender) bool { return g == several }
	return map[string]func(gender) bool{"she": she, "her": she, "he": he, "his": he, "him": he, "it": it, "its": it, "they": they, "their": they, "them": they}
}()

// referent is what a pronoun may refer to, as the speaker calls it: "my sister Clara". Somebody who is
// named in a way that the speaker cannot use has no phrase.
type referent struct {
	phrase string
	gender gender
}

// The relatives, other people and pets of a speaker, by gender.
var (
	femaleKin = wordSet(`sister mother mom mum mama mommy wife daughter aunt grandmother grandma granny niece girlfriend fiancée stepmother stepsister godmother sister-in-law mother-in-law`)
	maleKin   = wordSet(`brother father dad daddy papa husband son uncle grandfather grandpa nephew boyfriend fiancé stepfather stepbrother godfather brother-in-law father-in-law`)
	petKinds  = wordSet(`dog cat puppy kitten pet bird horse hamster rabbit bunny parrot turtle tortoise guinea-pig beagle poodle labrador husky retriever greyhound terrier collie dachshund
		pup kitty pony goat snake lizard goldfish`)

	ownPeople = regexp.MustCompile(`\b([Mm]y|[Oo]ur|[Yy]our) ((?:[\p{Ll}-]+ ){0,2}?)(` + kinWords + `|granny|doctor|dentist|landlord|landlady|therapist|manager|supervisor|professor|trainer|sister-in-law|brother-in-law|mother-in-law|father-in-law|hamster|rabbit|parrot|beagle|poodle|labrador)\b(?:,? (?:is |named |called |is called |is named )?(\p{Lu}[\p{L}'.-]*(?: \p{Lu}[\p{L}-]+)?))?`)
	ownPet    = regexp.MustCompile(`\b(?:have|has|had|got|adopted|bought|own|rescued|get|getting) (?:an?|another|our|my) ((?:[\p{Ll}-]+ ){0,2}?)([\p{Ll}-]+)\b(?:(?:,| named|, named| called|, called) (\p{Lu}[\p{L}-]*))?`)
	metPeople = regexp.MustCompile(`\b(?:met|with|invited|helped|married|dating|know|named|called|friend|colleague|neighbor|boss) (?:Mr\.? |Mrs\.? |Ms\.? |Dr\.? )?(\p{Lu}\p{Ll}+)\b`)
	ownThing  = regexp.MustCompile(`\b(?:I|We|we)(?:'ve| have)? (?:just |recently |finally |also )?(?:bought|have|own|rented|built|wrote|painted|opened|moved into|live in) (?:an?|my|our) `)
	leading   = regexp.MustCompile(`^(She|He|It|Her|His|Its)('s|'ll|'d|'ve)?(\s+)`)
)

// ownerWord returns how the speaker names whose something is that a sentence of "my" or "your" has. owner is who says
// the sentence, if that is not the speaker; listener is whom the speaker talks to. It is "" if there is no name.
func ownerWord(possessive, owner, listener string) string {
	mine := !strings.EqualFold(possessive, "your")
	switch {
	case mine == (owner == ""):
		return "my"
	case mine && owner != theAssistant:
		return owner + "'s"
	case !mine && listener != "":
		return listener + "'s"
	}
	return ""
}

// theAssistant stands for a speaker without a name.
const theAssistant = "the assistant"

// referentsIn returns what later pronouns of a speaker may refer to, in the order of the sentence. owner is who says the
// sentence, "" for the speaker; listener is the only person that the speaker talks to, if there is one.
func referentsIn(s, owner, listener string) []referent {
	var out []referent
	add := func(phrase string, g gender) {
		if weeklyDay.MatchString(phrase) {
			return // "Mondays" are nobody
		}
		for i := range out {
			if phrase == "" || out[i].phrase == "" {
				continue
			}
			if strings.EqualFold(out[i].phrase, phrase) || strings.HasPrefix(phrase, out[i].phrase+" ") {
				out[i] = referent{phrase, g}
				return
			}
			if strings.HasSuffix(out[i].phrase, " "+phrase) {
				return
			}
		}
		out = append(out, referent{phrase, g})
	}
	for _, m := range ownPeople.FindAllStringSubmatch(s, 8) {
		kin := strings.ToLower(m[3])
		g := genderOf(kin)
		whose := ownerWord(m[1], owner, listener)
		if whose == "" {
			add("", g)
			continue
		}
		phrase := whose + " " + strings.ToLower(m[2]) + kin
		if name := strings.TrimRight(strings.TrimSuffix(m[4], "'s"), "."); name != "" && !text.IsTimeWord(name) && !strings.EqualFold(name, "I") && !strings.HasPrefix(name, "I'") {
			phrase += " " + name
			if g == animal {
				g = anyone // it is "he" or "she"
			}
		}
		add(phrase, g)
	}
	for _, m := range ownGroup.FindAllStringSubmatch(s, 4) {
		if whose := ownerWord(m[1], owner, listener); whose == "" {
			add("", several)
		} else {
			add(whose+" "+strings.ToLower(m[2]), several)
		}
	}
	for _, m := range ownPet.FindAllStringSubmatch(s, 4) {
		if kind := strings.ToLower(m[2]); petKinds[kind] {
			phrase := "my " + kind
			switch {
			case owner == theAssistant:
				phrase = ""
			case owner != "":
				phrase = owner + "'s " + kind
			}
			if m[3] != "" {
				add(phrase+" "+m[3], anyone) // it is "he" or "she"
				continue
			}
			add(phrase, animal)
		}
	}
	for _, m := range metPeople.FindAllStringSubmatch(s, 8) {
		if !text.IsTimeWord(m[1]) && !notNames[strings.ToLower(m[1])] && !slices.ContainsFunc(out, func(r referent) bool { return strings.HasSuffix(r.phrase, " "+m[1]) }) {
			add(m[1], anyone)
		}
	}
	if m := namedSubject.FindString(s); m != "" {
		name := m[:strings.LastIndex(m, " ")]
		if len(strings.Fields(name)) == 1 && !notNames[strings.ToLower(name)] && !selfWords[strings.ToLower(name)] && !text.IsTimeWord(name) && !interjections[strings.ToLower(name)] {
			add(name, anyone)
		}
	}
	for _, m := range jointNames.FindAllStringSubmatch(s, 2) {
		add(m[1], anyone)
		add(m[2], anyone)
	}
	if strings.Contains(s, "?") {
		for _, m := range askedOfName.FindAllStringSubmatch(s, 4) {
			if low := strings.ToLower(m[1]); !notNames[low] && !selfWords[low] && !text.IsTimeWord(m[1]) && !interjections[low] && !strings.EqualFold(m[1], listener) {
				add(m[1], anyone)
			}
		}
	}
	for _, name := range laterSubjects(s) {
		if !slices.ContainsFunc(out, func(r referent) bool { return r.phrase == name || strings.HasSuffix(r.phrase, " "+name) }) {
			add(name, anyone)
		}
	}
	for _, m := range ownRelative.FindAllStringSubmatch(s, 4) {
		if owner == "" {
			add(strings.TrimSpace("my "+strings.ToLower(m[1])+m[2]+" "+m[3]), genderOf(strings.ToLower(m[2])))
		}
	}
	for _, at := range someone.FindAllStringSubmatchIndex(s, 4) {
		kind := strings.ToLower(s[at[4]:at[5]])
		if before := strings.ToLower(lastWord(strings.TrimSpace(s[:at[0]]))); petKinds[kind] || before == "as" || beForms[before] && !strings.Contains(s, "?") || strings.HasSuffix(before, "'s") || strings.HasSuffix(before, "'m") {
			continue // what somebody is
		}
		if article := s[at[2]:at[3]]; strings.EqualFold(article, "the") && slices.ContainsFunc(out, func(r referent) bool { return strings.HasSuffix(r.phrase, " "+kind) }) || ownRelative.MatchString(s) {
			continue
		}
		add("", genderOf(kind))
	}
	if at := ownThing.FindStringIndex(s); at != nil && owner == "" {
		words := grammar.English(s)
		for i := range words {
			if words[i].Start < at[1] {
				continue
			}
			phrase, n := nounPhrase(words[i:])
			if last := strings.ToLower(lastWord(phrase)); n > 0 && !petKinds[last] && !femaleKin[last] && !maleKin[last] && !startsUpper(phrase) && !strings.HasSuffix(last, "s") {
				add("my "+phrase, object)
			}
			break
		}
	}
	return out
}

// laterName matches a name in a sentence, and what may be its verb.
var laterName = regexp.MustCompile(`(?:^|[\p{L},;] )(\p{Lu}\p{Ll}+)(?:'s)? \p{Ll}`)

// laterSubjects returns the names of those of whom a sentence tells, as in "Ana is nine and Ben is six".
func laterSubjects(s string) []string {
	if !laterName.MatchString(s) {
		return nil
	}
	var out []string
	words := grammar.English(s)
	for i := 0; i+1 < len(words); i++ {
		w, next := &words[i], words[i+1].Tag
		low := lowText(w)
		if !strings.HasPrefix(w.Tag, "NNP") || i > 0 && (strings.HasPrefix(words[i-1].Tag, "NNP") || words[i-1].Tag == "DT" || words[i-1].Tag == "IN") ||
			next != "VBZ" && next != "VBD" && next != "VBP" && next != "MD" || notNames[low] || selfWords[low] || interjections[low] || text.IsTimeWord(low) {
			continue
		}
		out = append(out, w.Text)
	}
	return out
}

var (
	// ownGroup matches several relatives or pets.
	ownGroup = regexp.MustCompile(`\b([Mm]y|[Oo]ur|[Yy]our) ((?:(?:two|three|four|five|six|older|younger|little|twin|other|grown-up|own|old) )*(?:parents|children|kids|twins|sons|daughters|sisters|brothers|siblings|grandparents|grandchildren|in-laws|cousins|neighbou?rs|cats|dogs|chickens|hens|ducks|horses|rabbits|goats|sheep|bees|birds|guinea pigs))\b`)
	// ownRelative matches a relative whom the speaker has.
	ownRelative = regexp.MustCompile(`\b(?:I|[Ww]e)(?:'ve| have| also have| still have)(?: got)? an? ((?:(?:older|younger|little|big|twin|baby|half|step) ){0,2})(` + kinWords + `)\b(?:(?: as well| too)?, (\p{Lu}\p{Ll}+))?`)
	// someone matches a person whom the sentence does not name.
	someone = regexp.MustCompile(`\b([Aa]n?|[Tt]he|[Tt]hat|[Tt]his|[Hh]is|[Hh]er|[Tt]heir|[Oo]ne) (?:[\p{Ll}-]+ ){0,2}?(man|woman|boy|girl|lady|gentleman|guy|` + kinWords + `|doctor|dentist|landlord|landlady|nurse|vet|instructor|trainer|manager|student|plumber|therapist|lawyer|baby)\b`)
)

// genderOf returns the gender of a noun for a person or a pet.
func genderOf(noun string) gender {
	switch {
	case femaleKin[noun] || noun == "woman" || noun == "girl" || noun == "lady" || noun == "landlady":
		return female
	case maleKin[noun] || noun == "man" || noun == "boy" || noun == "gentleman" || noun == "guy" || noun == "landlord":
		return male
	case petKinds[noun]:
		return animal
	}
	return anyone
}

// maxFocus is the number of utterances back to which a pronoun may refer.
const maxFocus = 10

// maxRead is the number of bytes at the end of a text that may name somebody.
const maxRead = 1500

// lastSentences returns the sentences at the end of what somebody says.
func lastSentences(s string) []string {
	if len(s) > maxRead {
		s = strings.ToValidUTF8(s[len(s)-maxRead:], "")
	}
	return utteredSentences(s)
}

// referentsBefore returns what was spoken of before an utterance, by sentence, as its speaker calls it: in Chinese sentences, and in
// others.
func referentsBefore(all []utterance, i int) (others, han [][]referent) {
	listener := onlyOther(all, &all[i])
	for j := max(0, i-maxFocus); j < i; j++ {
		u := &all[j]
		owner := ""
		if u.Role != all[i].Role || !strings.EqualFold(u.Name, all[i].Name) {
			if owner = strings.Join(strings.Fields(u.Name), " "); owner == "" {
				owner = theAssistant
			}
		}
		for _, s := range u.lastSentences() {
			if len(s) > maxFactRunes {
				continue
			}
			if isHan(s) {
				if found := hanReferentsIn(s, owner, listener); len(found) > 0 {
					han = append(han, found)
				}
			} else if found := namedAsBefore(referentsIn(s, owner, listener), others); len(found) > 0 || j >= i-1 {
				others = append(others, found)
			}
		}
	}
	return others, han
}

var (
	// jointNames matches two people who do something together, askedOfName somebody of whom a question asks by name.
	jointNames  = regexp.MustCompile(`\b(\p{Lu}\p{Ll}+) and (\p{Lu}\p{Ll}+) \p{Ll}`)
	askedOfName = regexp.MustCompile(`(?:\b(?:[Ii]s|[Aa]re|[Ww]as|[Dd]oes|[Dd]id|[Hh]as|[Ww]ill|[Cc]an|[Aa]bout)|'s|you and) (\p{Lu}\p{Ll}+)\b`)
)

// namedAsBefore returns referents with those of a name alone as they were introduced: "my sister Lotte" for "Lotte".
func namedAsBefore(found []referent, before [][]referent) []referent {
	for i, f := range found {
		if f.phrase == "" || strings.Contains(f.phrase, " ") {
			continue
		}
		for _, sentence := range slices.Backward(before) {
			at := slices.IndexFunc(sentence, func(r referent) bool { return strings.HasSuffix(r.phrase, " "+f.phrase) || r.phrase == f.phrase })
			if at >= 0 {
				found[i] = sentence[at]
				break
			}
		}
	}
	return found
}

// fitting returns the last referent that agrees with a pronoun; ok is false if there is none, if the
// sentence has two, or if the speaker cannot name it.
func fitting(before [][]referent, fits func(gender) bool) (r referent, ok bool) {
	for i := len(before) - 1; i >= 0 && i >= len(before)-4; i-- {
		var found []referent
		for _, r := range before[i] {
			if fits(r.gender) {
				found = append(found, r)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], found[0].phrase != ""
		case len(found) > 1:
			return referent{}, false
		}
	}
	return referent{}, false
}

// resolvePronoun replaces the pronoun at the beginning of a sentence; ok is false if there is none,
// or if what it refers to is not certain.
func resolvePronoun(s string, before [][]referent) (resolved string, ok bool) {
	plain := stripFiller(s)
	if plain != "" {
		plain = upperFirst(plain)
	}
	m := leading.FindStringSubmatch(plain)
	if m == nil || strings.Contains(plain, "?") {
		return "", false
	}
	pronoun := strings.ToLower(m[1])
	rest := plain[len(m[0]):]
	var r referent
	switch pronoun {
	case "she", "her", "he", "his":
		r, ok = fitting(before, fitsPronoun[pronoun])
	default:
		// "It" often refers to what happened, so the thing must be said directly before, and
		// more must be said of it than praise.
		if len(before) > 0 {
			r, ok = fitting(before[len(before)-1:], fitsPronoun["it"])
		}
		ok = ok && !generalRemark.MatchString(plain) && countContentWords(lowerWords(rest)) >= 1 && saysValue.MatchString(plain)
	}
	if !ok {
		return "", false
	}
	subject := upperFirst(r.phrase)
	switch {
	case pronoun == "her" || pronoun == "his" || pronoun == "its":
		return subject + "'s " + rest, m[2] == ""
	case m[2] == "'s":
		verb := " is "
		if next := slices.IndexFunc(lowerWords(rest), func(w string) bool { return !isAdverb(w) }); next >= 0 && havingWords[lowerWords(rest)[next]] {
			verb = " has "
		}
		return subject + verb + rest, true
	case m[2] == "'ve" || m[2] == "'d":
		return subject + map[string]string{"'ve": " has ", "'d": " would "}[m[2]] + rest, true
	case m[2] == "'ll":
		return subject + " will " + rest, true
	}
	return subject + " " + rest, true
}

// saysValue matches what is said of a thing for long: a name, a place, a number, what it has or is
// made of.
var (
	saysValue = regexp.MustCompile(`^It(?:'s| is| was| has| had| belongs| costs?| comes| came)? (?:called|named|in|on|near|from|made|about|an?|\d|for|with|costs?|belongs)?\b|^Its (?:name|color|colour|address|owner|author|title)`)
	// havingWords follow "'s" where it means "has".
	havingWords = wordSet("been had got moved left started stopped lost become grown taken passed joined worked lived bought sold given seen known quit finished fallen hurt decided changed broken won written")
)

// hanKinGroups lists the Chinese words for relatives by gender.
var (
	hanFemale  = wordSet("妈妈 母亲 妈 奶奶 外婆 姥姥 姐姐 姐 妹妹 妹 妻子 老婆 女朋友 女友 女儿 表姐 表妹 堂姐 堂妹 阿姨 姑姑 婆婆 岳母 丈母娘 闺女 外甥女 侄女 孙女 嫂子 媳妇 太太 伯母 婶婶 婶 大姨 二姨 三姨 小姨 姨妈 大姑 二姑 小姑 姑妈 舅妈 儿媳 儿媳妇 外孙女 弟媳 弟妹 嫂嫂")
	hanMale    = wordSet("爸爸 父亲 爸 爷爷 外公 姥爷 哥哥 哥 弟弟 弟 丈夫 老公 男朋友 男友 儿子 表哥 表弟 堂哥 堂弟 叔叔 舅舅 公公 岳父 外甥 侄子 孙子 姐夫 妹夫 女婿 先生 大伯 伯伯 伯父 二叔 三叔 四叔 小叔 大叔 叔父 姨父 姑父 大舅 二舅 小舅 舅父 外孙")
	hanSeveral = wordSet("家人 父母")
)

// hanGenderOf returns the gender of a Chinese word for a relative.
func hanGenderOf(kin string) gender {
	switch {
	case hanFemale[kin]:
		return female
	case hanMale[kin]:
		return male
	case hanSeveral[kin]:
		return several
	}
	return anyone
}

var (
	// hanReferent matches whom somebody has: a relative, perhaps of a relative, and an animal. Groups: whose, the relative,
	// their relative, a name, the animal, its name.
	hanReferent = regexp.MustCompile(`(我|咱|你|您|(?:^|[，,；;。]))们?(?:的|家的?)?(` + hanAnyKin + `)(?:的(` + hanKin + `))?(?:[，,]?(?:名字)?叫(\p{Han}{2,3}))?|(?:养了?|有|寄养)了?[一两]?[只条匹](\p{Han}{0,3}?(?:狗|猫|兔子|鸟|鱼|马|仓鼠|乌龟|毛|鹦鹉))|[一两]?[只条匹]\p{Han}{1,6}?[，,]?(?:名字|小名)?叫(\p{Han}{1,3})`)
	// hanPersonNoun matches other persons.
	hanPersonNoun = regexp.MustCompile(`(` + hanAnyKin + `|医生|大夫|老板|师傅|经理|教练|主任|房东|司机|护士|女孩|男孩|女生|男生)`)
	// hanAnyKin has the words for relatives that need "my" or "your" to be one.
	hanAnyKin = hanKin + `|太太|先生|老大|老二|老三|小孩|宝宝`
	hanSheHe  = map[string]func(gender) bool{
		"她": func(g gender) bool { return g == female || g == anyone },
		"他": func(g gender) bool { return g == male || g == anyone },
		"它": func(g gender) bool { return g == animal },
	}
)

// hanReferentsIn returns what later Chinese pronouns of a speaker may refer to. owner is who says the sentence, "" for the
// speaker; listener is the only person that the speaker talks to.
func hanReferentsIn(s, owner, listener string) []referent {
	var out []referent
	taken := make([]bool, len(s)+1)
	for _, at := range hanReferent.FindAllStringSubmatchIndex(s, 8) {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return s[at[2*i]:at[2*i+1]]
		}
		for i := at[0]; i < at[1]; i++ {
			taken[i] = true
		}
		whose := ""
		switch mine := group(1) != "你" && group(1) != "您"; {
		case mine == (owner == ""):
			whose = speakerTopic
		case mine && owner != theAssistant:
			whose = owner
		case !mine:
			whose = listener
		}
		kin := group(2)
		r := referent{whose + "的" + kin, hanGenderOf(kin)}
		switch {
		case kin != "" && group(3) != "":
			r = referent{r.phrase + "的" + group(3), hanGenderOf(group(3))}
		case group(5) != "":
			r = referent{whose + "的" + group(5), animal}
		case group(6) != "":
			r, whose = referent{group(6), animal}, group(6)
		}
		if group(1) != "" && strings.Trim(group(1), "，,；;。") == "" && !isOwnKin(kin) {
			whose = ""
		}
		if whose == "" {
			r.phrase = ""
		}
		out = append(out, r)
	}
	for _, m := range hanNamedPet.FindAllStringSubmatch(s, 2) {
		out = append(out, referent{m[1], animal})
	}
	for _, m := range hanNamedChild.FindAllStringSubmatch(s, 2) {
		out = append(out, referent{m[2], hanGenderOf(m[1])})
	}
	for _, clause := range hanClauseBreak.Split(hanWithoutLeadIns(hanNewcomer.ReplaceAllString(s, "")), -1) {
		if n := hanNameAt(clause, ""); n > 0 && !strings.HasPrefix(clause, "我") && !strings.HasPrefix(clause, "用户") {
			out = append(out, referent{clause[:n], anyone})
		}
	}
	for _, at := range hanPersonNoun.FindAllStringIndex(s, 8) {
		r, _ := utf8.DecodeLastRuneInString(s[:at[0]])
		if taken[at[0]] || r == '是' || r == '当' || r == '做' || r == '个' && strings.HasSuffix(s[:at[0]], "是个") {
			continue
		}
		out = append(out, referent{"", hanGenderOf(s[at[0]:at[1]])})
	}
	return out
}

var (
	// hanNamedPet matches an animal by the name that it is given before what it is.
	hanNamedPet = regexp.MustCompile(`(?:我家的?|这是我家的?|它叫|这是)(\p{Han}{2,3})，?(?:是|一)?[一]?[只条匹]\p{Han}`)
	// hanNamedChild matches a relative with a name.
	hanNamedChild = regexp.MustCompile(`(?:一个|有个|个)(儿子|女儿|弟弟|妹妹|哥哥|姐姐|孙子|孙女)[，,]?(?:名字|小名)?叫(\p{Han}{2,3})(?:[，,。]|$)`)
	// hanNewcomer matches words before the name of a colleague.
	hanNewcomer = regexp.MustCompile(`^(?:我们|你们|咱们)?(?:组|部门|公司|单位|店里?|班)?(?:里)?(?:新来)?的`)
)

// isOwnKin reports whether a relative at the beginning of a clause is the speaker's: "妈妈住在…".
func isOwnKin(kin string) bool {
	return hanOwnKin.MatchString(kin) && kin != "老师" && kin != "同学"
}

// hanDrugTail matches the end of the name of a medicine behind its 他.
var hanDrugTail = regexp.MustCompile(`^[汀啶滨]`)

// hanIntroduced matches what a sentence introduces before it says more of it, as in "一只英短，叫豆包，它半夜…".
var hanIntroduced = regexp.MustCompile(`[一两几](?:只|条|匹|位|名|台|辆|本)\p{Han}{1,6}[，,]`)

// hanResolvePronoun replaces the pronouns of a Chinese sentence for a person or an animal by whom the last sentence that names
// anybody who fits names, if it names one. ok is false if a pronoun is left.
func hanResolvePronoun(s string, before [][]referent) (resolved string, ok bool) {
	words := grammar.Chinese(s)
	for _, word := range slices.Backward(words) {
		fits := hanSheHe[word.Text]
		if fits == nil || hanDrugTail.MatchString(s[word.End:]) {
			continue
		}
		within := hanReferentsIn(s[:word.Start], "", "")
		if hanIntroduced.MatchString(s[:word.Start]) || slices.ContainsFunc(within, func(r referent) bool { return fits(r.gender) && r.phrase != "" }) {
			continue // it is named in this sentence
		}
		r, found := fitting(before, fits)
		if !found || hanQuestion.MatchString(s) {
			return s, false
		}
		s = s[:word.Start] + r.phrase + s[word.End:]
	}
	return s, true
}

// hanDangling matches what a Chinese sentence refers to without naming it.
var hanDangling = regexp.MustCompile(`(?:这|那)(?:个|些|里|儿|次|件|种|样|款|部|本|家|位|天|是|就|真|太)|^(?:这|那|它)|它们|他们|她们|前者|后者|另一个`)

// hanThisTime matches times that say which one they are.
var hanThisTime = regexp.MustCompile(`(?:这|那)个?(?:周末?|星期|礼拜|月|季度|学期|暑假|寒假|春节|春天|夏天|秋天|冬天|年|几[天年]|段时间|时候?|些年)`)

// hanStandsAlone reports whether a Chinese sentence names what it is about.
func hanStandsAlone(s string) bool {
	return !hanDangling.MatchString(hanThisTime.ReplaceAllString(s, ""))
}

// hasHan reports whether a text has a Chinese character.
func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}
