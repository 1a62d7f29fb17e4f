package layered

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// The eight relations of what a user says about themselves.
const (
	relationName     = "name"
	relationAddress  = "address" // how they want to be called
	relationJob      = "job"
	relationPlace    = "place" // where they live or are
	relationLikes    = "likes"
	relationDislikes = "dislikes"
	relationSkills   = "skills"
	relationGoals    = "goals"
)

// singleValued reports whether a subject has one object of a relation at a time, so that another
// object contradicts it.
func singleValued(relation string) bool {
	switch relation {
	case relationName, relationAddress, relationJob, relationPlace:
		return true
	}
	return false
}

// relationSynonyms maps what else the eight relations are called to their names.
var relationSynonyms = func() map[string]string {
	out := map[string]string{}
	for relation, list := range map[string]string{
		relationName:     "name, names, named, called, is called, is named, has name, has the name, full name, first name, name is, 名字, 姓名, 叫, 叫做, 名叫, 名为, 的名字是",
		relationAddress:  "address, form of address, nickname, is addressed as, wants to be called, prefers to be called, likes to be called, goes by, call me, 称呼, 昵称, 小名, 外号, 叫我",
		relationJob:      "job, jobs, work, works as, works in, works at, works for, work as, occupation, profession, career, is employed as, employed as, job title, role, 职业, 工作, 职位, 工作是, 职业是, 从事, 是做, 任职",
		relationPlace:    "place, lives in, live in, lives at, living in, lives, location, located in, is located in, residence, resides in, home, hometown, city, based in, is based in, is in, moved to, 住在, 居住, 居住地, 居住在, 地点, 所在地, 住址, 地址, 家在, 在",
		relationLikes:    "likes, like, loves, love, enjoys, enjoy, prefers, prefer, preference, preferences, favorite, favourite, favorites, is fond of, is a fan of, is into, hobby, hobbies, interest, interests, interested in, is interested in, 喜欢, 爱好, 偏好, 偏爱, 喜爱, 最爱, 爱, 兴趣, 热爱, 更倾向于",
		relationDislikes: "dislikes, dislike, hates, hate, does not like, doesn't like, do not like, don't like, detests, can't stand, cannot stand, avoids, 不喜欢, 讨厌, 反感, 不爱, 厌恶",
		relationSkills:   "skills, skill, can, can do, good at, is good at, skilled in, is skilled in, is skilled at, expert in, is an expert in, ability, abilities, knows how to, strength, speciality, specialty, 擅长, 会, 技能, 强项, 特长, 精通, 能力",
		relationGoals:    "goals, goal, aim, aims to, wants to, wants, want to, wants to achieve, wants to become, hopes to, plans to, aspires to, dream, dreams of, ambition, objective, 目标, 希望, 希望达到, 想要, 想要实现, 梦想, 计划, 理想, 愿望",
	} {
		for s := range strings.SplitSeq(list, ",") {
			out[strings.TrimSpace(s)] = relation
		}
	}
	return out
}()

// canonicalRelation returns the name of the one of the eight relations that a text means ("lives in",
// "住在": relationPlace), else the text as one line in lower case, with spaces for underscores.
func canonicalRelation(s string) string {
	s = strings.Join(strings.Fields(strings.NewReplacer("_", " ", "’", "'").Replace(text.Fold(s))), " ")
	s = strings.Trim(s, " .。\"'")
	if relation, ok := relationSynonyms[s]; ok {
		return relation
	}
	return s
}
