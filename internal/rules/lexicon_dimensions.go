package rules

import (
	"strings"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// dimensionCue is what shows a dimension of a profile in a sentence.
type dimensionCue struct {
	name      string
	form, not *regexp.Regexp
	addressed bool // in what is said to the assistant, as a wish; else in a statement about the speaker
}

// dimensionCues are the cues of the dimensions that words can show, for English and Chinese. A dimension
// that only behavior shows has none.
var dimensionCues = func() []dimensionCue {
	var out []dimensionCue
	for line := range strings.Lines(dimensionTable) {
		name, forms, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		english, han, _ := strings.Cut(forms, " / ")
		form, addressed := "(?i)\\b(?:"+english+")\\b", strings.HasPrefix(name, "!")
		if han != "" {
			form += "|" + han
		}
		out = append(out, dimensionCue{name: strings.TrimPrefix(name, "!"), form: regexp.MustCompile(form), addressed: addressed})
	}
	return out
}()

// dimensionTable has a line for each dimension: its name, the English cues, and behind a slash the Chinese
// ones. "!" marks what is said to an assistant as a wish. A cue for an interest is a thing together with what
// the speaker does or feels about it, or an activity itself.
const dimensionTable = `
openness: (?:love|enjoy|like)(?:d)? (?:trying|learning|exploring|discovering) (?:new|different)|(?:curious by nature|a curious person|always (?:been )?curious)|open to new|trying (?:out )?new things|keep an open mind|open-minded / 喜欢尝试|好奇|乐于接受新|想尝试新
conscientiousness: (?:i(?:'m| am)|i(?:'ve| have) been) (?:very |pretty |quite |so |really )*(?:organized|diligent|disciplined|careful|responsible|hard-working|hardworking|meticulous|thorough)|to-do lists?|double-check\w*|plan(?:ned)? everything|stay(?:ing)? organized / 有条理|认真负责|做事认真|列清单|仔细检查|按计划
extraversion: (?:love|enjoy|like)(?:d)? (?:meeting|being around|hanging out with|talking to|hosting|socializing)|outgoing|extrovert\w*|life of the party|(?:hosted|threw|organized) a (?:\w+ )?party / 外向|喜欢(?:交朋友|热闹|聚会|社交)|爱交朋友
agreeableness: (?:love|like|enjoy|want to|try to|happy to|glad to) (?:help|helping|support|supporting|comfort|cheer up) (?:\w+ )?(?:people|others|them|friends|someone|everyone)|get along (?:well )?with / 乐于助人|喜欢帮助|与人为善|照顾别人
neuroticism: (?:i(?:'m| am| was| feel| felt|'ve been| have been| get| got)) (?:\w+ ){0,2}(?:worried|anxious|nervous|stressed|overwhelmed|on edge|scared|insecure|panicking|panicked)|(?:i|it) (?:worry|stress)(?:es)? (?:me )?(?:out )?(?:about|a lot|too much)|anxiety|panic attacks? / 我[^，。]{0,8}(?:焦虑|紧张|担心|压力很?大|失眠|害怕|不安)
physiological needs: (?:i(?:'m| am| was|'ve been| feel)) (?:\w+ ){0,2}(?:hungry|starving|exhausted|sleep-deprived|thirsty|tired|worn out|drained)|need(?:ed)? (?:some |more |to get (?:some )?)(?:sleep|rest|food)|(?:can't|couldn't) sleep / 我[^，。]{0,6}(?:饿|困|累|没睡|睡不着|渴|疲惫)
security: (?:need|want|wanted|looking for|prefer|value) (?:\w+ ){0,2}(?:stability|security|safety|a safe|savings|insurance)|financial (?:security|stability)|feel(?:s|ing)? safe|job security|emergency fund / 安全感|求稳|稳定的(?:工作|生活|收入)|存款
belonging: (?:feel|felt|feeling) (?:\w+ ){0,2}(?:lonely|left out|at home|welcome|accepted|part of|connected|like i belong)|sense of (?:belonging|community)|(?:joined|found|part of) (?:a|an|the|my) (?:\w+ ){0,2}(?:group|community|club|team)|miss(?:ed)? (?:my|our) (?:family|friends|home) / 归属感|孤独|加入了[^，。]{0,8}(?:团队|俱乐部|社团|小组)|想念(?:家人|朋友)|想家
esteem: proud of (?:myself|my|what i|how far i)|(?:got|received|won|earned) (?:\w+ ){0,3}(?:award|recognition|praise|compliments?|prize|promotion)|felt (?:appreciated|respected|recognized|valued)|makes me feel (?:\w+ )?(?:valued|proud) / 为自己(?:感到)?(?:骄傲|自豪)|得到(?:了)?[^，。]{0,6}(?:认可|表扬|奖)|获奖|被尊重
cognitive needs: (?:want|wanted|love|like|eager|would love) to (?:understand|know more|learn more|find out|dig deeper|figure out)|(?:love|enjoy|like) (?:learning|researching|research)|(?:doing|did) (?:some |a lot of )?research|been (?:researching|reading up) / 想(?:了解|弄懂|弄明白|知道更多)|研究一下|求知
aesthetic needs: (?:love|loved|enjoy|enjoyed|admire|appreciate) (?:the |how )?(?:\w+ ){0,3}(?:beauty|beautiful|colors|scenery|sunsets?|design|architecture)|breathtaking|(?:so|really) beautiful / 美感|好美|风景|审美
self-actualization: (?:personal growth|self-improvement|be(?:come|ing)? (?:the|a) (?:best|better) (?:version|person)|reach my (?:full )?potential|follow(?:ing|ed)? my (?:dreams?|passion)|find(?:ing)? myself|true self|be(?:ing)? myself|grow as a person) / 自我提升|成为更好的自己|实现自我|追求梦想|个人成长
order: (?:clean(?:ed|ing)?|tid(?:y|ied|ying)|organiz(?:ed|ing)|declutter\w*|sort(?:ed|ing)) (?:up |out )?(?:my|the|our) (?:\w+ )?(?:room|house|home|desk|kitchen|closet|apartment|garage|office|space|stuff|shelves|notes)|(?:my|a) (?:\w+ )?routine|(?:stick|stuck|sticking) to (?:a|my|the) (?:schedule|plan|routine)|keep (?:\w+ ){0,2}tidy / 整理|收拾|井井有条|作息规律|有规律
autonomy: (?:on my own|by myself|my own (?:boss|terms|way|pace|decisions?)|independent|independence|freedom to|make my own) / 独立|自己做主|自己决定|靠自己|自由
power: (?:i(?:'m| am)|be|being) (?:\w+ ){0,2}in charge|(?:lead|led|leading|manage|managing|run|running) (?:a|the|my|our) (?:\w+ )?(?:team|department|company|group|project)|take control|influence (?:people|others)|leadership / 带领|领导|管理(?:团队|公司|项目)|掌控
achievement: (?:i|i've|we) (?:\w+ ){0,2}(?:achieved|accomplished|won (?:the|a|an|my|our|first|second)|reached (?:my|our|the|a)|passed|graduated|earned|published|made it)|my (?:\w+ )?(?:goals?|ambition|career goals?)|determined to|(?:got|get|getting|received) (?:a |the |my )?promot(?:ed|ion)|milestones? / 达成|实现了|考上|通过了|获得了|我的目标|拿到了
intimacy: (?:my (?:boyfriend|girlfriend|husband|wife|partner|fiancée?|spouse)) (?:and i|i love)|(?:love|miss|missed|close to) my (?:boyfriend|girlfriend|husband|wife|partner)|romantic|(?:got|getting) (?:engaged|married)|dating|(?:quality|alone) time with my (?:wife|husband|partner|girlfriend|boyfriend) / (?:男朋友|女朋友|老公|老婆|妻子|丈夫|爱人)[^，。]{0,8}(?:一起|约会|陪)|谈恋爱|订婚|约会
novelty: (?:try|tried|trying) (?:out )?(?:something|a|some|new) (?:\w+ )?(?:new|different)|new (?:experiences?|adventures?|challenges?|hobby)|step(?:ped|ping)? out of my comfort zone|first time (?:trying|doing) / 尝试新|新鲜感|第一次尝试|走出舒适区
play: (?:had|having|have) (?:so much |a lot of |lots of |such |some )*fun|board games?|game night|play(?:ed|ing)? (?:around|with my (?:kids|dog|dogs|cat|cats|son|daughter))|amusement park|joked?|goof(?:ed|ing) / 玩得(?:很|特别|非常)?开心|桌游|游乐园|开玩笑
privacy: (?:keep|kept|rather keep) (?:\w+ ){0,3}(?:private|to myself|secret)|privacy|private person|(?:don't|do not) share / 隐私|保密|不想公开
meaning: (?:sense of purpose|meaningful|purpose in life|make a difference|making a difference|bigger than myself|give back|giving back|fulfilling|fulfillment) / 有意义|意义感|人生意义|使命
fairness: (?:equality|equal rights|justice|fair(?:ness)?|unfair|discrimination|human rights|inclusive|inclusion) / 公平|公正|平等|不公|歧视
self-confidence: (?:i(?:'m| am| feel| felt|'ve become)) (?:\w+ ){0,3}(?:confident|sure of myself|self-assured|capable)|believe in myself|(?:boost\w*|built|gained|build) my (?:self-)?confidence|trust myself / 自信|相信自己|有信心
resilience: (?:i|we) (?:\w+ ){0,3}(?:bounced back|kept going|keep going (?:despite|even|no matter)|pushed through|persevered|overcame|got through|won't give up|never gave up|didn't give up|started over)|(?:made|makes) me stronger|resilien\w+|overcom(?:e|ing|es) / 坚持下来|挺过来|不放弃|没有放弃|克服|走出来
empathy: (?:feel|felt) (?:\w+ ){0,2}(?:for|sorry for) (?:him|her|them|people)|understand how (?:he|she|they|people|others) feel|(?:listen|listened|listening) to (?:people|others|them|friends|their)|empath\w+|compassion\w* / 同情|理解别人|感同身受|心疼|共情
self-discipline: (?:every (?:morning|day)|daily) (?:\w+ ){0,4}(?:run|workout|practice|exercise|meditate|routine|study)|self-discipline|discipline|(?:wake|get) up (?:early|at \d) / 自律|坚持(?:每天|锻炼|跑步|学习|打卡|早起)|早起
risk taking: (?:took|take|taking) (?:a |the |some |that |more )?(?:risks?|leap|chance|plunge)|quit my job|skydiv\w+|bungee|invest(?:ed|ing) (?:all|everything)|start(?:ed|ing)? my own (?:business|company|store|studio|shop) / 冒险|蹦极|跳伞|辞职创业|裸辞
competitiveness: (?:compet(?:e|ed|ing) (?:in|at|with|against)|(?:i'm|i am) (?:\w+ )?competitive|(?:entered|joined|signed up for) (?:a|an|the|my) (?:\w+ ){0,2}(?:tournament|contest|competition|championship)|won (?:the|a|my|our) (?:\w+ )?(?:game|match|race|round)|beat (?:him|her|them|everyone)) / 比赛|竞赛|锦标赛|赢了|好胜|竞争
adaptability: (?:adapt(?:ed|ing)?|get(?:ting)? used to|got used to|flexible|go with the flow) / 适应|随遇而安|灵活
perfectionism: (?:perfectionist|(?:has|have|needs?) to be perfect|want(?:ed)? (?:it|everything) to be perfect|get(?:ting)? (?:it|every detail|everything) (?:just )?right|never good enough) / 完美主义|追求完美|精益求精|不够好
!helpful: help me|(?:can|could|would|will) you (?:please )?help|i need (?:your )?(?:help|advice)|be (?:more )?helpful / 帮我|帮忙|你能帮
!honest: (?:be|give me an?) (?:brutally |completely |totally |really )?honest|honest (?:opinion|feedback|answer|assessment)|don't sugarcoat|your honest / 说实话|诚实|实话实说|别骗我|坦诚
!safe: is (?:it|this|that) safe|(?:safest|safe) (?:way|option|to)|make sure (?:it's|it is|this is) safe|side effects / 安全吗|是否安全|副作用|安全的(?:方法|做法)
!obedient to instructions: (?:follow|stick to) (?:my|these|the) (?:instructions?|format|rules?)|do exactly|just do (?:what|as) i|as i (?:said|asked)|only (?:answer|reply|use|respond) / 按照?我(?:说的|的要求)|严格按|只(?:回答|用|需要)|照我说的
!truthful: (?:cite|give me|include|with) (?:\w+ ){0,2}(?:sources?|references?|citations?)|is (?:that|this|it) (?:true|accurate|correct)|fact-check|double-check (?:that|this|your)|make sure (?:it's|it is|this is) (?:accurate|correct) / 是真的吗|准确吗|来源|出处|核实
!coherent: (?:stay|keep) (?:consistent|on topic)|(?:that|this) (?:doesn't make sense|contradicts)|you (?:said|told me) (?:earlier|before) / 前后矛盾|前后一致|不连贯|你之前说
!complex: (?:explain|answer|describe|elaborate|go|respond|tell me|give me|talk) (?:\w+ ){0,4}(?:in (?:more |greater |full )?(?:detail|depth)|in-depth|detailed)|(?:more|full) details?|in (?:more |greater |full )?detail|detailed (?:explanations?|answers?|breakdown|descriptions?)|elaborate|(?:explain|go) (?:further|deeper)|break (?:it|this|that) down|deep dive / 详细(?:说|讲|解释|介绍|一点)|深入(?:讲|说|分析)|具体(?:说|讲|一点)|展开(?:说|讲)
!concise: (?:keep it|make it|be) (?:short|brief|concise|simple|quick)|(?:shorter|briefly|in a nutshell|in short|too long|tl;?dr|quick (?:summary|answer)|short (?:version|answer|summary)) / 简短|简洁|简单(?:说|点|讲)|太长|总结一下|一句话|精简
!friendly: (?:be|sound|more) (?:\w+ )?(?:friendly|warm|nice|kind)|(?:friendly|warm) tone|talk to me like a friend / 友好|像朋友|亲切|温柔(?:点|一点)
!empathetic: (?:need|want|needed) (?:someone|somebody|you) to (?:listen|talk to|vent)|just (?:want|need|wanted|needed) to (?:vent|talk)|(?:be|more) (?:understanding|empathetic|supportive) / 陪我(?:聊|说)|听我(?:说|倾诉)|安慰我|只想倾诉
!patient: (?:bear with me|be patient|slow down|one thing at a time|take it slow|i'm a beginner|i am a beginner|explain (?:it )?(?:again|once more)) / 慢(?:一点|点|慢)|耐心|再(?:说|讲|解释)一(?:遍|次)|我是新手
!proactive: (?:remind me|let me know (?:when|as soon as)|keep me (?:posted|updated|accountable)|check in (?:on|with) me) / 提醒我|主动|及时告诉我
!humorous: (?:tell me (?:a|another|some) (?:\w+ )?jokes?|make (?:me|it) (?:laugh|funn\w+)|something funny|be funny|with (?:some )?humor) / 讲个?笑话|逗我|幽默(?:一点|点)|搞笑
!creative: (?:be|more|something) (?:\w+ )?(?:creative|original|unique)|creative (?:ideas?|ways?) / 有创意|写(?:一)?首|编(?:一)?个故事|创意
!personalized: (?:tailor (?:it|this|that|your)|(?:based on|considering|given) my|for someone like me|(?:suits?|fits?|fit for|works for) (?:me|my)|specific to my|remember (?:that )?(?:i|my)) / 适合我|根据我|针对我|量身|个性化|结合我的
!discreet: (?:don't tell (?:anyone|anybody|him|her|them|my)|keep (?:this|it) (?:between us|private|confidential|secret)|confidential\w*|(?:don't|do not) (?:store|save|share) (?:this|my)) / 不要告诉|保密|别说出去|不要(?:保存|记录)
!neutral: (?:unbiased|impartial|(?:be|stay|remain) neutral|neutral (?:view|tone|perspective|opinion|summary)|both sides|pros and cons|objectively|objective (?:opinion|view|analysis|assessment|look)|without taking sides) / 客观|中立|利弊|优缺点
!encouraging: (?:motivate me|encourage me|cheer me (?:up|on)|need (?:some )?(?:encouragement|motivation)|pep talk) / 鼓励我|给我(?:打气|加油|动力)|激励我
!critical: (?:critique (?:my|this|it|me)|criticism|criticize|find (?:the )?(?:flaws|mistakes|errors|weaknesses)|challenge (?:me|my)|point out|what(?:'s| is) wrong with|play devil's advocate|poke holes) / 批评|挑(?:毛病|错)|指出(?:我的)?(?:问题|错误|不足)|反驳我
!step by step: (?:step[- ]by[- ]step|walk me through|one step at a time|guide me through) / 一步(?:一)?步|分步|循序渐进
science: (?:physics|chemistry|biology|astronomy|scientif\w+|telescope|experiments?|science (?:books?|museum|documentar\w+)|love science|neuroscience|genetics) / 物理|化学|生物学|天文|科学|实验
education: (?:studying (?:for|at|hard)|my (?:studies|degree|thesis|exams?|classes|course|courses|homework|school)|taking (?:a|an|some|online) (?:\w+ )?(?:class|classes|course|courses)|enrolled|went back to school|grad school|scholarship|tutoring|teaching) / 上课|学习|考试|论文|考研|读书|报了?[^，。]{0,6}班|课程
psychology: (?:psychology|mental health|therap(?:y|ist)|counsel(?:ing|or)|mindfulness|self-help|personality (?:test|types?)|cognitive) / 心理学|心理咨询|心理健康|正念|冥想
family: (?:(?:spend|spent|spending) (?:\w+ ){0,3}time with (?:my|the) (?:family|kids|children|son|daughter|parents|mom|dad|grand\w+|brother|sister)|(?:love|miss|proud of) my (?:family|kids|children|son|daughter|parents|mom|dad|mother|father|brother|sister)|(?:took|take|taking|taught) (?:my|the) (?:kids|children|son|daughter|family)|my family (?:is|means|and i)|(?:we|i) (?:adopted|had) (?:a|our) (?:baby|child)) / 陪(?:家人|孩子|爸妈|父母|妈妈|爸爸|儿子|女儿)|和(?:家人|孩子|爸妈|父母|妈妈|爸爸|儿子|女儿|爷爷|奶奶)|我爱我?家
fashion: (?:fashion|outfits?|clothes|wardrobe|sneakers|jewelry|makeup|thrift(?:ing|ed)?|stylish|designer (?:bags?|clothes)|dressing up) / 时尚|穿搭|衣服|化妆|口红|潮牌|包包
art: (?:paint(?:ing|ings|ed|s)?|draw(?:ing|ings|n)?|sketch\w*|sculpt\w+|art (?:class|classes|show|gallery|exhibit\w*|museum|studio|supplies)|my (?:own )?art|watercolors?|pottery|(?:love|making|create|creating) art|museum|gallery) / 画画|绘画|油画|水彩|素描|美术|艺术|画展|雕塑
health: (?:eat(?:ing)? healthy|healthier|healthy (?:food|diet|eating|lifestyle|habits)|my health|diet|los(?:e|ing) weight|lost weight|(?:doctor|check-?up|physical therapy|medication|surgery|blood pressure|diabetes|asthma|allerg(?:y|ies|ic))|vitamins?|sleep schedule|meditat\w+) / 健康|减肥|养生|体检|看医生|吃药|血压|过敏|医院
finance: (?:invest(?:ing|ed|ments?)?|stocks|stock market|budgeting|my budget|sav(?:e|ing|ings|ed) (?:up |money|for)|mortgage|crypto|retirement (?:fund|plan|savings)|my finances|personal finance|credit (?:card|score)|debts?|loans?) / 理财|投资|股票|基金|存钱|预算|房贷|省钱
sports: (?:(?:play|played|playing|watch|watched|watching|love|into) (?:\w+ ){0,2}(?:soccer|football|basketball|tennis|baseball|volleyball|hockey|golf|badminton|cricket|rugby|ping pong|sports)|(?:(?:go|went|going|goes|been|started|love|enjoy|like|for a|morning|evening|trail) (?:for a )?(?:run|running|runs|jog|jogging)|(?:run|ran|running) (?:a |the |my |\d+ ?)(?:\w+ )?(?:marathon|race|5k|10k|miles?|km|k)|marathon|gym|work(?:ed|ing)? out|workouts?|swim\w*|yoga|pilates|box(?:ing|ed)|kickboxing|taekwondo|karate|martial arts|cycl(?:e|ing)|biking|surf(?:ing|ed)?|ski(?:ing|ed)?|snowboard\w*|climb(?:ing|ed)?|lift(?:ing)? weights|crossfit|skat(?:ing|eboarding))) / 跑步|健身|篮球|足球|游泳|瑜伽|羽毛球|乒乓球|网球|马拉松|骑行|滑雪|运动|锻炼
food: (?:(?:love|loved|enjoy|like|favou?rite|craving|try|tried|trying|ate|eat|eating|had|ordered) (?:\w+ ){0,4}(?:food|foods|pizza|sushi|pasta|tacos?|burgers?|ice cream|chocolate|cake|curry|ramen|noodles|steak|seafood|dessert\w*|cuisine|coffee|tea|wine|beer|cheese|salad|soup)|restaurants?|foodie|brunch) / 美食|好吃|火锅|烧烤|餐厅|甜品|咖啡|奶茶|喜欢吃|爱吃|小吃
travel: (?:(?:love|like|enjoy|went|go|been|keep|start|started|i) (?:to )?travel(?:l?ed|l?ing)?|traveling (?:to|around|with|in)|, travel(?:l?ing)?\b|travel (?:plans?|preparations?|itinerary)|(?:trip|vacation|holiday|road trip|getaway|cruise|backpacking) (?:to|in|with|last|next|around)?|(?:been|going|went|flew|fly|flying) to (?:the )?(?:japan|paris|italy|spain|europe|france|london|tokyo|rome|canada|mexico|thailand|hawaii|greece|bali|new york)|sightseeing|abroad|explor(?:e|ed|ing) (?:the |new |a |different )?(?:city|cities|places|countries|country|town|world)) / 旅行|旅游|出国|自驾|去过|度假|机票|景点
music: (?:(?:play|plays|played|playing|learn\w*|practic\w+) (?:\w+ ){0,2}(?:guitar|piano|violin|drums|clarinet|saxophone|flute|cello|bass|ukulele|music|instruments?|songs?)|concerts?|(?:listen|listened|listening) to (?:\w+ ){0,3}(?:music|songs?|jazz|rock|classical|albums?)|(?:love|like|into|enjoy) (?:\w+ ){0,2}(?:music|jazz|rock|hip-hop|songs?)|my (?:band|guitar|piano|violin|music|songs?)|sing(?:ing)?|choir|song ?writing|vinyl|music festival) / 音乐|钢琴|吉他|唱歌|演唱会|听歌|小提琴|乐队|歌曲
literature: (?:(?:read|reading|finished|started|love|writing|wrote|bought) (?:\w+ ){0,4}(?:books?|novels?|poetry|poems?|stories|series|fiction|fantasy|memoir|biograph\w+)|book ?club|reading|bookshel\w+|library|my (?:book|novel|favou?rite (?:book|author|novel))|journaling|creative writing) / 小说|看书|读书|诗歌|文学|写作|阅读|作家|书店
film: (?:(?:love|like|enjoy|into|favou?rite|art|action|watch\w*|saw|seen) (?:\w+ ){0,3}(?:movies?|films?)|cinema|(?:watch|watched|watching|binge\w*) (?:\w+ ){0,3}(?:movies?|films?|shows?|series|netflix|documentar\w+|anime|episodes?)|screenplays?|screenwriting|screenings?|star wars|marvel|harry potter) / 电影|电视剧|追剧|动漫|纪录片|综艺|影院
social media: (?:instagram|tiktok|facebook|youtube|twitter|followers|my (?:blog|vlog|channel|posts)|(?:blog|vlog|content creation|social media|livestream)\w*|post(?:ed|ing) (?:\w+ ){0,3}(?:online|videos?)) / 微博|抖音|小红书|朋友圈|微信|快手|B站|博客|短视频|直播
technology: (?:coding|programming|(?:write|wrote|writing) code|software|python|javascript|apps?|robot\w*|gadgets?|computers?|artificial intelligence|machine learning|laptop|smart home|3d print\w+|web ?site|open source|cybersecurity|tech (?:stuff|gadgets|geek|enthusiast)) / 编程|代码|程序|人工智能|电脑|手机|科技|机器人|软件|数码
environment: (?:recycl\w+|climate change|sustainab\w+|(?:protect\w*|sav(?:e|ing)|help\w*|care about|good for|impact on) the environment|environmental\w*|eco-?friendly|zero waste|plastic waste|carbon footprint|conservation|beach clean-?up|renewable|solar panels?) / 环保|垃圾分类|气候|可持续|低碳|环境保护
history: (?:histor(?:y|ical|ic) (?:books?|museum|sites?|buildings?|documentar\w+|of|novels?)|(?:love|into|interested in|fascinated by|studying|fan of) (?:\w+ )?histor(?:y|ical)|ancient|castles?|archaeolog\w+|medieval|world war) / 历史|博物馆|古代|古迹|文物
politics: (?:politic(?:s|al|ian|ians)|election\w*|vote[ds]?|voting|campaign(?:ing)? for|running for office|activis[mt]s?|protest\w*|city council|government) / 政治|选举|投票|政策|政府|时政
religion: (?:church|pray(?:ed|ing|er|ers)?|my faith|bible|mosque|temple|religio\w+|spiritual\w*|ramadan|christmas service|buddhis\w+) / 教堂|祈祷|信仰|佛教|寺庙|基督|信佛|宗教
gaming: (?:video ?games?|gam(?:ing|er)|(?:play|played|playing) (?:\w+ ){0,3}(?:games?|valorant|fortnite|minecraft|zelda|cs:?go|league|overwatch|street fighter|pokemon|xbox|playstation|nintendo)|e-?sports|gaming (?:pc|setup)|twitch) / 游戏|电竞|原神|王者荣耀|主机
animals: (?:my (?:\w+ ){0,2}(?:dogs?|cats?|pets?|puppy|puppies|kitten|kittens|turtles?|rabbit|hamster|horse|parrot|fish)|(?:adopt\w*|got|have|walk\w*|rescue\w*|foster\w*|love|own) (?:\w+ ){0,3}(?:dogs?|cats?|pets?|pupp(?:y|ies)|kittens?|turtles?|animals?|birds?|horses?)|animal shelter|zoo|veterinarian) / 小狗|小猫|猫咪|狗狗|宠物|养了?[^，。]{0,4}[狗猫鱼鸟]|动物|撸猫|遛狗
emotional expression: (?:i(?:'m| am| was| feel| felt|'ve been)) (?:\w+ ){0,3}(?:so happy|thrilled|heartbroken|devastated|over the moon|ecstatic|in tears|grateful|blessed|emotional|crying|depressed|overjoyed|furious|sad)|cried|(?:opened up|open up) (?:to|about)|express(?:ing)? my(?:self| feelings| emotions) / 我[^，。]{0,6}(?:感动|难过|伤心|激动|开心|高兴|生气|哭|崩溃|感激)
humor: (?:(?:made|makes|make) me (?:laugh|crack up)|funny|hilarious|jokes?|joking|prank\w*|comedy|sense of humor|stand-?up|memes?|puns?) / 搞笑|笑话|幽默|段子|脱口秀
practicality: (?:practical|budget-friendly|cost-effective|save time|affordable|worth the money|diy|easy to use) / 实用|性价比|实惠|省时|划算|方便
cooking: (?:cook(?:ed|ing|s)?|bak(?:e|ed|es|ing)|recipes?|grill(?:ed|ing)|(?:made|make|making) (?:\w+ ){0,3}(?:dinner|lunch|breakfast|cookies|cakes?|pasta|bread|soup|pizza|curry|dessert\w*|pie|lasagna)) / 做饭|烹饪|烘焙|下厨|做菜|烤|菜谱|煲汤|炒
photography: (?:photograph(?:y|er|s|ing)|camera|(?:take|took|taking|took some) (?:\w+ ){0,3}(?:photos?|pictures?|pics?|shots)|photo ?shoot) / 摄影|拍照|相机|拍摄|照片
gardening: (?:garden(?:s|ing|ed)?|(?:plant|planted|planting|grow|growing|grew|watering) (?:\w+ ){0,3}(?:plants?|flowers?|tomatoes|vegetables|herbs|trees?|roses|succulents|seeds)|my (?:plants|flowers|tomatoes|peonies|garden)|houseplants?|flower shop|bouquet) / 种花|园艺|养花|种菜|多肉|浇水|绿植
crafts: (?:pottery|ceramics?|knit(?:ting|ted)?|crochet\w*|sew(?:ing|ed)?|woodwork\w*|carpentry|embroider\w+|scrapbook\w*|origami|quilt\w*|handmade|crafts?|crafting|candle making|jewelry making|model (?:kits?|trains?)|dream ?catchers?|stained glass|build(?:ing)? furniture) / 手工|陶艺|编织|缝纫|刺绣|木工|剪纸|折纸
outdoors: (?:hik(?:e|ed|es|ing)|camp(?:ed|ing)|outdoors|fishing|kayak\w*|in nature|nature walks?|national park|mountains?|trails?|forest|beach(?:es)?|canoe\w*|rafting|picnic\w*|bird-?watching|stargazing) / 爬山|徒步|露营|钓鱼|户外|登山|野餐|大自然|郊游|海边
dance: (?:dancing|dancer|(?:i|we|to) dance|dance (?:class|classes|studio|team|competition|lessons?|crew|moves|floor)|ballet|salsa|hip-?hop class|zumba|choreograph\w*|tango) / 跳舞|舞蹈|街舞|芭蕾|广场舞|拉丁舞
theater: (?:theat(?:er|re)|musicals?|broadway|plays? (?:at|in|about)|acting class(?:es)?|opera|drama club|improv) / 话剧|戏剧|音乐剧|歌剧|京剧|剧院|相声
languages: (?:(?:learn\w*|study\w*|speak\w*|practic\w+|fluent in) (?:\w+ ){0,2}(?:spanish|french|german|italian|japanese|chinese|mandarin|korean|portuguese|arabic|russian|english|sign language|languages?)|duolingo|bilingual) / 学(?:英语|日语|法语|德语|韩语|西班牙语|外语)|背单词|口语|翻译|雅思|托福
business: (?:my own (?:business|company)|my (?:business (?:is|has|runs|was)|startup|company|store|shop|studio|brand|online store|clients|customers)|(?:start|started|starting|run|running|open|opened|opening|grow|growing) (?:a|an|my|our|the) (?:\w+ ){0,2}(?:business|startup|company|store|shop|studio|brand|bar|cafe|gym)|entrepreneur\w*|marketing|e-?commerce|investors?|networking event) / 创业|生意|开店|公司|客户|营销|电商|合伙
home: (?:(?:renovat|redecorat|decorat|remodel|furnish)\w*|new (?:house|apartment|home|couch|furniture)|interior design|new furniture|home improvement|(?:bought|buying|moved into) (?:a|our|my|the) (?:\w+ )?(?:house|apartment|home|place|mansion)|my (?:living room|kitchen|backyard|bedroom)) / 装修|家具|布置|新房|搬家|家居|房子|客厅
volunteering: (?:volunteer\w*|charit(?:y|ies|able)|fundrais\w+|donat(?:e|ed|ing|ion|ions)|food (?:bank|drive)|homeless shelter|soup kitchen|community service|nonprofit|mentor(?:ed|ing)|toy drive) / 志愿|公益|捐款|慈善|义工|支教
vehicles: (?:my (?:\w+ ){0,2}(?:car|cars|truck|motorcycle|bike|prius|mustang|ferrari|tesla)|(?:restor|fix|repair|modify|modified|drive|drove|work)\w* (?:\w+ ){0,3}(?:cars?|engines?|trucks?|motorcycles?)|auto (?:shop|repair|engineering)|car (?:show|shop|museum)|classic cars?|motorcycle\w*) / 开车|汽车|摩托|买车|改装|自驾|车展
directness: (?:to be (?:honest|frank|blunt)|straight to the point|get to the point|let me be (?:clear|direct|honest|frank)|i'll be (?:blunt|direct|honest)|no beating around) / 直说|有话直说|直截了当|说白了|坦白说
`
