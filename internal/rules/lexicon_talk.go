package rules

import regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"

// This file holds the vocabulary of English talk: introductory words, reactions, requests and
// suppositions, and the forms of verbs.

// leadIns matches words that introduce a statement and add nothing to it.
var leadIns = regexp.MustCompile(`(?i)^(?:(?:well|so|oh|ah|aw|aww|wow|yeah|yea|yep|yes|yup|no|nope|nah|ok|okay|hey|hi|hello|haha|lol|hmm|ha|man|gosh|actually|honestly|anyway|anyways|also|and|but|plus|besides|like|btw|by the way|you know what|you know|you see|guess what|as you know|in fact|to be honest|tbh|speaking of which|of course|sure|absolutely|definitely|exactly|totally|true|right|indeed|cool|nice|great|awesome|sweet|sadly|luckily|fortunately|unfortunately|i mean|i guess|let me tell you|believe it or not|good news|bad news|fun fact|funny enough|thanks a lot|thanks so much|thanks|thank you so much|thank you|ooh|omg|whoa|um|uh|phew|yay|really|please remember|remember|note|fyi|just so you know|still|anyhow|in case you forgot)(?:\s*(?:[,:;!–—-]|\.{2,}|…)+\s*|\s+that\s+)|(?:and|but|so|also|plus|anyway|oh|well|yeah|yep|hey|actually|honestly|basically|lol|because|cause|cuz|'cause|remember that|please remember that)\s+)`)

// toldYou matches an introduction such as "I wanted to tell you that …".
var toldYou = regexp.MustCompile(`(?i)^(?:i (?:just |really )?(?:wanted to|want to|have to|had to|need to|needed to|gotta|should|must|forgot to|can) (?:tell|let|show|share with|mention to) you(?: know)?(?: about| that)?|i(?:'m| am) (?:so |really |super )?(?:excited|happy|thrilled|glad|sad|proud|pleased) to (?:tell you|share|say|announce)(?: that)?|i (?:told|mentioned to|said to) you (?:that )?|(?:just )?wanted to (?:tell you|let you know|share)(?: that)?|did i tell you (?:that )?|let me tell you(?: that)?|i think(?: that)?|i feel like|i'd say(?: that)?|i must say|i have to (?:say|admit)|i must admit|it turns out(?: that)?|turns out(?: that)?)\s+`)

// calledBy matches a word of reply with the listener's name: "Yes Dave, …".
var calledBy = regexp.MustCompile(`^(?i:yes|yeah|yep|hey|hi|hello|thanks|thank you|wow|oh|no|sure|totally|absolutely|exactly|congrats|true|right|ok|okay|sorry|aw+|well|great|nice|cool|agreed|same here|me too|same)[, ]+\p{Lu}\p{L}+(?:[,!.:;–—-]+\s*|\s+[–—-]+\s*)`)

// addressedFirst matches a name in front that addresses the listener: "Ana, I moved".
var addressedFirst = regexp.MustCompile(`^\p{Lu}[\p{Ll}'’]+[,!]\s+`)

// afterthoughts matches words that follow a statement and add nothing to it.
var afterthoughts = regexp.MustCompile(`(?i)\s*[,;–—-]+\s*(?:you know|right|haha+|lol|so yeah|though|how about you|what about you|and yourself|and you|you see|i guess|i think|if you know what i mean|thanks|thank you|ha|huh|or something|fingers crossed|check it out|take a look|look)\s*[.!?]*$`)

// emojis matches emojis, symbols and smileys.
var emojis = regexp.MustCompile(`[\x{2190}-\x{2BFF}\x{1F000}-\x{1FAFF}\x{FE0F}\x{200D}]+|(?:^|\s)[:;=]-?[)(DPp/]+(?:\s|$)`)

// requests matches sentences that ask somebody to do something.
var requests = regexp.MustCompile(`(?i)^(?:please\b|kindly\b|(?:can|could|would|will|may|do|did|does|are|is|have|has|should|shall|what|how|why|who|where|when|which) |tell me|show me|give me|send me|help me|let me\b|let's\b|lets\b|keep\b|take a look|check (?:it |this |that )?out|look\b|take care\b|check\b|see\b|watch out|remember to|just (?:do|look|keep|let|take|be|remember|go)\b|wish(?:ing)? |sending |don't\b|do not\b|stay\b|go for|feel free|write\b|summari[sz]e\b|explain\b|translate\b|list\b|describe\b|imagine\b|ignore\b|forget\b|act as\b|pretend\b|i(?:'d| would) (?:like|love|want) (?:for )?you\b|i (?:want|need|expect|ask|beg) you\b|i (?:want|need|would like) (?:some |your |a )?(?:help|advice|tips|suggestions|recommendations)\b|i was (?:wondering|hoping) (?:if|whether|you))`)

// injectedInstructions matches signs that a text contains instructions to the model.
var injectedInstructions = regexp.MustCompile(`(?i)(?:\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your)\b.{0,30}\b(?:instruction|prompt|rule|message|memor|context|direction)|\bsystem prompt\b|\bas an ai\b|\byou are (?:now )?(?:an? )?(?:ai|assistant|chatbot|language model|dan)\b|\bdeveloper mode\b|\bjailbreak|^\s*(?:system|assistant|developer|tool|user|human)\s*:|</?(?:system|assistant|user|instructions?|prompt|memory|memories|context|tool)\b|\[/?inst\]|<\|)|忽略.{0,12}(?:指令|提示|规则|要求)|无视.{0,12}(?:指令|提示|规则)|系统提示|你现在是`)

// suppositions matches what is not true, not yet true, or only possible.
var suppositions = regexp.MustCompile(`(?i)(?:^if\b|\bif (?:i|we|only|it|you|there)\b|\b(?:i|we) wish\b|\b(?:i|we)(?: would|'d) (?:never |probably |always |also |just )?(?:have|be|say|think|guess|hate|do|go|never|probably|recommend|suggest|advise|imagine|expect|bet|argue)\b|\b(?:i|we|he|she|they) (?:could|should|might|may|must|shall|ought)\b|\b(?:suppose|imagine|what if|hypothetically|let's say|pretend)\b|^(?:maybe|perhaps|hopefully|probably)\b)`)

// conditional matches a sentence that begins with a condition or a wish.
var conditional = regexp.MustCompile(`(?i)^(?:if|unless|even if|only if|in case|had i|were i|suppose|supposing|provided|assuming|imagine|once i|as soon as|i wish|we wish)\b`)

// statedWishes matches what has the form of a supposition and is a preference.
var statedWishes = regexp.MustCompile(`(?i)\b(?:i|we)(?: would|'d) (?:really |absolutely |definitely |also )?(?:love|like|prefer|rather)\b`)

// reactions matches replies to what somebody else said.
var reactions = regexp.MustCompile(`(?i)^(?:` +
	`(?:so |super |really |very |just )?(?:glad|happy|proud|excited|sorry|grateful|thankful|stoked|honou?red|appreciate|love (?:it|that|this|how|your|the way)|hope|wish|can't (?:wait|imagine|believe)|feels?|sounds|looks|seems|no (?:problem|worries|way|doubt)|congrats|(?:reminds|gives|makes|keeps|helps|brings|means|takes|gets|seeing|been there|same here)|almost|i do ?[,–—-]|definitely|speaking of|won't|no words|just (?:a|an|the|like|hang|some|so|not|in)|fingers crossed|way to|good (?:luck|job|call)|keep|agreed|hats off|thanks?|bet|guess)\b` +
	`|(?:i|we)(?:'m| am|'re| are| was| were| feel| felt)?(?: (?:so|really|very|just|also|totally|truly|always|super|too|all|definitely|completely|still|pretty|absolutely|quite))* ` +
	`(?:glad|sorry|sure|curious|impressed|jealous|ears|amazed|okay|ok|fine|good|great|here|with you|right|down for|up for|game|happy (?:to (?:hear|help|know|see|share)|for|that|you|with|it|i)|grateful|thankful|lucky|blessed|fortunate|` +
	`proud (?:of|to|that)|excited (?:to (?:hear|see|know|share)|for you|about (?:it|that)|for it|too|that)|stoked (?:to (?:hear|see)|for you|about it)|honou?red|touched|moved by|flattered|speechless|psyched|pumped|thrilled (?:to hear|for|that)|hanging in|doing (?:good|great|well|okay|fine|alright)|feeling|` +
	`agree|understand|see,|see (?:what|how|why|that|you)|know (?:that|what|how|it|you|right|the feeling)|get (?:it|that|what|why|how)|hear you|heard (?:you|that)|bet|hope|guess|wish|wonder|doubt|imagine|mean|suppose|appreciate|totally|relate|believe (?:it|that|this|you)|forgot (?:to|about it)|swear|admire|envy|trust you|` +
	`(?:love|like|enjoy|enjoyed|loved|liked) (?:it|that|this|how|what|your|you|them|the way|those|these|when you)|feel (?:you|the same|that|like)|needed that|remember (?:that|it|when you|you))` +
	`|(?:i|we) (?:can|can't|cannot|could|couldn't)(?: (?:only|just|totally|really|definitely|even|so|completely|still))* (?:see|imagine|relate|tell|agree|believe|feel|wait to (?:hear|see|know|show you)|thank|help but|complain|say|understand|describe|deny|put into|explain|get enough|go wrong|ask for|picture)` +
	`|(?:i|we)(?:'ll| will)(?: (?:definitely|totally|surely|always|be sure to|make sure to|just|never|also|have to|try to))* (?:let you|let everyone|keep|check|take (?:your|a look|it|that)|think|try (?:it|that|my best)|be (?:there|fine|okay|here|sure|rooting|cheering|thinking)|do (?:that|it|my best|our best)|give it|look into|remember|miss|talk|see|support|cherish|find out|never forget|catch|tell you|send you|pass|need that|bring you|join you|share|get there|update|show you)` +
	`|(?:i|we)(?:'ve| have)? (?:got|have) (?:this|you|your back|to say|to admit)` +
	`|(?:i|we)(?:'ve| have) (?:heard|been (?:good|great|doing (?:well|good|great|okay)|there|well|okay|busy|alright)|come a long way|always (?:wanted|loved|admired) (?:that|it))` +
	`)\b`)

// unfinished matches sentences that end before they say anything: "I did!", "We can't wait!".
var unfinished = regexp.MustCompile(`(?i)^(?:i|we)(?:'m| am|'re| are| do| did| will|'ll| have|'ve| can| can't| can't wait| would| love to| was| thought so| know| knew| see| get| think so| don't know| didn't know| don't mind| will do| promise| hope so)(?: (?:too|as well|it|that|so|indeed|really|definitely))*[.!…]*$`)

// strongStatement matches forms of statements that need only one content word.
var strongStatement = regexp.MustCompile(`(?i)^(?:(?:i|we) (?:really |absolutely |just |also |still |now |no longer |do not |don't |don’t |used to |never |can't |cannot |can not )*(?:tolerate|stand|drink|like|love|enjoy|prefer|hate|dislike|adore|live|lived|work|worked|study|studied|have|had|own|bought|adopted|play|speak|eat|moved|married|joined|quit|visited|started|stopped|retired|sold|left|divorced|take|took|got (?:divorced|married|engaged|fired|laid off|promoted)|gave up|broke up|split up|dropped out|switched|graduated|teach|collect|drive|attend|attended|stayed|volunteer|volunteered|cancelled|canceled)\b|(?:we're|we are|we're not|we are not) (?:engaged|married|divorced|separated|together|no longer together|expecting)\b|i(?:'m| am|'m not| am not) (?:not |no longer |now |a |an |from |into |allergic|afraid |scared |fond |obsessed |left-handed|right-handed|married|single|divorced|engaged|vegetarian|vegan|pregnant|retired|\d|in |at |on |the )|(?:i was born|i grew up|i come from|i work|call me)|(?:my|our) [\p{L}' -]{2,40} (?:is|are|was|were|has|have|had|lives?|works?|moved|died|passed|got|loves?|likes?|plays?)\b)`)

// clippedPast are verbs that begin a sentence whose "I" was left out.
var clippedPast = wordSet(`went got had took made saw met bought found started finished joined visited tried spent moved adopted
	signed attended learned began ran won lost booked ordered received decided checked watched read baked cooked played painted
	wrote hosted organized travelled traveled hiked camped volunteered graduated celebrated returned quit stopped landed scored`)

// clippedPresent are participles that begin such a sentence.
var clippedPresent = wordSet(`planning thinking working trying looking hoping preparing practicing learning studying reading writing
	training saving considering getting taking moving visiting attending starting`)

// clippedNot are participles that begin a sentence as adjectives.
var clippedNot = wordSet(`excited interested used tired inspired surrounded blessed based given compared related thrilled stoked amazed impressed
	honored touched moved need agreed interested relieved pleased packed filled dedicated determined devoted organized`)

// finiteVerb matches a verb that makes a sentence complete.
var finiteVerb = regexp.MustCompile(`(?i)\b(?:is|are|was|were|has|have|had|can|will|helps?|helped|makes?|made|gave|gives?|brings?|brought|keeps?|kept|taught|teach(?:es)?|told|said|got|gets|went|came|comes|took|takes|loves?|likes?|lets?|let|means?|meant|hit|put|puts|feels?|felt|reminds?|inspires?|won|sent|\p{L}{3,}ed|\p{L}+'s)\b`)

// generalRemark matches opinions and remarks about the world in general.
var generalRemark = regexp.MustCompile(`(?i)\b(?:is|are|'s|was|were|being|be) (?:just |so |really |super |also |truly |always |such |very )*(?:an? |the )?(?:key|important|rewarding|amazing|great|hard|essential|crucial|vital|priceless|everything|powerful|special|precious|comforting|fulfilling|tough|wonderful|incredible|awesome|way|reminder|feeling|good|nice|cool|fun)\b|\b(?:people|everyone|anyone|folks)\b|^our .*\b(?:can|should|must|always)\b|^(?:life|nature|being|surrounding|knowing|seeing|having|there's nothing|it's|balance|moments like)\b`)

// pronounObject matches statements whose object is a pronoun for something in the sentence
// before.
var pronounObject = regexp.MustCompile(`(?i)^(?:i|we)(?:'ve|'m|'re|'d|'ll)?(?: (?:\p{L}+ly|have|had|has|am|was|were|just|also|really|even|never|still|always|usually|often|finally|actually|already|will|would|do|did|don't|didn't|haven't|hadn't|can|can't|could|couldn't|been|going to|want to|wanted to|got to|gonna|love to|like to|use to|used to|try to|tried to))* \p{L}+(?: \p{L}+)? (?:it|this|that|them|these|those|him|her|one|there|so)(?:$|[.!,;]| (?:to|because|for|at|in|on|with|when|and|but|as|yet|too|so|cause|'cause|by|from|all|up|out|every|last|-|–|there|before|after|since|again|often)\b)`)

// danglingReference matches words that refer to something named before. antecedent matches words
// that introduce such a thing.
var (
	danglingReference = regexp.MustCompile(`(?i)\b(?:it|them|him|her|hers|there|this|that|these|those|one)(?:$|[.!,;]|\s+(?:[–—-]|to|because|for|at|in|on|with|when|and|but|as|yet|too|so|from|all|up|out|every|last|before|after|since|again|often|is|was|now|turned|has|snuggling|into|brings)\b)|` +
		`\b(?:this|that|these|those) (?:place|spot|one|pic|photo|picture|case|day|idea|thing|things|moment|moments|memory|app|activity)\b|\bplaces like this\b|\bthose places\b`)
	antecedent = regexp.MustCompile(`(?i)\b(?:an?|the|my|our|some|another|two|three|his|their|both|new|several|lots of|many) [\p{L}\d]`)
)

// feelings matches statements about how the speaker feels, which need more content to be facts.
var feelings = regexp.MustCompile(`(?i)^(?:i|we)(?:'m| am|'re| are| have| had|'ve)?(?: (?:really|so|just|always|also|still|definitely|never|been))* (?:feel|felt|feeling|find it|found it|can|gonna|going to|keep|stay|staying|keeping|try to|making|hope|knew)\b`)

// mutualStatement matches what is said about several people together and cannot be said about one
// of them.
var mutualStatement = regexp.MustCompile(`(?i)\b(?:each other|one another|we(?:'re|'ve|'d|'ll)?(?: are| were| have| had| can)? (?:both|all)|both of us|us both|our time together|between us)\b`)

// pronounFirst matches a sentence whose first word refers to the sentence before.
var pronounFirst = regexp.MustCompile(`(?i)^(?:it|that|this|these|those|they|he|she|there|here|him|her|them|his|their|its|one|both|some|everyone|everything|nothing|something|who|which|what|such|then|mine|ours|theirs)\b(?:'\w+)?`)

// thirdPersonFirst matches a sentence that may continue about the person of the sentence before.
var thirdPersonFirst = regexp.MustCompile(`(?i)^(?:they|he|she|it)(?:'s|'re|'ve|'d|'ll)?\s+\p{L}`)

// adverbs may come between a subject and its verb.
var adverbs = wordSet(`just really also still always never usually often recently finally actually totally even only already definitely
	both all sometimes absolutely currently now then truly honestly basically kinda probably maybe certainly hardly rarely generally last sort
	mostly especially once simply ever too not pretty almost soon sorta kind so quite`)

// notAdverbs end in "ly" as adverbs do.
var notAdverbs = wordSet("fly rely apply reply supply multiply family only lovely ally comply imply")

// invariantVerbs keep their form in the third person: modal verbs and the past of irregular
// verbs.
var invariantVerbs = wordSet(`can could will would should may might must shall ought cannot gonna gotta used
	was did had went got made took saw came said told knew thought felt found left kept began ran sat stood heard met paid sent built spent
	lost won bought brought caught taught fought sought gave grew drew flew threw knew blew wrote rode drove rose chose spoke broke woke
	froze stole wore tore swore ate fell held led fed read put set cut hit hurt let quit shut cost bet split spread slept swept wept
	dealt meant dreamt learnt burnt sang sank swam drank rang began became overcame forgot understood stuck struck swung hung dug won shot
	lit slid hid bit sold told lent bent sprang shook mistook undertook laid lay fit beat upset retook redid rewrote reread woken been gone done seen taken given`)

// notVerbs are words behind a subject that are not verbs.
var notVerbs = wordSet(`and or but nor the a an of in on at to from with by for as than that who which when where while because since until
	if whether about into over under again alone together personally myself my your his her our their this these those am is are`)

// baseVerbs are verbs in the present that may follow "and". They are hardly ever another part of
// speech.
var baseVerbs = wordSet(`enjoy try hope want need think have make keep get feel know spend write read take teach go eat listen learn
	prefer hate live sing draw bake cook believe meet find give bring spend become speak sell buy gain create explore build improve manage encourage inspire reflect express connect
	meditate organize prepare relax recharge unwind stay hang appreciate discover chill continue remember understand forget collect support
	help use chat visit attend`)

// irregularForms maps verb forms of the first person to the third.
var irregularForms = map[string]string{
	"am": "is", "are": "is", "were": "was", "have": "has", "do": "does", "go": "goes", "don't": "doesn't", "haven't": "hasn't",
	"aren't": "isn't", "weren't": "wasn't", "ain't": "isn't", "dont": "doesn't", "havent": "hasn't", "gotta": "has to", "wanna": "wants to", "gonna": "is going to",
}

// participles follow "'d" where it means "had".
var participles = wordSet("been better gone done seen taken given made had got gotten never known thought heard met found lost left wanted hoped planned")

// emptyWords are nouns, verbs and adjectives that carry no content by themselves.
var emptyWords = wordSet(`thing things stuff great awesome amazing good nice cool fun way lot lots really make makes made feel feels felt feeling
	time times day days bit best better big little happy glad special new well much many always something anything everything someone
	everyone nothing able keep keeps going get getting got know think thought see seen look looks looking love like want need
	hope wish sure super pretty kind sort idea part world life important beautiful wonderful incredible fantastic excited exciting
	journey experience moment moments reminder support positive inspiring dream dreams hard tough believe step forward heart truly
	give gives take takes say said tell told come came work working worth matter matters help helps helped place start started
	guess bet hear heard definitely totally absolutely completely literally finally actually especially options option details detail busy bothering happened
	happen lately talked talk spoke spoken chatted chat week weeks people month months year years lots thrilled stoked keen mind
	change changes difference impact progress positive stay staying motivated determined focused energy goal goals challenge challenges
	growth mindset vibe vibes tough rough skill skills gains`)
