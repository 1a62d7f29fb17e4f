package layered

import (
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file reads enumerations: "I like apples, bananas and pears", 我喜欢苹果、香蕉和橙子.

// furtherObjects returns the objects that clauses enumerate behind the first one, which has a finding. Two things
// that only a conjunction joins stay one object, since many have it in their name ("salt and vinegar").
func furtherObjects(found *ruleFinding, all []clause) []string {
	if singleValued(found.relation) {
		return nil
	}
	members := englishMembers(all)
	if isHan(all[0].text) {
		members = hanMembers(all)
	}
	out := make([]string, 0, len(members))
	for _, m := range members {
		object := cleanObject(m, false)
		if object == "" {
			continue
		}
		if found.accept != nil {
			accepted, ok := found.accept(object)
			if !ok {
				continue
			}
			object = accepted
		}
		out = append(out, object)
	}
	return out
}

// englishMembers returns the members of a list behind its first one: words between commas, of which the last has a
// conjunction in front. Without it, or with a member that may be a clause of its own, the commas join no list.
func englishMembers(all []clause) []string {
	var out []string
	for i := 1; i < len(all) && all[i-1].mark == ","; i++ {
		before, last, isLast := strings.Cut(" "+all[i].text+" ", " and ")
		if !isLast {
			before, last, isLast = strings.Cut(" "+all[i].text+" ", " or ")
		}
		for _, m := range []string{before, last} {
			if m = strings.TrimSpace(m); m == "" {
				continue
			}
			if !isEnglishMember(m) {
				return nil
			}
			out = append(out, m)
		}
		if isLast {
			return out
		}
	}
	return nil
}

// maxMemberWords and maxMemberChars bound a member of a list.
const (
	maxMemberWords = 4
	maxMemberChars = 12
)

func isEnglishMember(s string) bool {
	words := strings.Fields(strings.ToLower(s))
	if len(words) > maxMemberWords || notAMember[words[0]] || strings.HasSuffix(words[0], "ly") {
		return false
	}
	for _, w := range words {
		if ofAClause[w] || strings.Contains(w, "'") && !strings.HasSuffix(w, "'s") && !strings.HasSuffix(w, "s'") {
			return false
		}
	}
	return true
}

var (
	// ofAClause are words that show that a clause has a subject or a verb of its own.
	ofAClause = policy.WordSet(`i we you he she they it me us him them am is are was were be been being has had do does did will would can could should may might must not
		and or but so because that which who if when while what how why where it's that's i'm don't`)
	// notAMember are words that begin an addition to what was said before.
	notAMember = policy.WordSet(`for with without in on at to from by of as than then also too even just only still especially though although however maybe perhaps
		sometimes often always never usually most more less such like yes no well please thanks let there here this these those now today yesterday tomorrow`)
)

// hanMembers returns the members of a list behind its first one: what is between 、, and around a conjunction in the last
// part.
func hanMembers(all []clause) []string {
	var out []string
	for i := 1; i < len(all) && all[i-1].mark == "、"; i++ {
		part := hanListEnd.ReplaceAllString(all[i].text, "")
		members := []string{part}
		if all[i].mark != "、" {
			if m := hanConjunction.FindStringSubmatch(part); m != nil {
				members = []string{m[1], m[2]}
			}
		}
		for _, m := range members {
			m = strings.TrimSpace(hanAnd.ReplaceAllString(m, ""))
			if m != "" && utf8.RuneCountInString(m) <= maxMemberChars && !hanOfAClause.MatchString(m) {
				out = append(out, m)
			}
		}
	}
	return out
}

var (
	hanConjunction = regexp.MustCompile(`^(.+?)(?:以及|还有|或者|和|与|及|跟|或)(.+)$`)
	hanAnd         = regexp.MustCompile(`^(?:以及|还有|或者)`)
	hanListEnd     = regexp.MustCompile(`(?:等等?|之类的?|什么的|这些|这类)(?:东西|水果|运动|食物|活动|事情)?$`)
	// hanOfAClause matches words that show that a part has a subject of its own, or points at one.
	hanOfAClause = regexp.MustCompile(`[我你您他她它]|这|那|什么|怎么|不[喜爱想会]|因为|所以|但是?|如果`)
)
