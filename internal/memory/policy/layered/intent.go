package layered

import (
	"regexp"
	"strings"
)

// Intent is the layer that answers a query best.
type Intent string

// The intents.
const (
	IntentSemantic Intent = "semantic" // what is known about somebody
	IntentEpisodic Intent = "episodic" // what happened or was said in the past
	IntentWorking  Intent = "working"  // what was said just now
	IntentCombined Intent = "combined" // any
)

// Route is what a query asks for.
type Route struct {
	Intent    Intent   `json:"intent"`
	Subject   string   `json:"subject,omitempty"`   // SubjectUser if it is about the person who asks
	Relations []string `json:"relations,omitempty"` // of the eight that it names, by relationName and so on
}

// relationQuestion is a form of questions about one of the eight relations.
type relationQuestion struct {
	relation string
	form     *regexp.Regexp
}

var relationQuestions = []relationQuestion{
	{relationAddress, regexp.MustCompile(`(?i)\b(?:how|what) (?:should|do|did|can|would|will) (?:you|i|u) (?:call|address|want to be called|like to be called|prefer to be called)\b|\bmy nickname\b|(?:怎么|如何|该|应该)(?:称呼|叫)我|我的(?:昵称|外号|小名)|叫我什么|称呼我什么`)},
	{relationName, regexp.MustCompile(`(?i)\bmy (?:full |first |last |real )?name\b|\bwho (?:am i|i am)\b|\bwhat am i called\b|我叫(?:什么|啥|甚么)|我的?(?:名字|姓名)|我是谁|我姓什么|(?:知道|记得)我叫`)},
	{relationJob, regexp.MustCompile(`(?i)\bmy (?:current |day )?(?:job|work|profession|occupation|career)\b|\bwhat (?:do|did) i do (?:for (?:a living|work)|at work|professionally)\b|\bwhat do i do[?.]*$|\bwhere (?:do|did) i work\b|\bi work as\b|我的?(?:工作|职业|职位)|我(?:是)?做什么(?:工作|的|职业)|我在哪里?(?:工作|上班)`)},
	{relationPlace, regexp.MustCompile(`(?i)\bwhere (?:do|did|am|was) i (?:live|living|based|located|stay|staying)\b|\bwhere i live\b|\bwhere am i\b|\bmy (?:home |street )?(?:address|city|town|location|hometown|home)\b|\bwhich (?:city|town|country) (?:do|am) i\b|我(?:现在|目前)?(?:住|家)?在(?:哪|什么地方|哪儿)|我住(?:哪|在哪)|我的(?:地址|住址|家|城市)|我家在`)},
	{relationDislikes, regexp.MustCompile(`(?i)\b(?:do(?:n't| not) i (?:like|enjoy)|i (?:don't|do not) (?:like|enjoy)|(?:do|did) i (?:dislike|hate)|i (?:dislike|hate)|my dislikes|can't i stand)\b|我(?:最)?(?:不喜欢|讨厌|反感|不爱)|我的(?:忌口|雷区)`)},
	{relationLikes, regexp.MustCompile(`(?i)\b(?:do|did|would) i (?:like|love|enjoy|prefer)\b|\b(?:what|which) .*\bi (?:like|love|enjoy|prefer)\b|\bmy (?:favou?rites?|hobby|hobbies|interests?|preferences?|likes|tastes?)\b|\bi(?:'d| would| might)? (?:like|enjoy)[?.]*$|\b(?:recommend|suggest)\b|我(?:最)?(?:喜欢|爱|偏爱|偏好)(?:什么|哪|吃什么|喝什么|看什么|听什么|的)|我的(?:爱好|兴趣|偏好|喜好|口味|最爱)|推荐|建议我`)},
	{relationSkills, regexp.MustCompile(`(?i)\b(?:what|which) .*\b(?:can i (?:do|speak|play|cook)|am i (?:good|great|skilled|best) at|i(?:'m| am) good at)\b|\bmy (?:skills?|strengths?|talents?|abilities)\b|我(?:会|擅长|能)(?:做|说|弹|玩)?(?:什么|哪)|我的(?:技能|强项|特长|优势|专长)`)},
	{relationGoals, regexp.MustCompile(`(?i)\bmy (?:\w+ )?(?:goals?|aims?|dreams?|ambitions?|objectives?|aspirations?)\b|\bwhat (?:do|did) i (?:want|hope|plan|aim) to (?:achieve|become|do|learn|be)\b|我的(?:目标|梦想|理想|愿望|计划)|我想(?:要)?(?:实现|达到|成为)什么|我(?:希望|打算)(?:达到|实现|做)什么`)},
}

var (
	justNow = regexp.MustCompile(`(?i)\b(?:just (?:now|said|told|asked|mentioned|talked)|a (?:moment|minute|second) ago|(?:last|previous) message|did (?:i|you|we) just (?:say|tell|ask|mention|do|talk)|i just (?:say|said|told|asked|mentioned))\b|刚才|刚刚|上一句|上句话|上一条`)
	past    = regexp.MustCompile(`(?i)\b(?:when did|when was|when were|last (?:time|week|month|year|night|summer|winter|spring|fall|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|yesterday|the other day|(?:days?|weeks?|months?|years?) ago|(?:what|where|who|which|how) (?:[\p{L}']+ ){0,3}(?:did|was|were|had|happened)|did (?:i|we|you|he|she|they|my)|have (?:i|we) (?:ever|talked|discussed|told|been)|we (?:talked|discussed|spoke|chatted|said|agreed|decided)|earlier|previously|back then|in the past|remember when|do you remember (?:the|what|how|that|our)|happened|told you|in (?:19|20)\d\d)\b` +
		`|上次|上周|上个?月|上星期|去年|昨天|前天|前几天|那天|那次|以前|之前|过去|当时|曾经|什么时候|哪天|几号|多久前|发生了?什么|聊过|说过|提过|讨论过|告诉过|去过|做过|还记得(?:那|我们|上)|[天周月年]前`)
	selfReference = regexp.MustCompile(`(?i)\b(?:i|my|me|mine|i'm|i've|myself)\b|我`)
)

// routeQuery returns what a query asks for, by rules in English and Chinese. A question about what a
// person is, has or likes is answered from the semantic layer, one about the past from the episodic layer,
// one about what was said just now from the working layer. "My" and "I" mean the person who asks.
func routeQuery(query string) Route {
	q := strings.ReplaceAll(query, "’", "'")
	r := Route{Intent: IntentCombined}
	if selfReference.MatchString(q) {
		r.Subject = SubjectUser
	}
	for _, f := range relationQuestions {
		if f.form.MatchString(q) && (f.relation != relationLikes || len(r.Relations) == 0 || r.Relations[len(r.Relations)-1] != relationDislikes) {
			r.Relations = append(r.Relations, f.relation)
		}
	}
	if len(r.Relations) > 0 && r.Subject == "" { // "recommend something"
		r.Subject = SubjectUser
	}
	switch {
	case justNow.MatchString(q):
		r.Intent = IntentWorking
	case len(r.Relations) > 0 && !asksPast(q):
		r.Intent = IntentSemantic
	case past.MatchString(q):
		r.Intent = IntentEpisodic
	}
	return r
}

// asksPast reports whether a question that names a relation asks for what happened all the same: "When did I
// tell you my name?".
func asksPast(q string) bool { return happened.MatchString(q) }

var happened = regexp.MustCompile(`(?i)\b(?:when did|when was|last (?:time|week|month|year|night)|yesterday|(?:days?|weeks?|months?|years?) ago|what happened|did we|we (?:talked|discussed))\b|什么时候|上次|昨天|上周|去年|聊过|讨论过`)
