package rules

import (
	"strings"
	"unicode/utf8"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds Chinese sentences that name something and still say nothing that lasts, as vague.go does for
// English.

var (
	// hanTogether matches what a group does, without who else is of it.
	hanTogether = regexp.MustCompile(`^(?:我们|咱们|大家)[^，,]*一起`)
	hanWith     = regexp.MustCompile(`(?:和|跟|与|同|陪|带)\p{Han}{1,8}(?:一起|一块)`)
	// hanOpinionOf matches what others say or think.
	hanOpinionOf = regexp.MustCompile(`^(?:我(?:的)?)?(?:` + hanKin + `|大家|别人|有人|人家|网上|他们|她们|前任|前男友|前女友)[\p{Han}]{0,3}?(?:总|老|一直|都|还|也|经常)*(?:说|觉得|认为|以为|嫌)(?:我|应该|这|那|大家|现在|都)`)
	hanHearsay   = regexp.MustCompile(`^(?:听说|据说|听人说|网上说|有人说|大家都说|我(?:朋友|同事)说)`)
	// hanFelt matches a clause that only says how somebody feels.
	hanFelt = regexp.MustCompile(`^我?(?:的)?(?:` + hanKin + `)?(?:现在|今天|最近|也|都|还|就|才|真的?|有点儿?|有些|非常|特别|很|好|太|挺|超|可|感觉|心里)*(?:高兴|开心|难过|伤心|激动|紧张|兴奋|累|困|烦|郁闷|无聊|期待|感动|羡慕|满足|幸福|舍不得|着急|气|乐|急|吓)(?:坏|死|极|疯|晕)?(?:我|人)?(?:了|的|啊|呢)*$`)
	// hanLeaving matches what somebody does when the talk ends.
	hanLeaving = regexp.MustCompile(`^我(?:先|要|得|该|也|就)*(?:去|走|忙|睡|下|撤|挂)\p{Han}{0,4}了?[，,].*(?:[再天头次空]聊|再说|拜拜|再见|晚安|联系)|^我(?:先|要|得|该)+(?:走|忙|睡|下线|撤|挂)\p{Han}{0,2}了?$`)
	// hanResolve matches good intentions without an aim.
	hanResolve = regexp.MustCompile(`^我(?:一定|肯定|也|还|都)*(?:会|要|得)(?:继续|好好)?(?:努力|加油|坚持|注意|试试|考虑|记住|尽力)(?:的|一下|看看|下去)*$|^我一定(?:会)?(?:到|来|去)$|^我(?:会|来|去)?(?:试试|看看|想想|考虑考虑|考虑一下)`)
	// hanNoObject matches a verb whose object only the sentence before names: "我倒是喜欢", "买过一个，她嫌吵".
	hanNoObject = regexp.MustCompile(`^我(?:的)?(?:` + hanKin + `)(?:介绍|推荐|送|买|做|给|装|设计|选|挑)的$|^我(?:倒|也|都|还|就|是|很|挺|蛮|最|不)*(?:喜欢|讨厌|爱|想要?|要|会|有|没有|试过|用过|买过|去过)$|(?:买|吃|看|试|用|送|养|有)(?:过|了)[一两几](?:个|台|本|件|条|只)(?:[，,]|$)`)
	// hanToSpeaker matches what the listener should do for the speaker.
	hanToSpeaker = regexp.MustCompile(`^(?:到时候|以后|下次|有空|记得|一定|要|千万|别忘了|可以|先|快|也|都|得|回头|改天|\p{Han}{0,2}的时候)+来?(?:叫|告诉|通知|找|联系|帮|等|提醒|教|给|陪|借|发|寄|带)(?:上)?我`)
)

// hanUnclear reports whether a Chinese sentence in the first person cannot be understood alone, or says nothing that
// lasts.
func hanUnclear(s string) bool {
	plain := strings.TrimRight(s, "。！!~～… ")
	return hanHearsay.MatchString(plain) || hanFelt.MatchString(plain) || hanLeaving.MatchString(plain) || hanResolve.MatchString(plain) ||
		hanNoObject.MatchString(plain) || hanToSpeaker.MatchString(plain) || hanOpinionOf.MatchString(plain) ||
		hanTogether.MatchString(plain) && !hanWith.MatchString(plain)
}

// hanWithoutFeeling returns a sentence without a last clause that only says how somebody feels about it, or laughs.
func hanWithoutFeeling(s string) string {
	plain := strings.TrimRight(strings.TrimSpace(s), "。！!~～… ")
	if at := strings.LastIndexAny(plain, "，,"); at > 0 {
		_, size := utf8.DecodeRuneInString(plain[at:])
		if last := strings.TrimSpace(plain[at+size:]); hanFelt.MatchString(last) || strings.Trim(last, "哈呵嘿嘻") == "" {
			return plain[:at] + "。"
		}
	}
	return s
}
