package layered

import (
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/memory/policy"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// The parts of the English phrases: what may be before the subject, and between it and the verb.
const (
	enOpening = `(?i)^(?:(?:and|but|so|well|oh|ok|okay|hi|hey|hello|yes|yeah|yep|no|also|actually|honestly|anyway|btw|by the way|fyi|(?:please )?remember(?: that|:)?|(?:please )?note that|don't forget(?: that)?|just so you know|for the record|to be honest|as for me|personally|currently|right now|these days|nowadays|now|in fact|of course|sure|thanks|by day|at the moment|you know|um|uh|hmm|as i said|as you know|lately|this year|my friend|nice to meet you|good (?:morning|evening|afternoon))[ ,]+)*`
	enAdverb  = `(?:(?:really|also|just|still|actually|currently|now|usually|mostly|mainly|truly|absolutely|definitely|always|honestly|generally|especially|particularly|personally|simply|quite|do|recently|temporarily|presently|normally|often|totally|genuinely|sincerely|secretly|very much|kind of|sort of|kinda|both|already|finally|myself|even|only|deeply|most|certainly|too|so|sometimes|long) )*`
	enAm      = `i(?:'m| am|m) ` + enAdverb
)

func english(relation, form string, accept func(string) (string, bool)) phrase {
	return phrase{relation, regexp.MustCompile(enOpening + `(?:` + form + `)`), accept}
}

// englishPhrases are the English forms of the published phrases.
var englishPhrases = []phrase{
	english(relationDislikes, `i `+enAdverb+`(?:don't|do not|dont|never|didn't|no longer) `+enAdverb+`(?:like|enjoy|love|care for) `, nil),
	english(relationDislikes, `i `+enAdverb+`(?:dislike|hate|detest|loathe|can't stand|cannot stand|can not stand|can't bear|despise) `, nil),
	english(relationDislikes, enAm+`(?:not |never )(?:`+enAdverb+`)(?:a (?:big |huge )?fan of|fond of|into|keen on) `, nil),
	english(relationAddress, `(?:(?:you|everyone|everybody|people|friends|my friends|they|folks) )?(?:(?:can|may|should|could|all|usually|please|just|always) )*call me `, acceptAddress),
	english(relationAddress, `i `+enAdverb+`(?:go by|prefer to be called|like to be called|want to be called) `, acceptAddress),
	english(relationJob, `i `+enAdverb+`work as (?:an? |the )?`, nil),
	english(relationJob, enAm+`(?:working|employed|training) as (?:an? |the )?`, nil),
	english(relationJob, `my (?:current |day |main |new )?(?:job|profession|occupation|job title|line of work) is (?:being |as |to be )?(?:an? |the )?`, acceptJob),
	english(relationJob, enAm+`(?:an?|the|one of the) `, acceptJob),
	english(relationName, `my (?:full |real |first |given )?name(?:'s| is|s) `+enAdverb, acceptSpelledName),
	english(relationName, enAm+`(?:called|named) `, acceptSpelledName),
	english(relationName, enAm, acceptName),
	english(relationPlace, `i `+enAdverb+`(?:live|reside) `+enAdverb+`(?:in|at|near|on|outside|close to) `, acceptHome),
	english(relationPlace, enAm+`(?:living|based|located|staying|residing|settled) `+enAdverb+`(?:in|at|near|on|outside) `, acceptHome),
	english(relationPlace, `i(?:'ve| have)? `+enAdverb+`(?:moved|relocated) (?:back )?(?:here )?to `, acceptPlaceStart),
	english(relationPlace, `my (?:home |current )?address is `, nil),
	english(relationPlace, `my (?:home|house|flat|apartment|place) is `+enAdverb+`(?:in|at|near) `, nil),
	english(relationPlace, enAm+`(?:(?:back|over|here|down|up|out) )?(?:in|at) `, acceptPlace),
	english(relationSkills, enAm+`(?:very |pretty |extremely |fairly |rather )?(?:good|great|excellent|skilled|proficient|experienced|fluent|an expert|talented|decent) (?:at|in) `, acceptThing),
	english(relationSkills, `my (?:main |biggest |greatest |core )?(?:strength|strengths|strong point|strong suit|specialty|speciality|forte|skill|skills|talent) (?:is|are|lies in|include) `, acceptThing),
	english(relationSkills, `i `+enAdverb+`(?:know how to|specialize in|excel at|excel in) `, nil),
	english(relationSkills, `i can `+enAdverb, acceptSkill),
	english(relationGoals, `my (?:main |biggest |ultimate |next |long-term |short-term |big |current |first |life |career |personal )*(?:goal|aim|dream|ambition|objective|target|aspiration)s? (?:is|are|would be|for [^,]{2,30}? is)(?: definitely)?(?: to)? `, acceptThing),
	english(relationGoals, `i(?:'m|'ve been| am| have been)? `+enAdverb+`(?:want|hope|aim|aspire|intend|plan|dream|wish|wanted|hoping|planning|aiming|trying|dreaming)(?: of| to) `, acceptGoal),
	english(relationGoals, `i(?:'d| would) `+enAdverb+`(?:like|love) to `, acceptGoal),
	english(relationGoals, enAm+`(?:working towards?|aiming for|training for|saving (?:up )?for) `, acceptThing),
	english(relationLikes, `i `+enAdverb+`(?:like|love|enjoy|adore|prefer|favor) `, acceptLike),
	english(relationLikes, enAm+`(?:(?:big|huge|very|pretty|super) )?(?:fond of|into|crazy about|passionate about|keen on|addicted to|obsessed with|a (?:big |huge |massive |lifelong )?(?:fan|lover) of) `, nil),
	english(relationLikes, `my (?:all-time |absolute |personal )?favou?rite [\p{L} -]{2,30}? (?:is|are|has to be|would be) `, acceptThing),
	english(relationLikes, `my (?:hobby|hobbies|passion|passions|interests?) (?:is|are|include|includes) `, acceptThing),
}

// acceptThing refuses a description in place of a thing.
func acceptThing(o string) (string, bool) {
	first, _, _ := strings.Cut(strings.ToLower(o), " ")
	return o, !notAThing[first]
}

var notAThing = policy.WordSet("not going getting very so really quite pretty too hard great good fine nice stressful boring demanding exhausting also been making keeping killing simple different still now just that here there")

// acceptLike refuses "I like how you say that" and "I'd like" (which enAdverb lets no phrase begin with).
func acceptLike(o string) (string, bool) {
	low := strings.ToLower(o)
	if addressesListener.MatchString(low) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(o, "to be "), "the fact that "), true
}

var addressesListener = regexp.MustCompile(`\b(?:you|your|you're|yours)\b`)

// acceptAddress accepts a form of address: at most four words that begin with a capital or are short.
func acceptAddress(o string) (string, bool) {
	words := strings.Fields(o)
	if len(words) > 4 || notAnAddress[strings.ToLower(words[0])] {
		return "", false
	}
	return o, true
}

var notAnAddress = policy.WordSet("back when if at later tomorrow tonight today crazy again once after before anytime on for a an soon in lazy stupid old-fashioned weird strange a mad")

// acceptSpelledName accepts a name behind "my name is".
func acceptSpelledName(o string) (string, bool) {
	words := strings.Fields(o)
	if len(words) > 5 || notAThing[strings.ToLower(words[0])] || notAName[strings.ToLower(words[0])] {
		return "", false
	}
	for i, w := range words {
		if i > 0 && (nameStops[strings.ToLower(w)]) {
			return strings.Join(words[:i], " "), true
		}
	}
	return o, true
}

var nameStops = policy.WordSet("and from i but by the a an in at with who for")

// acceptName accepts a name behind "I'm": one to three words with a capital, and nothing that is no name.
func acceptName(o string) (string, bool) {
	words := strings.Fields(o)
	n := 0
	for n < len(words) && isNameWord(words[n]) {
		n++
	}
	if n == 0 || n > 3 || n < len(words) && !nameStops[strings.ToLower(words[n])] || notAName[strings.ToLower(words[0])] {
		return "", false
	}
	return strings.Join(words[:n], " "), true
}

// isNameWord reports whether a word is written like a name: a capital, and small letters.
func isNameWord(w string) bool {
	small := false
	for i, r := range w {
		switch {
		case i == 0 && !unicode.IsUpper(r):
			return false
		case i > 0 && unicode.IsLower(r):
			small = true
		case !unicode.IsLetter(r) && r != '-' && r != '\'' && r != '.':
			return false
		}
	}
	return small && !strings.HasSuffix(w, "'s")
}

// notAName are words with a capital, or at the beginning of what "I'm" introduces, that are no names.
var notAName = policy.WordSet(`american british english french german spanish italian chinese japanese korean indian russian canadian australian mexican brazilian irish scottish
	welsh dutch swedish norwegian danish finnish polish portuguese greek turkish swiss austrian belgian czech hungarian romanian ukrainian vietnamese thai indonesian
	filipino malaysian nigerian kenyan egyptian moroccan argentinian colombian chilean peruvian african asian european latino latina hispanic arab jewish muslim
	catholic protestant christian buddhist hindu atheist agnostic republican democrat
	monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december
	sorry happy sad glad sure fine good great ok okay tired busy new not really so very just still also here back home going doing feeling trying looking thinking
	aware afraid excited interested vegan vegetarian single married divorced retired pregnant sick ill hungry bored stressed worried curious done ready available
	in on at from a an the one all well better yes no super pretty quite too almost always never currently actually definitely`)

// acceptPlaceStart accepts a place behind "moved to": a name, or a kind of place.
func acceptPlaceStart(o string) (string, bool) {
	if strings.HasPrefix(strings.ToLower(o), "the next") {
		return "", false
	}
	return acceptPlace(o)
}

// acceptPlace accepts an object that begins with the name of a place: a known one in any letter case, or
// any word with a capital that is no time, no abbreviation and no month.
func acceptPlace(o string) (string, bool) {
	words := strings.Fields(o)
	at := 0
	for at < len(words)-1 && placeOpening[strings.ToLower(words[at])] {
		at++
	}
	name := strings.TrimRight(words[at], ".,'s")
	low := strings.ToLower(words[at])
	switch {
	case knownPlaces[low] || at+1 < len(words) && knownPlaces[low+" "+strings.ToLower(words[at+1])]:
	case len(name) < 3 || notAName[low] || !isNameWord(words[at]) || notAPlace[low]:
		return "", false
	}
	// "Berlin for the weekend" is a visit.
	if visit.MatchString(o) {
		return "", false
	}
	return strings.TrimSpace(stay.ReplaceAllString(o, "")), true
}

var (
	placeOpening = policy.WordSet("the downtown central northern southern eastern western north south east west upstate rural suburban greater sunny beautiful rainy lovely cold a old new")
	notAPlace    = policy.WordSet("love charge luck need trouble pain shock awe hr it bed class school work peace tears therapy college university church marketing finance sales person line fact god zoom slack excel python java english french german spanish grade year hospital")
	visit        = regexp.MustCompile(`(?i) (?:for (?:a|the|two|three|\d+|some|work) ?(?:few |couple of )?(?:day|days|week|weeks|weekend|night|nights|visit|vacation|holiday|trip|conference)?|on (?:vacation|holiday|a trip|business)|until|till|visiting)\b`)
	stay         = regexp.MustCompile(`(?i) (?:(?:with|together with) (?:my|our|two|three|a) .*|for (?:about |over |almost |nearly )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|many|several|a few) years.*|(?:last|this) (?:year|month|week|summer|winter|spring|fall|autumn).*|(?:two|three|\d+) (?:years|months|weeks) ago.*|in \d{4}.*)$`)
)

// acceptHome accepts where somebody lives, unless it names no place.
func acceptHome(o string) (string, bool) { return o, !anyPlace.MatchString(o) }

var anyPlace = regexp.MustCompile(`(?i)^(?:an?|my|our) (?:[\p{L}-]+ )*(?:country|place|city|town|area|house|apartment|flat|world|neighborhood|home|space|bubble|way)$`)

// acceptJob accepts an object behind "I'm a" that names an occupation.
func acceptJob(o string) (string, bool) {
	words := strings.Fields(o)
	for i, w := range words[:min(len(words), 5)] {
		low := strings.ToLower(strings.Trim(w, ".,"))
		if jobStops[low] {
			return "", false
		}
		if !occupations[low] && !jobEnding.MatchString(low) {
			continue
		}
		if i+1 < len(words) && (occupations[strings.ToLower(words[i+1])] || jobEnding.MatchString(strings.ToLower(words[i+1]))) {
			continue
		}
		// "a teacher at a school" is whole, "a teacher myself" ends before.
		if rest := words[i+1:]; len(rest) > 0 && !jobRest[strings.ToLower(rest[0])] {
			return strings.Join(words[:i+1], " "), !notAJobBefore[strings.ToLower(rest[0])]
		}
		return o, true
	}
	return "", false
}

var (
	jobStops      = policy.WordSet("of who that which with and or from person fan lover believer member friend mother father mom dad")
	jobRest       = policy.WordSet("at in for on with of specializing working from by and to")
	notAJobBefore = policy.WordSet("wannabe dropout candidate's fan friend")
	jobEnding     = regexp.MustCompile(`(?:ologist|ographer|itect|nician|matician|mmer|ngineer|veloper|nalyst|countant|ultant|anager|esigner|rector|ordinator|visor|cutive|ssistant|borist|rmacist|hotographer|urse|onomist|ntrepreneur|ministrator|resentative|atrician|apher|herapist|keeper|maker|iatrist)s?$`)
	occupations   = policy.WordSet(`teacher doctor nurse lawyer engineer developer programmer designer writer author editor journalist reporter artist painter musician singer actor actress
		dancer chef cook baker waiter waitress bartender barista driver pilot farmer gardener fisherman firefighter police policeman officer detective soldier veteran
		scientist researcher professor lecturer tutor student librarian translator interpreter accountant banker broker economist analyst consultant manager director ceo cto
		founder entrepreneur secretary receptionist assistant clerk cashier salesman salesperson saleswoman marketer recruiter architect builder carpenter plumber electrician
		mechanic technician welder tailor hairdresser barber stylist model photographer filmmaker producer animator illustrator composer dj librarian dentist surgeon
		pharmacist therapist psychologist psychiatrist counselor counsellor paramedic veterinarian vet midwife caregiver nanny babysitter cleaner janitor guard postman courier
		coach trainer athlete footballer boxer referee judge attorney paralegal politician diplomat priest pastor monk nun imam rabbi streamer youtuber blogger influencer
		freelancer contractor intern apprentice trainee postdoc nutritionist dietitian biologist chemist physicist mathematician statistician historian geologist astronomer
		archaeologist sociologist copywriter planner landlord realtor sailor captain miner logger butcher florist jeweler potter sculptor curator guide stewardess steward
		housewife homemaker teamster trucker operator programmer sysadmin admin administrator ranger zookeeper beekeeper brewer winemaker sommelier`)
)

// acceptSkill accepts what a person can do if it begins with a verb of a skill.
func acceptSkill(o string) (string, bool) {
	words := strings.Fields(strings.ToLower(o))
	if !skillVerbs[words[0]] || addressesListener.MatchString(strings.ToLower(o)) || passing.MatchString(o) {
		return "", false
	}
	if len(words) == 1 && !loneSkills[words[0]] {
		return "", false
	}
	return o, !vagueObject.MatchString(strings.TrimSpace(strings.TrimPrefix(strings.ToLower(o), words[0])))
}

var (
	skillVerbs = policy.WordSet(`speak play cook bake swim drive code program write draw paint sing dance ride ski sew knit juggle repair fix type fly sail surf skate climb translate
		dive edit design build weld garden speak-read whistle skateboard snowboard crochet brew solder yodel backflip meditate touch-type lift bench run`)
	loneSkills = policy.WordSet("cook bake swim drive code program draw paint sing dance ski sew knit juggle sail surf skate dive weld whistle skateboard snowboard crochet")
	passing    = regexp.MustCompile(`(?i)\b(?:today|tomorrow|tonight|now|this (?:week|weekend|morning|evening|afternoon|time)|next (?:week|time)|later|soon|again|over|there|home|back|down|up|out|away|off|into)\b`)
)

// acceptGoal accepts a goal that lasts: one that begins with a verb of achieving.
func acceptGoal(o string) (string, bool) {
	o = strings.TrimPrefix(strings.TrimPrefix(o, "definitely "), "to ")
	words := strings.Fields(strings.ToLower(o))
	if len(words) == 0 || !goalVerbs[words[0]] && !startsOwn.MatchString(o) || len(words) < 2 && words[0] != "graduate" || addressesListener.MatchString(strings.ToLower(o)) || passingGoal.MatchString(o) {
		return "", false
	}
	return o, !vagueObject.MatchString(strings.TrimSpace(strings.TrimPrefix(strings.ToLower(o), words[0])))
}

var (
	startsOwn = regexp.MustCompile(`(?i)^start(?:ing)? (?:an?|my|our) (?:own |new |small |online )*(?:business|company|family|studio|shop|store|band|blog|farm|career|garden|school|restaurant|podcast)`)
	goalVerbs = policy.WordSet(`achieve become reach realize realise learn master improve open launch run finish complete lose save earn own write publish build found graduate
		quit get win climb retire travel study qualify compete create publish volunteer becoming achieving learning improving reaching mastering opening running writing
		publishing building losing saving climbing winning owning finishing traveling travelling grow expand pursue earning pass visit buy eat own`)
	passingGoal = regexp.MustCompile(`(?i)\b(?:today|tonight|now|this (?:morning|evening|afternoon)|for (?:lunch|dinner|breakfast))\b|^(?:get (?:back|some|this|that|out|up|going|home|started|a (?:drink|coffee|bite))|eat (?:something|now|lunch|dinner)|start (?:with|by|over|now)|finish (?:this|that|my (?:coffee|lunch))|save (?:this|that|it|time)|buy (?:some|a few)|run (?:to|it|this))`)
)
